"""Two views of a conversation, read from records: the originals, and everything by origin (C19).

``messages_of`` holds user inputs, assistant outputs and tool results as they were typed or
received, plus the results that greenroom wrote for calls without one, and nothing else (R1).
``transcript_of`` also shows what was queued, recalled or not sent, with picks and marks (R98).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

import msgspec

from greenroom.protocol.command import By, Pick
from greenroom.protocol.encoding import decode_message
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.message import Message, ToolMessage, UserMessage
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    Asked,
    Compacted,
    Dispatched,
    EagerRan,
    Ended,
    Imported,
    LegacyContext,
    NotSent,
    Recalled,
    Responded,
    Returned,
)
from greenroom.protocol.record_parts import CallResult, PlatformNote

Origin: TypeAlias = Literal[
    "person",
    "host",
    "model",
    "tool",
    "greenroom",
    "imported",
    "legacy",
    "note",
    "eager",
    "compaction",
]
Mark: TypeAlias = Literal["", "queued", "recalled", "not sent", "absorbed"]

WRITTEN_BY_US = frozenset({"not_run", "unknown", "refused", "declined"})
"""Call states whose result greenroom wrote, not the tool (R90, R173, R175)."""

_BESIDE = frozenset({"legacy", "note", "eager", "compaction"})
"""Origins of what the platform says: in the transcript, and no message of the conversation."""


class TranscriptEntry(msgspec.Struct, frozen=True):
    """One entry of a transcript, marked by where it came from."""

    origin: Origin
    message: Message
    turn: TurnId | None = None
    id: MessageId | None = None
    ordinal: int | None = None
    picks: tuple[Pick, ...] = ()
    mark: Mark = ""
    by: By | None = None
    """Who sent a user message; None where nobody did: an answer, a result, what was imported."""
    at: int = 0
    reason: str = ""
    """Why a message was not sent."""
    contributor: str = ""
    """``id@version`` of who brought it, where a contributor did."""


class _Reader:
    """Walks records once, in order; a user message enters at its dispatch or hand-over (R51)."""

    def __init__(self, blob: Callable[[str], bytes | None] | None = None) -> None:
        self.blob = blob
        self.entries: list[TranscriptEntry] = []
        self.accepted: dict[MessageId, Accepted] = {}

    def take(self, record: AnyRecord) -> None:
        step = self._STEPS.get(type(record))
        if step is not None:
            step(self, record)

    def _accept(self, record: Accepted) -> None:
        self.accepted[record.message] = record

    def _ran(self, record: EagerRan) -> None:
        for body in (record.body, record.result.body):
            self._beside("eager", body, None, record.at, record.contributor)

    def _dispatch(self, record: Dispatched) -> None:
        self._notes(record.notes, record.turn, record.at)
        self._user(record.message, record.turn, record.ordinal, "")

    def _respond(self, record: Responded) -> None:
        self.entries.append(
            TranscriptEntry("model", decode_message(record.body), turn=record.turn, at=record.at)
        )

    def _return(self, record: Returned) -> None:
        self._results(record)
        self._notes(record.notes, record.turn, record.at)
        for steer in record.steers:
            self._user(steer.message, record.turn, steer.ordinal, "absorbed")

    def _not_sent(self, record: NotSent) -> None:
        self._user(record.message, record.turn, None, "not sent", record.reason)

    def _recall(self, record: Recalled) -> None:
        self._user(record.message, None, None, "recalled")

    def _compact(self, record: Compacted) -> None:
        shown = UserMessage(record.summary)
        self.entries.append(TranscriptEntry("compaction", shown, turn=record.turn, at=record.at))

    def _import(self, record: Imported) -> None:
        message = decode_message(record.body)
        self.entries.append(
            TranscriptEntry("imported", message, ordinal=record.ordinal, at=record.at)
        )

    def _legacy(self, record: LegacyContext) -> None:
        shown = UserMessage(record.snapshot.content)
        self.entries.append(TranscriptEntry("legacy", shown, at=record.snapshot.timestamp))

    def _user(
        self,
        message: MessageId,
        turn: TurnId | None,
        ordinal: int | None,
        mark: Mark,
        reason: str = "",
    ) -> None:
        accepted = self.accepted.get(message)
        if accepted is None:
            return
        if ordinal is not None or mark == "recalled":
            del self.accepted[message]
        self.entries.append(_entry_of(accepted, turn, ordinal, mark, reason))

    def _results(self, record: Returned | Asked | Ended) -> None:
        for result in record.results:
            origin: Origin = "greenroom" if result.state in WRITTEN_BY_US else "tool"
            self.entries.append(
                TranscriptEntry(origin, self._whole(result), turn=record.turn, at=record.at)
            )

    def _notes(self, notes: Sequence[PlatformNote], turn: TurnId, at: int) -> None:
        for each in notes:
            self._beside("note", each.body, turn, at, each.contributor)

    def _beside(
        self, origin: Origin, body: msgspec.Raw, turn: TurnId | None, at: int, contributor: str
    ) -> None:
        """What the platform or a contributor said: no message of the conversation."""
        message = decode_message(body)
        self.entries.append(
            TranscriptEntry(origin, message, turn=turn, at=at, contributor=contributor)
        )

    def _whole(self, result: CallResult) -> Message:
        """A result as the tool gave it, also where the model was sent its head only (R193)."""
        data = self.blob(result.object) if self.blob and result.object is not None else None
        if data is None:
            return decode_message(result.body)
        return ToolMessage(result.call, data.decode())

    _STEPS: ClassVar[Mapping[type, Callable[..., None]]] = {
        Accepted: _accept,
        EagerRan: _ran,
        Dispatched: _dispatch,
        Responded: _respond,
        Asked: _results,
        Returned: _return,
        Ended: _results,
        NotSent: _not_sent,
        Recalled: _recall,
        Compacted: _compact,
        Imported: _import,
        LegacyContext: _legacy,
    }
    """What each record adds; a record that is not here adds nothing."""

    def waiting(self) -> Iterable[TranscriptEntry]:
        not_sent = {entry.id for entry in self.entries if entry.mark == "not sent"}
        for accepted in self.accepted.values():
            if accepted.message not in not_sent:
                yield _entry_of(accepted, None, None, "queued")


def _entry_of(
    accepted: Accepted, turn: TurnId | None, ordinal: int | None, mark: Mark, reason: str = ""
) -> TranscriptEntry:
    return TranscriptEntry(
        "host" if accepted.by == "host" else "person",
        decode_message(accepted.body),
        turn=turn,
        id=accepted.message,
        ordinal=ordinal,
        picks=accepted.picks,
        mark=mark,
        by=accepted.by,
        at=accepted.at,
        reason=reason,
    )


def transcript_of(records: Iterable[AnyRecord]) -> list[TranscriptEntry]:
    """Everything a session was told and said, by origin; what still waits comes last (R98)."""
    reader = _Reader()
    for record in records:
        reader.take(record)
    return [*reader.entries, *reader.waiting()]


def originals_of(
    records: Iterable[AnyRecord], blob: Callable[[str], bytes | None] | None = None
) -> list[TranscriptEntry]:
    """The entries of the conversation: what was typed and received, and our own results (R1, R94).

    With ``blob``, which reads content by its hash, results that were cut for the model are whole.
    """
    reader = _Reader(blob)
    for record in records:
        reader.take(record)
    return [
        entry
        for entry in reader.entries
        if entry.origin not in _BESIDE and entry.mark not in ("not sent", "recalled")
    ]


def messages_of(
    records: Iterable[AnyRecord], blob: Callable[[str], bytes | None] | None = None
) -> tuple[Message, ...]:
    """The conversation as messages; see :func:`originals_of`."""
    return tuple(entry.message for entry in originals_of(records, blob))
