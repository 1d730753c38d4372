"""Laws of a run: what stands in its table, and that its seed repeats it to the digit."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

import pytest

from greenroom.actors.bench import (
    Blocks,
    Breakpoints,
    BrokenTrace,
    Cache,
    CacheUse,
    ComposerVaries,
    Contender,
    Edit,
    Line,
    Report,
    Switch,
    block_chain,
    contender,
    ideal,
    ours,
    run,
    workload,
)
from greenroom.actors.bench import cache as way
from greenroom.protocol.errors import SameName, UnknownAgent, UnknownPreset
from tests.actors.bench import varying
from tests.actors.bench.scenes import MINUTE, encoded, prompt, workspace

FIGURES = """
import hashlib, msgspec
from greenroom.actors.bench import run, workload
made = workload(3, conversations=12, turns=3, agents=2, persons=4)
report = run(made.lines, workspace=made.workspace, tools=made.tools, extra=made.extra, samples=True)
print(hashlib.sha256(msgspec.json.encode(report.findings)).hexdigest())
"""


def small(composers: Sequence[Contender] | None = None, **more: object) -> Report:
    """A run of a few conversations."""
    made = workload(3, conversations=12, turns=3, agents=2, persons=4)
    return run(
        made.lines,
        workspace=made.workspace,
        tools=made.tools,
        extra=made.extra,
        composers=composers,
        **more,  # type: ignore[arg-type]
    )


@cache
def default() -> Report:
    """A run with what stands in the table by itself."""
    return small()


class Nothing:
    """A cache of a user's that keeps nothing, and has one method."""

    def request(self, tokens: Sequence[int], /, *, at: float, breakpoints: Breakpoints) -> CacheUse:
        """Every token is paid."""
        assert at >= 0
        assert breakpoints.ends[-1] == len(tokens)
        assert isinstance(tokens[0], int)
        return CacheUse(0, 0)


def test_the_same_seed_gives_the_same_figures_in_every_process() -> None:
    """Whatever the hash seed: to the digit, samples and all."""
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", FIGURES],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_ours_stands_beside_the_common_ways_and_the_best_possible() -> None:
    """In each of the public ways of caching."""  # R244
    report = default()
    findings = report.findings
    assert [one.name for one in findings.contenders] == [
        *("greenroom", "time in front", "time at the tail", "recomposed each turn"),
    ]
    greenroom, front, tail, _ = findings.contenders
    for number, name in enumerate(("block chain", "radix tree", "breakpoints", "whole units")):
        first = greenroom.caches[number]
        assert first.cache == name
        assert front.caches[number].share < tail.caches[number].share < first.share
        assert first.of_best > 0.97
        assert first.read <= first.best <= first.best_behind <= greenroom.tokens
    assert [level.short for level in greenroom.levels] == [0] * 5
    assert set(report.seconds) == {"the best possible", *(one.name for one in findings.contenders)}


def test_the_placements_add_up() -> None:
    """Nothing is counted twice, nothing is left out."""
    for one in default().findings.contenders:
        for counted in one.caches:
            assert sum(level.sent for level in counted.levels) == one.tokens
            assert sum(level.read for level in counted.levels) == counted.read
            assert all(level.read <= level.sent for level in counted.levels)


def test_samples_are_of_each_request() -> None:
    """And add up to the sums; without being asked for there are none."""
    one = small([ours()], samples=True).findings.contenders[0]
    assert len(one.samples) == one.requests
    assert sum(one.samples) == one.tokens
    assert all(sum(counted.samples) == counted.read for counted in one.caches)
    assert default().findings.contenders[0].samples == ()


def test_a_users_composer_cache_and_tokenizer_stand_in_the_same_table() -> None:
    """A composer is what a host takes, a cache is one method, a tokenizer a function."""

    def bytes_as_tokens(data: bytes) -> Sequence[int]:
        return list(data)

    report = small(
        [ours(), contender("mine", varying.pure)],
        caches=[Cache("nothing", Nothing), way("blocks", block_chain, size=64)],
        tokenizer=bytes_as_tokens,
    )
    findings = report.findings
    assert [one.name for one in findings.contenders] == ["greenroom", "mine"]
    mine = findings.contenders[1]
    assert mine.caches[0].share == 0
    assert mine.caches[1].of_best > 0.98
    assert findings.caches == {"nothing": {}, "blocks": {"size": 64}}
    assert findings.tokenizer == "bytes_as_tokens"


def test_a_composer_that_varies_is_refused_before_anything_is_played() -> None:
    """Unless it is shown as a contrast; then the report says how it varies."""
    with pytest.raises(ComposerVaries, match="'knows'"):
        small([Contender("knows", varying.by_setting)])
    report = small([Contender("knows", varying.by_setting, contrast=True)])
    assert report.findings.contenders[0].asked.difference is not None
    assert report.failures() == []


def test_two_of_one_name_are_refused() -> None:
    """Nobody could tell which row is whose."""
    with pytest.raises(SameName, match="composer greenroom"):
        small([ours(), ours()])
    with pytest.raises(SameName, match="way of caching x"):
        small(caches=[way("x", ideal), way("x", ideal)])


def test_a_public_trace_is_played_without_a_composer() -> None:
    """Its requests are what they are; the best possible is told of them too."""
    lines = [
        Blocks(at=0, length=1_500, hashes=(1, 2, 3)),
        Blocks(at=10, length=1_500, hashes=(1, 2, 4)),
    ]
    report = run(lines, workspace=workspace(), caches=[way("ideal", ideal)])
    (one,) = report.findings.contenders
    assert (one.name, one.requests, one.tokens) == ("as traced", 2, 3_000)
    assert (one.caches[0].read, one.caches[0].best) == (1_024, 1_024)


def test_what_the_workspace_lacks_is_refused_by_name() -> None:
    """Whoever wrote the trace can mend it."""
    place = workspace()
    with pytest.raises(UnknownAgent, match="nobody"):
        run([prompt(agent="nobody")], workspace=place)
    with pytest.raises(UnknownPreset, match="none"):
        run([Switch(at=0, session="s", preset="none"), prompt()], workspace=place)
    for edit in (
        Edit(at=0, part="agent", name="nobody", text="x"),
        Edit(at=0, part="skill", name="none", text="x"),
    ):
        with pytest.raises(BrokenTrace, match=edit.name):
            run([prompt(), edit], workspace=place, composers=[ours()])
    with pytest.raises(BrokenTrace, match="skills/none"):
        run([prompt(picks=("skills/none",))], workspace=place, composers=[ours()])


def test_a_run_changes_nothing_that_it_was_given() -> None:
    """Edits are of the run's own copy; the same call gives the same again."""
    place = workspace()
    lines: list[Line] = [
        prompt(0),
        Edit(at=1, part="agent", name="clerk", text="New."),
        prompt(MINUTE, "b"),
    ]
    one, again = (run(lines, workspace=place, composers=[ours()]) for _ in range(2))
    assert encoded(one.findings) == encoded(again.findings)
    assert place.agent("clerk").prompt == "You are the clerk of a shop."


def test_it_tells_how_far_it_is() -> None:
    """Every pass, line by line."""
    told: list[tuple[str, int, int]] = []
    lines = [prompt(0), prompt(MINUTE)]
    run(
        lines,
        workspace=workspace(),
        composers=[ours()],
        told=lambda name, number, count: told.append((name, number, count)),
    )
    assert told == [
        *(("the best possible", 1, 2), ("the best possible", 2, 2)),
        *(("greenroom", 1, 2), ("greenroom", 2, 2)),
    ]
