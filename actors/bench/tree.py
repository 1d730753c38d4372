"""Caches in which a request finds the longest beginning that an earlier one had.

All of them are one tree, in which a path spells a beginning of requests; they differ in how finely
it is cut. A block that is found by the chain of hashes of all before it is found by its path
(:func:`block_chain`); a provider that caches in steps above a minimum has a long first block
(:func:`whole_units`); a radix tree is cut to the token (:func:`radix_tree`), and without bounds it
is the :func:`ideal` cache, of which every other reads at most as much. Tokens themselves are
compared, never their hashes, so two blocks are never taken for one.
"""

import heapq
from collections.abc import Sequence

from greenroom.actors.bench.cache import (
    WIDTH,
    Breakpoints,
    CacheUse,
    Keeping,
    checked_size,
    packed,
)


class _Node:
    """Blocks that stand behind those of the parent; all of them were used last together."""

    __slots__ = ("children", "label", "parent", "ready", "turn", "used")

    def __init__(self, label: bytes, parent: "_Node | None", used: float, ready: float) -> None:
        self.label = label
        self.parent = parent
        self.children: dict[bytes, _Node] = {}
        """By their first block."""
        self.used = used
        self.ready = ready
        self.turn = 0
        """The number of the request that used it last."""


class PrefixTree:
    """The model. No node's last use is before that of what stands below it."""

    def __init__(self, first: int, step: int, keeping: Keeping, *, whole: bool) -> None:
        """Cut requests into a block of ``first`` tokens and blocks of ``step`` behind it.

        Args:
            first: tokens.
            step: tokens.
            keeping: what bounds it.
            whole: what makes room goes whole, up to where requests part; else block by block.
        """
        self.keeping = keeping
        self._first = first * WIDTH
        self._step = step * WIDTH
        self._whole = whole
        self._root = _Node(b"", None, 0.0, 0.0)
        self._leaves: list[tuple[int, int, _Node]] = []
        """A heap by last use; an entry whose node was used again is stale."""
        self._held = 0
        """Bytes."""
        self._turn = 0
        self._pushed = 0

    def request(self, tokens: Sequence[int], /, *, at: float, breakpoints: Breakpoints) -> CacheUse:
        """See :class:`CacheModel`; marks play no part."""
        del breakpoints
        data = packed(tokens)
        end = self.most(len(data) // WIDTH) * WIDTH
        self._turn += 1
        node, place, read = self._root, 0, 0
        unbroken = True
        while place < end:
            child = node.children.get(data[place : place + (self._step if place else self._first)])
            if child is None:
                child = self._grown(node, data[place:end], at)
                unbroken = False
            elif place + len(child.label) > end or not data.startswith(child.label, place):
                child = self._split(child, self._alike(child, data, place, end))
            unbroken = unbroken and self.keeping.is_readable(child.used, child.ready, at)
            if unbroken:
                read += len(child.label)
            elif self.keeping.is_over(child.used, at):
                child.ready = at + self.keeping.ready
            child.used, child.turn = at, self._turn
            place += len(child.label)
            node = child
        if not node.children and place:
            self._push(node)
        self._make_room(at)
        return CacheUse(read // WIDTH, (end - read) // WIDTH)

    def most(self, common: int, /) -> int:
        """Whole blocks of what is common, if it reaches the end of the first."""
        first, step = self._first // WIDTH, self._step // WIDTH
        return first + (common - first) // step * step if common >= first else 0

    def _grown(self, node: _Node, label: bytes, at: float) -> _Node:
        child = _Node(label, node, at, at + self.keeping.ready)
        node.children[self._key(child)] = child
        self._held += len(label)
        return child

    def _key(self, node: _Node) -> bytes:
        return node.label[: self._first if node.parent is self._root else self._step]

    def _alike(self, node: _Node, data: bytes, place: int, end: int) -> int:
        """Bytes of whole blocks of a node that the request has too: its first one at least."""
        start = self._first if place == 0 else self._step
        low, high = 0, (min(len(node.label), end - place) - start) // self._step
        while low < high:
            middle = (low + high + 1) // 2
            part = node.label[start + low * self._step : start + middle * self._step]
            if data.startswith(part, place + start + low * self._step):
                low = middle
            else:
                high = middle - 1
        return start + low * self._step

    def _split(self, node: _Node, length: int) -> _Node:
        """Put the first ``length`` bytes of a node into one of their own above it."""
        parent = node.parent
        assert parent is not None, "the root has no label"
        upper = _Node(node.label[:length], parent, node.used, node.ready)
        upper.turn = node.turn
        parent.children[self._key(upper)] = upper
        node.label, node.parent = node.label[length:], upper
        upper.children[self._key(node)] = node
        return upper

    def _push(self, leaf: _Node) -> None:
        if self.keeping.capacity is not None or self.keeping.life is not None:
            self._pushed += 1
            heapq.heappush(self._leaves, (leaf.turn, self._pushed, leaf))

    def _make_room(self, at: float) -> None:
        """Drop what is over, then what was used longest ago, from its end on."""
        room, leaves = self.keeping.capacity, self._leaves
        while leaves:
            turn, _, leaf = leaves[0]
            if leaf.parent is None or leaf.children or turn != leaf.turn:
                heapq.heappop(leaves)  # dropped, grown or used since: a later entry stands for it
                continue
            excess = 0 if room is None else self._held - room * WIDTH
            if self.keeping.is_over(leaf.used, at) or (excess > 0 and self._whole):
                self._drop(leaf, len(leaf.label))
            elif excess > 0:
                self._drop(leaf, -(-excess // self._step) * self._step)
            else:
                return

    def _drop(self, leaf: _Node, size: int) -> None:
        """Take at least ``size`` bytes, which are whole blocks, off a leaf's end; or all of it."""
        parent, left = leaf.parent, len(leaf.label) - size
        assert parent is not None, "only what is in the tree is dropped"
        if left >= (self._first if parent is self._root else self._step):
            leaf.label = leaf.label[:left]
            self._held -= size
            return
        heapq.heappop(self._leaves)
        del parent.children[self._key(leaf)]
        leaf.parent = None
        self._held -= len(leaf.label)
        if not parent.children and parent is not self._root:
            self._push(parent)


def block_chain(
    size: int = 16, *, capacity: int | None = None, life: float | None = None, ready: float = 0.0
) -> PrefixTree:
    """A cache of blocks of ``size`` tokens, each found by all before it, as paged engines keep it.

    Raises:
        InvalidInput: a size, capacity or time that cannot be.
    """
    checked_size(size, "block")
    return PrefixTree(size, size, Keeping(capacity, life, ready), whole=False)


def whole_units(
    unit: int = 128,
    minimum: int = 1_024,
    *,
    capacity: int | None = None,
    life: float | None = None,
    ready: float = 0.0,
) -> PrefixTree:
    """A cache that reads ``minimum`` tokens or none, and beyond them whole units only.

    Raises:
        InvalidInput: a size, capacity or time that cannot be.
    """
    checked_size(unit, "unit")
    checked_size(minimum, "minimum", 0)
    return PrefixTree(minimum or unit, unit, Keeping(capacity, life, ready), whole=False)


def radix_tree(
    *, capacity: int | None = None, life: float | None = None, ready: float = 0.0
) -> PrefixTree:
    """A cache that reads the longest common beginning to the token, and drops whole leaves.

    Raises:
        InvalidInput: a capacity or time that cannot be.
    """
    return PrefixTree(1, 1, Keeping(capacity, life, ready), whole=True)


def ideal(*, life: float | None = None, ready: float = 0.0) -> PrefixTree:
    """The best cache there can be: it keeps everything, to the token, and forgets only by life.

    Raises:
        InvalidInput: a time that cannot be.
    """
    return radix_tree(life=life, ready=ready)
