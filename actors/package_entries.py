"""The entries of a package from others, read within bounds once all their names were looked at.

Sizes are counted while a file is read and never taken from what the package says of itself, so what
expands without end is left as soon as it has grown over a bound. Nothing is written anywhere.
"""

from collections.abc import Callable, Iterable

import attrs

from greenroom.protocol.errors import TooLarge
from greenroom.protocol.limits import Limits
from greenroom.protocol.package_path import Parts, is_left_out, parts_within, refuse_alike
from greenroom.protocol.quoting import PATH_MAX, quoted
from greenroom.protocol.refusal import BadPlugin


@attrs.frozen
class Entry:
    """A file or folder of a package, not read yet."""

    name: str
    """As it is written there."""
    read: Callable[[int], bytes] | None
    """Reads at most so many bytes of a file; None: it is a folder."""


def read_entries(entries: Iterable[Entry], limits: Limits) -> dict[Parts, bytes]:
    """Read what belongs to a package, within the bounds, after every name in it was looked at.

    Raises:
        BadPlugin: a path that cannot be one, or whatever reading an entry raises.
        SameName: two entries are one path, on this disk or on another.
        TooLarge: too many entries, or too much in one or in all of them.
    """
    files: dict[Parts, Entry] = {}
    folders: list[Parts] = []
    all_files: list[Parts] = []
    for number, entry in enumerate(entries, 1):
        if number > limits.plugin_files_max:
            raise TooLarge(
                f"It has more than {limits.plugin_files_max:,} files and folders.",
                where=entry.name[:200],
                bound=limits.plugin_files_max,
            )
        parts = parts_within(entry.name)
        if entry.read is None or not parts:
            folders.append(parts)
            continue
        all_files.append(parts)
        if not is_left_out(parts):
            files[parts] = entry
    refuse_alike(all_files, folders)
    return _read(files, limits)


def _read(files: dict[Parts, Entry], limits: Limits) -> dict[Parts, bytes]:
    read: dict[Parts, bytes] = {}
    room = limits.plugin_bytes_max
    for parts, entry in files.items():
        assert entry.read is not None
        bound = min(room, limits.plugin_file_bytes_max)
        # One byte more than is allowed tells of what goes on.
        read[parts] = entry.read(bound + 1)
        if len(read[parts]) > bound:
            one_alone = bound == limits.plugin_file_bytes_max
            what = f"file {quoted(entry.name, PATH_MAX)}" if one_alone else "package"
            allowed = limits.plugin_file_bytes_max if one_alone else limits.plugin_bytes_max
            raise too_large(what, entry.name, allowed)
        room -= len(read[parts])
    return read


def no_plain_file(name: str) -> BadPlugin:
    """The refusal of an entry that would be a link, a device or the like."""
    return BadPlugin(
        f"The entry {quoted(name, PATH_MAX)} is a link, a device or another thing "
        "that is no file and no folder.",
        where=name[:200],
    )


def too_large(what: str, where: str, bound: int) -> TooLarge:
    """The refusal of what has more bytes than its bound, wherever in the package it stands."""
    return TooLarge(
        f"The {what} has more than {bound:,} bytes, which is the bound.", where=where, bound=bound
    )
