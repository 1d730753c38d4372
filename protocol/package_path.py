"""Paths in a package from others: plain, inside of it, and each once however a disk spells it.

A path that comes with a package is a claim. It is taken apart here before anything is opened or
written: what leads out, what no screen shows as it is, and what two disks would tell differently
(``A`` and ``a``, an accent as one sign or two) is refused, never mended.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, TypeAlias

from greenroom.protocol.errors import Refused, SameName, TooLarge
from greenroom.protocol.identity import check_text
from greenroom.protocol.quoting import PATH_MAX, quoted
from greenroom.protocol.refusal import BadPlugin
from greenroom.protocol.skill import is_listable

Parts: TypeAlias = tuple[str, ...]

PATH_BYTES_MAX: Final = 1_024
DEPTH_MAX: Final = 16
"""Components of a path."""
_SHOWN_MAX: Final = 200
_DRIVE: Final = re.compile(r"[A-Za-z]:")


def parts_within(path: str) -> Parts:
    """The components of a path in a package; none for the package's own folder.

    Raises:
        BadPlugin: absolute, leading out by ``..``, with a backslash, or with signs that are not
            shown as they are.
        TooLarge: longer or deeper than the bounds.
    """
    shown = quoted(path, PATH_MAX)
    try:
        check_text(path, "path", PATH_BYTES_MAX)
    except TooLarge:
        raise TooLarge(
            f"The path {shown} is longer than {PATH_BYTES_MAX:,} bytes.",
            where=path[:_SHOWN_MAX],
            bound=PATH_BYTES_MAX,
        ) from None
    except Refused as error:
        raise BadPlugin(f"A path in it cannot be used: {error.sentence}", where=shown) from None
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if path.startswith("/") or _DRIVE.match(path):
        raise BadPlugin(f"The path {shown} is absolute.", where=path)
    if ".." in parts or "\\" in path:
        raise BadPlugin(f"The path {shown} leads out of the package.", where=path)
    if not path.isprintable() or not all(is_listable(part) for part in parts):
        raise BadPlugin(f"The path {shown} is not shown as it is.", where=path)
    if len(parts) > DEPTH_MAX:
        raise TooLarge(
            f"The path {shown} is {len(parts)} folders deep; the bound is {DEPTH_MAX}.",
            where=path,
            bound=DEPTH_MAX,
        )
    return parts


def is_left_out(parts: Parts) -> bool:
    """Whether it is what editors and programs leave beside a package, which is no part of it."""
    return any(part.startswith(".") or part == "__pycache__" for part in parts)


def refuse_alike(files: Iterable[Parts], folders: Iterable[Parts] = ()) -> None:
    """Refuse files of one path, and paths that some disk would take for one.

    Raises:
        SameName: a file stands twice, is a folder too, or differs from something in spelling only.
    """
    spelled: dict[Parts, Parts] = {}
    taken: set[Parts] = set()
    for parts in files:
        if parts in taken:
            raise _same(parts, parts)
        taken.add(parts)
        _take(spelled, parts)
    for parts in (*folders, *(parts[:-1] for parts in taken)):
        _take(spelled, parts)
        for length in range(1, len(parts) + 1):
            if parts[:length] in taken:
                raise _same(parts[:length], parts)


def _take(spelled: dict[Parts, Parts], parts: Parts) -> None:
    """Note how a path and all above it are spelled; each may be spelled in one way."""
    for length in range(1, len(parts) + 1):
        above = parts[:length]
        known = spelled.setdefault(tuple(_folded(part) for part in above), above)
        if known != above:
            raise _same(known, above)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _same(one: Parts, other: Parts) -> SameName:
    names = ["/".join(one), "/".join(other)]
    how = "stands twice" if one == other else f"and {names[1]!r} are one path on some disks"
    return SameName(f"The path {names[0]!r} {how}.", names=names, where=names[1])
