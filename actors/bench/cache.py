"""What a prompt cache is to the benchmark: requests as tokens go in, what was read comes out.

A cache model is anything with one method, :meth:`CacheModel.request`. Ours (a chain of blocks, a
radix tree, breakpoints, whole units) are the ways in which providers and engines say publicly that
they cache; their sizes, minimum lengths and lives are data, for they change several times a year.
"""

import sys
from array import array
from collections.abc import Sequence
from typing import Final, Protocol, overload, runtime_checkable

import attrs
import msgspec

from greenroom.protocol.errors import InvalidInput

WIDTH: Final = 4
"""Bytes of one token in memory."""


class Tokens(Sequence[int]):
    """Tokens one behind the other in bytes, four each: a long request is compared, never walked."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data) // WIDTH

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        return memoryview(self.data).cast("I")[index]


def packed(tokens: Sequence[int]) -> bytes:
    """Tokens as bytes, four each.

    Raises:
        InvalidInput: a token is no whole number from 0 to 2**32 - 1.
    """
    if isinstance(tokens, Tokens):
        return tokens.data
    try:
        return array("I", tokens).tobytes()
    except (TypeError, OverflowError) as error:
        raise InvalidInput("A token is a whole number from 0 to 2**32 - 1.") from error


class CacheUse(msgspec.Struct, frozen=True, gc=False):
    """What the cache did for one request, in tokens."""

    read: int
    """Of the request's beginning: what did not have to be computed again."""
    written: int
    """What is kept from now on and was not before."""


class Breakpoints(msgspec.Struct, frozen=True, gc=False):
    """Where the content blocks of a request end, and at which of these ends it is marked."""

    ends: tuple[int, ...] = ()
    """Tokens up to and with each block, rising."""
    marked: tuple[int, ...] = ()
    """Those of ``ends`` at which the caller asks the cache to write, rising."""


class CacheModel(Protocol):
    """One cache, of one model and tenant, that lives as long as the run."""

    def request(self, tokens: Sequence[int], /, *, at: float, breakpoints: Breakpoints) -> CacheUse:
        """Take in one request.

        Args:
            tokens: the whole request.
            at: seconds of simulated time; never less than in the call before.
            breakpoints: for the ways of caching that go by marks.
        """
        ...


@attrs.frozen
class Keeping:
    """How much a cache keeps, how long, and from when on it can be read."""

    capacity: int | None = None
    """Tokens; what was used longest ago makes room. None: everything is kept."""
    life: float | None = None
    """Seconds from the last use on; None: no end."""
    ready: float = 0.0
    """Seconds until what was written can be read: requests that come together all pay."""

    def __attrs_post_init__(self) -> None:
        if (self.capacity is not None and self.capacity < 1) or self.ready < 0:
            raise InvalidInput("A cache keeps at least one token, and is ready after 0 s or more.")
        if self.life is not None and self.life <= 0:
            raise InvalidInput("A cache's life is more than 0 s, or None for no end.")

    def is_readable(self, used: float, ready: float, at: float) -> bool:
        """Whether what was used last at ``used`` and is ready since ``ready`` can be read now."""
        return ready <= at and (self.life is None or at - used <= self.life)

    def is_over(self, used: float, at: float) -> bool:
        """Whether its life has ended."""
        return self.life is not None and at - used > self.life


@runtime_checkable
class Bounded(Protocol):
    """A cache model that can tell what it could give at best."""

    @property
    def keeping(self) -> Keeping:
        """What bounds it in size and time."""
        ...

    def most(self, common: int, /) -> int:
        """The most it can read of a request that has ``common`` tokens in common with others."""
        ...


def checked_size(size: int, what: str, least: int = 1) -> int:
    """Return ``size``, which a cache model was given. Raises :class:`InvalidInput`."""
    if size < least:
        raise InvalidInput(f"The {what} of a cache must be at least {least}, not {size}.")
    return size


assert array("I").itemsize == WIDTH, sys.platform
