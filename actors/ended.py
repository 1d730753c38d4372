"""A turn that was dispatched ends: the commit of its end, and who is told.

Nothing of the turn is left to do but that, so its task ends with the offer of the commit, and the
rest happens where the verdict arrives.
"""

from functools import partial
from typing import TYPE_CHECKING

from greenroom.actors.charging import charges_of, unreserve
from greenroom.actors.marks import with_loaded
from greenroom.actors.pending import Obstacle, Sealed
from greenroom.actors.settling import Ending, Settlement, settled_header, settlement, unsaved
from greenroom.actors.terms import moved_terms, terms_with
from greenroom.protocol.errors import GreenroomError, SaveFailed, SessionLost, StoreFailed
from greenroom.protocol.header import Header
from greenroom.protocol.phase import Step
from greenroom.protocol.record import Ended
from greenroom.protocol.telling import outcome_of_end
from greenroom.store.contract import Known

if TYPE_CHECKING:
    from greenroom.actors.turn import Turn


def settle(turn: "Turn", ending: Ending) -> None:
    """Commit the end; whatever it says, every call has a result and the session goes on (R175)."""
    actor = turn.actor
    actor.step(Step.STOP)
    unreserve(turn)
    end = _settlement(turn, ending)
    header = _header(turn, actor.header, end)
    actor.commit(
        end.records,
        header,
        blobs=end.blobs,
        terms=_terms(turn, header),
        charges=charges_of(turn),
        then=partial(_settled, turn, end),
    )


def _settled(turn: "Turn", end: Settlement, sealed: Sealed, obstacle: Obstacle | None) -> None:
    actor = turn.actor
    if isinstance(obstacle, SessionLost):
        actor.lose(obstacle, sealed)
    else:
        actor.conversation.adopt(actor.conversation.plus(end.chunks))
        actor.told.settled, actor.grants = end.ended.at, end.grants
        if obstacle is None:
            actor.step(Step.SAVED)
            _tell(turn, end.ended)
        else:
            assert not isinstance(obstacle, Known), "the end of a turn registers no key"
            actor.keep_unsaved(sealed)
            _reject(turn, unsaved(obstacle, end.ended))
    actor.turn_over()


def save_failed(turn: "Turn", sealed: Sealed, error: StoreFailed) -> None:
    """A boundary inside the turn was not written: the turn is settled in memory there (R206)."""
    actor = turn.actor
    failure = SaveFailed(
        f"Round {turn.round} of turn {turn.number} cannot be saved: {error.sentence}",
        turn=turn.number,
    )
    failure.__cause__ = error
    end = _settlement(turn, Ending("save_failed", failure.sentence, failure.code))
    header = _header(turn, sealed.header, end)
    terms = _terms(turn, header)
    unreserve(turn)
    charges = charges_of(turn)
    behind = actor.seal(
        end.records, header, behind=1, blobs=end.blobs, terms=terms, charges=charges
    )
    actor.grants = end.grants
    actor.conversation.adopt(actor.conversation.plus(end.chunks))
    actor.keep_unsaved(sealed, behind)
    _reject(turn, failure)


def _settlement(turn: "Turn", ending: Ending) -> Settlement:
    services = turn.actor.services
    if turn.open is not None:
        turn.open.take_answers(turn.actor.id, turn.answers, services.door)
    return settlement(
        ending,
        turn.open,
        services.door,
        services.world.now(),
        turn.number,
        turn.added,
        turn.usage + turn.relief,
        withdrawn=tuple([question.id for question in turn.waits_for]),
        summaries=turn.summaries,
    )


def _header(turn: "Turn", before: Header, end: Settlement) -> Header:
    header = settled_header(before, end.ended.messages - 1, turn.usage)
    return with_loaded(turn.actor, header, end.ended.results)


def _terms(turn: "Turn", header: Header) -> frozenset[tuple[str, str]] | None:
    """The index has no question of a turn that is over (R223)."""
    actor = turn.actor
    if turn.asked is None:
        return moved_terms(actor, header, actor.kept)
    return terms_with(actor, header)


def _tell(turn: "Turn", ended: Ended) -> None:
    """Everybody who waits for a message of this turn gets its outcome."""
    outcomes = turn.actor.outcomes
    outcomes.resolve(turn.entry.submission.message, outcome_of_end(ended))
    for entry in turn.absorbed:
        outcomes.resolve(entry.submission.message, outcome_of_end(ended, absorbed=True))


def _reject(turn: "Turn", error: GreenroomError | ExceptionGroup[GreenroomError]) -> None:
    for entry in (turn.entry, *turn.absorbed):
        turn.actor.outcomes.reject(entry.submission.message, error)
