"""One operation applied to an open transaction: plain steps, the same for every store.

Each step first decides, by reading, whether the operation is refused; only then does it write. So a
refused operation leaves no trace among its batch-mates, and a fault while writing is for the owner
of the transaction to undo. All operations of a group run through one :class:`Transaction`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import attrs
from msgspec.structs import replace

from greenroom.protocol.errors import SaveFailed
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.store import contract, schema
from greenroom.store.charges import charge
from greenroom.store.contract import Absent, Done, Fenced, Gone, KeyEntry, Known, Verdict
from greenroom.store.envelope import Kind, seal
from greenroom.store.erasure import Erase, begin_erasing, erase_some
from greenroom.store.group import Unfinished
from greenroom.store.journal import enter
from greenroom.store.rows import (
    Head,
    pack_head,
    pack_id,
    pack_row,
    unpack_head,
    unpack_key,
    unpack_name,
    unpack_row,
)
from greenroom.store.schema import HEADS, LOG, NAMES, QUEUE, number_key, queue_key
from greenroom.store.tables import Tables
from greenroom.store.terms import replace_terms

REMEMBERED_MAX: Final = 50_000
RECORD_BYTES_MAX: Final = DEFAULT_LIMITS.record_bytes_max


@attrs.define(eq=False)
class Remembered:
    """Sessions as this process found or left them: reading them again is a third of a commit.

    Only the one writer changes a session, so this can only be wrong about what an aborted
    transaction wrote: its owner clears it then.
    """

    sessions: dict[SessionId, bytes] = attrs.field(factory=dict)
    heads: dict[bytes, Head] = attrs.field(factory=dict)

    def clear(self) -> None:
        """Read everything anew."""
        self.sessions.clear()
        self.heads.clear()


@attrs.define(eq=False)
class Transaction:
    """The operations of one group, on tables that commit or vanish together."""

    tables: Tables
    remembered: Remembered
    number: int = attrs.field(init=False)
    """The newest entry, those of this transaction counted."""
    commits: int = 0
    records_bytes: int = 0

    def __attrs_post_init__(self) -> None:
        self.number = schema.number_of(self.tables.last(LOG))
        if len(self.remembered.sessions) > REMEMBERED_MAX:
            self.remembered.clear()

    def apply(self, operation: object) -> Verdict | Unfinished:
        """Apply one operation; the verdict holds as soon as the transaction is committed.

        Raises:
            StoreDamaged: what the operation needs to read is not what was written.
            SaveFailed: the operation cannot be written; the transaction must be given up.
        """
        return _STEPS[type(operation)](self, operation)

    # --- sessions -------------------------------------------------------------------------------

    def create(self, operation: contract.Create) -> contract.CreateVerdict:
        """Make a session, once, however many ask (R219)."""
        found = self._find(operation.session)
        if isinstance(found, tuple):
            return contract.Exists(found[1].header)
        if isinstance(found, Gone):
            return found
        session = self._new_session(operation.session)
        number = self._append(Kind.ENTRY_CREATED, session, 0, operation.records)
        for copied in operation.behind:
            number = self._append(Kind.ENTRY_COPIED, session, number, copied.records)
            self._use_keys(session, copied.keys, number)
        if operation.blobs:
            self._keep(operation.session, session, operation.blobs, frozenset())
        replace_terms(self.tables, session, operation.session, operation.terms)
        self._put_head(session, Head(0, 0, number, 0, header=operation.header))
        return contract.Created(number)

    def fork(self, operation: contract.ForkFrom) -> contract.OtherVerdict:
        """Make a session from a copy of another's entries; neither needs the other after (R191)."""
        found = self._find(operation.session)
        if isinstance(found, tuple):
            return contract.Exists(found[1].header)
        if isinstance(found, Gone):
            return found
        parent = self._find(operation.parent)
        if not isinstance(parent, tuple):
            return parent
        numbers = self._chain_up_to(operation.parent, *parent, operation.number)
        session = self._new_session(operation.session)
        before = 0
        for number in numbers:
            key = number_key(number)
            row = unpack_row(key, self.tables.get(LOG, key), operation.parent)
            before = self._append(Kind.ENTRY_COPIED, session, before, row.records)
        number = self._append(Kind.ENTRY_CREATED, session, before, operation.records)
        held = [key[schema.SESSION_BYTES :] for key, _ in self.tables.scan(schema.HOLDS, parent[0])]
        self._hold(session, held)
        replace_terms(self.tables, session, operation.session, operation.terms)
        self._put_head(session, Head(0, 0, number, 0, header=operation.header))
        return Done(number)

    def claim(self, operation: contract.Claim) -> contract.ClaimVerdict:
        """Raise the epoch in the transaction that reads, so former holders are fenced (R207)."""
        found = self._find(operation.session)
        if not isinstance(found, tuple):
            return found
        session, head = found
        claimed = replace(head, epoch=head.epoch + 1, stalled=head.stalled + 1)
        self._put_head(session, claimed)
        return contract.Claimed(
            claimed.epoch, head.head, head.header, head.number, stalled=head.stalled
        )

    def release(self, operation: contract.Release) -> contract.OtherVerdict:
        """Give a claim back: a claim that ended well is no failed attempt."""
        found = self._find(operation.session)
        if not isinstance(found, tuple):
            return found
        session, head = found
        if operation.epoch != head.epoch:
            return Fenced(head.epoch)
        if head.stalled:
            self._put_head(session, replace(head, stalled=0))
        return Done()

    def delete(self, operation: contract.Delete) -> Gone | Absent | Unfinished:
        """Leave a tombstone and one entry for the feed; the rest is erased in steps (R192)."""
        found = self._find(operation.session)
        if not isinstance(found, tuple):
            return found
        session, head = found
        number = self._append(Kind.ENTRY_DELETED, session, 0, operation.records)
        replace_terms(self.tables, session, operation.session, ())
        self._put_head(session, Head(head.epoch + 1, head.head, number, 0, gone=True))
        return begin_erasing(self.tables, session, head.number, number)

    def erase(self, operation: Erase) -> Done | Unfinished:
        """Remove the next few rows of a deleted session."""
        return erase_some(self.tables, operation)

    def enter(self, operation: contract.Enter) -> contract.OtherVerdict:
        """Enter something in the journal, and change what stands with it (R242)."""
        return enter(self.tables, operation, RECORD_BYTES_MAX)

    # --- messages and commits -------------------------------------------------------------------

    def enqueue(self, operation: contract.Enqueue) -> contract.EnqueueVerdict:
        """Make a message durable behind (or before) the queue; no epoch is needed (R177)."""
        found = self._find(operation.session)
        if not isinstance(found, tuple):
            return found
        session, head = found
        keys = () if operation.key is None else (operation.key,)
        if (known := self._known(session, operation.session, keys)) is not None:
            return known
        if head.queued >= operation.queue_max:
            return contract.QueueIsFull(head.queued)
        number = self._append(Kind.ENTRY_QUEUED, session, head.number, operation.records)
        back, front = head.back + (not operation.front), head.front + operation.front
        seq = -front if operation.front else back
        key = queue_key(session, seq)
        self.tables.put(QUEUE, key, seal(Kind.QUEUED, key, number_key(number)))
        self._use_keys(session, keys, number)
        if operation.blobs:
            self._keep(operation.session, session, operation.blobs, frozenset())
        queued = head.queued + 1
        self._put_head(
            session,
            replace(head, number=number, back=back, front=front, queued=queued),
        )
        return contract.Queued(seq, number)

    def commit(self, operation: contract.Commit) -> contract.CommitVerdict:
        """One atomic step of a session (R83): mostly one get and two puts."""
        found = self._find(operation.session)
        if not isinstance(found, tuple):
            return found
        session, head = found
        if operation.epoch != head.epoch:
            return Fenced(head.epoch)
        if operation.expect_head != head.head:
            if self._is_repeated(operation, head):
                return contract.Committed(head.head, head.committed)
            return contract.HeadMismatch(head.head)
        if operation.keys:
            known = self._known(session, operation.session, operation.keys)
            if known is not None:
                return known
        # From here on the commit is accepted: a fault gives up the whole transaction.
        number = self._append(Kind.ENTRY_COMMITTED, session, head.number, operation.records)
        self._write_beside(operation, session, number)
        header = head.header if operation.header is None else operation.header
        self._put_head(
            session,
            Head(
                head.epoch,
                head.head + 1,
                number,
                number,
                head.back,
                head.front,
                head.queued - len(operation.consumed),
                0,
                False,  # noqa: FBT003 - by place, for this is the hot path
                header,
            ),
        )
        self.commits += 1
        return contract.Committed(head.head + 1, number)

    def _write_beside(self, operation: contract.Commit, session: bytes, number: int) -> None:
        """Write what most commits have none of."""
        if operation.consumed:
            self._consume(operation, session)
        if operation.keys:
            self._use_keys(session, operation.keys, number)
        if operation.blobs or operation.holds:
            self._keep(operation.session, session, operation.blobs, operation.holds)
        if operation.terms is not None:
            replace_terms(self.tables, session, operation.session, operation.terms)
        if operation.charges:
            charge(self.tables, operation.session.tenant, operation.charges)
        if operation.entry is not None:
            enter(self.tables, contract.Enter(operation.entry), RECORD_BYTES_MAX)

    def _is_repeated(self, operation: contract.Commit, head: Head) -> bool:
        """Whether this very commit is the session's newest: offered again, written once (R85)."""
        if operation.expect_head + 1 != head.head or not head.committed:
            return False
        key = number_key(head.committed)
        row = unpack_row(key, self.tables.get(LOG, key), operation.session)
        return row.records == operation.records

    def _consume(self, operation: contract.Commit, session: bytes) -> None:
        for seq in operation.consumed:
            if not self.tables.delete(QUEUE, queue_key(session, seq)):
                raise SaveFailed(
                    f"Message {seq} is not in the queue of session {operation.session}.",
                    session=operation.session,
                    seq=seq,
                )

    # --- keys and blobs -------------------------------------------------------------------------

    def _known(self, session: bytes, name: SessionId, keys: Iterable[KeyEntry]) -> Known | None:
        for entry in keys:
            key = schema.idempotency_key(session, entry.key)
            value = self.tables.get(schema.KEYS, key)
            if value is not None:
                return Known(*unpack_key(key, value, name))
        return None

    def _use_keys(self, session: bytes, keys: Iterable[KeyEntry], number: int) -> None:
        for entry in keys:
            key = schema.idempotency_key(session, entry.key)
            value = seal(Kind.KEY, key, number_key(number) + entry.digest)
            self.tables.put(schema.KEYS, key, value)

    def _keep(
        self,
        name: SessionId,
        session: bytes,
        blobs: Mapping[str, bytes],
        holds: Iterable[str],
    ) -> None:
        """Store content once, and note who holds it (R193)."""
        for sha256, content in blobs.items():
            key = schema.blob_key(sha256)
            if self.tables.get(schema.BLOBS, key) is None:
                self.tables.put(schema.BLOBS, key, seal(Kind.BLOB, key, content))
        held = [schema.blob_key(sha256) for sha256 in {*blobs, *holds}]
        for key in held:
            # Its last holder may just have been deleted: a dangling hold would fail a later read.
            if self.tables.get(schema.BLOBS, key) is None:
                raise SaveFailed(
                    f"The content {key.hex()} is not in the store; commit it with its bytes.",
                    session=name,
                    digest=key.hex(),
                )
        self._hold(session, held)

    def _hold(self, session: bytes, blobs: Iterable[bytes]) -> None:
        for blob in blobs:
            self.tables.put(schema.HOLDERS, blob + session, b"")
            self.tables.put(schema.HOLDS, session + blob, b"")

    # --- rows -----------------------------------------------------------------------------------

    def _find(self, name: SessionId) -> tuple[bytes, Head] | Gone | Absent:
        known = self.remembered
        session = known.sessions.get(name)
        if session is None:
            value = self.tables.get(NAMES, schema.name_key(name))
            if value is None:
                return Absent()
            session = known.sessions[name] = unpack_name(name, value)
        head = known.heads.get(session)
        if head is None:
            head = unpack_head(session, self.tables.get(HEADS, session), name)
        return Gone() if head.gone else (session, head)

    def _new_session(self, name: SessionId) -> bytes:
        session = number_key(schema.number_of(self.tables.last(HEADS)) + 1)
        key = schema.name_key(name)
        self.tables.put(NAMES, key, seal(Kind.NAME, key, session))
        self.tables.append(schema.IDS, session, pack_id(session, name))
        self.remembered.sessions[name] = session
        return session

    def _chain_up_to(self, name: SessionId, session: bytes, head: Head, last: int) -> list[int]:
        """The numbers of a session's entries up to ``last``, oldest first."""
        numbers, number = [], head.number
        while number:
            if number <= last:
                numbers.append(number)
            key = number_key(number)
            row = unpack_row(key, self.tables.get(LOG, key), name)
            number = row.before if row.session == session else 0
        if not numbers or numbers[0] != last:
            raise SaveFailed(f"Session {name} has no commit {last}.", session=name, number=last)
        return numbers[::-1]

    def _append(self, kind: Kind, session: bytes, before: int, records: bytes) -> int:
        if len(records) > RECORD_BYTES_MAX:
            raise SaveFailed(
                f"One commit has {len(records):,} bytes; the bound is {RECORD_BYTES_MAX:,}.",
                bytes=len(records),
                bound=RECORD_BYTES_MAX,
            )
        number = self.number + 1
        key = number_key(number)
        self.tables.append(LOG, key, pack_row(key, kind, session, before, records))
        self.number = number
        self.records_bytes += len(records)
        return number

    def _put_head(self, session: bytes, head: Head) -> None:
        self.tables.put(HEADS, session, pack_head(session, head))
        self.remembered.heads[session] = head


_STEPS: Final[dict[type, Callable[[Transaction, Any], Verdict | Unfinished]]] = {
    contract.Commit: Transaction.commit,
    contract.Enqueue: Transaction.enqueue,
    contract.Claim: Transaction.claim,
    contract.Create: Transaction.create,
    contract.Release: Transaction.release,
    contract.Delete: Transaction.delete,
    contract.ForkFrom: Transaction.fork,
    contract.Enter: Transaction.enter,
    Erase: Transaction.erase,
}
