"""A parked turn is read back: the same object as one that never left memory (R161, R169, R184)."""

from collections.abc import Mapping, Sequence

from greenroom.actors.gateway import Waiting
from greenroom.actors.model_call import Stream
from greenroom.actors.response import answer_from
from greenroom.actors.round import Round
from greenroom.actors.session import SessionActor
from greenroom.actors.turn import Turn
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.grant import grants_of
from greenroom.protocol.identity import MessageId
from greenroom.protocol.note import approvals_note
from greenroom.protocol.parked import Parked
from greenroom.protocol.phase import Phase
from greenroom.protocol.question import Answer
from greenroom.protocol.rebuild import submission_of
from greenroom.protocol.record import Accepted, AnyRecord
from greenroom.protocol.record_parts import PlatformNote
from greenroom.protocol.wording import wording_of


def restore_parked(actor: SessionActor, parked: Parked, records: Sequence[AnyRecord]) -> None:
    """Give an actor that was read back its turn that waits.

    Raises:
        StoreDamaged: the messages of the turn are not among its records, or its kept prompt.
    """
    accepted = {record.message: record for record in records if isinstance(record, Accepted)}
    start, asked = parked.start, parked.asked
    turn = Turn(actor, _waiting(accepted, start.message), start.turn, has_place=False)
    turn.absorbed = [_waiting(accepted, message) for message in parked.absorbed]
    turn.round = asked.round
    turn.stream = Stream(actor.services, actor.id, start.turn, parked.answer.block)
    turn.start, turn.began = start, actor.header.parked or 0
    notes = _notes_before(actor, parked, records)
    turn.open = Round.restored(answer_from(parked.answer), parked.told, asked, notes)
    turn.asked, turn.answers = asked, parked.answers
    turn.added, turn.usage, turn.relief = parked.added, parked.usage, parked.relief
    turn.park()
    actor.turn, actor.phase = turn, Phase.PARKED


def _notes_before(
    actor: SessionActor, parked: Parked, records: Sequence[AnyRecord]
) -> tuple[PlatformNote, ...]:
    """What is said behind the results of what was granted, and of what was asked before."""
    if actor.kept is None:
        raise StoreDamaged("A turn is parked in a session that has no kept prompt.")
    wording = wording_of(actor.kept.composition.wording)
    used = grants_of(records, [use.question for use in parked.answer.granted])
    given: list[list[tuple[str, Answer]]] = [[(one.tool, one.answer) for one in used]]
    for asked in parked.before:
        answered = [one for one in asked.questions if one.id in parked.answers]
        given.append([(one.tool, parked.answers[one.id].answer) for one in answered])
    return tuple([note for answers in given for note in approvals_note(answers, wording)])


def _waiting(accepted: Mapping[MessageId, Accepted], message: MessageId) -> Waiting:
    record = accepted.get(message)
    if record is None:
        raise StoreDamaged(f"The message {message!r} of a parked turn is not in its session.")
    return Waiting(submission_of(record), None, 0, record.waits)
