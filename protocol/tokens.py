"""Counting tokens: one counter for a request, and for what a contributor may spend of it."""

import math
from typing import Protocol

import msgspec


class TokenCounter(Protocol):
    """Counts tokens; a host may bring one of its own."""

    def tokens(self, data: bytes | str, /) -> int:
        """How many tokens ``data`` has at most: an estimate may be high, never low."""
        ...


class TokenEstimate(msgspec.Struct, frozen=True):
    """Counts by bytes: the default, for models whose tokenizer is not at hand."""

    bytes_per_token: float = 3.0
    """Low enough that no text in practice has more tokens than that."""

    def tokens(self, data: bytes | str, /) -> int:
        """The bytes of ``data`` as UTF-8 over ``bytes_per_token``, rounded up."""
        size = len(data) if isinstance(data, bytes) or data.isascii() else len(data.encode())
        return math.ceil(size / self.bytes_per_token)


def section_tokens(text: str, counter: TokenCounter) -> int:
    """What a section costs a request: its text, and the blank line behind it, which is its own."""
    return counter.tokens(f"{text}\n\n")
