"""Caches that are written down as plainly as can be, to hold the quick ones against."""

from collections.abc import Sequence

from greenroom.actors.bench import Breakpoints, CacheUse

NO_MARKS = Breakpoints()


def used(
    model: object, tokens: Sequence[int], at: float = 0.0, marks: Breakpoints = NO_MARKS
) -> tuple[int, int]:
    """What a cache read and wrote for one request."""
    use = model.request(tokens, at=at, breakpoints=marks)  # type: ignore[attr-defined]
    return use.read, use.written


class PlainBlocks:
    """Blocks by the whole beginning that ends with them; the least recently used goes first."""

    def __init__(self, first: int, step: int, capacity: int, life: float) -> None:
        self.first, self.step, self.capacity, self.life = first, step, capacity, life
        self.used: dict[tuple[int, ...], tuple[float, int, int]] = {}
        """Beginning → last use, number of the request, how far from its end."""
        self.number = 0

    def request(self, tokens: Sequence[int], /, *, at: float, breakpoints: Breakpoints) -> CacheUse:
        """See ``CacheModel``."""
        del breakpoints
        self.number += 1
        known, whole = tuple(tokens), list(range(self.first, len(tokens) + 1, self.step))
        self.used = {key: use for key, use in self.used.items() if at - use[0] <= self.life}
        read = 0
        for end in whole:
            if known[:end] not in self.used:
                break
            read = end
        for end in whole:
            self.used[known[:end]] = (at, self.number, -end)
        while sum(map(self._size, self.used)) > self.capacity:
            del self.used[min(self.used, key=lambda key: self.used[key][1:])]
        return CacheUse(read, (whole[-1] if whole else 0) - read)

    def _size(self, beginning: tuple[int, ...]) -> int:
        return self.first if len(beginning) == self.first else self.step


class PlainIdeal:
    """Every request that ever came, compared token by token."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, ...]] = []

    def read(self, tokens: Sequence[int]) -> int:
        """The longest beginning in common with any request before."""
        known = tuple(tokens)
        read = max((_alike(known, other) for other in self.requests), default=0)
        self.requests.append(known)
        return read


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
