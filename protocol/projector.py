"""From stored records to the messages that are sent, one pass in order.

What it gives for a record is the same on every try, since projection is a pure function of the
message, its snapshot and the kept prompt (R34).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, NamedTuple

from msgspec import structs

from greenroom.protocol.command import Pick
from greenroom.protocol.compaction import TurnStart, framed_summary
from greenroom.protocol.composition import Composition
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.opening import opening_note, runs_of
from greenroom.protocol.projection import (
    Origin,
    SkillExpansion,
    Source,
    expansion_of,
    legacy_message,
    project_assistant,
    project_user,
)
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
    Responded,
    Returned,
)
from greenroom.protocol.record_parts import PlatformNote
from greenroom.protocol.repair import repair
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.protocol.wording import wording_of


class Pinned(NamedTuple):
    """A message of a person with a snapshot, as it is stored."""

    body: bytes
    snapshot: RuntimeContextSnapshot
    picks: tuple[Pick, ...]
    behind: int
    """How many notes stand between where its turn begins and itself."""


class Projector:
    """Walks stored records once, in order, and gathers what of them is sent.

    Where a compaction comes, what it summarised gives way to the summary, framed; its later
    messages, and all that follow, are gathered like any others (R106, R108). Where revisions of
    skills are withdrawn, the messages that were gathered already are shown without them (R159).

    ``sources`` has the origin of each message, if it was asked for: a conversation that is read
    back has no use for it, and a thousand messages would take a third longer.
    """

    def __init__(self, composition: Composition, model: str, *, mapped: bool = False) -> None:
        self.chunks: list[bytes] = []
        self.sources: list[Source] | None = [] if mapped else None
        self.begins_with_summary = False
        """What was compacted before stands in ``chunks`` as one summary."""
        self._composition = composition
        self._model = model
        self._accepted: dict[MessageId, Accepted] = {}
        self._legacy: dict[int, list[LegacyContext]] = {}
        self._imported: list[Imported] = []
        """A run of imported messages, which are mended together (R48)."""
        self._place = -1
        self._turn: TurnId | None = None
        """The turn of the record that is taken, for the map."""
        self._runs = {run.id for run in runs_of(composition)}
        self._starts: dict[int, int] = {}
        """Where turns begin in ``chunks``, by the ordinals of their first user messages."""
        self._withdrawn: frozenset[str] = frozenset()
        self._pinned: dict[int, Pinned] = {}
        """The messages with snapshots, by their ordinals."""
        self._open(composition)

    @property
    def starts(self) -> list[TurnStart]:
        """Where the turns begin that stand whole in ``chunks``, oldest first."""
        return [TurnStart(ordinal, place) for ordinal, place in self._starts.items()]

    def place_of(self, ordinal: int) -> int:
        """Where the turn begins whose first user message has that ordinal, or would begin."""
        later = (place for start, place in self._starts.items() if start >= ordinal)
        return next(later, len(self.chunks))

    def _open(self, composition: Composition) -> None:
        """What every conversation of the composition opens with (R214)."""
        note = opening_note(composition)
        if note:
            self._send(note, "note", None)
        for loaded in composition.loaded:
            for message in loaded.messages:
                self._send(message, "eager", None, contributor=loaded.contributor)
        self.opening = len(self.chunks)
        """How many of ``chunks`` are the opening, which stands in front of any summary."""

    def _ran(self, record: EagerRan) -> None:
        """An eager run stands at the end of the opening, while its contributor is there (R113)."""
        if record.left_out or record.contributor.rpartition("@")[0] not in self._runs:
            return
        place, bodies = self.opening, (bytes(record.body), bytes(record.result.body))
        self.chunks[place:place] = bodies
        if self.sources is not None:
            self.sources[place:place] = [Source("eager", contributor=record.contributor)] * len(
                bodies
            )
        self.opening += len(bodies)
        self._starts = {o: start + len(bodies) for o, start in self._starts.items()}

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
        if record.withdrawn:
            self.withdraw(record.withdrawn)
        self._starts[record.ordinal] = len(self.chunks)
        if record.notes:
            self._notes(record.notes)
        self._user(record.message, record.ordinal, record.snapshot)

    def withdraw(self, revisions: Iterable[str]) -> None:
        """From here on nothing of these revisions is shown; also not where it was before (R159)."""
        self._withdrawn |= frozenset(revisions)
        for ordinal, pinned in self._pinned.items():
            start = self._starts.get(ordinal)
            if start is not None:
                place = start + pinned.behind
                self.chunks[place], expansion = self._shown(pinned)
                if self.sources is not None:
                    told = self.sources[place]
                    self.sources[place] = structs.replace(told, expansion=expansion)

    def _shown(self, pinned: "Pinned") -> tuple[bytes, SkillExpansion | None]:
        snapshot, composition, gone = pinned.snapshot, self._composition, self._withdrawn
        body = project_user(pinned.body, snapshot, pinned.picks, composition, gone)
        return body, expansion_of(snapshot, composition, gone)

    def _user(
        self, message: MessageId, ordinal: int, snapshot: RuntimeContextSnapshot | None
    ) -> None:
        accepted = self._accepted.pop(message)
        body = bytes(accepted.body)
        if snapshot is None:
            self._add(body)
        else:
            behind = len(self.chunks) - self._starts[ordinal]
            pinned = self._pinned[ordinal] = Pinned(body, snapshot, accepted.picks, behind)
            self._add(*self._shown(pinned))
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

    def _compact(self, record: Compacted) -> None:
        if record.withdrawn:
            self.withdraw(record.withdrawn)
        first, cut = self.opening, self.place_of(record.before)
        wording = wording_of(self._composition.wording)
        self.chunks[first:cut] = [framed_summary(record.summary, wording)]
        self.begins_with_summary = True
        if self.sources is not None:
            self.sources[first:cut] = [Source("compaction")]
        moved = first + 1 - cut
        self._starts = {o: place + moved for o, place in self._starts.items() if place >= cut}

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
                if ordinal is not None:
                    self._starts[ordinal] = len(self.chunks)
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
        EagerRan: _ran,
        Dispatched: _dispatch,
        Responded: _respond,
        Returned: _return,
        Asked: _end,
        Compacted: _compact,
        Ended: _end,
        Imported: _import,
        LegacyContext: _anchor,
    }
    """What each record adds; a record that is not here adds nothing."""
