"""Holds: sessions that start no turn until somebody lifts what holds them (R159, R239).

A hold is a filter and a reason. It is kept in the store as a whole and marks no session: whether a
session is held follows from what it is and shows when a turn would begin there, so a session that
is made later, or is read back after a restart, is held like any other.
"""

from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import structs

from greenroom.protocol.encoding import decode_stored, encode
from greenroom.protocol.filter import Filter

HOLD: Final = "hold"
"""The kind under which holds stand in a store."""
WITHDRAWAL: Final = "withdrawal"
"""The kind under which a skill stands that was withdrawn with the lift of a hold, by its id."""

Running: TypeAlias = Literal["finish", "stop"]
"""What becomes of turns that run: they go on to their end, or end at their next boundary."""


class Hold(Filter, frozen=True, kw_only=True, omit_defaults=True):
    """Which sessions are held, who holds them, and why."""

    id: str
    at: int
    """Milliseconds since 1970, UTC."""
    by: str
    reason: str
    running: Running = "finish"
    sessions: int | None = None
    """How many sessions were held when it was counted; None where it was not. Never stored."""
    stopped: int | None = None
    """How many turns it was to stop when it was placed; None where it was not counted."""


_holds: Final = msgspec.json.Decoder(Hold)


def encode_hold(hold: Hold) -> bytes:
    """A hold as it is stored: what was counted of it is left out."""
    return encode(structs.replace(hold, sessions=None, stopped=None))


def decode_hold(data: bytes) -> Hold:
    """Read a stored hold. Raises :class:`StoreDamaged` if it is none."""
    return decode_stored(data, _holds, "hold")
