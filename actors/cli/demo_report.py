"""How the demo is shown: one calm bar while it runs, and a table at its end."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import trio
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from greenroom.actors.cli.demo_run import Demo
from greenroom.actors.cli.measuring import quantile
from greenroom.actors.cli.tables import GAP, cells_of, open_table
from greenroom.actors.cli.words import counted, plain, size
from greenroom.actors.cli.wrapping import wrapped
from greenroom.store import Store

REDRAW_SECONDS: Final = 0.125
LARGE: Final = 10
ABOUT_CELLS_MIN: Final = 20
"""The least room for what a figure is about: less would be a word a line."""

Row: TypeAlias = tuple[str, str, str]
"""What was measured, its figure, and what that is about."""


class Progressing:
    """The bar. Drawn by a task of the loop and not by a thread, which would disturb what is
    measured; where there is no terminal, nothing is drawn.
    """

    def __init__(self, console: Console, run: Demo) -> None:
        self._console = console
        self._run = run
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[counts]}"),
            console=console,
            auto_refresh=False,
            transient=True,
        )

    def __enter__(self) -> Self:
        run = self._run
        self._console.print(
            f"{counted(len(run.plans), 'session')}, {counted(run.messages, 'message')},"
            f" model {run.model.name}"
        )
        self._task = self._bar.add_task("answered", total=run.messages, counts="")
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._draw()
        self._bar.stop()

    async def watch(self) -> None:
        """Redraw until cancelled."""
        while True:
            self._draw()
            await trio.sleep(REDRAW_SECONDS)

    def _draw(self) -> None:
        run = self._run
        counts = f"{run.turns:,} turns · {run.model.tool_calls:,} tool calls"
        self._bar.update(self._task, completed=run.answered, counts=counts, refresh=True)


def print_report(console: Console, run: Demo, store: Store, kept_at: Path | None) -> None:
    """What happened and what it took, as a table; where that has no room, in lines."""
    parts = (_happened(run), _measured(run, store, kept_at))
    needed = cells_of([row[:2] for part in parts for row in part]) + GAP + ABOUT_CELLS_MIN
    if needed <= console.width:
        console.print(_table(parts))
    else:
        for what, value, about in chain(*parts):
            for line in wrapped(console, f"{what}: {value}" + (f" · {about}" if about else "")):
                console.print(line)
    if run.first_reason:
        console.print(plain(f"The first turn that failed: {run.first_reason}"))


def _table(parts: Iterable[list[Row]]) -> Table:
    table = open_table()
    table.add_column("What happened", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", style="dim", overflow="fold")
    for part in parts:
        for row in part:
            table.add_row(*row)
        table.add_section()
    return table


def _happened(run: Demo) -> list[Row]:
    happened = run.happened
    return [
        ("turns", f"{run.turns:,}", _ends(run)),
        ("model calls", f"{run.model.calls:,}", f"by {run.model.name}"),
        ("tool calls", f"{run.model.tool_calls:,}", ""),
        ("approvals", f"{happened['approvals']:,}", "asked, parked, and allowed"),
        ("steers", f"{happened['steers']:,}", "handed over to a running turn"),
        ("mid-turn picks", f"{happened['picks']:,}", "waited for a turn of their own"),
        ("preset switches", f"{happened['switches']:,}", ""),
        ("events read", f"{happened['events']:,}", f"and {happened['deltas']:,} text deltas"),
    ]


def _measured(run: Demo, store: Store, kept_at: Path | None) -> list[Row]:
    statistics, shares = store.statistics(), run.model.prefixes
    fsyncs = max(1, statistics.transactions)
    per_second = run.turns / run.wall if run.wall else 0.0
    turns = f"{per_second:,.0f}" if per_second >= LARGE else f"{per_second:.2f}"
    commits = f"{statistics.operations / fsyncs:.1f}"
    where = "in a temporary folder, removed now" if kept_at is None else f"kept in {kept_at}"
    return [
        ("turns/s", turns, f"in {run.wall:.1f} s"),
        ("latency p50", _ms(run.latencies, 0.5), "from a message to its turn's end"),
        ("latency p99", _ms(run.latencies, 0.99), ""),
        ("  beyond the model p50", _ms(run.beyond, 0.5), "what greenroom, tools, disk took"),
        ("  beyond the model p99", _ms(run.beyond, 0.99), ""),
        ("commits per fsync", commits, f"{statistics.operations:,} in {fsyncs:,}"),
        ("turns per fsync", f"{run.turns / fsyncs:.2f}", ""),
        ("equal bytes", str(shares.overall), "of a request and an earlier one"),
        ("  in a conversation", str(shares.within), "all but its first request"),
        ("  across conversations", str(shares.across), "first requests, same agent"),
        ("longest loop stall", f"{1e3 * run.stalls.longest:.0f} ms", ""),
        ("store size", size(store.space().used), where),
    ]


def _ms(seconds: list[float], share: float) -> str:
    return f"{1e3 * quantile(seconds, share):,.1f} ms"


def _ends(run: Demo) -> str:
    others = [f"{count:,} {end}" for end, count in run.ends.most_common() if end != "done"]
    return ", ".join(["all done"] if not others else [f"{run.ends['done']:,} done", *others])
