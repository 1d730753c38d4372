"""What model calls cost, in buckets that do not overlap (R190)."""

import msgspec


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens of one or more model calls; the five counts are disjoint and sum to the total."""

    input: int = 0
    """Prompt tokens that were neither read from nor written to a cache."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    """Answer tokens without reasoning."""
    reasoning: int = 0
    cost: float | None = None
    """Money, if the host gave a price table."""

    def __add__(self, other: "Usage") -> "Usage":
        if other == _NOTHING:
            return self
        known = self.cost is not None or other.cost is not None
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
            (self.cost or 0.0) + (other.cost or 0.0) if known else None,
        )

    @property
    def total(self) -> int:
        """All tokens of the calls."""
        return self.input + self.cache_read + self.cache_write + self.output + self.reasoning


_NOTHING = Usage()
