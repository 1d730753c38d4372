"""From stored records to what was sent: the conversation, and any request, to the byte (R196).

One pass in order over the records of a session; what it gives for a record is the same on every
try, since projection is a pure function of the message, its snapshot and the kept prompt (R34).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from greenroom.protocol.command import Submission
from greenroom.protocol.compaction import TurnStart, framed_summary
from greenroom.protocol.composition import Composition, decode_composition
from greenroom.protocol.errors import Missing, StoreDamaged
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
from greenroom.protocol.prompt_checkpoint import (
    KeptCheckpoint,
    SystemPromptCheckpoint,
    replay_text,
    whole,
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
    NotSent,
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

    Where a compaction comes, what it summarised gives way to the summary, framed; its later
    messages, and all that follow, are gathered like any others (R106, R108).

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
        self._runs = {run.id for run in runs_of(composition)}
        self._starts: dict[int, int] = {}
        """Where turns begin in ``chunks``, by the ordinals of their first user messages."""
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
                self._send(message, "eager", None)
        self.opening = len(self.chunks)
        """How many of ``chunks`` are the opening, which stands in front of any summary."""

    def _ran(self, record: EagerRan) -> None:
        """An eager run stands at the end of the opening, while its contributor is there (R113)."""
        if record.left_out or record.contributor.rpartition("@")[0] not in self._runs:
            return
        place, bodies = self.opening, (bytes(record.body), bytes(record.result.body))
        self.chunks[place:place] = bodies
        if self.sources is not None:
            self.sources[place:place] = [Source("eager")] * len(bodies)
        self.opening += len(bodies)
        self._starts = {o: start + len(bodies) for o, start in self._starts.items()}

    def take(self, records: Iterable[AnyRecord]) -> "Projector":
        """Gather what is sent of ``records``, which follow those that were taken before."""
        for record in records:
            kind = type(record)
            if self._imported and kind not in (Imported, LegacyContext):
                self._end_import()
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
    ) -> None:
        self.chunks.append(body)
        if self.sources is not None:
            self.sources.append(Source(origin, message, expansion))

    def _accept(self, record: Accepted) -> None:
        self._accepted[record.message] = record

    def _notes(self, notes: Iterable[PlatformNote]) -> None:
        for note in notes:
            self._send(bytes(note.body), "note", None)

    def _dispatch(self, record: Dispatched) -> None:
        self._starts[record.ordinal] = len(self.chunks)
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

    def _compact(self, record: Compacted) -> None:
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


_BEGUN: Final = (Dispatched, NotSent)
"""What a turn begins with, or is all of it."""


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A request of a turn, by where it is recorded."""

    turn: TurnId
    round: int
    index: int
    """The record with which it was committed."""
    digest: str
    composition: str
    """Digest of the composition under which it was sent."""


def sent_in(records: Iterable[AnyRecord]) -> list[Sent]:
    """The requests of all turns, in order; one that a compaction replaced is none (R210)."""
    sent: list[Sent] = []
    turn, round_, composition = 0, 0, ""
    for index, record in enumerate(records):
        match record:
            case Dispatched():
                turn, round_, composition = record.turn, 0, record.composition
            case Returned():
                round_ = record.round + 1
            case Compacted() if record.request:
                composition = record.composition
                if sent[-1].turn == turn and sent[-1].round == round_:
                    sent.pop()
            case _:
                continue
        if record.request:
            sent.append(Sent(turn, round_, index, record.request, composition))
    return sent


class SentRequest(msgspec.Struct, frozen=True):
    """A request that was sent, rebuilt from the store."""

    turn: TurnId
    """0: of no turn."""
    round: int
    request: ModelRequest
    recorded: str
    """The digest that was committed before it was sent."""
    rebuilt: str
    """The digest of what was rebuilt."""

    @property
    def is_exact(self) -> bool:
        """Whether the rebuilt bytes are those that were sent (R196)."""
        return self.recorded == self.rebuilt


def request_at(
    records: Sequence[AnyRecord],
    turn: TurnId,
    round_: int,
    blob: Callable[[str], bytes | None],
) -> SentRequest:
    """Rebuild the request of one round of one turn (``round_`` -1: the turn's last).

    Raises:
        Missing: the turn was not dispatched, or has no such round.
        StoreDamaged: the composition that it names is not in the store.
    """
    _check_dispatched(records, turn)
    of_turn = [one for one in sent_in(records) if one.turn == turn]
    try:
        sent = of_turn[round_]
    except IndexError:
        raise Missing(
            f"Turn {turn} has no request of round {round_}; it sent {len(of_turn)}.", turn=turn
        ) from None
    before = records[: sent.index + 1]
    composition = composition_from(sent.composition, blob)
    chunks = Projector(composition, composition.model).take(before).chunks
    request = ModelRequest(
        model=composition.model,
        system=replay_text(checkpoints_of(before, blob)),
        tools=composition.tools,
        messages=Messages(chunks, len(chunks)),
        parameters=composition.parameters,
    )
    return SentRequest(turn, sent.round, request, sent.digest, request_digest(request))


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


def checkpoints_of(
    records: Iterable[AnyRecord], blob: Callable[[str], bytes | None]
) -> list[SystemPromptCheckpoint]:
    """The prompt checkpoints of a session, oldest first: those of its turns' requests (R70).

    Raises:
        StoreDamaged: a composition that one names is not in the store.
    """
    found: list[SystemPromptCheckpoint] = []
    digest, texts = "", dict[str, str]()
    composition = ""
    for record in records:
        if isinstance(record, Dispatched | Compacted):
            composition = record.composition
        checkpoint = _checkpoint_of(record)
        if checkpoint is not None:
            if checkpoint.kept and digest != composition:
                digest, texts = composition, composition_from(composition, blob).texts
            found.append(whole(checkpoint, texts))
    return found


def _checkpoint_of(record: AnyRecord) -> KeptCheckpoint | None:
    if isinstance(record, Dispatched | Resumed):
        return record.checkpoint
    # A compaction before a dispatch sends no request of its turn: that has one of its own.
    return record.checkpoint if isinstance(record, Compacted) and record.request else None


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
