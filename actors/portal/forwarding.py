"""How one table of names serves two callers: the method of the original says what both look like.

A table (:mod:`greenroom.actors.portal.handles`) names each method of a host once, by one of these
descriptors. Held from asyncio it is a coroutine function with the original's parameters and result;
held from a plain program it is a function that blocks. Nothing of a signature is written twice.
"""

from collections.abc import AsyncIterable, Callable, Coroutine
from functools import partial
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeAlias, TypeVar, overload

from greenroom.actors.listing import Listing as TrioListing
from greenroom.actors.portal.line import Line
from greenroom.actors.portal.reading import Listing, PlainListing, PlainReader, Reader, Source
from greenroom.actors.portal.waiting import awaited, blocking

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
H_co = TypeVar("H_co", covariant=True)


class Handle(Generic[H_co]):
    """What stands for something of the host outside of its loop."""

    __slots__ = ("held", "line")

    def __init__(self, line: Line, held: H_co) -> None:
        self.line: Final = line
        """The way to the host."""
        self.held: Final = held
        """The original, which only the host's loop may ask."""


class ForAsyncio(Handle[H_co]):
    """Held in an asyncio program."""

    __slots__ = ()


class ForPlain(Handle[H_co]):
    """Held in a program, or a thread, without a loop."""

    __slots__ = ()


AnyHandle: TypeAlias = ForAsyncio[Any] | ForPlain[Any]


class Forwarded(Generic[P, R]):
    """A method of the original, which the class itself shows: with its parameters and its words."""

    def __init__(self, method: Callable[Concatenate[Any, P], R]) -> None:
        self.method: Final = method


class Asked(Forwarded[P, Coroutine[Any, Any, R]]):
    """A coroutine: it runs in the host's loop."""

    @overload
    def __get__(
        self, handle: None, owner: object
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]: ...
    @overload
    def __get__(
        self, handle: ForAsyncio[Any], owner: object
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __get__(self, handle: ForPlain[Any], owner: object) -> Callable[P, R]: ...
    def __get__(self, handle: AnyHandle | None, owner: object) -> Any:
        if handle is None:
            return self.method
        way: Callable[..., Any] = awaited if isinstance(handle, ForAsyncio) else blocking
        return partial(way, handle.line, self.method, handle.held)


class Told(Forwarded[P, R]):
    """A method that reads what never changes: it is called where the caller is."""

    @overload
    def __get__(self, handle: None, owner: object) -> Callable[Concatenate[Any, P], R]: ...
    @overload
    def __get__(self, handle: AnyHandle, owner: object) -> Callable[P, R]: ...
    def __get__(self, handle: AnyHandle | None, owner: object) -> Any:
        return self.method if handle is None else partial(self.method, handle.held)


class Lists(Forwarded[P, TrioListing[R]]):
    """A listing: made where the caller is, which checks what he asks; read in the host's loop."""

    @overload
    def __get__(
        self, handle: None, owner: object
    ) -> Callable[Concatenate[Any, P], TrioListing[R]]: ...
    @overload
    def __get__(self, handle: ForAsyncio[Any], owner: object) -> Callable[P, Listing[R]]: ...
    @overload
    def __get__(self, handle: ForPlain[Any], owner: object) -> Callable[P, PlainListing[R]]: ...
    def __get__(self, handle: AnyHandle | None, owner: object) -> Any:
        return self.method if handle is None else partial(self._listed, handle)

    def _listed(self, handle: AnyHandle, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        listed = self.method(handle.held, *args, **kwargs)
        made = Listing if isinstance(handle, ForAsyncio) else PlainListing
        return made(handle.line, listed)


class Follows(Forwarded[P, AsyncIterable[R]]):
    """A stream: opened in the host's loop at its first step, which raises what opening raises."""

    @overload
    def __get__(
        self, handle: None, owner: object
    ) -> Callable[Concatenate[Any, P], AsyncIterable[R]]: ...
    @overload
    def __get__(self, handle: ForAsyncio[Any], owner: object) -> Callable[P, Reader[R]]: ...
    @overload
    def __get__(self, handle: ForPlain[Any], owner: object) -> Callable[P, PlainReader[R]]: ...
    def __get__(self, handle: AnyHandle | None, owner: object) -> Any:
        return self.method if handle is None else partial(self._followed, handle)

    def _followed(self, handle: AnyHandle, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        source = Source(partial(self.method, handle.held, *args, **kwargs), follows=True)
        made = Reader if isinstance(handle, ForAsyncio) else PlainReader
        return made(handle.line, source)
