"""Where each thing lies: the tables, their keys, and the order of the keys.

Numbers in keys are big-endian, so byte order is their order. Names that people choose enter a key
only as digests of fixed length: any script and any length fits, names that look alike stay
apart, and no key can reach into another session's range (R194, R218).

=========  ==================================  ==================================================
table      key                                 value
=========  ==================================  ==================================================
meta       a word                              format, incarnation
log        number (8)                          session, number of its entry before, records
heads      session (8)                         epoch, head, queue counters, header: see ``rows``
names      tenant (16) + key (16)              session
ids        session (8)                         tenant and key, as they were given
queue      session (8) + seq (8)               number of the entry that holds the message
keys       session (8) + idempotency key (16)  number of the accepting entry, digest of the content
blobs      SHA-256 (32)                        content
holders    SHA-256 (32) + session (8)          nothing
holds      session (8) + SHA-256 (32)          nothing
terms      term (16) + tenant (16) + session   nothing
termsets   session (8)                         the session's terms, to replace them
erasing    session (8)                         number of the next entry to remove
journal    number (8)                          an intervention: who, why, when
standing   kind (16) + key (16)                number of the journal's entry, key, value
charged    tenant (16) + day (8)               tokens, turns
=========  ==================================  ==================================================

Why one log and not a range of keys for each session: appended entries of all sessions share pages,
so a group of commits touches few. Measured by ``benchmarks/store_layout.py`` (1,000 sessions, 900
bytes a commit), log against ranges, in one run: 110 and 161 µs of the writer's CPU a commit in
groups of 1, 8.1 and 17.9 of 100, 5.0 and 11.4 of 1,000; reading a session of 1,000 messages back
1.6 and 1.4 ms; the feed of all 113 and 201 ms; erasing 10.3 and 5.8 ms; 1,089 and 1,446 bytes of
the file a commit.
The feed is a walk along the log. The price is that a history is a chain from entry to entry
(newest first), and that erasing walks it too; both are paid seldom, a commit is paid always.

A fork copies its parent's entries. Entries that two chains share would need a count of holders in
each delete; copies are independent by nature, and forks are rare.

The newest entry of the log is never removed (deleting a session appends one), and a head never is
(a deleted session keeps its tombstone). So "the last key plus one" is a number that was never given
before, without a counter beside it (P041).
"""

import struct
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NewType

from greenroom.protocol.errors import SaveFailed
from greenroom.protocol.identity import SessionId
from greenroom.protocol.quoting import quoted

Table = NewType("Table", str)

META: Final = Table("meta")
LOG: Final = Table("log")
HEADS: Final = Table("heads")
NAMES: Final = Table("names")
IDS: Final = Table("ids")
QUEUE: Final = Table("queue")
KEYS: Final = Table("keys")
BLOBS: Final = Table("blobs")
HOLDERS: Final = Table("holders")
HOLDS: Final = Table("holds")
TERMS: Final = Table("terms")
TERMSETS: Final = Table("termsets")
ERASING: Final = Table("erasing")
JOURNAL: Final = Table("journal")
STANDING: Final = Table("standing")
CHARGED: Final = Table("charged")
TABLES: Final = (
    *(META, LOG, HEADS, NAMES, IDS, QUEUE, KEYS),
    *(BLOBS, HOLDERS, HOLDS, TERMS, TERMSETS, ERASING, JOURNAL, STANDING, CHARGED),
)

FORMAT: Final = 1
"""Of the tables as a whole; a store of a newer format is refused."""
FORMAT_KEY: Final = b"format"
INCARNATION_KEY: Final = b"incarnation"

DIGEST_BYTES: Final = 16
SESSION_BYTES: Final = 8
_SEQ_ZERO: Final = 1 << 63
_number: Final = struct.Struct(">Q")

number_key: Final = _number.pack
"""The key of entry ``number``, or of the session with that number: 8 bytes."""


def number_of(key: bytes | None) -> int:
    """The number that such a key stands for; 0 for no key."""
    return 0 if key is None else int.from_bytes(key, "big")


def digest(text: str) -> bytes:
    """A text as 16 bytes."""
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


@lru_cache(maxsize=1_024)
def tenant_key(tenant: str) -> bytes:
    """What all names of a tenant begin with."""
    return digest(tenant)


def name_key(session: SessionId) -> bytes:
    """Where a session is found by its name."""
    return tenant_key(session.tenant) + digest(session.key)


def queue_key(session: bytes, seq: int) -> bytes:
    """Where a queued message lies. Those put in front have a ``seq`` below zero and sort first."""
    return session + number_key(seq + _SEQ_ZERO)


def queue_seq(key: bytes) -> int:
    """The ``seq`` in a key of the queue."""
    return number_of(key[SESSION_BYTES:]) - _SEQ_ZERO


def idempotency_key(session: bytes, key: str) -> bytes:
    """Where a used idempotency key of a session lies."""
    return session + digest(key)


def kind_key(kind: str) -> bytes:
    """What the keys of all that stands of a kind begin with."""
    return digest(kind)


def standing_key(kind: str, key: str) -> bytes:
    """Where something lies that stands in the store as a whole."""
    return kind_key(kind) + digest(key)


def term(kind: str, value: str) -> bytes:
    """A search term as 16 bytes; the length in front keeps (``ab``, ``c``) from (``a``, ``bc``)."""
    name = kind.encode()
    told = b"%d:%b%b" % (len(name), name, value.encode())
    return blake2b(told, digest_size=DIGEST_BYTES).digest()


def terms_of(terms: Iterable[tuple[str, str]]) -> frozenset[bytes]:
    """Search terms as the set of their digests."""
    return frozenset(term(kind, value) for kind, value in terms)


def blob_key(sha256: str) -> bytes:
    """Where content lies. Raises :class:`SaveFailed` for what is no SHA-256 in hexadecimal."""
    try:
        key = bytes.fromhex(sha256)
    except ValueError:
        key = b""
    if len(key) != 32:  # noqa: PLR2004 - the length of a SHA-256
        raise SaveFailed(f"{quoted(sha256)} is not a SHA-256 in hexadecimal.")
    return key
