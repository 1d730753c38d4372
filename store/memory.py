"""The same contract inside the event loop: no thread, no disk, and faults on demand.

For tests and simulated runs. Operations and reads are the very code that runs over LMDB; only the
tables (dictionaries with their keys in order) and the executor differ. An operation is applied in a
tick after the one that offered it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final

import trio

from greenroom.protocol.errors import SaveFailed, StoreClosed, StoreFailed
from greenroom.store.contract import Failed, Operation
from greenroom.store.counters import Counters
from greenroom.store.faults import Faults
from greenroom.store.figures import Space, StoreStatistics
from greenroom.store.group import WAITING_MAX, Finish, Group
from greenroom.store.history import Reads
from greenroom.store.memory_tables import MemoryTables
from greenroom.store.tables import View
from greenroom.store.transaction import Remembered, Transaction

MEMORY_MAX: Final = 1 << 62
"""What ``space`` tells as the bound: a memory store has none of its own."""


@asynccontextmanager
async def open_memory(
    *, incarnation: str = "memory", waiting_max: int = WAITING_MAX
) -> AsyncIterator["MemoryStore"]:
    """Open an empty store that lives as long as the block.

    Writes that ``faults.hold()`` keeps back are released when the block is left.
    """
    store = MemoryStore(incarnation, trio.lowlevel.current_trio_token(), waiting_max)
    try:
        yield store
    finally:
        store.faults.release()
        await store.aclose()


class MemoryStore(Reads):
    """A :class:`~greenroom.store.contract.Store` in memory; made by :func:`open_memory`."""

    read_only = False

    def __init__(
        self, incarnation: str, token: trio.lowlevel.TrioToken, waiting_max: int = WAITING_MAX
    ) -> None:
        self.faults = Faults()
        self.incarnation = incarnation
        self._tables = MemoryTables()
        self._counters = Counters()
        self._remembered = Remembered()
        self._token = token
        self._group = Group(self, token, waiting_max=waiting_max)
        self._closed = False

    def view(self) -> AbstractContextManager[View]:
        """The tables as they stand now."""
        if self._closed:
            raise StoreClosed("The store was closed.")
        return nullcontext(self._tables)

    def offer(self, operation: Operation, then: Callable[[Any], object], /) -> None:
        """Take an operation; ``then`` is called once with its verdict, in the loop."""
        self._group.offer(operation, then)

    def execute(self, operations: list[Any], finish: Finish) -> None:
        """Apply a group in the next tick, or when it is no longer held."""
        applying = partial(self._token.run_sync_soon, self._apply_all, operations, finish)
        self.faults.pass_on(applying)

    def space(self) -> Space:
        """What it takes in memory, in bytes."""
        held = self._tables.bytes_held()
        return Space(used=held, live=held, reclaimable=0, map_size=MEMORY_MAX, disk_free=MEMORY_MAX)

    def statistics(self) -> StoreStatistics:
        """What it did since it was opened."""
        return self._counters.told(self._group)

    async def aclose(self) -> None:
        """Finish what was offered, then close. Later offers answer ``Failed(StoreClosed)``."""
        await self._group.aclose()
        self._closed = True

    def _apply_all(self, operations: list[Any], finish: Finish) -> None:
        self._counters.transactions += 1
        finish([self._apply(operation) for operation in operations])

    def _apply(self, operation: object) -> object:
        """Apply one operation in a transaction of its own, which a fault gives up alone (R84)."""
        plan = self.faults.take(operation)
        if plan is not None and not plan.applied:
            self._counters.failed += 1
            return plan.failed
        self._tables.begin()
        try:
            transaction = Transaction(self._tables, self._remembered)
            answer = transaction.apply(operation)
        except Exception as error:  # noqa: BLE001 - all are told to the member they belong to
            self._tables.abort()
            self._remembered.clear()
            self._counters.failed += 1
            return Failed(_classified(error))
        self._counters.count(transaction, 1)
        return answer if plan is None else plan.failed


def _classified(error: Exception) -> StoreFailed:
    if isinstance(error, StoreFailed):
        return error
    fault = SaveFailed(f"The write failed: {type(error).__name__}: {error}.")
    fault.__cause__ = error
    return fault
