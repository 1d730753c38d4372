"""Whether requests that share a placement really begin alike up to its end (R217, P079).

Which requests share a placement follows from the contents that they were composed of, never from
what a composer says of itself. How far they must be alike is where its last text of that placement
ends; how far they are is counted in bytes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs
import msgspec

from greenroom.actors.bench.composing import KEPT_LEVELS
from greenroom.actors.bench.conversation import Sent
from greenroom.actors.bench.faults import LevelTooShort
from greenroom.protocol.common_bytes import common_bytes
from greenroom.protocol.placement import PLACEMENTS, Placement

_SHOWN: Final = 40
"""Bytes that are shown of a place where two requests differ."""


class LevelReport(msgspec.Struct, frozen=True, gc=False):
    """How one placement fared in a run."""

    level: Placement
    groups: int
    """Sets of requests that share the placement; for message, pairs that follow one another."""
    size: int
    """Bytes up to the placement's end, in the group that came off worst."""
    common: int
    """Bytes that all requests of that group have in common."""
    short: int
    """Groups whose common beginning is shorter than the placement."""
    where: str = ""
    """How the first of them differs."""


@attrs.define(eq=False)
class _Group:
    """Requests that have to begin alike: the first one, and how far all others equal it."""

    first: bytes
    tools: bytes
    size: int
    common: int
    where: str = ""

    def take(self, text: bytes, tools: bytes, size: int) -> None:
        """Compare one more request with the first."""
        self.size = max(self.size, size)
        if tools != self.tools:
            self.common, self.where = 0, self.where or "their tool declarations differ"
        elif not text.startswith(self.first[: self.common]):
            self.common = common_bytes(self.first, text)
            self.where = _difference(self.first, text, self.common)


class Levels:
    """The check of one run; each request is shown to it once, in order."""

    def __init__(self) -> None:
        self._groups: dict[tuple[Placement, bytes], _Group] = {}
        self._followed: dict[Placement, _Pairs] = {
            "conversation": _Pairs(),
            "message": _Pairs(),
        }
        self.repeated = 0
        """Bytes of requests that repeat the one before in their conversation (R217)."""
        self.sent = 0
        """Bytes of requests that have one before."""

    def take(
        self, tenant: str, digests: Mapping[Placement, bytes], sent: Sent, before: Sent | None
    ) -> None:
        """Check a request against those that share a placement with it.

        Args:
            tenant: whose it is.
            digests: which contents it shares with others, by level.
            sent: the request.
            before: the request before it in its conversation.
        """
        head = sent.head
        for level in KEPT_LEVELS:
            size = head.ends.get(level)
            if size is None:
                continue
            # Tools stand in front of the system string, and may differ from agent to agent.
            tools = b"" if level == "platform" else head.tools
            key = (level, tenant.encode() + b"\0" + digests[level])
            group = self._groups.get(key)
            if group is None:
                self._groups[key] = _Group(head.system, tools, size, len(head.system))
            else:
                group.take(head.system, tools, size)
        if before is not None:
            self._follow(sent, before)

    def _follow(self, sent: Sent, before: Sent) -> None:
        alike = shared_pieces(before.pieces, sent.pieces)
        self.repeated += alike
        self.sent += sum(map(len, sent.pieces))
        if sent.epoch != before.epoch:
            return  # a compaction, another model or another preset lies between them
        opening = sum(map(len, before.pieces[: before.opening]))
        self._followed["conversation"].take(opening, alike, before, sent)
        self._followed["message"].take(sum(map(len, before.pieces)), alike, before, sent)

    def reports(self) -> tuple[LevelReport, ...]:
        """Every level, the widest first."""
        found = [_reported(level, self._of(level)) for level in KEPT_LEVELS]
        found += [pairs.reported(level) for level, pairs in self._followed.items()]
        order = {level: number for number, level in enumerate(PLACEMENTS)}
        return tuple(sorted(found, key=lambda report: order[report.level]))

    def _of(self, level: Placement) -> list[_Group]:
        return [group for (at, _), group in self._groups.items() if at == level]


@attrs.define(eq=False)
class _Pairs:
    """Requests of one conversation that follow one another under one composition."""

    count: int = 0
    short: int = 0
    size: int = 0
    common: int = 0
    where: str = ""

    def take(self, size: int, alike: int, before: Sent, sent: Sent) -> None:
        """Look at one pair; the one that fell shortest is told."""
        self.count += 1
        alike = min(alike, size)
        if alike < size:
            self.short += 1
            if not self.where:
                old, new = b"".join(before.pieces), b"".join(sent.pieces)
                self.where = _difference(old, new, alike)
        if self.count == 1 or alike - size < self.common - self.size:
            self.size, self.common = size, alike

    def reported(self, level: Placement) -> LevelReport:
        """The pairs as a level."""
        return LevelReport(level, self.count, self.size, self.common, self.short, self.where)


def _reported(level: Placement, groups: Sequence[_Group]) -> LevelReport:
    if not groups:
        return LevelReport(level, 0, 0, 0, 0)
    worst = min(groups, key=lambda group: group.common - group.size)
    short = sum(group.common < group.size for group in groups)
    where = worst.where if short else ""
    return LevelReport(level, len(groups), worst.size, worst.common, short, where)


def check_levels(name: str, levels: Iterable[LevelReport]) -> None:
    """Refuse a way of composing whose requests do not begin alike where they have to.

    Raises:
        LevelTooShort: naming the widest level that is short.
    """
    for report in levels:
        if report.short:
            raise LevelTooShort(
                f"Of {name!r} the level {report.level} is short in {report.short:,} of "
                f"{report.groups:,} groups: {report.common:,} bytes are alike where "
                f"{report.size:,} have to be ({report.where}).",
                level=report.level,
                common=report.common,
                size=report.size,
            )


def shared_pieces(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many bytes two texts begin with alike that are given in pieces, cut alike."""
    alike = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            return alike + common_bytes(left, right)
        alike += len(left)
    return alike


def _difference(one: bytes, other: bytes, at: int) -> str:
    left, right = (text[at : at + _SHOWN].decode(errors="replace") for text in (one, other))
    return f"at byte {at:,}: {left!r} and {right!r}"
