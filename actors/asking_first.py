"""What is asked before a conversation begins: answered, or withdrawn with its message (R215).

An eager run that needs an approval is asked about while the message that began the conversation
stands in the queue. Nothing of its turn has begun: with the last answer it begins, and makes or
leaves out the run; recalled, it takes the question with it.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import trio
from msgspec import structs

from greenroom.actors.asking import answer_record, check_kept
from greenroom.actors.pending import Obstacle, Sealed
from greenroom.actors.questions import no_answer
from greenroom.actors.terms import terms_with
from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import SessionLost
from greenroom.protocol.header import Header
from greenroom.protocol.identity import MessageId
from greenroom.protocol.journal import entry_of
from greenroom.protocol.opening import asked_first
from greenroom.protocol.question import Answer, Question, fits, in_time, settled, shown
from greenroom.protocol.record import Answered, AnyRecord, EagerAsked

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor


async def settle_first(actor: "SessionActor", name: str, answer: Answer) -> Question | None:
    """Commit the answer of such a question; None: no such question waits here.

    Raises:
        InvalidInput: it is no answer to a question of that kind.
        StoreUnavailable: it was not kept; the question is as open as before.
        SessionLost: somebody else holds the session by now.
    """
    asked = next((one for one in actor.gateway.asked if one.question.id == name), None)
    if asked is None:
        return None
    if not fits(asked.question.kind, answer):
        raise no_answer(asked.question)
    services = actor.services
    now = services.world.now()
    counts = in_time(asked.question, answer, now)
    record, _ = answer_record(asked.turn, name, counts, now, services.limits)
    check_kept(await _committed(actor, record).get_shielded())
    (question,) = shown(actor.id, asked.turn, asked.at, [asked.question])
    return settled(question, record.answer, record.at)


def without(
    actor: "SessionActor", questions: Sequence[str]
) -> tuple[Header, frozenset[tuple[str, str]]]:
    """Header and terms of a session once these questions do not wait any more."""
    left = [one.question for one in actor.gateway.asked if one.question.id not in questions]
    header = actor.header if left else structs.replace(actor.header, parked=None)
    return header, terms_with(actor, header, left)


def withdrawn_with(actor: "SessionActor", message: MessageId) -> tuple[str, ...]:
    """The questions that are withdrawn with a message."""
    return tuple([one.question.id for one in actor.gateway.asked if one.message == message])


def restored(records: Iterable[AnyRecord], header: Header) -> tuple[EagerAsked, ...]:
    """What waits in a session that was read back: nothing, once a turn of it has begun."""
    if header.parked is None or header.open_turn is not None:
        return ()
    return asked_first(records)


def _committed(actor: "SessionActor", record: Answered) -> Slot[Obstacle | None]:
    """Offer an answer; what it means is true before anybody wakes."""
    slot, coming = Slot[Obstacle | None](), trio.Event()

    def judged(_: Sealed, obstacle: Obstacle | None) -> None:
        actor.answering = None
        coming.set()
        slot.put(obstacle)
        if isinstance(obstacle, SessionLost):
            actor.lose(obstacle)
            return
        if obstacle is None:
            actor.gateway.settled([record.question])
            actor.last_active = trio.current_time()
        actor.go_on()

    header, terms = without(actor, [record.question])
    entry = entry_of(actor.id, record)
    actor.commit([record], header, terms=terms, entry=entry, then=judged)
    actor.answering = coming
    return slot
