"""The best possible for a workload: what any composing of the same contents would have to pay.

It is no composer's work. The contents themselves, without a word around them, are looked up in the
order of sharing: what of a placement was sent before, by anybody who had all the wider ones in
common, need not be paid again, *whatever the order within the placement*. Everything else has to
be, by everybody who keeps the order of placements. The cache behind it forgets only by life.
"""

from array import array
from collections.abc import Sequence
from itertools import groupby
from typing import Final, Literal, TypeAlias

import attrs

from greenroom.actors.bench.cache import WIDTH, Bounded, Breakpoints, CacheModel, Keeping, Tokens
from greenroom.actors.bench.composing import (
    Composition,
    Content,
    Head,
    Ingredients,
    Part,
    composed,
    contents_of,
)
from greenroom.actors.bench.contender import Setting
from greenroom.actors.bench.conversation import Sent
from greenroom.actors.bench.tally import Cache, add
from greenroom.actors.bench.tree import PrefixTree, ideal
from greenroom.protocol.permission import Preset
from greenroom.protocol.placement import PLACEMENTS

Policy: TypeAlias = Literal["in front", "behind"]
"""Where the permissions in force stand: in front of the messages, where the system string is, or
behind them, where a switch would cost nothing."""

_UNMARKED: Final = Breakpoints()


@attrs.frozen(eq=False)
class Arranged:
    """The contents of one conversation, each by itself."""

    composition: Composition
    """For its messages, which are contents as they are sent."""
    tools: bytes
    contents: tuple[Content, ...]

    def head(self, preset: Preset, *, with_person: bool) -> Head:
        """Tools, contents in the order of sharing, and the policy in force."""
        policy = f"{preset.id} {preset.label} {preset.policy}"
        told = [each for each in self.contents if with_person or each.level != "person"]
        parts = [Part(each.level, each.text.encode()) for each in told]
        parts = [Part("agent", self.tools), *parts, Part("conversation", policy.encode())]
        return Head(parts=tuple(parts), tools=self.tools, system=b"", ends={})


def arranged(ingredients: Ingredients, setting: Setting) -> Arranged:
    """Lay down the contents of a conversation."""
    del setting
    return Arranged(composed(ingredients), ingredients.tools, contents_of(ingredients))


class _Place:
    """All that was sent behind the same wider contents."""

    __slots__ = ("behind", "known")

    def __init__(self, keeping: Keeping) -> None:
        self.known: PrefixTree = ideal(life=keeping.life, ready=keeping.ready)
        """Each content by itself, so that their order is free."""
        self.behind: dict[frozenset[bytes], _Place] = {}


class Bounds:
    """What can be read at best, request by request, under one life."""

    def __init__(self, keeping: Keeping, policy: Policy) -> None:
        self.read = array("I")
        """Tokens of each request."""
        self.missed = array("I")
        self._keeping = keeping
        self._policy = policy
        self._roots: dict[tuple[str, str], _Place] = {}

    def take(self, tenant: str, model: str, sent: Sent, at: float) -> None:
        """Look up the contents of one request."""
        place = self._roots.get((tenant, model))
        if place is None:
            place = self._roots[tenant, model] = _Place(self._keeping)
        root, read = place, 0
        data, start = sent.tokens.data, 0
        behind = len(sent.head.parts) - 1 if self._policy == "behind" else -1
        late: list[bytes] = []
        spans = [span for span in enumerate(sent.spans) if span[1][0] != "message"]
        for _, run in groupby(spans, key=lambda span: span[1][0]):
            contents: list[bytes] = []
            for number, (_, end) in run:
                part = data[start * WIDTH : end * WIDTH]
                (late if number == behind else contents).append(part)
                start = end
            read += sum(self._look_up(place, part, at) for part in contents)
            # Behind contents that were never sent together nothing was sent either.
            place = place.behind.setdefault(frozenset(contents), _Place(self._keeping))
        read += self._look_up(place, data[start * WIDTH :], at)
        read += sum(self._look_up(root, part, at) for part in late)
        self.read.append(read)
        self.missed.append(len(sent.tokens) - read)

    def expire(self, tenant: str) -> None:
        """The caches of a tenant go cold."""
        for key in [key for key in self._roots if key[0] == tenant]:
            del self._roots[key]

    @staticmethod
    def _look_up(place: _Place, part: bytes, at: float) -> int:
        return place.known.request(Tokens(part), at=at, breakpoints=_UNMARKED).read


class Best:
    """The best case of one way of caching over a whole trace."""

    def __init__(self, model: CacheModel, front: Bounds, behind: Bounds) -> None:
        self.missed = [0] * len(PLACEMENTS)
        """Tokens by placement that are not read at best."""
        self._most = model.most if isinstance(model, Bounded) else int
        """One that tells no bound is taken for ideal."""
        self._bounds: dict[Policy, Bounds] = {"in front": front, "behind": behind}

    def possible(self, totals: Sequence[int], policy: Policy = "in front") -> int:
        """The most that a way of composing can have read whose requests have these lengths."""
        missed, most = self._bounds[policy].missed, self._most
        return sum(most(max(0, total - missed[n])) for n, total in enumerate(totals))

    def add(self, sent: Sent) -> None:
        """Add what the last request missed, by placement."""
        read = [0] * len(PLACEMENTS)
        add(read, sent.spans, self._most(self._bounds["in front"].read[-1]))
        add(self.missed, sent.spans, len(sent.tokens))
        for rank, tokens in enumerate(read):
            self.missed[rank] -= tokens


class Reference:
    """The best cases of several ways of caching; it takes part in a pass as a tally does."""

    def __init__(self, caches: Sequence[Cache]) -> None:
        self._bounds: dict[tuple[float | None, float], tuple[Bounds, Bounds]] = {}
        self.best = tuple(self._best(one.make()) for one in caches)

    def take(self, tenant: str, model: str, sent: Sent, at: float) -> None:
        """Look up the contents of one request under every life there is."""
        for pair in self._bounds.values():
            for bounds in pair:
                bounds.take(tenant, model, sent, at)
        for best in self.best:
            best.add(sent)

    def expire(self, tenant: str) -> None:
        """The caches of a tenant go cold."""
        for pair in self._bounds.values():
            for bounds in pair:
                bounds.expire(tenant)

    def _best(self, model: CacheModel) -> Best:
        keeping = model.keeping if isinstance(model, Bounded) else Keeping()
        key = (keeping.life, keeping.ready)
        if key not in self._bounds:
            self._bounds[key] = (Bounds(keeping, "in front"), Bounds(keeping, "behind"))
        return Best(model, *self._bounds[key])
