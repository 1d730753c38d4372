"""A turn that ends before its dispatch: no model was called, and the conversation is as before.

Where the message was stored already, or can be, it is kept whole and marked `not sent` (R80, R81).
Where its dispatch could not be committed nothing was accepted: a queued message stays first in the
queue, and one that its own turn would have accepted is refused to its sender (R205).
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import structs

from greenroom.actors.asking_first import withdrawn_with, without
from greenroom.actors.charging import unreserve
from greenroom.actors.pending import Obstacle, Sealed
from greenroom.actors.settling import Ending
from greenroom.protocol.account import outcome_of_refusal
from greenroom.protocol.errors import SessionLost, StoreFailed, StoreUnavailable
from greenroom.protocol.phase import Step
from greenroom.protocol.receipt import End
from greenroom.protocol.record import NotSent
from greenroom.store.contract import Known

if TYPE_CHECKING:
    from greenroom.actors.turn import Turn


_TOLD: Final = frozenset({"cancelled", "context_full"})
"""Ends that say more than that the message was not sent."""


def settle_unsent(turn: "Turn", ending: Ending) -> None:
    """Keep the submission, marked so, with the reason."""
    actor, message = turn.actor, turn.entry.submission.message
    unreserve(turn)
    if ending.end == "interrupted" and turn.entry.seq is not None:
        # The host stops, and nothing of the turn is committed: its message waits on (R199).
        actor.gateway.put_back([turn.entry])
        actor.step(Step.SAVED)
        actor.turn_over()
        return
    end: End = ending.end if ending.end in _TOLD else "not_sent"
    now = actor.services.world.now()
    asked = withdrawn_with(actor, message)
    record = NotSent(now, turn.number, message, end, ending.reason, ending.code, asked)
    before, terms = without(actor, asked) if asked else (actor.header, None)
    usage = before.usage + turn.usage
    header = structs.replace(before, turns=turn.number, usage=usage)
    turn.commit_own([record], header, terms=terms, then=partial(_settled, turn, record))


def _settled(turn: "Turn", record: NotSent, _: Sealed, obstacle: Obstacle | None) -> None:
    actor = turn.actor
    if obstacle is None:
        actor.step(Step.SAVED)
        actor.gateway.settled(record.withdrawn)
        if record.end == "cancelled" or turn.entry.stops is not None:
            actor.grants = ()
        if turn.accepted is not None:
            turn.accepted.put(actor.number)
        actor.outcomes.resolve(record.message, outcome_of_refusal(record))
    else:
        not_dispatched(turn, obstacle)
    actor.turn_over()


def not_dispatched(turn: "Turn", obstacle: Obstacle) -> None:
    """Nothing was accepted and no model called."""
    actor, entry = turn.actor, turn.entry
    if isinstance(obstacle, Known):
        actor.step(Step.REPEATED)
        if turn.accepted is not None:
            turn.accepted.put(obstacle)
        actor.outcomes.repeated(entry.submission.message, obstacle)
    elif isinstance(obstacle, SessionLost):
        turn.failed(obstacle)
        actor.lose(obstacle)
    elif entry.seq is None:
        # Nothing of it is kept anywhere, so nothing has to be flushed: it may be sent again.
        actor.step(Step.REFUSED)
        not_accepted(turn, obstacle)
    else:
        not_accepted(turn, obstacle)
        actor.keep_unsaved()


def not_accepted(turn: "Turn", obstacle: StoreFailed) -> None:
    """The message of a turn that cannot be begun waits on, or is refused to its sender (R205)."""
    actor, entry = turn.actor, turn.entry
    if entry.seq is not None:
        actor.gateway.put_back([entry])
        return
    refusal = StoreUnavailable(f"The message was not kept: {obstacle.sentence}")
    refusal.__cause__ = obstacle
    turn.failed(refusal)
    actor.outcomes.reject(entry.submission.message, refusal)
