"""The envelope around every stored value: what it is, how long, and whether it is still that.

LMDB has no checksums: a flipped bit comes back as data without a word. So each value carries a
CRC-32 of itself and of its key (a sound value under a wrong key is damage too), the version of the
format, and its kind. Nothing is ever repaired by reading (R92).

``crc32 (4) · version (1) · kind (1) · length (4) · payload``. Checksum and version keep their place
in every future version, so that a newer one can be told from a damaged one.
"""

import struct
from enum import IntEnum
from typing import Final
from zlib import crc32

from greenroom.protocol.errors import StoreDamaged, StoreTooNew
from greenroom.protocol.identity import SessionId
from greenroom.store.schema import Table

VERSION: Final = 1
FRAME_BYTES: Final = 10

_frame: Final = struct.Struct(">IBBI")
_crc: Final = struct.Struct(">I")
_about: Final = struct.Struct(">BBI")


class Kind(IntEnum):
    """What a value is. Numbers are only ever added."""

    META = 1
    HEAD = 2
    NAME = 3
    ID = 4
    QUEUED = 5
    KEY = 6
    BLOB = 7
    TERMSET = 8
    ERASING = 9
    JOURNAL = 10
    STANDING = 11
    CHARGED = 12
    ENTRY_CREATED = 16
    ENTRY_COMMITTED = 17
    ENTRY_QUEUED = 18
    ENTRY_COPIED = 19
    """Copied by a fork, or come with an import: part of a history, and no news in the feed."""
    ENTRY_DELETED = 20


def seal(kind: int, key: bytes, fixed: bytes, rest: bytes = b"") -> bytes:
    """Put a payload, given in one part or two, into an envelope for the value under ``key``."""
    body = _about.pack(VERSION, kind, len(fixed) + len(rest)) + fixed + rest
    return _crc.pack(crc32(body, crc32(key))) + body


def unseal(
    value: bytes, *, table: Table, key: bytes, session: SessionId | None = None
) -> tuple[int, bytes]:
    """Return kind and payload of a value; ``session`` is named if it is damaged.

    Raises:
        StoreDamaged: it is not what was written under this key (R92).
        StoreTooNew: it is whole, and of a version that this program does not know.
    """
    if len(value) < FRAME_BYTES:
        raise damaged("is cut short", table, key, session)
    crc, version, kind, length = _frame.unpack_from(value)
    payload = value[FRAME_BYTES:]
    if crc32(memoryview(value)[4:], crc32(key)) != crc:
        raise damaged("does not fit its checksum", table, key, session)
    if version > VERSION:
        raise StoreTooNew(
            f"A record has version {version}; this program knows up to {VERSION}.",
            version=version,
            known=VERSION,
        )
    if length != len(payload):
        raise damaged("has another length than it says", table, key, session)
    return kind, payload


def unseal_as(
    kind: Kind, value: bytes, *, table: Table, key: bytes, session: SessionId | None = None
) -> bytes:
    """Return the payload of a value that must be of one kind. Raises as :func:`unseal` does."""
    found, payload = unseal(value, table=table, key=key, session=session)
    if found != kind:
        raise damaged(f"is of kind {found}, not {int(kind)}", table, key, session)
    return payload


def damaged(what: str, table: Table, key: bytes, session: SessionId | None) -> StoreDamaged:
    """The error for one damaged record: it names the session, if that is known, and the record."""
    whose = "" if session is None else f" of session {session}"
    return StoreDamaged(
        f"The record {key.hex()} in {table!r}{whose} {what}.",
        table=table,
        record=key.hex(),
        session=session,
    )
