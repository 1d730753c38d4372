"""Events and live text of one session, for any number of readers.

Readers share one short ring of the newest commits and one text in progress; each holds only where
it stands. A reader that falls behind the ring, joins late or comes again reads on from the store,
so no reader slows a turn, costs memory of its own, or loses anything (R186, R221). Events are made
from records when a reader asks, never before: a session without readers makes none.

A reader is an iterator object and no generator, so leaving its loop half way is always safe (P179).
"""

import logging
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Self, TypeAlias

import attrs
import trio

from greenroom.actors.loop import check_loop
from greenroom.actors.waiting import Bell
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import StoreClosed, StoreDamaged
from greenroom.protocol.event import Event, Replied, TextDelta, ToolProgress
from greenroom.protocol.identity import SessionId, TurnId
from greenroom.protocol.receipt import Cursor
from greenroom.protocol.record import AnyRecord
from greenroom.protocol.telling import events_of
from greenroom.store.contract import Store

_log: Final = logging.getLogger("greenroom")
RING_COMMITS: Final = 64
"""Commits that readers find in memory; older ones are read from the store."""
PROGRESS_MAX: Final = 32
"""Words of running tools that wait for slow readers; older ones are dropped, since they are old."""
EVENTS_BETWEEN_CHECKPOINTS: Final = 32
"""A reader with much to read lets others run this often."""

Told: TypeAlias = tuple[int, Sequence[AnyRecord] | bytes]
"""A commit by its number: its records, decoded or as they are stored."""


class LiveText:
    """The text of the model call in progress."""

    __slots__ = ("_bell", "_pieces", "_text", "block", "turn")

    def __init__(self, turn: TurnId, block: int, bell: Bell | None) -> None:
        self.turn = turn
        self.block = block
        self._bell = bell
        self._text = ""
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        """Take the next piece; joined only when somebody reads."""
        self._pieces.append(piece)
        if self._bell is not None:
            self._bell.ring()

    def read_by(self, bell: Bell) -> None:
        """The first reader came while it runs."""
        self._bell = bell

    @property
    def text(self) -> str:
        """All of it so far."""
        if self._pieces:
            self._text += "".join(self._pieces)
            self._pieces.clear()
        return self._text


@attrs.define(eq=False, slots=True, weakref_slot=True)
class Subscribers:
    """What the readers of one session share; it lives as long as one of them does."""

    session: SessionId
    store: Store
    ring_after: int
    """The ring holds every commit of the session with a number above this."""
    live: LiveText | None = None
    bell: Bell = attrs.field(factory=Bell)
    """Closed when the session or the host ends: what is there can be read, no more will come."""
    progress: deque[ToolProgress] = attrs.field(factory=lambda: deque(maxlen=PROGRESS_MAX))
    """What running tools said last, for those who read now."""
    progressed: int = 0
    """How often they said something."""
    newest: int = 0
    """The newest commit that was published."""
    _ring: deque[tuple[int, Sequence[AnyRecord]]] = attrs.field(factory=deque)

    def publish(self, number: int, records: Sequence[AnyRecord]) -> None:
        """A commit is durable: wake the readers."""
        self.newest = number
        self._ring.append((number, records))
        if len(self._ring) > RING_COMMITS:
            self.ring_after = self._ring.popleft()[0]
        # What was said before the commit is old for whoever has not read it by now.
        self.progress.clear()
        self.bell.ring()

    def tell_progress(self, progress: ToolProgress) -> None:
        """A running tool says how far it is."""
        self.progress.append(progress)
        self.progressed += 1
        self.bell.ring()

    def close(self) -> None:
        """Nothing more will come."""
        self.bell.close()

    def after(self, number: int) -> Iterable[Told]:
        """The commits above ``number``: from the ring, or from the store for one that is behind.

        Those from the store are still encoded, so that a long way behind is not read at once.
        """
        if number >= self.ring_after:
            return self._newer(number)
        entries = self.store.read(self.session, after=number)
        return [(entry.number, entry.records) for entry in entries]

    def _newer(self, number: int) -> list[Told]:
        """From the ring's new end, since that is where a reader who keeps up stands."""
        found: list[Told] = []
        for item in reversed(self._ring):
            if item[0] <= number:
                break
            found.append(item)
        found.reverse()
        return found


