"""The store in an LMDB environment of one process: reads on the loop, writes in a thread."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import trio

from greenroom.protocol.errors import StoreUnavailable
from greenroom.store.contract import Operation
from greenroom.store.environment import (
    DEFAULT_OPTIONS,
    Environment,
    LmdbTables,
    Options,
    open_environment,
)
from greenroom.store.erasure import unfinished
from greenroom.store.figures import Space, StoreStatistics
from greenroom.store.group import Group
from greenroom.store.history import Reads
from greenroom.store.writer import Writer


@asynccontextmanager
async def open_lmdb(
    path: str | PathLike[str],
    *,
    read_only: bool = False,
    incarnation: str | None = None,
    options: Options = DEFAULT_OPTIONS,
) -> AsyncIterator["EmbeddedStore"]:
    """Open the store in a folder; without ``read_only`` it is made if there is nothing.

    Opening read-only works beside the process that writes (R187). ``incarnation`` names a store
    that is made now; by itself it is told from the identity of its file. What was offered is
    finished when the block is left.

    Raises:
        StoreTaken: another process writes to it; ``facts`` has its pid and version.
        NotAStore: there is something else at this path.
        StoreTooNew: a newer greenroom wrote it.
        StoreDamaged: its file is cut short, empty or not readable; nothing was changed.
        StoreUnavailable: the machine does not let it be opened.
    """
    opening = partial(
        open_environment,
        Path(path),
        read_only=read_only,
        incarnation=incarnation,
        options=options,
    )
    environment = await trio.to_thread.run_sync(_opened, opening)
    store = EmbeddedStore(environment, trio.lowlevel.current_trio_token())
    try:
        yield store
    finally:
        await store.aclose()


class EmbeddedStore(Reads):
    """A :class:`~greenroom.store.contract.Store` in LMDB; made by :func:`open_lmdb`."""

    def __init__(self, environment: Environment, token: trio.lowlevel.TrioToken) -> None:
        self._environment = environment
        self._writer = Writer(environment, token)
        self._group = Group(self._writer, token)
        if not environment.read_only:
            self._writer.start()
            with environment.view() as view:
                left = list(unfinished(view))
            for erase in left:
                self._group.offer(erase, _nobody_waits)

    @property
    def incarnation(self) -> str:
        """Changes when the store is restored from a backup (R237)."""
        return self._environment.incarnation

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        return self._environment.read_only

    def view(self) -> LmdbTables:
        """The tables as they stand now."""
        return self._environment.view()

    def offer(self, operation: Operation, then: Callable[[Any], object], /) -> None:
        """Take an operation; ``then`` is called once with its verdict, in the loop.

        Raises:
            StoreClosed: in a forked child, which has no loop that could deliver (R187).
        """
        if self._environment.read_only:
            self._group.refuse(then, StoreUnavailable("The store was opened read-only."))
            return
        self._environment.check_process()
        self._group.offer(operation, then)

    def space(self) -> Space:
        """What it takes on disk, in bytes."""
        return self._environment.space()

    def statistics(self) -> StoreStatistics:
        """What it did since it was opened."""
        return self._writer.counters.told(self._group)

    async def aclose(self) -> None:
        """Finish what was offered, then close. Later offers answer ``Failed(StoreClosed)``."""
        await self._group.aclose()
        self._writer.stop()
        self._environment.close()


def _opened(opening: Callable[[], Environment]) -> Environment:
    try:
        return opening()
    except OSError as error:
        raise StoreUnavailable(f"The store cannot be opened: {error.strerror}.") from error


def _nobody_waits(verdict: object) -> None:
    """A deletion of a former run is finished for its own sake."""
