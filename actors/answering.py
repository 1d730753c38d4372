"""An answer finds its question, live, passive, or not asked yet (R223, R224)."""

from typing import TYPE_CHECKING

import trio

from greenroom.actors.parking import settle_question
from greenroom.actors.questions import check_answer, no_question
from greenroom.actors.reading import SessionReader
from greenroom.protocol.errors import PendingSave
from greenroom.protocol.identity import SessionId, check_name
from greenroom.protocol.phase import Phase
from greenroom.protocol.question import Answer, Question

if TYPE_CHECKING:
    from greenroom.actors.host import Host


async def answer_in(host: "Host", session: SessionId, question: str, answer: Answer) -> Question:
    """Answer a question of a session; the question with the answer that it has.

    A passive session is activated by it, once (R184).

    Raises:
        Missing: the session asks no such question, and no call of it runs that may.
        PendingSave: the end of the turn that asked could not be written.
        InvalidInput, StoreUnavailable, SessionLost: see ``Scope.answer``.
    """
    name = check_name(question, "question id")
    answer = check_answer(answer, host.services.limits)
    reader = SessionReader(host.services, session)
    while True:
        host.check_open()
        found = reader.question(name)
        if found is not None and not found.is_open:
            await trio.lowlevel.checkpoint_if_cancelled()
            return found
        actor = host.live(session)
        if actor is None:
            if found is None:  # nobody is woken for a question that was never asked
                raise no_question(name)
            actor = await host.activate(session)
        settled = await settle_question(actor, name, answer)
        if settled is not None:
            return settled
        if actor.phase is Phase.CLOSED:
            continue  # it was let go meanwhile
        found = reader.question(name)
        if found is not None and found.is_open and actor.phase is Phase.UNSAVED:
            raise PendingSave(f"The end of the turn of {session} that asked is not on disk yet.")
        if found is None or found.is_open:
            raise no_question(name)
        return found
