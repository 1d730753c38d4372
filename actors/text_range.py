"""A part of a long text, cut where characters begin: never a broken one (R193, P126)."""

from typing import Final

import attrs

from greenroom.actors.tool_text import text_of_bytes
from greenroom.protocol.errors import ToolFailed

LENGTH_DEFAULT: Final = 16_384
LENGTH_MAX: Final = 65_536
"""Bytes that one call gives at most."""
_CONTINUES: Final = range(0x80, 0xC0)
_TAIL_MAX: Final = 3
"""Bytes that may follow the first one of a character."""


@attrs.frozen(slots=True)
class TextRange:
    """Bytes ``start`` to ``end`` of a text of ``size`` bytes, as whole characters."""

    text: str
    start: int
    end: int
    size: int
    mended: bool = False


def range_of(data: bytes, start: int, length: int, shown: str) -> TextRange:
    """The characters between ``start`` and ``start + length``; the next range begins at ``end``.

    A start inside a character is moved back to where it begins, an end too, unless nothing would be
    left: so reading on from each ``end`` gives every character once and always comes to the end.

    Raises:
        ToolFailed: ``start`` is behind the end, or the bytes are no text.
    """
    size = len(data)
    if start > size:
        raise ToolFailed(f"{shown} has {size:,} bytes; it cannot be read from {start:,}.")
    if b"\0" in data:
        raise ToolFailed(f"{shown} is not text: {size:,} bytes of something else.")
    begin = _boundary(data, start)
    end = _boundary(data, min(begin + length, size))
    if end <= begin < size:
        end = next(i for i in range(begin + 1, size + 1) if _boundary(data, i) == i)
    text, mended = text_of_bytes(data[begin:end])
    return TextRange(text, begin, end, size, mended)


def _boundary(data: bytes, place: int) -> int:
    """The nearest place at or before ``place`` at which a character begins."""
    for back in range(min(_TAIL_MAX, place) + 1):
        if place - back >= len(data) or data[place - back] not in _CONTINUES:
            return place - back
    return place


def shown_range(part: TextRange, what: str) -> str:
    """A range as a model reads it: what it is, where it ends, and how to go on."""
    whole = part.start == 0 and part.end == part.size
    place = "whole" if whole else f"bytes {part.start} to {part.end} of {part.size}"
    more = "" if part.end == part.size else f"; go on with start={part.end}"
    return f"[{what}: {place}{more}]\n{part.text}"
