"""A run: the same trace for each way of composing, into the same ways of caching."""

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter, process_time
from typing import Any, Final, TypeAlias

import attrs

from greenroom.actors.bench.checking import Asked, ask, refuse
from greenroom.actors.bench.composing import Composed, Extra, Ingredients, Kept, composed
from greenroom.actors.bench.contender import Contender, Setting, common_ways, contender
from greenroom.actors.bench.conversation import Tokenizer, four_bytes
from greenroom.actors.bench.levels import Levels
from greenroom.actors.bench.playing import Playing, Scene
from greenroom.actors.bench.reference import Best, Reference, arranged
from greenroom.actors.bench.report import (
    CacheFindings,
    ContenderFindings,
    Findings,
    Report,
    Seconds,
    TraceFacts,
    level_shares,
    machine,
)
from greenroom.actors.bench.standing import Standing
from greenroom.actors.bench.tally import Cache, CacheTally, Tally, public_ways
from greenroom.actors.bench.trace import Line, Prompt, checked, digest_of
from greenroom.actors.tool import Tool
from greenroom.actors.workspace import Workspace
from greenroom.protocol.errors import SameName

SAMPLES: Final = 4
"""Conversations of the trace with whose ingredients a composer is asked."""
REFERENCE: Final = "the best possible"

Told: TypeAlias = Callable[[str, int, int], object]
"""Is given what is played, the line that is done, and how many there are."""


def run(
    trace: Iterable[Line],
    *,
    workspace: Workspace,
    tools: Iterable[Tool[Any]] = (),
    extra: Iterable[Extra] = (),
    composers: Sequence[Contender] | None = None,
    caches: Sequence[Cache] | None = None,
    tokenizer: Tokenizer = four_bytes,
    seed: int | None = None,
    samples: bool = False,
    told: Told = lambda *_: None,
    command: Sequence[str] = (),
) -> Report:
    """Play a trace and report what was read from cache.

    Args:
        trace: lines in the order of time.
        workspace: what stands at its beginning, for every tenant.
        tools: those of the host, which agents are declared with.
        extra: contributions that are installed in it.
        composers: what stands in the table; None: greenroom's and three common ways.
        caches: ways of caching; None: the four public ones.
        tokenizer: cuts each piece of a request into tokens.
        seed: what the trace was made from, for the record.
        samples: put the figures of each request into the report.
        told: called as it goes on.
        command: what was typed, for the record.

    Raises:
        ComposerVaries: a composer that is no contrast gives other bytes when it is asked again.
        BrokenTrace: it runs back in time, or names what the workspace lacks.
        UnknownAgent, UnknownPreset, UnknownTool: as above.
        SameName: two composers or two ways of caching of one name.
    """
    scene = Scene(checked(trace), workspace, tuple(tools), tuple(extra), tokenizer)
    given = _sample(scene)
    contenders = common_ways() if composers is None else tuple(composers)
    if not given:
        contenders = (contender("as traced", composed, "whole requests, which nobody composed"),)
    ways = public_ways() if caches is None else tuple(caches)
    _refuse_same("composer", [one.name for one in contenders])
    _refuse_same("way of caching", [way.name for way in ways])
    asked = ask(contenders, given)
    for one, answer in zip(contenders, asked, strict=True):
        if not one.contrast:
            refuse(one.name, answer.difference)
    seconds: dict[str, Seconds] = {}
    reference = Reference(ways)
    seconds[REFERENCE] = _timed(Playing(scene, arranged, reference), REFERENCE, scene, told)
    found = []
    for one, answer in zip(contenders, asked, strict=True):
        tally = Tally(ways)
        playing = Playing(scene, _Arranging(one), tally, recomposes=one.recomposes)
        seconds[one.name] = _timed(playing, one.name, scene, told)
        found.append(_found(one, answer, tally, playing.levels, reference, samples=samples))
    findings = Findings(
        trace=_facts(scene.lines, seed),
        tokenizer=getattr(tokenizer, "__name__", type(tokenizer).__name__),
        caches={way.name: dict(way.settings) for way in ways},
        contenders=tuple(found),
    )
    return Report(findings, seconds, machine(), tuple(command))


@attrs.frozen
class _Arranging:
    """A contender as a pass needs it."""

    contender: Contender

    def __call__(self, ingredients: Ingredients, setting: Setting) -> Kept:
        return Composed(self.contender.make(setting)(ingredients))


def _timed(playing: Playing, name: str, scene: Scene, told: Told) -> Seconds:
    wall, cpu = perf_counter(), process_time()
    count = len(scene.lines)
    playing.play(lambda number: told(name, number, count))
    return Seconds(perf_counter() - wall, process_time() - cpu)


def _sample(scene: Scene) -> list[Ingredients]:
    """The ingredients of some of the trace's conversations, with different agents if there are."""
    firsts = {line.agent: line for line in reversed(scene.lines) if isinstance(line, Prompt)}
    if not firsts:
        return []
    standing = Standing(scene.workspace, scene.tools, scene.extra)
    chosen = sorted(firsts.values(), key=lambda line: (line.at, line.session))[:SAMPLES]
    return [
        standing.ingredients(line.agent, line.person, standing.instructions, None)
        for line in chosen
    ]


def _found(
    contender: Contender,
    asked: Asked,
    tally: Tally,
    levels: Levels,
    reference: Reference,
    *,
    samples: bool,
) -> ContenderFindings:
    """What is to be said of one way of composing."""
    rows = zip(tally.caches, reference.best, strict=True)
    return ContenderFindings(
        name=contender.name,
        about=contender.about,
        contrast=contender.contrast,
        asked=asked,
        requests=len(tally.totals),
        tokens=sum(tally.totals),
        repeated=levels.repeated / levels.sent if levels.sent else 0.0,
        caches=tuple(_of_cache(tally, *row, samples=samples) for row in rows),
        levels=levels.reports(),
        samples=tuple(tally.totals) if samples else (),
    )


def _of_cache(tally: Tally, cache: CacheTally, best: Best, *, samples: bool) -> CacheFindings:
    read, total = sum(cache.read), sum(tally.totals)
    possible = best.possible(tally.totals)
    return CacheFindings(
        cache=cache.cache.name,
        read=read,
        written=cache.written,
        best=possible,
        best_behind=best.possible(tally.totals, "behind"),
        share=read / total if total else 0.0,
        of_best=read / possible if possible else 1.0,
        levels=level_shares(tally.sent, cache.read, best.missed),
        samples=tuple(cache.reads) if samples else (),
    )


def _facts(lines: Sequence[Line], seed: int | None) -> TraceFacts:
    prompts = [line for line in lines if isinstance(line, Prompt)]
    return TraceFacts(
        digest=digest_of(lines),
        lines=len(lines),
        conversations=len({(line.tenant, line.session) for line in prompts}),
        prompts=len(prompts),
        seed=seed,
    )


def _refuse_same(what: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SameName(f"There are two of one name: {what} {', '.join(twice)}.", names=twice)
