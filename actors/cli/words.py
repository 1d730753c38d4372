"""How values are written for a person at a terminal."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from rich.console import Console

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BREAKS: Final = re.compile(r"[\t\n\u2028\u2029]")
KEY_SHOWN: Final = 1_000
"""Characters of a key: it may have more, but nobody types them."""
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_STEP: Final = 1_000


def console() -> Console:
    """A console that prints text as it is: no markup, and no codes where there is no terminal."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def plain(text: str) -> str:
    """``text`` without what a terminal would obey: models and tools write anything."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def short(text: str, characters: int) -> str:
    """One line of ``text``, cut with a mark."""
    line = " ".join(plain(text).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def named(key: str) -> str:
    """A key as it is to be typed, on one line; it is cut with a mark only where it is a text."""
    line = _BREAKS.sub("\N{REPLACEMENT CHARACTER}", plain(key))
    return line if len(line) <= KEY_SHOWN else line[: KEY_SHOWN - 1] + "…"


def counted(number: int, thing: str) -> str:
    """``1 turn``, ``2,000 turns``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def moment(milliseconds: int) -> str:
    """A stored time, in UTC."""
    return f"{_EPOCH + timedelta(milliseconds=milliseconds):%Y-%m-%d %H:%M:%S}"


def stamp(milliseconds: int) -> str:
    """A time, in UTC, as a part of a key that nobody has to quote."""
    return f"{_EPOCH + timedelta(milliseconds=milliseconds):%Y%m%d-%H%M%S}"


def size(count: int) -> str:
    """Bytes, with three digits."""
    value, unit = float(count), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if unit else f"{count} B"
