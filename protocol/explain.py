"""Where two requests part, whose part that is, and why it moved (R197).

They may be of one session or of two; what separates their kept prompts is told by id and version.
A provider that caches prefixes reads no further than the first byte that differs, so the report is
about that one and not about what differs behind it.
"""

from typing import Final

import msgspec

from greenroom.protocol.common_bytes import common_bytes
from greenroom.protocol.movement import Moved, Movement, moved_between
from greenroom.protocol.pieces import Piece, cuts_of, piece_at
from greenroom.protocol.reason import Pair, Why, reason_of
from greenroom.protocol.rebuild import SentRequest

SHOWN: Final = 60
"""Bytes that are shown of each request from the place on, and of both in front of it."""
_CONTINUES: Final = 0b10
"""The first two bits of a byte of UTF-8 with which no character begins."""


class Side(msgspec.Struct, frozen=True, gc=False):
    """What one of two requests has at the first byte that differs."""

    piece: Piece
    """What holds the byte."""
    shown: str
    """Its words from there on, in short."""


class Comparison(msgspec.Struct, frozen=True):
    """Two requests beside each other; *first* and *second* are as they were given."""

    common: int
    """Bytes that both begin with, so the place of the first byte that differs."""
    sizes: tuple[int, int]
    """Bytes of each, in the canonical form that is rebuilt and compared (R196)."""
    why: Why
    sentence: str
    """The same for a person."""
    part: Piece | None = None
    """What moved; None: they are equal."""
    sides: tuple[Side, Side] | None = None
    before: str = ""
    """The words in front of the place, which both have, in short."""
    cause: Moved | None = None
    """What of the kept prompt the part is, if that moved."""
    moved: Movement = Movement()
    """All that separates the kept prompts, also what lies behind the place."""


def explain(first: SentRequest, second: SentRequest) -> Comparison:
    """Compare two requests that were sent: the first byte that differs, its owner, the reason.

    ``Session.request`` gives them; of one session, of two of an agent, or of any two.
    """
    cuts = cuts_of(first), cuts_of(second)
    one, other = (b"".join([cut.data for cut in each]) for each in cuts)
    sizes, common = (len(one), len(other)), common_bytes(one, other)
    moved = moved_between(first.composition, second.composition)
    if one == other:
        sentence = "The two requests are the same bytes."
        return Comparison(common, sizes, "equal", sentence, moved=moved)
    left, right = piece_at(first, cuts[0], common), piece_at(second, cuts[1], common)
    reason = reason_of(Pair(first, second, left, right, moved))
    return Comparison(
        common,
        sizes,
        reason.why,
        reason.sentence,
        reason.part,
        (Side(left, _words(one, common)), Side(right, _words(other, common))),
        one[_character(one, max(0, common - SHOWN)) : common].decode(errors="ignore"),
        reason.cause,
        moved,
    )


def _words(text: bytes, at: int) -> str:
    begin = _character(text, at)
    return text[begin : begin + SHOWN].decode(errors="ignore")


def _character(text: bytes, at: int) -> int:
    """Where the character begins that holds a byte: the one that differs may be inside of it."""
    while text[at] >> 6 == _CONTINUES:
        at -= 1
    return at
