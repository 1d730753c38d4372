"""What a session has accepted and not yet seen on disk: sealed commits, in order.

A boundary seals what is pending into one ``Commit``. A sealed commit is kept apart until it is
known to be written, and is sent again only unchanged; so a flush repeats no tool and no model call,
and nothing is written twice (R84, R85). Plain and synchronous.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypedDict

import attrs
import msgspec

from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import SessionLost, StoreFailed
from greenroom.protocol.header import Header
from greenroom.protocol.quota import Charge
from greenroom.protocol.record import AnyRecord
from greenroom.store.contract import Commit, Committed, Failed, KeyEntry, Known, Store, Stored

Obstacle: TypeAlias = StoreFailed | SessionLost | Known
"""What may keep a boundary from being written; ``Known``: its message's key was used before."""


Change: TypeAlias = Callable[[Header], tuple[AnyRecord, Header]]
"""What a commit beside a turn writes, made of the header as it stands then: pure."""


class Held(TypedDict, total=False):
    """What a commit holds besides records and header; see :class:`Commit`."""

    consumed: tuple[int, ...]
    keys: tuple[KeyEntry, ...]
    blobs: Mapping[str, bytes]
    terms: frozenset[tuple[str, str]] | None
    charges: tuple[Charge, ...]
    entry: bytes | None


class Sealed(msgspec.Struct, frozen=True, gc=False):
    """One boundary: the commit as it is offered, and what it means once it is written."""

    commit: Commit
    records: tuple[AnyRecord, ...]
    header: Header


class Saving(Slot[Obstacle | None]):
    """A boundary on its way to disk; filled with what kept it from getting there, or None."""

    __slots__ = ("_then", "change", "sealed")
    sealed: Sealed

    def __init__(
        self,
        then: Callable[[Sealed, Obstacle | None], None] | None,
        change: Change | None = None,
    ) -> None:
        super().__init__()
        self._then = then
        self.change = change

    def fill(self, obstacle: Obstacle | None) -> None:
        """The verdict is there."""
        if self._then is None:
            self.put(obstacle)
        else:
            self._then(self.sealed, obstacle)


@attrs.define(eq=False, slots=True)
class Behind:
    """A boundary that waits for what is on its way to disk before it (R91)."""

    saving: Saving
    _seal: Callable[[Header | None], Sealed]
    _header: Header | None
    """As it was made of the header that stood then; None: it leaves the header as it is."""

    def changed(self, change: Change) -> None:
        """What was written before it meanwhile is not overwritten by it."""
        if self._header is not None:
            _, self._header = change(self._header)

    def seal(self) -> Saving:
        """It is next."""
        self.saving.sealed = self._seal(self._header)
        return self.saving


@attrs.define(eq=False, slots=True)
class Pending:
    """The sealed commits of one session that are not known to be written, oldest first."""

    _line: deque[Sealed] | None = None

    def __bool__(self) -> bool:
        return bool(self._line)

    def __len__(self) -> int:
        return len(self._line) if self._line else 0

    @property
    def first(self) -> Sealed:
        """The one that has to be written next."""
        assert self._line, "asked for what is pending where nothing is"
        return self._line[0]

    @property
    def last(self) -> Sealed:
        """The newest one."""
        assert self._line, "asked for what is pending where nothing is"
        return self._line[-1]

    def keep(self, sealed: Sealed) -> None:
        """A commit that could not be written, or that follows one that could not."""
        if self._line is None:
            self._line = deque()
        self._line.append(sealed)

    def written(self) -> Sealed:
        """The first one is on disk."""
        assert self._line, "nothing was pending"
        sealed = self._line.popleft()
        if not self._line:
            self._line = None
        return sealed

    def drop(self) -> tuple[Sealed, ...]:
        """Give everything up, and say what it was (R207, R208)."""
        lost = tuple(self._line or ())
        self._line = None
        return lost

    def blob(self, digest: str) -> bytes | None:
        """Content that would be stored with it."""
        for sealed in self._line or ():
            if digest in sealed.commit.blobs:
                return sealed.commit.blobs[digest]
        return None

    def records(self) -> Iterable[AnyRecord]:
        """What would be read back if all of it were written (R53, R84)."""
        return [record for sealed in self._line or () for record in sealed.records]


def read_back(store: Store, sealed: Sealed, verdict: Failed, after: int) -> Failed | Committed:
    """Where the outcome of a commit is not known, what is stored decides (R85).

    ``after`` is the newest entry of the session that was known before: the commit is one behind it.
    """
    if not verdict.unknown:
        return verdict
    commit = sealed.commit
    try:
        stored = store.look(commit.session)
        entries = store.read(commit.session, after=after)
    except StoreFailed:
        return verdict
    if (
        isinstance(stored, Stored)
        and stored.epoch == commit.epoch
        and stored.head == commit.expect_head + 1
    ):
        for entry in entries:
            if entry.records == commit.records:
                return Committed(stored.head, entry.number)
    return verdict


def raised(obstacle: Obstacle) -> StoreFailed | SessionLost:
    """The obstacle of a commit that accepts no message, as an error."""
    if isinstance(obstacle, Known):
        return StoreFailed("The store took a commit without a key for a repeated message.")
    return obstacle
