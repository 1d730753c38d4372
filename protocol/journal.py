"""The journal of a store: who intervened, when and why, appended and never changed (R242)."""

from typing import Final, Literal, TypeAlias

import msgspec

from greenroom.protocol.encoding import decode_stored, encode
from greenroom.protocol.hold import Hold
from greenroom.protocol.identity import SessionId
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Result
from greenroom.protocol.recomposition import Recomposition
from greenroom.protocol.record import Answered, ModelChanged, PresetChanged


class Intervention(msgspec.Struct, frozen=True, tag_field="is", omit_defaults=True):
    """The base of all entries."""

    at: int
    """Milliseconds since 1970, UTC; orders nothing."""
    by: str
    reason: str


class HoldPlaced(Intervention, tag="hold_placed", frozen=True):
    """A hold is in force from here on."""

    hold: Hold


class HoldLifted(Intervention, tag="hold_lifted", frozen=True):
    """A hold is in force no more."""

    hold: str
    """Its id."""
    withdrawn: bool = False
    """What was shown of the skill that it held is withdrawn (R159)."""


class SessionsMarked(Intervention, tag="sessions_marked", frozen=True):
    """Sessions are composed anew at their next turn (R239)."""

    recomposition: Recomposition


class PresetPut(Intervention, tag="preset_put", frozen=True):
    """A session is under another permission preset (R8)."""

    session: SessionId
    preset: str
    before: str


class ModelPut(Intervention, tag="model_put", frozen=True):
    """Another model was chosen for a session (R59)."""

    session: SessionId
    model: str
    before: str
    """Empty: its agent's."""


class QuestionAnswered(Intervention, tag="question_answered", frozen=True):
    """A question has its one answer; what it says beside the reason is in the session (R223)."""

    session: SessionId
    question: str
    answer: Literal["allow", "deny", "result", "failure"]


AnyIntervention: TypeAlias = (
    HoldPlaced | HoldLifted | SessionsMarked | PresetPut | ModelPut | QuestionAnswered
)
_entries: Final = msgspec.json.Decoder(AnyIntervention)


def entry_of(session: SessionId, record: PresetChanged | ModelChanged | Answered) -> bytes:
    """What is entered with a record of a session by which somebody intervened.

    Who put a setting is empty where its caller did not say; a reason, where none can be given.
    """
    match record:
        case PresetChanged(at=at, preset=preset, before=before, by=by):
            return encode(PresetPut(at, by or "", "", session, preset, before))
        case ModelChanged(at=at, model=model, before=before, by=by):
            return encode(ModelPut(at, by or "", "", session, model, before))
        case Answered(at=at, question=question, answer=answer):
            reason, kind = _answers(answer)
            return encode(QuestionAnswered(at, answer.by, reason, session, question, kind))


def _answers(answer: Answer) -> tuple[str, Literal["allow", "deny", "result", "failure"]]:
    match answer:
        case Allow():
            return "", "allow"
        case Deny(reason=reason):
            return reason, "deny"
        case Result():
            return "", "result"
        case Failure(message=message):
            return message, "failure"


def encode_intervention(intervention: AnyIntervention) -> bytes:
    """An entry as it is stored."""
    return encode(intervention)


def decode_intervention(data: bytes) -> AnyIntervention:
    """Read a stored entry. Raises :class:`StoreDamaged` if it is none."""
    return decode_stored(data, _entries, "entry of the journal")
