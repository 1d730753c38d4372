"""Recompositions: sessions that are to be composed anew at their next turn (R239).

One is a filter and a reason, and marks no session: it is kept in the store as a whole. A session
knows up to which of them it was asked about, and asks itself about the others before its next turn.
"""

from typing import Final

import msgspec
from msgspec import structs

from greenroom.protocol.encoding import decode_stored, encode
from greenroom.protocol.filter import Filter

RECOMPOSITION: Final = "recomposition"
"""The kind under which recompositions stand in a store."""


class Recomposition(Filter, frozen=True, kw_only=True, omit_defaults=True):
    """Which sessions are composed anew, who wants it, and why."""

    number: int
    """1, 2, 3 … in the order in which they were made in a store."""
    at: int
    """Milliseconds since 1970, UTC."""
    by: str
    reason: str
    sessions: int | None = None
    """How many sessions it concerned when it was made; None where it was not counted. Never
    stored."""


_recompositions: Final = msgspec.json.Decoder(Recomposition)


def encode_recomposition(made: Recomposition) -> bytes:
    """A recomposition as it is stored: what was counted of it is left out."""
    return encode(structs.replace(made, sessions=None))


def decode_recomposition(data: bytes) -> Recomposition:
    """Read a stored recomposition. Raises :class:`StoreDamaged` if it is none."""
    return decode_stored(data, _recompositions, "recomposition")