class Events:
    """One reader of a session: ``async for event in session.events(after=cursor)``."""

    __slots__ = (
        "_block",
        "_coming",
        "_given",
        "_progressed",
        "_read",
        "_ready",
        "_since",
        "_start",
        "_subscribers",
        "_turn",
    )

    def __init__(self, subscribers: Subscribers, after: Cursor | None) -> None:
        self._subscribers = subscribers
        self._since = after.number if after else 0
        self._start = after
        self._coming: deque[Told] = deque()
        self._ready: deque[Event | TextDelta | ToolProgress] = deque()
        self._turn: TurnId = 0
        self._block = -1
        self._read = 0
        self._given = 0
        self._progressed = subscribers.progressed
        self._resume_inside()
        # What is stored already is not in the ring; from here on the ring has what comes.
        self._gather()

    def __aiter__(self) -> Self:
        check_loop()
        return self

    async def __anext__(self) -> Event | TextDelta | ToolProgress:
        shared = self._subscribers
        while not self._ready:
            if not self._coming and self._since < shared.newest:
                self._gather_newer()
            if self._coming:
                self._tell(*self._coming.popleft())
                continue
            if shared.live is not None:
                self._text(shared.live.turn, shared.live.block, shared.live.text)
            if self._progressed < shared.progressed:
                self._progress(shared)
            if not self._ready:
                if shared.bell.closed:
                    raise StopAsyncIteration
                await shared.bell.wait()
        self._given += 1
        if self._given % EVENTS_BETWEEN_CHECKPOINTS == 0:
            await trio.lowlevel.checkpoint()
        return self._ready.popleft()

    def _resume_inside(self) -> None:
        """A cursor may stand inside a commit: the rest of that commit comes first."""
        start = self._start
        if start is None:
            return
        entry = self._subscribers.store.entry(start.number)
        if entry is None or entry.session != self._subscribers.session:
            return
        events = events_of(
            entry.session, start.incarnation, entry.number, decode_records(entry.records)
        )
        self._ready.extend(event for event in events if event.cursor > start)

    def _gather_newer(self) -> None:
        try:
            self._gather()
        except StoreClosed:
            # The host ended while this reader was far behind: he can come again with his cursor.
            if not self._subscribers.bell.closed:
                raise

    def _gather(self) -> None:
        self._coming.extend(self._subscribers.after(self._since))
        if self._coming:
            self._since = self._coming[-1][0]

    def _tell(self, number: int, told: Sequence[AnyRecord] | bytes) -> None:
        """Make the events of one commit, each answer's unread text before them."""
        shared = self._subscribers
        records = decode_records(told) if isinstance(told, bytes) else told
        for event in events_of(shared.session, shared.store.incarnation, number, records):
            if type(event) is Replied:
                self._text(event.turn, event.block, event.text)
            self._ready.append(event)

    def _progress(self, shared: Subscribers) -> None:
        missed = min(shared.progressed - self._progressed, len(shared.progress))
        self._ready.extend(list(shared.progress)[len(shared.progress) - missed :])
        self._progressed = shared.progressed

    def _text(self, turn: TurnId, block: int, text: str) -> None:
        if (turn, block) != (self._turn, self._block):
            self._turn, self._block, self._read = turn, block, 0
        if len(text) > self._read:
            self._ready.append(TextDelta(turn, block, self._read, text[self._read :]))
            self._read = len(text)


class Feed:
    """Every numbered event of a scope, in store order, also of sessions never activated (R222)."""

    __slots__ = ("_bell", "_ready", "_since", "_start", "_store", "_tenant")

    def __init__(self, store: Store, bell: Bell, tenant: str | None, after: Cursor | None) -> None:
        self._store = store
        self._bell = bell
        self._tenant = tenant
        self._since = after.number - 1 if after else 0
        self._start = after
        self._ready: deque[Event] = deque()

    def __aiter__(self) -> Self:
        check_loop()
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            if self._has_more():
                await trio.lowlevel.checkpoint()
            elif self._bell.closed:
                raise StopAsyncIteration
            else:
                await self._bell.wait()
        return self._ready.popleft()

    def _has_more(self) -> bool:
        try:
            return self._take()
        except StoreClosed:
            if self._bell.closed:
                return False
            raise

    def _take(self) -> bool:
        entries = self._store.feed(max(self._since, 0), limit=EVENTS_BETWEEN_CHECKPOINTS)
        for entry in entries:
            self._since = entry.number
            if self._tenant is not None and entry.session.tenant != self._tenant:
                continue
            try:
                records = decode_records(entry.records)
            except StoreDamaged as error:
                # One damaged session hides no other (R92); whoever opens it is told.
                _log.error("The feed leaves out commit %s: %s", entry.number, error.sentence)
                continue
            events = events_of(entry.session, self._store.incarnation, entry.number, records)
            start = self._start
            self._ready.extend(e for e in events if start is None or e.cursor > start)
        return bool(entries)
