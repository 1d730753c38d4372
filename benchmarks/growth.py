"""Growth: what turn 1,000 of a conversation costs beside turn 10.

    python -m benchmarks.growth --sessions 100 --turns 1000

All sessions talk at once; CPU is that of the loop's thread alone (the writer thread's share is the
store's). Early and late turns are windows of one run, so that the machine's mood is the same for
both only as far as it stays the same; the median of several windows is compared.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import trio

from benchmarks.turns import ANSWER, MESSAGE, look_up, raised_gc
from greenroom.actors import Capabilities, Session, Workspace, open_host
from greenroom.actors.models.scripted import Looping, Streamed, call
from greenroom.protocol.agent import AgentDeclaration
from greenroom.store import open_lmdb

WINDOW = 10
"""Turns of each session whose CPU is measured together."""


async def measured(path: Path, sessions: int, turns: int) -> list[float]:
    """CPU seconds of the loop's thread for each window of turns, all sessions together."""
    workspace = Workspace.build(
        agents=[AgentDeclaration(name="clerk", prompt="You answer for a shop.", tools=("look_up",))]
    )
    # No window of a model holds a thousand turns; what is measured is greenroom.
    model = Looping((call("look_up", order=4711), Streamed(ANSWER, 5)), capabilities=_wide())
    windows: list[float] = []
    async with (
        open_lmdb(path) as store,
        open_host(store, workspace=workspace, models={"default": model}, tools=[look_up]) as host,
    ):
        handles = [await host.session(f"s{n}", agent="clerk") for n in range(sessions)]
        with raised_gc():
            for first in range(0, turns, WINDOW):
                began = time.thread_time()
                async with trio.open_nursery() as nursery:
                    for handle in handles:
                        nursery.start_soon(_talk, handle, first)
                windows.append(time.thread_time() - began)
    return windows


def _wide() -> Capabilities:

    return Capabilities(context_tokens=100_000_000)


async def _talk(handle: Session, first: int) -> None:
    for turn in range(first, first + WINDOW):
        await handle.ask(MESSAGE, key=str(turn))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--turns", type=int, default=1_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-", dir=Path.cwd()) as folder:
        windows = trio.run(measured, Path(folder) / "s", arguments.sessions, arguments.turns)
    each = [1e6 * window / (WINDOW * arguments.sessions) for window in windows]
    for place in sorted({1, *range(9, len(each), 10), len(each) - 1}):
        print(
            f"turns {place * WINDOW:>5}-{place * WINDOW + WINDOW:<5} {each[place]:7.1f} µs a turn"
        )
    early, late = statistics.median(each[1:6]), statistics.median(each[-5:])
    print(f"loop thread: turn 10 {early:.1f} µs, last {late:.1f} µs; ratio {late / early:.2f}")


if __name__ == "__main__":
    main()
