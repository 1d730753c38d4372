"""The journal of a store: who intervened, when and why, appended and never changed (R242)."""

from typing import Final, TypeAlias

import msgspec

from greenroom.protocol.encoding import decode_stored, encode
from greenroom.protocol.hold import Hold
from greenroom.protocol.recomposition import Recomposition


class Intervention(msgspec.Struct, frozen=True, tag_field="is", omit_defaults=True):
    """The base of all entries."""

    at: int
    """Milliseconds since 1970, UTC; orders nothing."""
    by: str
    reason: str


class HoldPlaced(Intervention, tag="hold_placed", frozen=True):
    """A hold is in force from here on."""

    hold: Hold


class HoldLifted(Intervention, tag="hold_lifted", frozen=True):
    """A hold is in force no more."""

    hold: str
    """Its id."""
    withdrawn: bool = False
    """What was shown of the skill that it held is withdrawn (R159)."""


class SessionsMarked(Intervention, tag="sessions_marked", frozen=True):
    """Sessions are composed anew at their next turn (R239)."""

    recomposition: Recomposition


AnyIntervention: TypeAlias = HoldPlaced | HoldLifted | SessionsMarked
_entries: Final = msgspec.json.Decoder(AnyIntervention)


def encode_intervention(intervention: AnyIntervention) -> bytes:
    """An entry as it is stored."""
    return encode(intervention)


def decode_intervention(data: bytes) -> AnyIntervention:
    """Read a stored entry. Raises :class:`StoreDamaged` if it is none."""
    return decode_stored(data, _entries, "entry of the journal")
