"""The contract that every store has: operations offered, verdicts delivered, reads that are short.

A write is *offered*: ``store.offer(operation, then)`` returns at once, and ``then(verdict)`` is
called exactly once, in the event loop, in the order in which the store applied the operations,
before any task that waits for it wakes, and also when the caller has left. Many offers share one
transaction and each fails alone. A ``Committed``, ``Queued``, ``Created`` or ``Claimed`` verdict
means durable. ``then`` is never called inside ``offer``.

Reads are synchronous and short: they copy their bytes and hold nothing open afterwards.

Order is the store's: ``number`` counts commits over the whole store, ``head`` counts the commits of
one session by its claims. The *epoch* of a session rises with each claim, so whatever a former
holder still offers is fenced. An enqueue needs no epoch.

Tenant and key of a session are any text; a store never lets one session's key reach another's
range. Another tenant's session answers exactly as one that does not exist (R218).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeAlias, overload

import msgspec

from greenroom.protocol.errors import StoreFailed
from greenroom.protocol.identity import SessionId
from greenroom.protocol.quota import Charge, Spent
from greenroom.store.figures import Space, StoreStatistics

# --- operations: what may be offered -----------------------------------------------------------


class KeyEntry(msgspec.Struct, frozen=True, gc=False):
    """An idempotency key that a commit or an enqueue registers."""

    key: str
    digest: bytes
    """Of the content, so that the same key with other content is told apart (R177)."""


class Copied(msgspec.Struct, frozen=True, gc=False):
    """A commit that a session comes with: part of its history, and no news in the feed."""

    records: bytes
    keys: tuple[KeyEntry, ...] = ()


class Create(msgspec.Struct, frozen=True, gc=False):
    """Make a session, once, however many ask."""

    session: SessionId
    header: bytes
    records: bytes
    """Its first records, encoded."""
    terms: frozenset[tuple[str, str]] = frozenset()
    """(kind, value) pairs under which ``find`` answers it."""
    behind: tuple[Copied, ...] = ()
    """Commits that it comes with behind the first, oldest first (R191)."""
    blobs: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    """Content by SHA-256 that they name, as in a commit."""


class Claim(msgspec.Struct, frozen=True, gc=False):
    """Take a session for the life of an actor: its epoch rises in the transaction that reads it."""

    session: SessionId


class Enqueue(msgspec.Struct, frozen=True, gc=False):
    """Make a message durable behind the session's queue (``front``: before it). No epoch needed."""

    session: SessionId
    records: bytes
    """One ``Accepted`` record, encoded in a list."""
    key: KeyEntry | None = None
    front: bool = False
    queue_max: int = 1_000
    blobs: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    """Content by SHA-256 that the message names, as in a commit."""


class Commit(msgspec.Struct, frozen=True, gc=False):
    """One atomic step of a session: all of it or nothing."""

    session: SessionId
    epoch: int
    expect_head: int
    """The head before it; the commit makes it one more."""
    records: bytes
    header: bytes | None = None
    """None leaves the header as it stands."""
    consumed: tuple[int, ...] = ()
    """Queue entries (their ``seq``) that leave the queue with it."""
    keys: tuple[KeyEntry, ...] = ()
    """Keys of messages that it accepts itself (an idle session: accepted and dispatched in one)."""
    blobs: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    """Content by SHA-256 (hexadecimal): stored once, held by the sessions that named it."""
    holds: frozenset[str] = frozenset()
    """Digests that this session holds from here on besides those in ``blobs``."""
    terms: frozenset[tuple[str, str]] | None = None
    """Replaces the session's ``find`` terms; None leaves them."""
    charges: tuple[Charge, ...] = ()
    """What it adds to the counts of its tenant (R233)."""
    entry: bytes | None = None
    """Entered in the journal with it, where somebody intervened (R242)."""


class Release(msgspec.Struct, frozen=True, gc=False):
    """Give a claim back. Nothing depends on it: the next claim fences the former holder anyway."""

    session: SessionId
    epoch: int


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Remove a session and all that only it holds; a tombstone refuses late writes (R192)."""

    session: SessionId
    records: bytes
    """One ``Deleted`` record: what the feed keeps of it."""


class ForkFrom(msgspec.Struct, frozen=True, gc=False):
    """Make ``session`` from the records of ``parent`` up to commit ``number``, inclusive (R191)."""

    session: SessionId
    parent: SessionId
    number: int
    header: bytes
    records: bytes
    terms: frozenset[tuple[str, str]] = frozenset()


class Standing(msgspec.Struct, frozen=True, gc=False):
    """Something that stands in the store as a whole, under a kind and a key."""

    kind: str
    key: str
    value: bytes | None
    """In an operation None removes it."""


class Enter(msgspec.Struct, frozen=True, gc=False):
    """Enter something in the journal, with what stands from then on: of no session (R242).

    Where something is to be removed that does not stand, nothing is written (``Absent``).
    """

    entry: bytes
    standing: tuple[Standing, ...] = ()


Operation: TypeAlias = Create | Claim | Enqueue | Commit | Release | Delete | ForkFrom | Enter

# --- verdicts: what became of them --------------------------------------------------------------


class Created(msgspec.Struct, frozen=True, gc=False):
    """The session is new and durable; ``number`` is its newest commit."""

    number: int


class Exists(msgspec.Struct, frozen=True, gc=False):
    """It was there already; ``header`` as it stands."""

    header: bytes


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """The session is held under ``epoch``."""

    epoch: int
    head: int
    header: bytes
    number: int
    """The session's last commit."""
    stalled: int
    """Claims since its last commit, this one left out: attempts counted at no cost."""


class Committed(msgspec.Struct, frozen=True, gc=False):
    """All of it is durable."""

    head: int
    number: int
    """Its place in the store's order; the cursor of its events."""


