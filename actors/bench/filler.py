"""Text for messages of which only the length is known: plain words, unlike any other message's."""

from functools import cache
from hashlib import sha256
from typing import Final

from greenroom.actors.world import simulated

_WORDS: Final = (
    "order parcel invoice customer delivery return table figure report answer question morning "
    "warehouse shelf number account payment receipt month week garden spade hose timber nail "
    "please check again whether this could have been sent before and what we should tell them "
    "about it when they call since nobody has looked into the matter so far as anyone knows"
)
_LENGTH: Final = 262_144


def words(key: str, size: int) -> str:
    """``size`` bytes of words: the same for the same key, and for no other.

    The key stands in front, whole, so that two texts differ from their beginning on.
    """
    text = f"({key}) "
    offset = int.from_bytes(sha256(key.encode()).digest()[:4]) % _LENGTH
    size = max(size, len(text))
    while len(text) < size:
        text += _stock()[offset : offset + size - len(text)]
    return text


@cache
def _stock() -> str:
    """Words without end, as good as: twice as long as any offset."""
    chance = simulated(0).random
    known = _WORDS.split()
    drawn, size = [], 0
    while size < 2 * _LENGTH:
        word = known[int(chance.random() * len(known))]
        drawn.append(word)
        size += len(word) + 1
    return " ".join(drawn)
