"""A package from others, unpacked in memory: a zip, a tar or a tar.gz, and nothing beside it.

What an archive says of itself is a claim. Names are taken apart before anything is read, sizes are
counted while it is read and never taken from a header, and nothing is written anywhere: what comes
out is texts and bytes by path, or a refusal that says where in the archive it met what.
"""

import gzip
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from greenroom.actors.package_entries import Entry, no_plain_file, read_entries, too_large
from greenroom.actors.plugin_tar import tar_entries
from greenroom.protocol.errors import TooLarge
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.package_path import Parts
from greenroom.protocol.quoting import PATH_MAX, quoted
from greenroom.protocol.refusal import BadPlugin

_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_ENTRY: Final = b"PK\x01\x02"
_GZIP: Final = b"\x1f\x8b"
_HEADERS_EACH: Final = 4_096
"""Bytes that one entry may take beside its content."""
_ENCRYPTED: Final = 0x1
_KIND_UNSAID: Final = 0
"""Of an entry that was packed where files have no modes."""
_FAULTS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,  # among them names that are no UTF-8
    LookupError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)
"""What the standard library raises for an archive that is none, or is cut or made up."""


def archive_bytes_max(limits: Limits) -> int:
    """How much an archive may have, packed or not: its files, and what stands between them."""
    return limits.plugin_bytes_max + limits.plugin_files_max * _HEADERS_EACH


def unpacked(data: bytes, limits: Limits = DEFAULT_LIMITS) -> dict[Parts, bytes]:
    """The files of an archive, by the components of their paths.

    Raises:
        BadPlugin: it is no such archive, is damaged or encrypted, or an entry is a link, a device
            or has a path that cannot be one; ``facts['where']`` names the entry.
        SameName: two entries are one path, on this disk or on another.
        TooLarge: it, an entry, or all of them together unpack to more than the bounds.
    """
    if len(data) > (bound := archive_bytes_max(limits)):
        raise too_large("archive", "archive", bound)
    with _as_refusal():
        if data.startswith(_ZIP):
            return read_entries(_zip_entries(data, limits), limits)
        return read_entries(tar_entries(_unzipped(data, limits)), limits)


# --- zip -----------------------------------------------------------------------------------------


def _zip_entries(data: bytes, limits: Limits) -> Iterator[Entry]:
    # Counted first: a list of entries is made of all of them before any can be looked at.
    if data.count(_ZIP_ENTRY) > limits.plugin_files_max:
        raise TooLarge(
            f"It has more than {limits.plugin_files_max:,} files and folders.",
            where="archive",
            bound=limits.plugin_files_max,
        )
    archive = zipfile.ZipFile(io.BytesIO(data))
    for info in archive.infolist():
        name = info.orig_filename  # the other one ends at a NUL
        kind = stat.S_IFDIR if info.is_dir() else stat.S_IFREG
        if stat.S_IFMT(info.external_attr >> 16) not in (kind, _KIND_UNSAID):
            raise no_plain_file(name)
        if info.flag_bits & _ENCRYPTED:
            raise BadPlugin(f"The entry {quoted(name, PATH_MAX)} is encrypted.", where=name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BadPlugin(
                f"The entry {quoted(name, PATH_MAX)} is packed in a way that is not read: "
                "store or deflate it.",
                where=name,
            )
        yield Entry(name, None if info.is_dir() else _zip_reader(archive, info))


def _zip_reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[int], bytes]:
    def read(most: int) -> bytes:
        with _as_refusal(info.filename), archive.open(info) as stream:
            return stream.read(most)

    return read


# --- tar -----------------------------------------------------------------------------------------


def _unzipped(data: bytes, limits: Limits) -> bytes:
    """A tar as it is, unpacked if need be to no more than could be used of it."""
    if not data.startswith(_GZIP):
        return data
    bound = archive_bytes_max(limits)
    tar = gzip.GzipFile(fileobj=io.BytesIO(data)).read(bound + 1)
    if len(tar) > bound:
        raise too_large("archive, unpacked,", "archive", bound)
    return tar


# --- refusals ------------------------------------------------------------------------------------


@contextmanager
def _as_refusal(where: str = "archive") -> Iterator[None]:
    """The standard library's answer to a bad archive as a typed error."""
    try:
        yield
    except _FAULTS as error:
        raise BadPlugin(
            f"The archive cannot be read at {quoted(where, PATH_MAX)}: {type(error).__name__}.",
            where=where,
        ) from None
