"""Reading the store: one session's history, its queue, the feed, the lists. The same for any store.

Each read takes a view, copies what it answers, and gives the view back before it returns; an
iterator takes a view for each of its steps. Nothing is repaired by reading: what is not as it was
written raises :class:`~greenroom.protocol.errors.StoreDamaged`, naming the session (R92).
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Final

from greenroom.protocol.identity import SessionId
from greenroom.protocol.quota import Spent
from greenroom.store import schema
from greenroom.store.charges import charged
from greenroom.store.contract import (
    Absent,
    Entry,
    Gone,
    JournalEntry,
    Known,
    QueueEntry,
    Standing,
    Stored,
)
from greenroom.store.envelope import Kind, damaged, unseal_as
from greenroom.store.journal import entries, standing
from greenroom.store.rows import (
    Head,
    Row,
    unpack_head,
    unpack_id,
    unpack_key,
    unpack_name,
    unpack_row,
)
from greenroom.store.schema import HEADS, IDS, LOG, NAMES, QUEUE, TERMS, number_key, number_of
from greenroom.store.tables import View

PAGE: Final = 100
"""Sessions that a listing looks at in one read."""


class Reads:
    """The reading half of a store; a store says how a view is taken."""

    @abstractmethod
    def view(self) -> AbstractContextManager[View]:
        """The tables as they stand now. Raises :class:`StoreClosed` after closing or a fork."""

    def look(self, session: SessionId, /) -> Stored | Gone | Absent:
        """The session as it stands; takes no claim and wakes nothing (R219)."""
        with self.view() as view:
            found = look_up(view, session)
            return found if not isinstance(found, tuple) else _stored(session, found[1])

    def read(self, session: SessionId, /, *, after: int = 0) -> list[Entry]:
        """The session's commits with a number above ``after``, oldest first."""
        with self.view() as view:
            found = look_up(view, session)
            if not isinstance(found, tuple):
                return []
            chain = _chain(view, session, *found, after)
            entries = [Entry(number, session, row.records) for number, row in chain]
        entries.reverse()
        return entries

    def entry(self, number: int, /) -> Entry | None:
        """The commit of that number."""
        key = number_key(number)
        with self.view() as view:
            value = view.get(LOG, key)
            if value is None:
                return None
            row = unpack_row(key, value)
            return Entry(number, _name(view, row.session), row.records)

    def queued(self, session: SessionId, /) -> list[QueueEntry]:
        """The session's queue, in the order in which it is served."""
        with self.view() as view:
            found = look_up(view, session)
            if not isinstance(found, tuple):
                return []
            return [_queue_entry(view, session, *item) for item in view.scan(QUEUE, found[0])]

    def known(self, session: SessionId, key: str, /) -> Known | None:
        """Whether an idempotency key was used, and by which commit (R177)."""
        with self.view() as view:
            found = look_up(view, session)
            if not isinstance(found, tuple):
                return None
            where = schema.idempotency_key(found[0], key)
            value = view.get(schema.KEYS, where)
            return None if value is None else Known(*unpack_key(where, value, session))

    def held(self, session: SessionId, /) -> list[str]:
        """The digests of the content that the session holds, in their order (R193)."""
        with self.view() as view:
            found = look_up(view, session)
            if not isinstance(found, tuple):
                return []
            held = view.scan(schema.HOLDS, found[0])
            return [key[schema.SESSION_BYTES :].hex() for key, _ in held]

    def sessions(self, tenant: str | None = None, /) -> Iterator[Stored]:
        """Every session (of one tenant): oldest first, or a tenant's in the order of its names."""
        table = HEADS if tenant is None else NAMES
        prefix = b"" if tenant is None else schema.tenant_key(tenant)
        for session in self._steps(table, prefix):
            with self.view() as view:
                stored = _stored_under(view, session)
            if stored is not None:
                yield stored

    def find(self, kind: str, value: str, /, *, tenant: str | None = None) -> Iterator[SessionId]:
        """The sessions whose terms hold (kind, value), from an index."""
        within = b"" if tenant is None else schema.tenant_key(tenant)
        for session in self._steps(TERMS, schema.term(kind, value) + within):
            with self.view() as view:
                name = _name(view, session)
            yield name

    def feed(self, after: int = 0, /, *, limit: int = 1_000) -> list[Entry]:
        """The next commits of all sessions with a number above ``after``, in store order (R222).

        What a fork copied was told once, under its parent, and is left out; so is what came with
        an import, behind its first commit.
        """
        names: dict[bytes, SessionId] = {}
        entries: list[Entry] = []
        with self.view() as view:
            for key, value in view.scan(LOG, b"", start=number_key(after + 1)):
                if len(entries) >= limit:
                    break
                row = unpack_row(key, value)
                if row.kind == Kind.ENTRY_COPIED:
                    continue
                name = names.get(row.session)
                if name is None:
                    name = names[row.session] = _name(view, row.session)
                entries.append(Entry(number_of(key), name, row.records))
        return entries

    def standing(self, kind: str, /) -> list[Standing]:
        """What stands of a kind, in the order in which it was set."""
        with self.view() as view:
            return standing(view, kind)

    def journal(self, after: int = 0, /, *, limit: int = 1_000) -> list[JournalEntry]:
        """The next entries of the journal with a number above ``after`` (R242)."""
        with self.view() as view:
            return list(entries(view, after, limit))

    def charged(self, tenant: str, /) -> dict[int, Spent]:
        """What was charged to a tenant on each day (R233)."""
        with self.view() as view:
            return dict(charged(view, tenant))

    def last_number(self) -> int:
        """The number of the newest durable commit."""
        with self.view() as view:
            return number_of(view.last(LOG))

    def blob(self, digest: str, /) -> bytes | None:
        """Content by its hash (R193)."""
        key = schema.blob_key(digest)
        with self.view() as view:
            value = view.get(schema.BLOBS, key)
        return None if value is None else unseal_as(Kind.BLOB, value, table=schema.BLOBS, key=key)

    def _steps(self, table: schema.Table, prefix: bytes) -> Iterator[bytes]:
        """The sessions that a table's keys name, a page in each view, so that none stays open."""
        start = b""
        while True:
            with self.view() as view:
                page = list(islice(view.scan(table, prefix, start=start), PAGE))
            for key, value in page:
                yield _session_of(table, key, value)
            if len(page) < PAGE:
                return
            start = page[-1][0] + b"\0"


