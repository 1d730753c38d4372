"""What a run found, as data: figures that its seed repeats to the digit, and what it ran on (R247).

Everything in ``findings`` follows from trace, workspace, composers and caches alone. Seconds, the
machine and the versions of programs are beside it, never in it.
"""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from os import cpu_count, getloadavg
from pathlib import Path
from typing import Final

import msgspec

from greenroom.actors.bench.checking import Asked
from greenroom.actors.bench.levels import LevelReport
from greenroom.protocol.placement import PLACEMENTS, Placement

FORM: Final = 1
"""Of this report; raised when a field changes its meaning."""
GOAL: Final = 0.99
"""What our composing is to reach of the best possible, in each way of caching."""
_CPU_INFO: Final = Path("/proc/cpuinfo")


class LevelShare(msgspec.Struct, frozen=True, gc=False):
    """One placement's part of what was sent in a run, in tokens."""

    level: Placement
    sent: int
    read: int
    best: int
    """What could have been read of it at best."""


class CacheFindings(msgspec.Struct, frozen=True):
    """How one way of composing fared in one way of caching, in tokens."""

    cache: str
    read: int
    written: int
    best: int
    """The most that could have been read of these requests."""
    best_behind: int
    """The same, if the permissions in force stood behind the messages."""
    share: float
    """Read, of all that was sent."""
    of_best: float
    """Read, of the most that could have been."""
    levels: tuple[LevelShare, ...]
    samples: tuple[int, ...] = ()
    """Tokens read of each request, if they were asked for."""


class ContenderFindings(msgspec.Struct, frozen=True):
    """One way of composing."""

    name: str
    about: str
    contrast: bool
    asked: Asked
    requests: int
    tokens: int
    repeated: float
    """The share of each request's bytes that repeats the one before it in its conversation."""
    caches: tuple[CacheFindings, ...]
    levels: tuple[LevelReport, ...]
    samples: tuple[int, ...] = ()
    """Tokens of each request, if they were asked for."""


class TraceFacts(msgspec.Struct, frozen=True):
    """What was played."""

    digest: str
    lines: int
    conversations: int
    prompts: int
    seed: int | None


class Findings(msgspec.Struct, frozen=True):
    """All that follows from the inputs alone."""

    trace: TraceFacts
    tokenizer: str
    caches: dict[str, dict[str, float | int | str | None]]
    """The settings of each way of caching, by name."""
    contenders: tuple[ContenderFindings, ...]


class Seconds(msgspec.Struct, frozen=True):
    """What a pass took."""

    wall: float
    cpu: float


class Machine(msgspec.Struct, frozen=True):
    """What a run ran on."""

    cpu: str
    cores: int
    kernel: str
    load: tuple[float, ...]
    """Of the last 1, 5 and 15 minutes."""
    python: str
    versions: dict[str, str]


class Report(msgspec.Struct, frozen=True):
    """A whole run."""

    findings: Findings
    seconds: dict[str, Seconds]
    """By what was played: each contender, and the reference."""
    machine: Machine
    command: tuple[str, ...] = ()
    form: int = FORM

    def failures(self, goal: float = GOAL) -> list[str]:
        """What speaks against the composers that are no contrasts, each in a sentence."""
        shown = [one for one in self.findings.contenders if not one.contrast]
        short = [
            f"{one.name}: the level {level.level} is short in {level.short:,} of "
            f"{level.groups:,} groups, {level.where}."
            for one in shown
            for level in one.levels
            if level.short
        ]
        missed = [
            f"{one.name}: {cache.of_best:.2%} of the best possible in {cache.cache}; "
            f"{goal:.0%} is the goal."
            for one in shown
            for cache in one.caches
            if cache.of_best < goal
        ]
        return short + missed


def level_shares(sent: list[int], read: list[int], missed: list[int]) -> tuple[LevelShare, ...]:
    """Sums by placement as shares; what is missed at best is missed of whatever was sent."""
    return tuple(
        LevelShare(level, sent[rank], read[rank], max(0, sent[rank] - missed[rank]))
        for rank, level in enumerate(PLACEMENTS)
    )


def machine() -> Machine:
    """What this process runs on."""
    names = ("greenroom", "msgspec", "attrs", "trio", "lmdb")
    return Machine(
        cpu=_cpu(),
        cores=cpu_count() or 1,
        kernel=f"{platform.system()} {platform.release()}",
        load=getloadavg(),
        python=sys.version.split()[0],
        versions={name: _version(name) for name in names},
    )


def _cpu() -> str:
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        return platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
