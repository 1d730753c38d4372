"""What is in an envelope comes back as it was put in, or not at all."""

import struct
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.errors import StoreDamaged, StoreTooNew
from greenroom.protocol.identity import SessionId
from greenroom.store.envelope import VERSION, Kind, seal, unseal, unseal_as
from greenroom.store.schema import HEADS, LOG

ANN = SessionId("default", "ann")


@given(st.sampled_from(Kind), st.binary(), st.binary(), st.binary())
def test_what_was_sealed_is_unsealed(kind: Kind, key: bytes, fixed: bytes, rest: bytes) -> None:
    """R92: in one part or in two."""
    value = seal(kind, key, fixed, rest)
    assert value == seal(kind, key, fixed + rest)
    assert unseal(value, table=LOG, key=key) == (kind, fixed + rest)


@given(st.binary(min_size=1, max_size=40), st.data())
def test_no_flipped_bit_goes_unseen(payload: bytes, data: st.DataObject) -> None:
    """R92, P114: wherever it lies, the record is refused and the session named."""
    value = bytearray(seal(Kind.HEAD, b"key", payload))
    place = data.draw(st.integers(0, len(value) * 8 - 1))
    value[place // 8] ^= 1 << place % 8
    with pytest.raises(StoreDamaged, match="session ann") as caught:
        unseal(bytes(value), table=HEADS, key=b"key", session=ANN)
    assert caught.value.facts["session"] == ANN


@given(st.binary(max_size=40), st.data())
def test_no_cut_goes_unseen(payload: bytes, data: st.DataObject) -> None:
    """R92, P048: a value that was cut anywhere is refused."""
    value = seal(Kind.HEAD, b"key", payload)
    with pytest.raises(StoreDamaged):
        unseal(value[: data.draw(st.integers(0, len(value) - 1))], table=HEADS, key=b"key")


def test_a_sound_value_under_a_wrong_key_is_damage() -> None:
    """R92: the checksum is of key and value."""
    with pytest.raises(StoreDamaged):
        unseal(seal(Kind.HEAD, b"one", b""), table=HEADS, key=b"two")


def test_a_newer_version_is_refused_as_newer() -> None:
    """R92: not as damage, for nothing is broken; a length that does not fit is damage."""

    def made(version: int, length: int) -> bytes:
        body = struct.pack(">BBI", version, Kind.HEAD, length) + b"ab"
        return struct.pack(">I", crc32(body, crc32(b"key"))) + body

    assert unseal(made(VERSION, 2), table=HEADS, key=b"key") == (Kind.HEAD, b"ab")
    with pytest.raises(StoreTooNew):
        unseal(made(VERSION + 1, 2), table=HEADS, key=b"key")
    with pytest.raises(StoreDamaged):
        unseal(made(VERSION, 3), table=HEADS, key=b"key")


def test_a_value_of_another_kind_is_damage() -> None:
    """R92: a head is never read as an entry."""
    with pytest.raises(StoreDamaged):
        unseal_as(Kind.HEAD, seal(Kind.NAME, b"key", b""), table=HEADS, key=b"key")
