"""A tar, taken apart without trust: plain files and folders, by the headers as they stand.

The standard library's reader takes whatever can be made something of: it ends in silence at a
header that it cannot read, and some of its releases search hostile headers for hours. What packs a
plugin writes little of the format, so little of it is read here: POSIX headers, the long names of
GNU and of pax, and an end that is one. Anything else is refused with the entry that it stands at.
"""

from collections.abc import Iterator
from typing import Final

import attrs

from greenroom.actors.package_entries import Entry, no_plain_file
from greenroom.protocol.errors import TooLarge
from greenroom.protocol.refusal import BadPlugin

BLOCK: Final = 512
LONG_NAME_MAX: Final = 65_536
"""Bytes of one header that gives the next one a name or size."""

_FILE: Final = (b"0", b"\0")
_FOLDER: Final = b"5"
_PAX: Final = b"x"
_PAX_OF_ALL: Final = b"g"
_GNU_NAME: Final = b"L"
_MAGIC: Final = b"ustar"
_POSIX: Final = b"ustar\0"
_DIGITS_MAX: Final = 12


@attrs.frozen
class _Header:
    """One block of a tar that is not content."""

    name: bytes
    size: int
    kind: bytes


@attrs.define
class _Next:
    """What was said beforehand of the entry that comes next."""

    name: bytes | None = None
    size: int | None = None


def tar_entries(data: bytes) -> Iterator[Entry]:
    """The files and folders of a tar in memory, in their order.

    Raises:
        BadPlugin: it is no tar or ends in its midst, or an entry is neither file nor folder.
        TooLarge: a long name over its bound.
    """
    place, said = 0, _Next()
    while (block := data[place : place + BLOCK]) != bytes(BLOCK):
        header = _header(block, place)
        is_about_next = header.kind in (_PAX, _PAX_OF_ALL, _GNU_NAME)
        name = header.name if is_about_next or said.name is None else said.name
        size = header.size if is_about_next or said.size is None else said.size
        _check(header.kind, name, size)
        content = data[place + BLOCK : place + BLOCK + size]
        if len(content) < size:
            raise BadPlugin(f"The archive ends within {_shown(name)!r}.", where=_shown(name))
        place += BLOCK - (-size // BLOCK) * BLOCK
        if is_about_next:
            _say(said, header.kind, content)
        else:
            yield _entry(name, header.kind, content)
            said = _Next()
    if data[place:].strip(b"\0"):
        raise BadPlugin("The archive goes on behind its end.", where="archive")


def _header(block: bytes, place: int) -> _Header:
    """A header whose sum is right. A block that is none is never taken for the end."""
    summed = sum(block) - sum(block[148:156]) + 8 * ord(" ")
    if len(block) < BLOCK or block[257:262] != _MAGIC or _octal(block[148:156]) != summed:
        raise BadPlugin(
            f"The archive is damaged, or cut, at byte {place:,}."
            if place
            else "It is no zip, tar or tar.gz, and nothing else is unpacked.",
            where="archive",
        )
    name, prefix = _text(block[:100]), _text(block[345:500])
    if prefix and block[257:263] == _POSIX:
        name = prefix + b"/" + name
    size = _octal(block[124:136])
    if size is None:
        raise BadPlugin(f"The size of {_shown(name)!r} is none.", where=_shown(name))
    return _Header(name, size, block[156:157])


def _check(kind: bytes, name: bytes, size: int) -> None:
    """Refuse what is neither file nor folder nor about the next one, and what would be too long."""
    shown = _shown(name)
    if kind in (_PAX, _PAX_OF_ALL, _GNU_NAME):
        if size > LONG_NAME_MAX:
            raise TooLarge(
                f"The header {shown!r} has {size:,} bytes; the bound is {LONG_NAME_MAX:,}.",
                where=shown,
                bound=LONG_NAME_MAX,
            )
    elif kind not in (*_FILE, _FOLDER) or (size and (kind == _FOLDER or name.endswith(b"/"))):
        raise no_plain_file(shown)


def _entry(raw: bytes, kind: bytes, content: bytes) -> Entry:
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise BadPlugin(f"The name {_shown(raw)!r} is no UTF-8.", where=_shown(raw)) from None
    is_folder = kind == _FOLDER or name.endswith("/")
    return Entry(name, None if is_folder else lambda most: content[:most])


def _say(said: _Next, kind: bytes, content: bytes) -> None:
    """Note what a header says of the next entry; what it says of all of them is nothing of use."""
    if kind == _GNU_NAME:
        said.name = _text(content)
        return
    for key, value in _pax(content):
        if key.startswith(b"GNU.sparse") or (kind == _PAX_OF_ALL and key in {b"path", b"size"}):
            raise BadPlugin(f"A header says {_shown(key)!r}, which is not read.", where="archive")
        if key == b"path":
            said.name = value
        elif key == b"size":
            said.size = _number(value, b"0123456789", 10)
            if said.size is None:
                raise BadPlugin("A header gives a size that is none.", where="archive")


def _pax(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Records of the form ``LENGTH KEY=VALUE``, each ended by a line feed at that length."""
    place = 0
    while place < len(content):
        space = content.find(b" ", place, place + _DIGITS_MAX)
        length = _number(content[place:space], b"0123456789", 10) if space > 0 else None
        end = place + (length or 0)
        key, equals, value = content[space + 1 : end - 1].partition(b"=")
        if not length or end > len(content) or content[end - 1 : end] != b"\n" or not equals:
            raise BadPlugin("A header of the archive is damaged.", where="archive")
        yield key, value
        place = end


def _octal(field: bytes) -> int | None:
    """A number as tars write it; None for anything else, such as one of more than 8 GB."""
    return _number(field.strip(b" \0"), b"01234567", 8)


def _number(digits: bytes, allowed: bytes, base: int) -> int | None:
    if not digits or len(digits) > _DIGITS_MAX or digits.strip(allowed):
        return None
    return int(digits, base)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _shown(raw: bytes) -> str:
    return raw[:200].decode(errors="replace")
