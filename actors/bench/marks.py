"""A cache that goes by marks: it writes at the breakpoints of a request, and reads only there.

A mark is looked for at its own place and then block by block before it, so far and no further; a
beginning that no earlier request was marked at is not found, however often it was sent.
"""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from greenroom.actors.bench.cache import WIDTH, Breakpoints, CacheUse, Keeping, checked_size, packed
from greenroom.protocol.errors import InvalidInput

_DIGEST = 16


class Marked:
    """The model. An entry is a whole beginning of a request, found by the digest of all of it."""

    def __init__(self, count: int, look_back: int, minimum: int, keeping: Keeping) -> None:
        self.keeping = keeping
        self._count = count
        self._look_back = look_back
        self._minimum = minimum
        self._entries: OrderedDict[bytes, tuple[int, float, float]] = OrderedDict()
        """Digest → tokens that it added, last use, readable since; the longest unused first."""
        self._held = 0

    def request(self, tokens: Sequence[int], /, *, at: float, breakpoints: Breakpoints) -> CacheUse:
        """See :class:`CacheModel`.

        Raises:
            InvalidInput: more marks than a request may have, or one that ends no block.
        """
        marked = self._checked(breakpoints)
        digests = self._digests(packed(tokens), breakpoints.ends, marked)
        read = max((place for place in digests if self._is_readable(digests[place], at)), default=0)
        if read:
            self._use(digests[read], at)
        last = read
        for place in marked:
            digest = digests.get(place)
            if digest is None:
                continue  # under the minimum: silently not cached
            known = self._entries.get(digest)
            if known is None or self.keeping.is_over(known[1], at):
                self._write(digest, max(0, place - last), at)
            else:
                self._use(digest, at)
            last = max(last, place)
        self._make_room(at)
        return CacheUse(read, last - read)

    def most(self, common: int, /) -> int:
        """All that is common, if it is long enough: the best mark stands at its very end."""
        return common if common >= max(1, self._minimum) else 0

    def _checked(self, breakpoints: Breakpoints) -> tuple[int, ...]:
        marked = breakpoints.marked
        if len(marked) > self._count:
            raise InvalidInput(
                f"A request has {len(marked)} marks; this cache takes {self._count}.",
                marks=len(marked),
                bound=self._count,
            )
        if not set(marked) <= set(breakpoints.ends):
            raise InvalidInput("A mark of a request stands where none of its blocks ends.")
        return marked

    def _digests(
        self, data: bytes, ends: tuple[int, ...], marked: tuple[int, ...]
    ) -> dict[int, bytes]:
        """The digest of the request up to each place where an entry may be looked for."""
        places = {place: number for number, place in enumerate(ends)}
        wanted = {
            ends[number]
            for mark in marked
            for number in range(max(0, places[mark] - self._look_back), places[mark] + 1)
        }
        rolling, done = blake2b(digest_size=_DIGEST), 0
        digests = {}
        for place in ends:
            if place in wanted and place >= max(1, self._minimum):
                rolling.update(data[done * WIDTH : place * WIDTH])
                digests[place] = rolling.digest()
                done = place
        return digests

    def _is_readable(self, digest: bytes, at: float) -> bool:
        known = self._entries.get(digest)
        return known is not None and self.keeping.is_readable(known[1], known[2], at)

    def _use(self, digest: bytes, at: float) -> None:
        size, _, ready = self._entries.pop(digest)
        self._entries[digest] = (size, at, ready)

    def _write(self, digest: bytes, size: int, at: float) -> None:
        before = self._entries.pop(digest, None)
        self._held += size - (before[0] if before else 0)
        self._entries[digest] = (size, at, at + self.keeping.ready)

    def _make_room(self, at: float) -> None:
        """Drop what is over, then what was used longest ago."""
        capacity, entries = self.keeping.capacity, self._entries
        while entries:
            digest, (size, used, _) = next(iter(entries.items()))
            too_much = capacity is not None and self._held > capacity
            if not too_much and not self.keeping.is_over(used, at):
                break
            del entries[digest]
            self._held -= size


def breakpoints(
    count: int = 4,
    *,
    look_back: int = 20,
    minimum: int = 1_024,
    capacity: int | None = None,
    life: float | None = 300.0,
    ready: float = 0.0,
) -> Marked:
    """A cache of at most ``count`` marks a request.

    Args:
        count: how many marks a request may have.
        look_back: how many blocks before a mark are tried.
        minimum: tokens below which nothing is written at a mark.
        capacity: tokens.
        life: seconds from the last use on.
        ready: seconds until what was written can be read.

    Raises:
        InvalidInput: a size, capacity or time that cannot be.
    """
    checked_size(count, "number of marks")
    checked_size(look_back, "look-back", 0)
    checked_size(minimum, "minimum", 0)
    return Marked(count, look_back, minimum, Keeping(capacity, life, ready))
