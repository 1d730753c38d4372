"""From stored records to what was sent: the conversation, and any request, to the byte (R196).

One pass in order over the records of a session; what it gives for a record is the same on every
try, since projection is a pure function of the message, its snapshot and the kept prompt (R34).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from greenroom.protocol.command import Submission
from greenroom.protocol.composition import Composition, decode_composition
from greenroom.protocol.errors import Missing, StoreDamaged
from greenroom.protocol.identity import MessageId, SessionId, TurnId
from greenroom.protocol.projection import (
    Origin,
    SkillExpansion,
    Source,
    expansion_of,
    legacy_message,
    project_assistant,
    project_user,
)
from greenroom.protocol.prompt_checkpoint import (
    NamedSections,
    SystemPromptCheckpoint,
    joined,
    replay,
)
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    Asked,
    Dispatched,
    Ended,
    Imported,
    LegacyContext,
    NotSent,
    Opened,
    PlatformNote,
    Responded,
    Resumed,
    Returned,
)
from greenroom.protocol.repair import repair
from greenroom.protocol.request import Messages, ModelRequest, request_digest
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.protocol.wording import wording_of


class Projector:
    """Walks stored records once, in order, and gathers what of them is sent.

    ``sources`` has the origin of each message, if it was asked for: a conversation that is read
    back has no use for it, and a thousand messages would take a third longer.
    """

    def __init__(self, composition: Composition, model: str, *, mapped: bool = False) -> None:
        self.chunks: list[bytes] = []
        self.sources: list[Source] | None = [] if mapped else None
        self._composition = composition
        self._model = model
        self._accepted: dict[MessageId, Accepted] = {}
        self._legacy: dict[int, list[LegacyContext]] = {}
        self._imported: list[Imported] = []
        """A run of imported messages, which are mended together (R48)."""
        self._place = -1
        self._turn: TurnId | None = None
        """The turn of the record that is taken, for the map."""

    def take(self, records: Iterable[AnyRecord]) -> "Projector":
        """Gather what is sent of ``records``, which follow those that were taken before."""
        for record in records:
            kind = type(record)
            if self._imported and kind not in (Imported, LegacyContext):
                self._end_import()
            if self.sources is not None:
                self._turn = getattr(record, "turn", None)
            step = self._STEPS.get(kind)
            if step is not None:
                step(self, record)
        if self._imported:
            self._end_import()
        return self

    def _add(self, body: bytes, expansion: SkillExpansion | None = None) -> None:
        """One message of the conversation; without a body it is left out of the request."""
        self._place += 1
        if body:
            self._send(body, "history", self._place, expansion)

    def _send(
        self,
        body: bytes,
        origin: Origin,
        message: int | None,
        expansion: SkillExpansion | None = None,
        contributor: str = "",
    ) -> None:
        self.chunks.append(body)
        if self.sources is not None:
            self.sources.append(Source(origin, message, expansion, self._turn, contributor))

    def _accept(self, record: Accepted) -> None:
        self._accepted[record.message] = record

    def _notes(self, notes: Iterable[PlatformNote]) -> None:
        for note in notes:
            self._send(bytes(note.body), "note", None, contributor=note.contributor)

    def _dispatch(self, record: Dispatched) -> None:
        if record.notes:
            self._notes(record.notes)
        self._user(record.message, record.ordinal, record.snapshot)

    def _user(
        self, message: MessageId, ordinal: int, snapshot: RuntimeContextSnapshot | None
    ) -> None:
        accepted, composition = self._accepted.pop(message), self._composition
        body = bytes(accepted.body)
        if snapshot is None:
            self._add(body)
        else:
            shown = project_user(body, snapshot, accepted.picks, composition)
            self._add(shown, expansion_of(snapshot, composition))
        if self._legacy:
            self._legacy_at(ordinal)

    def _respond(self, record: Responded) -> None:
        self._add(project_assistant(bytes(record.body), self._model))

    def _return(self, record: Returned) -> None:
        for result in record.results:
            self._add(bytes(result.body))
        if record.notes:
            self._notes(record.notes)
        for steer in record.steers:
            self._user(steer.message, steer.ordinal, None)

    def _end(self, record: Ended | Asked) -> None:
        for result in record.results:
            self._add(bytes(result.body))

    def _import(self, record: Imported) -> None:
        self._imported.append(record)

    def _end_import(self) -> None:
        """A history that came from elsewhere, as it can be sent (R48)."""
        history, self._imported = self._imported, []
        before = self._place + 1
        self._place += len(history)
        wording = wording_of(self._composition.wording)
        for body, source in zip(*repair([bytes(r.body) for r in history], wording), strict=True):
            message, ordinal = source.message, None
            if message is not None:
                ordinal = history[message].ordinal
                message += before
            sent = project_assistant(body, self._model)
            if sent:
                self._send(sent, source.origin, message)
            self._legacy_at(ordinal)
        for record in history:
            # What was anchored to a message that is left out.
            self._legacy_at(record.ordinal)

    def _anchor(self, record: LegacyContext) -> None:
        self._legacy.setdefault(record.snapshot.user_turn, []).append(record)

    def _legacy_at(self, ordinal: int | None) -> None:
        for record in self._legacy.pop(ordinal, ()) if ordinal is not None else ():
            self._send(legacy_message(record.snapshot), "legacy_context", None)

    _STEPS: ClassVar[Mapping[type, Callable[..., None]]] = {
        Accepted: _accept,
        Dispatched: _dispatch,
        Responded: _respond,
        Returned: _return,
        Asked: _end,
        Ended: _end,
        Imported: _import,
        LegacyContext: _anchor,
    }
    """What each record adds; a record that is not here adds nothing."""


_BEGUN: Final = (Dispatched, NotSent)
"""What a turn begins with, or is all of it."""


class SentRequest(msgspec.Struct, frozen=True):
    """A request that was sent, rebuilt from the store."""

    turn: TurnId
    round: int
    request: ModelRequest
    recorded: str
    """The digest that was committed before it was sent."""
    rebuilt: str
    """The digest of what was rebuilt."""
    composition: Composition
    """The kept prompt; like all that follows, what the bytes were made of and not what was sent."""
    sections: NamedSections
    """Of the system string, in order."""
    sources: tuple[Source, ...]
    """The origin of each message (R45)."""
    preset: str
    """The one whose permissions it tells."""
    agent: str = ""
    person: str | None = None
    """The sender of the turn's message; None: nobody's part of the prompt is sent (R137)."""
    session: SessionId | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the rebuilt bytes are those that were sent (R196)."""
        return self.recorded == self.rebuilt