class Queued(msgspec.Struct, frozen=True, gc=False):
    """The message is durable, as entry ``seq`` of the session's queue."""

    seq: int
    number: int


class Known(msgspec.Struct, frozen=True, gc=False):
    """The key was used before, by the message accepted in commit ``number``."""

    number: int
    digest: bytes


class Done(msgspec.Struct, frozen=True, gc=False):
    """A release, delete or fork was done, or something was entered in the journal."""

    number: int = 0
    """Its place in the order, or in the journal; 0: none."""


class Fenced(msgspec.Struct, frozen=True, gc=False):
    """Somebody else claimed the session since: nothing was written."""

    epoch: int


class HeadMismatch(msgspec.Struct, frozen=True, gc=False):
    """The session stands at another head: nothing was written."""

    head: int


class QueueIsFull(msgspec.Struct, frozen=True, gc=False):
    """The session's queue holds as many as its bound allows: nothing was written."""

    length: int


class Gone(msgspec.Struct, frozen=True, gc=False):
    """The session was deleted: nothing was written."""


class Absent(msgspec.Struct, frozen=True, gc=False):
    """There is no such session: nothing was written."""


class Failed(msgspec.Struct, frozen=True):
    """The machine failed. ``unknown``: it may be written all the same, so read before repeating."""

    error: StoreFailed
    unknown: bool = False


CreateVerdict: TypeAlias = Created | Exists | Gone | Failed
ClaimVerdict: TypeAlias = Claimed | Gone | Absent | Failed
EnqueueVerdict: TypeAlias = Queued | Known | QueueIsFull | Gone | Absent | Failed
CommitVerdict: TypeAlias = Committed | Fenced | HeadMismatch | Known | Gone | Absent | Failed
OtherVerdict: TypeAlias = Done | Fenced | Exists | Gone | Absent | Failed
Verdict: TypeAlias = CreateVerdict | ClaimVerdict | EnqueueVerdict | CommitVerdict | OtherVerdict

# --- what reads answer ---------------------------------------------------------------------------


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A session as it stands in the store."""

    session: SessionId
    epoch: int
    head: int
    number: int
    """Its last commit."""
    header: bytes
    queued: int
    """Messages waiting in its queue."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One commit of one session: its records, encoded."""

    number: int
    session: SessionId
    records: bytes


class QueueEntry(msgspec.Struct, frozen=True, gc=False):
    """One waiting message: where in the queue, and the commit that made it durable."""

    seq: int
    number: int
    records: bytes


class JournalEntry(msgspec.Struct, frozen=True, gc=False):
    """One entry of the journal; its numbers are its own, from 1."""

    number: int
    entry: bytes


class Store(Protocol):
    """A place where sessions are kept. Every store passes one conformance suite."""

    @property
    def incarnation(self) -> str:
        """Changes when the store is restored from a backup; part of every cursor (R237)."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        ...

    @overload
    def offer(self, operation: Create, then: Callable[[CreateVerdict], object], /) -> None: ...
    @overload
    def offer(self, operation: Claim, then: Callable[[ClaimVerdict], object], /) -> None: ...
    @overload
    def offer(self, operation: Enqueue, then: Callable[[EnqueueVerdict], object], /) -> None: ...
    @overload
    def offer(self, operation: Commit, then: Callable[[CommitVerdict], object], /) -> None: ...
    @overload
    def offer(
        self,
        operation: Release | Delete | ForkFrom | Enter,
        then: Callable[[OtherVerdict], object],
        /,
    ) -> None: ...

    def look(self, session: SessionId, /) -> Stored | Gone | Absent:
        """The session as it stands; takes no claim and wakes nothing."""
        ...

    def read(self, session: SessionId, /, *, after: int = 0) -> list[Entry]:
        """The session's commits with a number above ``after``, oldest first."""
        ...

    def entry(self, number: int, /) -> Entry | None:
        """The commit of that number."""
        ...

    def queued(self, session: SessionId, /) -> list[QueueEntry]:
        """The session's queue, in the order in which it is served."""
        ...

    def known(self, session: SessionId, key: str, /) -> Known | None:
        """Whether an idempotency key was used, and by which commit."""
        ...

    def held(self, session: SessionId, /) -> list[str]:
        """The digests of the content that the session holds, in their order."""
        ...

    def sessions(self, tenant: str | None = None, /) -> Iterator[Stored]:
        """Every session (of one tenant), in a stable order; each step is a read of its own."""
        ...

    def find(self, kind: str, value: str, /, *, tenant: str | None = None) -> Iterator[SessionId]:
        """The sessions whose terms hold (kind, value), from an index."""
        ...

    def feed(self, after: int = 0, /, *, limit: int = 1_000) -> list[Entry]:
        """The next commits of all sessions with a number above ``after``, in store order."""
        ...

    def standing(self, kind: str, /) -> list[Standing]:
        """What stands of a kind, in the order in which it was set."""
        ...

    def journal(self, after: int = 0, /, *, limit: int = 1_000) -> list[JournalEntry]:
        """The next entries of the journal with a number above ``after``."""
        ...

    def charged(self, tenant: str, /) -> dict[int, Spent]:
        """What was charged to a tenant on each day, of the months that a quota may ask for."""
        ...

    def last_number(self) -> int:
        """The number of the newest durable commit."""
        ...

    def blob(self, digest: str, /) -> bytes | None:
        """Content by its hash."""
        ...

    def space(self) -> Space:
        """What it takes on disk."""
        ...

    def statistics(self) -> StoreStatistics:
        """What it did since it was opened."""
        ...

    async def aclose(self) -> None:
        """Finish what was offered, then close. Later offers answer ``Failed(StoreClosed)``."""
        ...
