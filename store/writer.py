"""The one thread that writes: a group is one transaction, begun and committed in one call.

An LMDB write transaction that changes threads blocks the environment for ever, so nobody else
begins one. The thread is in one of three states:

========  ====================================================================================
idle      no transaction is open; the thread waits for a group
writing   exactly one transaction is open, in :meth:`Writer._attempt`, and closed when it returns
broken    a commit failed and nobody can say whether it landed; every offer is refused
========  ====================================================================================

Whatever fails in a transaction, the whole of it is aborted and tried again in halves, until what
cannot be written stands alone: one session's bad record fails that session and no other (R84). An
error from the commit itself is not believed either way; the transaction's id tells if it landed.
"""

import errno
import threading
from queue import SimpleQueue
from typing import Any, Final, Protocol, TypeAlias

import attrs
import lmdb
import trio

from greenroom.protocol.errors import SaveFailed, StoreFailed, StoreFull, StoreUnavailable
from greenroom.store.contract import Delete, Failed, Verdict
from greenroom.store.counters import Counters
from greenroom.store.erasure import Erase
from greenroom.store.group import Finish, Unfinished
from greenroom.store.tables import Tables
from greenroom.store.transaction import Remembered, Transaction

Answer: TypeAlias = Verdict | Unfinished
Job: TypeAlias = tuple[list[Any], Finish]

FREE_BYTES_MIN: Final = 1 << 20
"""A disk with less room than this is full, whatever the error says: LMDB reports a short write as
an input/output error."""
_FULL_CODES: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FULL_WORDS: Final = ("No space left", "File too large", "quota exceeded")


class WriteTables(Tables, Protocol):
    """Tables in a write transaction."""

    @property
    def transaction_id(self) -> int:
        """The id under which the transaction would be found as committed."""
        ...

    def commit(self) -> None:
        """Make it durable."""
        ...

    def abort(self) -> None:
        """Leave nothing of it."""
        ...


class Writable(Protocol):
    """What the writer needs of an environment."""

    def begin_write(self) -> WriteTables:
        """Begin the one write transaction."""
        ...

    def committed_id(self) -> int:
        """The id of the newest committed transaction. Raises lmdb.Error if it cannot be told."""
        ...

    def disk_free(self) -> int:
        """Bytes that the disk has room for."""
        ...

    def release_reserve(self) -> bool:
        """Give the reserve's room to the disk; say whether there was one."""
        ...


@attrs.define(eq=False)
class Writer:
    """Executes groups, one after the other, in a thread of its own."""

    environment: Writable
    token: trio.lowlevel.TrioToken
    counters: Counters = attrs.field(factory=Counters)
    _remembered: Remembered = attrs.field(factory=Remembered, init=False)
    _broken: StoreFailed | None = attrs.field(default=None, init=False)
    _jobs: SimpleQueue[Job | None] = attrs.field(factory=SimpleQueue, init=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False)

    def start(self) -> None:
        """Start the thread."""
        # A daemon: a program that ends without closing its store must end all the same.
        self._thread = threading.Thread(target=self._run, name="greenroom-writer", daemon=True)
        self._thread.start()

    def execute(self, operations: list[Any], finish: Finish) -> None:
        """Hand a group to the thread; ``finish`` is called in the loop with its answers."""
        self._jobs.put((operations, finish))

    def stop(self) -> None:
        """End the thread behind the groups that it was given, and wait for that."""
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            operations, finish = job
            try:
                answers = self.settle(operations)
            except BaseException as error:  # noqa: BLE001 - whoever waits must get an answer
                answers = self._break(error, len(operations))
            try:
                self.token.run_sync_soon(finish, answers)
            except trio.RunFinishedError:
                return

    def settle(self, operations: list[Any]) -> list[Answer]:
        """Write a group and return one answer for each member, in order."""
        if self._broken is not None:
            self.counters.failed += len(operations)
            return [Failed(self._broken)] * len(operations)
        try:
            return self._attempt(operations)
        except Unknown as fault:
            return self._break(fault.cause, len(operations))
        except lmdb.PanicError as error:
            return self._break(error, len(operations))
        except Exception as error:  # noqa: BLE001 - all are told to the member they belong to
            fault_of_one = error
        if len(operations) == 1:
            return [self._alone(operations[0], fault_of_one)]
        middle = len(operations) // 2
        return self.settle(operations[:middle]) + self.settle(operations[middle:])

    def _attempt(self, operations: list[Any]) -> list[Answer]:
        """One flat transaction: begun, filled, and committed or aborted.

        Raises:
            Unknown: it cannot be told whether the commit landed.
            Exception: whatever failed; nothing was written.
        """
        tables = self.environment.begin_write()
        identity = tables.transaction_id
        try:
            transaction = Transaction(tables, self._remembered)
            answers = [transaction.apply(operation) for operation in operations]
        except BaseException:
            tables.abort()
            self._remembered.clear()
            raise
        try:
            tables.commit()
        except Exception as error:
            if not self._has_landed(identity, error):
                self._remembered.clear()
                raise
        self.counters.count(transaction, len(operations))
        self.counters.transactions += 1
        return answers

    def _has_landed(self, identity: int, error: Exception) -> bool:
        try:
            return self.environment.committed_id() >= identity
        except lmdb.Error:
            raise Unknown(error) from error

    def _alone(self, operation: object, error: Exception) -> Answer:
        """The answer for the one operation that cannot be written."""
        fault = self._classified(error)
        frees = isinstance(operation, Delete | Erase)
        if isinstance(fault, StoreFull) and frees and self.environment.release_reserve():
            # Freeing room takes room first: this is what the reserve is for.
            return self.settle([operation])[0]
        self.counters.failed += 1
        return Failed(fault)

    def _break(self, error: BaseException, count: int) -> list[Answer]:
        """Take no more writes: what was tried may or may not be there, so it must be read again."""
        self._broken = StoreUnavailable(
            f"A write ended in {type(error).__name__}: {error}. The store must be opened again."
        )
        self._remembered.clear()
        self.counters.failed += count
        return [Failed(self._broken, unknown=True)] * count

    def _classified(self, error: Exception) -> StoreFailed:
        if isinstance(error, StoreFailed):
            return error
        told = f"{type(error).__name__}: {error}"
        if self._is_full(error):
            fault: StoreFailed = StoreFull(f"There is no room to write: {told}.")
        else:
            fault = SaveFailed(f"The write failed: {told}.")
        fault.__cause__ = error
        return fault

    def _is_full(self, error: Exception) -> bool:
        if isinstance(error, lmdb.MapFullError):
            return True
        if not isinstance(error, lmdb.Error | OSError):
            return False
        code = getattr(error, "code", None) or getattr(error, "errno", None)
        if code in _FULL_CODES or any(words in str(error) for words in _FULL_WORDS):
            return True
        return self.environment.disk_free() < FREE_BYTES_MIN


class Unknown(Exception):
    """A commit failed, and whether it landed cannot be read."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause
