"""How a run is shown: one bar while it goes on, and tables at its end."""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from greenroom.actors.bench.checking import Difference
from greenroom.actors.bench.report import ContenderFindings, Report
from greenroom.actors.cli.words import counted, plain

STEPS: Final = 200
"""How often the bar is drawn for each pass, at most."""


class Bar:
    """One bar, a pass at a time; where there is no terminal nothing is drawn."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description:<20}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("")
        self._now = ""

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def told(self, name: str, number: int, count: int) -> None:
        """Draw how far a pass is."""
        if name != self._now:
            self._now = name
            self._bar.reset(self._task, total=count, description=name)
        if number % max(1, count // STEPS) == 0 or number == count:
            self._bar.update(self._task, completed=number, refresh=True)


def print_report(console: Console, report: Report) -> None:
    """Print what a run found."""
    findings = report.findings
    trace, first = findings.trace, findings.contenders[0]
    console.print(
        f"{counted(trace.conversations, 'conversation')}, {counted(trace.prompts, 'prompt')}, "
        f"{counted(first.requests, 'request')}, {first.tokens / 1e6:,.1f} million tokens"
    )
    console.print("\nRead from cache, % of all tokens sent (% of the best possible)")
    console.print(_shares(findings.contenders))
    console.print(f"\nThe same by placement, for {first.name} (the best possible)")
    console.print(_placements(first))
    console.print(
        f"\nBytes up to a placement's end, and in common, in the worst group of {first.name};"
    )
    console.print("and how many groups of each way of composing have less in common than that")
    console.print(_levels(findings.contenders))
    console.print(f"{first.repeated:.1%} of a request of {first.name} repeats the one before it.")
    console.print(_behind(first))
    for one in findings.contenders:
        if one.asked.difference is not None:
            console.print(plain(_varies(one.name, one.asked.difference)))
    total = sum(seconds.cpu for seconds in report.seconds.values())
    console.print(f"{total:.1f} s of CPU on {report.machine.cpu}, Python {report.machine.python}")


def _shares(contenders: Sequence[ContenderFindings]) -> Table:
    first = contenders[0]
    table = _table("", *(cache.cache for cache in first.caches))
    for one in contenders:
        cells = [f"{100 * cache.share:.1f} ({100 * cache.of_best:.1f})" for cache in one.caches]
        table.add_row(one.name, *cells)
    table.add_section()
    best = [f"{100 * cache.best / max(1, first.tokens):.1f} (100.0)" for cache in first.caches]
    table.add_row("the best possible", *best)
    return table


def _placements(one: ContenderFindings) -> Table:
    table = _table("", *(cache.cache for cache in one.caches))
    for rank, level in enumerate(one.caches[0].levels):
        cells = [
            f"{100 * each.read / each.sent:.1f} ({100 * each.best / each.sent:.1f})"
            if each.sent
            else "–"
            for each in (cache.levels[rank] for cache in one.caches)
        ]
        table.add_row(level.level, *cells)
    return table


def _levels(contenders: Sequence[ContenderFindings]) -> Table:
    table = _table("", "end", "common", *(one.name for one in contenders))
    for rank, level in enumerate(contenders[0].levels):
        short = [f"{one.levels[rank].short:,}" for one in contenders]
        groups = f"{short[0]} of {level.groups:,}"
        table.add_row(level.level, f"{level.size:,}", f"{level.common:,}", groups, *short[1:])
    return table


def _varies(name: str, difference: Difference) -> str:
    return (
        f"{name} is shown as a contrast: it varies with {difference.under},\n"
        f"from byte {difference.at:,} of the {difference.what} on."
    )


def _behind(one: ContenderFindings) -> str:
    """What the live permissions cost, which stand in the system string for good reason."""
    ratios = ", ".join(
        f"{100 * cache.read / cache.best_behind:.1f}" for cache in one.caches if cache.best_behind
    )
    return (
        "With the permissions in force behind the messages a switch would cost nothing;\n"
        f"of that best possible {one.name} gets {ratios} %."
    )


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", no_wrap=not number)
    return table
