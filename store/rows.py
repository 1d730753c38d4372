"""The values that have parts: a session's head, an entry of the log, a used key, an id.

Packed by ``struct`` and not by a general encoder: the first two are written with every commit.
"""

import struct
from typing import Final

import msgspec

from greenroom.protocol.identity import SessionId
from greenroom.store.envelope import FRAME_BYTES, Kind, damaged, seal, unseal, unseal_as
from greenroom.store.schema import HEADS, IDS, KEYS, LOG, NAMES, SESSION_BYTES, name_key, number_key

_head: Final = struct.Struct(">QQQQQQIIB")
_entry: Final = struct.Struct(">8sQ")
_NUMBER_BYTES: Final = 8
ENTRY_KINDS: Final = frozenset(kind for kind in Kind if kind.name.startswith("ENTRY_"))


class Head(msgspec.Struct, frozen=True, gc=False):
    """A session as it stands: one get and one put for each commit."""

    epoch: int
    head: int
    number: int
    """Its newest entry, whatever it is: where its chain begins."""
    committed: int
    """Its newest entry made by a commit; 0 if there is none. Tells a commit offered again."""
    back: int = 0
    """How many messages were ever queued at the back: the last ``seq`` there."""
    front: int = 0
    """The same for the front, where ``seq`` goes down from -1."""
    queued: int = 0
    stalled: int = 0
    """Claims since the last commit or release."""
    gone: bool = False
    """Deleted: a tombstone that refuses late writes (R192)."""
    header: bytes = b""


class Row(msgspec.Struct, frozen=True, gc=False):
    """An entry of the log."""

    kind: int
    session: bytes
    before: int
    """The number of the session's entry before this one; 0: this is its first."""
    records: bytes


def pack_head(session: bytes, head: Head) -> bytes:
    """The value under ``session`` in ``heads``."""
    fixed = _head.pack(
        head.epoch,
        head.head,
        head.number,
        head.committed,
        head.back,
        head.front,
        head.queued,
        head.stalled,
        head.gone,
    )
    return seal(Kind.HEAD, session, fixed, head.header)


def unpack_head(session: bytes, value: bytes | None, name: SessionId) -> Head:
    """Read a head. Raises :class:`StoreDamaged` naming the session, also if there is none."""
    if value is None:
        raise damaged("is missing", HEADS, session, name)
    payload = unseal_as(Kind.HEAD, value, table=HEADS, key=session, session=name)
    if len(payload) < _head.size:
        raise damaged("is too short", HEADS, session, name)
    epoch, head, number, committed, back, front, queued, stalled, gone = _head.unpack_from(payload)
    header = payload[_head.size :]
    return Head(epoch, head, number, committed, back, front, queued, stalled, bool(gone), header)


def pack_row(key: bytes, kind: Kind, session: bytes, before: int, records: bytes) -> bytes:
    """The value under ``key`` in ``log``."""
    return seal(kind, key, _entry.pack(session, before), records)


def unpack_row(key: bytes, value: bytes | None, name: SessionId | None = None) -> Row:
    """Read an entry of the log. Raises :class:`StoreDamaged`, also if there is none."""
    if value is None:
        raise damaged("is missing", LOG, key, name)
    kind, payload = unseal(value, table=LOG, key=key, session=name)
    if kind not in ENTRY_KINDS or len(payload) < _entry.size:
        raise damaged("is not an entry", LOG, key, name)
    session, before = _entry.unpack_from(payload)
    return Row(kind, session, before, payload[_entry.size :])


def chained(value: bytes | None) -> tuple[bytes, int]:
    """Session and predecessor of an entry that may be damaged: for erasing, which must go on."""
    if value is None or len(value) < FRAME_BYTES + _entry.size:
        return b"", 0
    session, before = _entry.unpack_from(value, FRAME_BYTES)
    return session, before


def pack_id(session: bytes, name: SessionId) -> bytes:
    """The value under ``session`` in ``ids``."""
    tenant = name.tenant.encode()
    told = number_key(len(tenant)) + tenant + name.key.encode()
    return seal(Kind.ID, session, told)


def unpack_id(session: bytes, value: bytes | None) -> SessionId:
    """Read a session's name. Raises :class:`StoreDamaged`, also if there is none."""
    if value is None:
        raise damaged("is missing", IDS, session, None)
    told = unseal_as(Kind.ID, value, table=IDS, key=session)
    end = _NUMBER_BYTES + int.from_bytes(told[:_NUMBER_BYTES], "big")
    return SessionId(told[_NUMBER_BYTES:end].decode(), told[end:].decode())


def unpack_name(name: SessionId, value: bytes) -> bytes:
    """Read which session a name stands for. Raises :class:`StoreDamaged`."""
    key = name_key(name)
    session = unseal_as(Kind.NAME, value, table=NAMES, key=key, session=name)
    if len(session) != SESSION_BYTES:
        raise damaged("is not a session", NAMES, key, name)
    return session


def unpack_key(key: bytes, value: bytes, name: SessionId) -> tuple[int, bytes]:
    """Read by which entry an idempotency key was used, and the digest of its content."""
    told = unseal_as(Kind.KEY, value, table=KEYS, key=key, session=name)
    return int.from_bytes(told[:_NUMBER_BYTES], "big"), told[_NUMBER_BYTES:]