def request_at(
    records: Sequence[AnyRecord],
    turn: TurnId,
    round_: int,
    blob: Callable[[str], bytes | None],
    session: SessionId | None = None,
) -> SentRequest:
    """Rebuild the request of one round of one turn (``round_`` -1: the turn's last).

    Args:
        records: all of a session, from its first.
        turn: the turn's number.
        round_: the round's number, 0 is the first.
        blob: reads content by its hash.
        session: whose records they are; it is only passed on.

    Raises:
        Missing: the turn was not dispatched, or has no such round.
        StoreDamaged: the composition that it names is not in the store.
    """
    _check_dispatched(records, turn)
    places = [
        (index, record.request)
        for index, record in enumerate(records)
        if isinstance(record, Dispatched | Returned) and record.turn == turn
    ]
    try:
        index, recorded = places[round_]
    except IndexError:
        raise Missing(
            f"Turn {turn} has no request of round {round_}; it sent {len(places)}.", turn=turn
        ) from None
    before = records[: index + 1]
    start = next(r for r in before if isinstance(r, Dispatched) and r.turn == turn)
    composition = composition_from(start.composition, blob)
    projector = Projector(composition, start.model, mapped=True).take(before)
    sections, chunks = replay(checkpoints_of(before)), projector.chunks
    request = ModelRequest(
        model=start.model,
        system=joined(sections),
        tools=composition.tools,
        messages=Messages(chunks, len(chunks)),
        parameters=composition.parameters,
    )
    first = records[0]
    return SentRequest(
        turn,
        round_ if round_ >= 0 else len(places) + round_,
        request,
        recorded,
        request_digest(request),
        composition,
        sections,
        tuple(projector.sources or ()),
        _preset_of(start, before),
        first.agent if isinstance(first, Opened) else "",
        _person_of(start, before),
        session,
    )


def _preset_of(start: Dispatched, records: Iterable[AnyRecord]) -> str:
    """The preset in force: a turn that was parked commits to one anew (R157)."""
    preset = start.preset
    for record in records:
        if isinstance(record, Resumed) and record.turn == start.turn:
            preset = record.preset
    return preset


def _person_of(start: Dispatched, records: Iterable[AnyRecord]) -> str | None:
    """The sender of the turn's message."""
    accepted = (r for r in records if isinstance(r, Accepted) and r.message == start.message)
    return next((record.person for record in accepted), None)


def _check_dispatched(records: Iterable[AnyRecord], turn: TurnId) -> None:
    """Refuse a turn that sent nothing, and say which did."""
    begun = {r.turn: isinstance(r, Dispatched) for r in records if isinstance(r, _BEGUN)}
    if turn not in begun:
        there = {0: "there is none yet", 1: "there is 1"}.get(
            len(begun), f"there are {len(begun):,}"
        )
        raise Missing(f"There is no turn {turn:,} in this session; {there}.", turn=turn)
    if not begun[turn]:
        raise Missing(f"Turn {turn:,} ended before it sent a request.", turn=turn)


def composition_from(digest: str, blob: Callable[[str], bytes | None]) -> Composition:
    """Read a kept composition. Raises :class:`StoreDamaged` if the store does not hold it."""
    data = blob(digest)
    if data is None:
        raise StoreDamaged(f"The kept prompt {digest[:12]} is not in the store.", digest=digest)
    return decode_composition(data)


def checkpoints_of(records: Iterable[AnyRecord]) -> list[SystemPromptCheckpoint]:
    """The prompt checkpoints of a session, oldest first."""
    return [
        record.checkpoint
        for record in records
        if isinstance(record, Dispatched | Resumed) and record.checkpoint is not None
    ]


def submission_of(record: Accepted) -> Submission:
    """A stored acceptance as the submission that it was."""
    return Submission(
        message=record.message,
        body=bytes(record.body),
        picks=record.picks,
        when="queue" if record.waits else "steer",
        by=record.by,
        person=record.person,
        key=record.key,
    )
