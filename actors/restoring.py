"""A parked turn is read back: the same object as one that never left memory (R161, R169, R184)."""

from collections.abc import Mapping, Sequence

from greenroom.actors.gateway import Waiting
from greenroom.actors.model_call import Stream
from greenroom.actors.response import answer_from
from greenroom.actors.round import Round
from greenroom.actors.session import SessionActor
from greenroom.actors.turn import Turn
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.identity import MessageId
from greenroom.protocol.parked import Parked
from greenroom.protocol.phase import Phase
from greenroom.protocol.rebuild import submission_of
from greenroom.protocol.record import Accepted, AnyRecord


def restore_parked(actor: SessionActor, parked: Parked, records: Sequence[AnyRecord]) -> None:
    """Give an actor that was read back its turn that waits.

    Raises:
        StoreDamaged: the messages of the turn are not among its records.
    """
    accepted = {record.message: record for record in records if isinstance(record, Accepted)}
    start, asked = parked.start, parked.asked
    turn = Turn(actor, _waiting(accepted, start.message), start.turn, has_place=False)
    turn.absorbed = [_waiting(accepted, message) for message in parked.absorbed]
    turn.round = asked.round
    turn.stream = Stream(actor.services, actor.id, start.turn, parked.answer.block)
    turn.start, turn.began = start, actor.header.parked or 0
    turn.open = Round.restored(answer_from(parked.answer), parked.told, asked)
    turn.asked = asked
    turn.answers = {name: record.answer for name, record in parked.answers.items()}
    turn.added, turn.usage, turn.relief = parked.added, parked.usage, parked.relief
    turn.park()
    actor.turn, actor.phase = turn, Phase.PARKED


def _waiting(accepted: Mapping[MessageId, Accepted], message: MessageId) -> Waiting:
    record = accepted.get(message)
    if record is None:
        raise StoreDamaged(f"The message {message!r} of a parked turn is not in its session.")
    return Waiting(submission_of(record), None, 0, record.waits)