def look_up(view: View, name: SessionId) -> tuple[bytes, Head] | Gone | Absent:
    """A session by its name."""
    value = view.get(NAMES, schema.name_key(name))
    if value is None:
        return Absent()
    session = unpack_name(name, value)
    head = unpack_head(session, view.get(HEADS, session), name)
    return Gone() if head.gone else (session, head)


def _chain(
    view: View, name: SessionId, session: bytes, head: Head, after: int
) -> Iterator[tuple[int, Row]]:
    """A session's entries, newest first, down to those not above ``after``."""
    number = head.number
    while number > after:
        key = number_key(number)
        row = unpack_row(key, view.get(LOG, key), name)
        if row.session != session or row.before >= number:
            raise damaged("is not of this session's chain", LOG, key, name)
        yield number, row
        number = row.before


def _queue_entry(view: View, name: SessionId, key: bytes, value: bytes) -> QueueEntry:
    told = unseal_as(Kind.QUEUED, value, table=QUEUE, key=key, session=name)
    row = unpack_row(told, view.get(LOG, told), name)
    return QueueEntry(schema.queue_seq(key), number_of(told), row.records)


def _stored(name: SessionId, head: Head) -> Stored:
    return Stored(name, head.epoch, head.head, head.number, head.header, head.queued)


def _stored_under(view: View, session: bytes) -> Stored | None:
    name = _name(view, session)
    head = unpack_head(session, view.get(HEADS, session), name)
    return None if head.gone else _stored(name, head)


def _name(view: View, session: bytes) -> SessionId:
    return unpack_id(session, view.get(IDS, session))


def _session_of(table: schema.Table, key: bytes, value: bytes) -> bytes:
    if table == HEADS:
        return key
    if table == TERMS:
        return key[-schema.SESSION_BYTES :]
    return unseal_as(Kind.NAME, value, table=NAMES, key=key)
