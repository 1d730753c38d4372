"""An answer finds its question, live, passive, or not asked yet (R223, R224)."""

from typing import TYPE_CHECKING

import trio

from greenroom.actors.parking import settle_question
from greenroom.actors.questions import check_answer
from greenroom.actors.reading import SessionReader
from greenroom.protocol.errors import Missing
from greenroom.protocol.identity import SessionId, check_name
from greenroom.protocol.question import Answer, Question

if TYPE_CHECKING:
    from greenroom.actors.host import Host


async def answer_in(host: "Host", session: SessionId, question: str, answer: Answer) -> Question:
    """Answer a question of a session; the question with the answer that it has.

    A passive session is activated by it, once (R184).

    Raises:
        Missing: the session asks no such question, and no call of it runs that may.
        InvalidInput, StoreUnavailable, SessionLost: see ``Scope.answer``.
    """
    host.check_open()
    name = check_name(question, "question id")
    check_answer(answer, host.services.limits)
    reader = SessionReader(host.services, session)
    found = reader.question(name)
    if found is not None and not found.is_open:
        await trio.lowlevel.checkpoint_if_cancelled()
        return found
    # Nobody is woken for a question that was never asked.
    actor = host.live(session)
    if actor is None and found is not None:
        actor = await host.activate(session)
    settled = None if actor is None else await settle_question(actor, name, answer)
    # Somebody else may have been first, or the turn may just have ended.
    settled = settled or reader.question(name)
    if settled is None or settled.is_open:
        raise Missing(f"The session {session} asks no question {name!r}.", question=name)
    return settled
