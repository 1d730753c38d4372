"""Turns: throughput, CPU and latency of whole turns over a real store.

    python -m benchmarks.turns --sessions 100 --turns 50

One turn: a message of 200 characters with an idempotency key; the model asks for one read-only
tool; the tool runs; an answer of 500 characters is streamed in 5 pieces; every session has a reader
of its events; permissions and bounds are on; every commit point is durable (three commits a turn).

The model takes no time, so what is measured is greenroom and the disk. CPU is of the whole process,
writer thread included, and is what to compare: walls vary with the machine's other work. The last
column is that CPU in bare trio checkpoints of the same process, each of which is one pass of a task
through the loop: a measure that does not change with the machine.
"""

import argparse
import gc
import math
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import lmdb
import trio

from greenroom.actors.handle import Session
from greenroom.actors.host import Host, open_host
from greenroom.actors.models.scripted import Looping, Streamed, call
from greenroom.actors.tool import tool
from greenroom.actors.workspace import Workspace
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.event import TextDelta
from greenroom.store import open_lmdb

MESSAGE = "What is the state of order 4711, and when does it arrive? ".ljust(200, ".")
ANSWER = "The order left the warehouse this morning and arrives tomorrow. ".ljust(500, ".")
GC_THRESHOLDS = (200_000, 20, 50)


@tool(effect="read")
async def look_up(order: int) -> str:
    """Look up an order."""
    return f"Order {order}: sent."


@attrs.define
class Run:
    """What one run measured."""

    sessions: int
    turns: int
    wall: float = 0.0
    cpu: float = 0.0
    latencies: list[float] = attrs.field(factory=list)
    events: int = 0
    deltas: int = 0
    operations: int = 0
    transactions: int = 0
    written: int = 0
    checkpoint: float = 0.0
    """CPU seconds of one bare checkpoint."""

    def quantile(self, share: float) -> float:
        """A latency quantile, in milliseconds."""
        ordered = sorted(self.latencies)
        return 1e3 * ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]

    def row(self) -> str:
        """One line of the table."""
        count = self.sessions * self.turns
        return (
            f"{self.sessions:>8,} {self.turns:>6,} {1e6 * self.cpu / count:>12.1f} "
            f"{count / self.wall:>9,.0f} {self.quantile(0.5):>9.2f} {self.quantile(0.99):>9.2f} "
            f"{self.operations / count:>9.2f} {self.operations / max(1, self.transactions):>9.1f} "
            f"{self.written / count:>8,.0f} {self.events / count:>9.1f} "
            f"{self.cpu / count / self.checkpoint:>12.0f}"
        )


HEADING = (
    "sessions  turns  CPU µs/turn   turns/s    p50 ms    p99 ms  commits/t  commits/tx  bytes/t"
    "  events/t  checkpoints"
)


@contextmanager
def raised_gc() -> Iterator[None]:
    """The GC thresholds that the commands set: a library leaves its embedder's alone."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


async def measured(path: Path, sessions: int, turns: int, *, readers: bool) -> Run:
    """Run so many turns in each of so many sessions at once, after one turn of warming up."""
    run = Run(sessions, turns)
    workspace = Workspace.build(
        agents=[AgentDeclaration(name="clerk", prompt="You answer for a shop.", tools=("look_up",))]
    )
    model = Looping((call("look_up", order=4711), Streamed(ANSWER, 5)))
    async with (
        open_lmdb(path) as store,
        trio.open_nursery() as nursery,
        open_host(store, workspace=workspace, models={"default": model}, tools=[look_up]) as host,
    ):
        handles = await _opened(host, sessions)
        if readers:
            for handle in handles:
                nursery.start_soon(_read, handle, run)
        await _all(handles, 1, Run(sessions, 1), "w")
        run.events = run.deltas = 0
        before = store.statistics()
        with raised_gc():
            wall, cpu = time.perf_counter(), time.process_time()
            await _all(handles, turns, run, "m")
            run.cpu = time.process_time() - cpu
            run.wall = time.perf_counter() - wall
            run.checkpoint = await checkpoint_seconds()
        after = store.statistics()
        run.operations = after.operations - before.operations
        run.transactions = after.transactions - before.transactions
        run.written = after.records_bytes - before.records_bytes
    return run


async def checkpoint_seconds(count: int = 20_000) -> float:
    """CPU seconds of one bare checkpoint, now and in this process."""
    began = time.process_time()
    for _ in range(count):
        await trio.lowlevel.checkpoint()
    return (time.process_time() - began) / count


async def _opened(host: Host, sessions: int) -> list[Session]:
    handles: list[Session] = []

    async def open_one(number: int) -> None:
        handles.append(await host.session(f"s{number}", agent="clerk", person="p"))

    async with trio.open_nursery() as nursery:
        for number in range(sessions):
            nursery.start_soon(open_one, number)
    return handles


async def _all(handles: list[Session], turns: int, run: Run, prefix: str) -> None:
    async with trio.open_nursery() as nursery:
        for handle in handles:
            nursery.start_soon(_talk, handle, turns, run, prefix)


async def _talk(handle: Session, turns: int, run: Run, prefix: str) -> None:
    for turn in range(turns):
        began = time.perf_counter()
        outcome = await handle.ask(MESSAGE, key=f"{prefix}{turn}")
        run.latencies.append(time.perf_counter() - began)
        assert outcome.end == "done", outcome


async def _read(handle: Session, run: Run) -> None:
    async for event in handle.events(after=(await handle.state()).cursor):
        run.events += 1
        if isinstance(event, TextDelta):
            run.deltas += 1


def bare_commits(path: Path, count: int) -> list[float]:
    """Seconds of each of ``count`` bare LMDB commits of one record, for comparison."""
    took = []
    with lmdb.open(str(path), map_size=1 << 30, max_spare_txns=1) as environment:
        for number in range(count):
            began = time.perf_counter()
            with environment.begin(write=True) as transaction:
                transaction.put(number.to_bytes(8, "big"), b"x" * 1_000, append=True)
            took.append(time.perf_counter() - began)
    return took


def alone(folder: Path, turns: int) -> str:
    """One session by itself, beside as many bare commits as it makes, interleaved in one run."""
    commits: list[float] = []
    latencies: list[float] = []
    for part in range(5):
        run = trio.run(_quiet, folder / f"alone{part}", turns // 5)
        latencies += run.latencies
        commits += bare_commits(folder / f"bare{part}", 3 * turns // 5)
    turn = sorted(latencies)[len(latencies) // 2]
    commit = sorted(commits)[len(commits) // 2]
    return (
        f"one session: p50 {1e3 * turn:.2f} ms; three bare commits: p50 {3e3 * commit:.2f} ms; "
        f"ratio {turn / (3 * commit):.2f}"
    )


async def _quiet(path: Path, turns: int) -> Run:
    return await measured(path, 1, turns, readers=True)


async def _with_readers(path: Path, sessions: int, turns: int) -> Run:
    return await measured(path, sessions, turns, readers=True)


async def _without_readers(path: Path, sessions: int, turns: int) -> Run:
    return await measured(path, sessions, turns, readers=False)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 100, 1_000])
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--no-readers", action="store_true", help="nobody reads events")
    arguments = parser.parse_args()
    print(HEADING)
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-", dir=Path.cwd()) as folder:
        for sessions in arguments.sessions:
            for part in range(arguments.repeat):
                if sessions == 1:
                    print(alone(Path(folder), arguments.turns * 5))
                    continue
                path = Path(folder) / f"{sessions}-{part}"
                measure = _without_readers if arguments.no_readers else _with_readers
                print(trio.run(measure, path, sessions, arguments.turns).row(), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
