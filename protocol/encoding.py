"""The only place that encodes or decodes a message or a record.

msgspec raises many things for bad input (``DecodeError``, ``RecursionError``, ``MemoryError``,
``UnicodeEncodeError``, ``OverflowError`` ...); here they all become one typed error. There is no
second codec to fall back on: bytes that this one refuses are refused.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from greenroom.protocol.errors import InvalidInput, StoreDamaged
from greenroom.protocol.header import Header
from greenroom.protocol.message import AssistantMessage, Message, ToolMessage, UserMessage
from greenroom.protocol.record import AnyRecord

T = TypeVar("T")

_encoder: Final = msgspec.json.Encoder()
_records: Final = msgspec.json.Decoder(list[AnyRecord])
_message: Final = msgspec.json.Decoder(Message)
_headers: Final = msgspec.msgpack.Decoder(Header)
_header_encoder: Final = msgspec.msgpack.Encoder()
_FAULTS: Final = (
    msgspec.MsgspecError,
    UnicodeError,
    ValueError,
    OverflowError,
    TypeError,
    RecursionError,
    MemoryError,
)


def encode(value: object) -> bytes:
    """Encode one of our values as canonical JSON: fields in the order of their declaration.

    Raises:
        InvalidInput: the value holds what JSON or UTF-8 cannot carry.
    """
    try:
        return _encoder.encode(value)
    except _FAULTS as error:
        raise InvalidInput(f"This cannot be encoded: {type(error).__name__}.") from error


def encode_sorted(value: object) -> bytes:
    """Encode plain data with sorted keys and sets, whatever order they were made in (R195)."""
    try:
        return msgspec.json.encode(value, order="deterministic")
    except _FAULTS as error:
        raise InvalidInput(f"This cannot be encoded: {type(error).__name__}.") from error


def decode(data: bytes, type_: type[T], what: str = "value") -> T:
    """Decode JSON that came from outside into one of our types.

    Raises:
        InvalidInput: anything but a value of that type.
    """
    try:
        return msgspec.json.decode(data, type=type_)
    except _FAULTS as error:
        raise InvalidInput(f"This is not a {what}: {type(error).__name__}.", what=what) from error


def decode_stored(data: bytes, decoder: msgspec.json.Decoder[T], what: str) -> T:
    """Read one of our values that was stored by :func:`encode`.

    Raises:
        StoreDamaged: it is none; ``what`` names it (R92).
    """
    try:
        return decoder.decode(data)
    except _FAULTS as error:
        raise StoreDamaged(f"A stored {what} cannot be read: {type(error).__name__}.") from error


def encode_message(message: UserMessage | AssistantMessage | ToolMessage) -> bytes:
    """Encode a conversation message: once in its life, for the store and for the model."""
    return encode(message)


def decode_message(data: bytes | msgspec.Raw) -> Message:
    """Read a stored message. Raises :class:`StoreDamaged` if it is none."""
    try:
        return _message.decode(data)
    except _FAULTS as error:
        raise StoreDamaged(f"A stored message cannot be read: {type(error).__name__}.") from error


def encode_records(records: Sequence[AnyRecord]) -> bytes:
    """Encode the records of one commit."""
    return encode(records)


def decode_records(data: bytes) -> list[AnyRecord]:
    """Read the records of one commit. Raises :class:`StoreDamaged` if they are none (R92)."""
    try:
        return _records.decode(data)
    except _FAULTS as error:
        raise StoreDamaged(f"Stored records cannot be read: {type(error).__name__}.") from error


def encode_header(header: Header) -> bytes:
    """Encode a session's header."""
    return _header_encoder.encode(header)


def decode_header(data: bytes) -> Header:
    """Read a session's header. Raises :class:`StoreDamaged` if it is none."""
    try:
        return _headers.decode(data)
    except _FAULTS as error:
        raise StoreDamaged(f"A stored header cannot be read: {type(error).__name__}.") from error
