"""Reading from outside: a reader is made and stepped in the host's loop, a handful at a time.

What was read is put down before its reader is woken, so a reader who is cancelled, by a timeout
say, finds it at his next step. He is never ahead by more than a handful, and between two steps
nothing in the host waits for him; a loop that is left early leaves nothing behind.
"""

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, Self, TypeVar

import trio

from greenroom.actors.listing import Listing as TrioListing
from greenroom.actors.portal.line import Line
from greenroom.actors.portal.waiting import awaited, blocking
from greenroom.protocol.errors import HostClosed

T = TypeVar("T")

HANDFUL: Final = 64
"""Items that are fetched at once, where so many are there."""


class Source(Generic[T]):
    """What is read, step by step, and what was fetched of it and not taken."""

    __slots__ = ("_failure", "_follows", "_start", "_steps", "ended", "fetched")

    def __init__(self, start: Callable[[], AsyncIterable[T]], *, follows: bool = False) -> None:
        self._start = start
        self._follows = follows
        """It goes on as long as the host, and ends with it."""
        self._steps: AsyncIterator[T] | None = None
        self._failure: Exception | None = None
        self.fetched: deque[T] = deque()
        self.ended = False

    @property
    def needs_more(self) -> bool:
        """Whether something has to be fetched before the next step."""
        return not self.fetched and not self.ended

    @contextmanager
    def until_the_host_ends(self) -> Iterator[None]:
        """Around a fetch: what follows the host has its end where the host has it."""
        try:
            yield
        except HostClosed:
            if not self._follows or self._steps is None:
                raise
            self.ended = True

    async def fetch(self) -> None:
        """Wait for one item, and bring those along that are there without waiting."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self._steps is None:
            self._steps = aiter(self._start())
        try:
            self.fetched.append(await anext(self._steps))
            await self._bring_along(self._steps)
        except StopAsyncIteration:
            self.ended = True

    async def _bring_along(self, steps: AsyncIterator[T]) -> None:
        with trio.CancelScope() as at_once:
            at_once.cancel()
            try:
                while len(self.fetched) < HANDFUL:
                    self.fetched.append(await anext(steps))
            except Exception as error:
                if isinstance(error, StopAsyncIteration):
                    raise
                self._failure = error  # told behind what came before it


class Reader(Generic[T]):
    """Reads from asyncio: ``async for``. Leaving the loop is always safe."""

    __slots__ = ("_line", "_source")

    def __init__(self, line: Line, source: Source[T]) -> None:
        self._line = line
        self._source = source

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        source = self._source
        while source.needs_more:
            with source.until_the_host_ends():
                await awaited(self._line, source.fetch)
        if not source.fetched:
            raise StopAsyncIteration
        return source.fetched.popleft()


class PlainReader(Generic[T]):
    """Reads from a thread: ``for``. Leaving the loop is always safe."""

    __slots__ = ("_line", "_source")

    def __init__(self, line: Line, source: Source[T]) -> None:
        self._line = line
        self._source = source

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        source = self._source
        while source.needs_more:
            with source.until_the_host_ends():
                blocking(self._line, source.fetch)
        if not source.fetched:
            raise StopIteration
        return source.fetched.popleft()


class Listing(Generic[T]):
    """Things of one kind, in a stable order; each ``async for`` reads them anew."""

    __slots__ = ("_line", "_listed")

    def __init__(self, line: Line, listed: TrioListing[T]) -> None:
        self._line = line
        self._listed = listed

    def __aiter__(self) -> Reader[T]:
        return Reader(self._line, Source(lambda: self._listed))

    async def count(self) -> int:
        """How many there are."""
        return await awaited(self._line, self._listed.count)

    async def all(self) -> list[T]:
        """All of them at once."""
        return await awaited(self._line, self._listed.all)


class PlainListing(Generic[T]):
    """Things of one kind, in a stable order; each ``for`` reads them anew."""

    __slots__ = ("_line", "_listed")

    def __init__(self, line: Line, listed: TrioListing[T]) -> None:
        self._line = line
        self._listed = listed

    def __iter__(self) -> PlainReader[T]:
        return PlainReader(self._line, Source(lambda: self._listed))

    def count(self) -> int:
        """How many there are."""
        return blocking(self._line, self._listed.count)

    def all(self) -> list[T]:
        """All of them at once."""
        return blocking(self._line, self._listed.all)
