"""What one pass adds up: tokens sent and read, by placement and by way of caching."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from greenroom.actors.bench.cache import CacheModel
from greenroom.actors.bench.conversation import Sent
from greenroom.actors.bench.marks import breakpoints
from greenroom.actors.bench.tree import block_chain, radix_tree, whole_units
from greenroom.protocol.placement import PLACEMENTS, Placement, rank_of

ENGINE_TOKENS: Final = 2_000_000
"""What an engine keeps, as far as the default ways of caching go."""


@attrs.frozen
class Cache:
    """A way of caching by name: makes one cache for each tenant and model of a run."""

    name: str
    make: Callable[[], CacheModel]
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    """What it is made with, for the record."""


def cache(name: str, model: Callable[..., CacheModel], **settings: object) -> Cache:
    """A way of caching that calls ``model`` with these settings."""
    return Cache(name, partial(model, **settings), settings)


def public_ways() -> tuple[Cache, ...]:
    """The four public ways of caching, with figures as of November 2026."""
    return (
        cache("block chain", block_chain, size=16, capacity=ENGINE_TOKENS),
        cache("radix tree", radix_tree, capacity=ENGINE_TOKENS),
        cache(
            "breakpoints", breakpoints, count=4, look_back=20, minimum=1_024, life=300.0, ready=1.0
        ),
        cache("whole units", whole_units, unit=128, minimum=1_024, life=600.0),
    )


@attrs.define(eq=False)
class CacheTally:
    """What one way of caching did, in tokens."""

    cache: Cache
    read: list[int] = attrs.field(factory=lambda: [0] * len(PLACEMENTS))
    """By placement, the widest first."""
    written: int = 0
    reads: "array[int]" = attrs.field(factory=lambda: array("I"))
    """Of each request."""


class Tally:
    """The sums of one pass; it keeps the caches of every tenant and model."""

    def __init__(self, caches: Sequence[Cache]) -> None:
        self.sent = [0] * len(PLACEMENTS)
        """Tokens by placement."""
        self.totals = array("I")
        """Tokens of each request."""
        self.caches = tuple(CacheTally(one) for one in caches)
        self._models: dict[tuple[str, str], list[CacheModel]] = {}

    def take(self, tenant: str, model: str, sent: Sent, at: float) -> None:
        """Put one request into the caches of its tenant and model."""
        models = self._models.get((tenant, model))
        if models is None:
            models = [tally.cache.make() for tally in self.caches]
            self._models[tenant, model] = models
        total = len(sent.tokens)
        self.totals.append(total)
        add(self.sent, sent.spans, total)
        for tally, one in zip(self.caches, models, strict=True):
            use = one.request(sent.tokens, at=at, breakpoints=sent.breakpoints)
            add(tally.read, sent.spans, use.read)
            tally.written += use.written
            tally.reads.append(use.read)

    def expire(self, tenant: str) -> None:
        """The caches of a tenant go cold."""
        for key in [key for key in self._models if key[0] == tenant]:
            del self._models[key]


def add(sums: list[int], spans: Sequence[tuple[Placement, int]], tokens: int) -> None:
    """Add the first ``tokens`` of a request to the placements that they belong to."""
    start = 0
    for level, end in spans:
        stop = min(end, tokens)
        if stop <= start:
            return
        sums[rank_of(level)] += stop - start
        start = stop
