"""How the demo is shown: one calm bar while it runs, and a table at its end."""

from pathlib import Path
from types import TracebackType
from typing import Final, Self

import trio
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from greenroom.actors.cli.demo_run import Demo
from greenroom.actors.cli.measuring import quantile
from greenroom.actors.cli.words import counted, plain, size
from greenroom.store import Store

REDRAW_SECONDS: Final = 0.125
LARGE: Final = 10


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
    """The table at the end: what happened, and what it took."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("What happened")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", style="dim")
    happened = run.happened
    _row(table, "turns", f"{run.turns:,}", _ends(run))
    _row(table, "model calls", f"{run.model.calls:,}", f"by {run.model.name}")
    _row(table, "tool calls", f"{run.model.tool_calls:,}")
    _row(table, "approvals", f"{happened['approvals']:,}", "asked, parked, and allowed")
    _row(table, "steers", f"{happened['steers']:,}", "handed over to a running turn")
    _row(table, "mid-turn picks", f"{happened['picks']:,}", "waited for a turn of their own")
    _row(table, "preset switches", f"{happened['switches']:,}")
    _row(table, "events read", f"{happened['events']:,}", f"and {happened['deltas']:,} text deltas")
    table.add_section()
    _measured(table, run, store)
    where = "in a temporary folder, removed now" if kept_at is None else f"kept in {kept_at}"
    _row(table, "store size", size(store.space().used), where)
    console.print(table)
    if run.first_reason:
        console.print(plain(f"The first turn that failed: {run.first_reason}"))


def _measured(table: Table, run: Demo, store: Store) -> None:
    statistics, shares = store.statistics(), run.model.prefixes
    fsyncs = max(1, statistics.transactions)
    per_second = run.turns / run.wall if run.wall else 0.0
    _row(
        table,
        "turns/s",
        f"{per_second:,.0f}" if per_second >= LARGE else f"{per_second:.2f}",
        f"in {run.wall:.1f} s",
    )
    _row(table, "latency p50", _ms(run.latencies, 0.5), "from a message to its turn's end")
    _row(table, "latency p99", _ms(run.latencies, 0.99))
    _row(table, "  beyond the model p50", _ms(run.beyond, 0.5), "what greenroom, tools, disk took")
    _row(table, "  beyond the model p99", _ms(run.beyond, 0.99))
    _row(
        table,
        "commits per fsync",
        f"{statistics.operations / fsyncs:.1f}",
        f"{statistics.operations:,} in {fsyncs:,}",
    )
    _row(table, "turns per fsync", f"{run.turns / fsyncs:.2f}")
    _row(table, "equal bytes", str(shares.overall), "of a request and an earlier one")
    _row(table, "  in a conversation", str(shares.within), "all but its first request")
    _row(
        table,
        "  across conversations",
        str(shares.across),
        "first requests, same agent",
    )
    _row(table, "longest loop stall", f"{1e3 * run.stalls.longest:.0f} ms")


def _row(table: Table, what: str, value: str, about: str = "") -> None:
    table.add_row(what, value, about)


def _ms(seconds: list[float], share: float) -> str:
    return f"{1e3 * quantile(seconds, share):,.1f} ms"


def _ends(run: Demo) -> str:
    others = [f"{count:,} {end}" for end, count in run.ends.most_common() if end != "done"]
    return ", ".join(["all done"] if not others else [f"{run.ends['done']:,} done", *others])
