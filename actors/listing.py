"""A listing: read step by step with ``async for``, or counted; leaving it is always safe."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, Self, TypeAlias, TypeVar

import trio

from greenroom.actors.loop import check_loop

T = TypeVar("T")

_STEPS_BETWEEN_CHECKPOINTS: Final = 64


class Pause:
    """Given in place of an item by what has to look long for the next: others get to run."""


PAUSE: Final = Pause()
Items: TypeAlias = Iterable[T | Pause]


class Listing(Generic[T]):
    """Things of one kind, in a stable order; each ``async for`` reads them anew."""

    def __init__(self, items: Callable[[], Items[T]]) -> None:
        self._items = items

    def __aiter__(self) -> "Steps[T]":
        check_loop()
        return Steps(iter(self._items()))

    async def count(self) -> int:
        """How many there are."""
        return len(await self.all())

    async def all(self) -> list[T]:
        """All of them at once."""
        return [item async for item in self]


class Steps(Generic[T]):
    """One pass over a listing; others get to run meanwhile."""

    __slots__ = ("_given", "_items")

    def __init__(self, items: Iterator[T | Pause]) -> None:
        self._items = items
        self._given = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        self._given += 1
        if self._given % _STEPS_BETWEEN_CHECKPOINTS == 0:
            await trio.lowlevel.checkpoint()
        while True:
            try:
                item = next(self._items)
            except StopIteration:
                raise StopAsyncIteration from None
            if not isinstance(item, Pause):
                return item
            await trio.lowlevel.checkpoint()
