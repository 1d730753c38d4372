"""Footprint: memory of idle sessions, opening a long session, starting on a full store, importing.

    python -m benchmarks.footprint

Memory is the anonymous memory of the process (the pages of LMDB's file are the system's to drop),
measured around making 10,000 live idle sessions of one turn each. What passivation gives back stays
with the process, so it shows in what as many further sessions take after it: nothing. The long
session has 1,000 messages; opening it is everything from a handle to the end of a turn, with the
store open. The import is timed in fresh processes.
"""

import argparse
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import trio

from benchmarks.turns import ANSWER, MESSAGE, look_up
from greenroom.actors import Host, Workspace, open_host
from greenroom.actors.models.scripted import Looping, Streamed, call
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.limits import Limits
from greenroom.store import Store, open_lmdb


def host_on(store: Store) -> AbstractAsyncContextManager[Host]:
    """A host with one agent and one tool, as in :mod:`benchmarks.turns`."""
    workspace = Workspace.build(
        agents=[AgentDeclaration(name="clerk", prompt="You answer for a shop.", tools=("look_up",))]
    )
    model = Looping((call("look_up", order=4711), Streamed(ANSWER, 5)))
    limits = Limits(idle_seconds=3_600.0)
    return open_host(
        store, workspace=workspace, models={"default": model}, tools=[look_up], limits=limits
    )


def held() -> int:
    """Bytes of anonymous memory that this process holds."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return 1_024 * int(status.partition("RssAnon:")[2].split()[0])


async def _one_turn_each(host: Host, names: list[str]) -> None:
    async with trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(_one_turn, host, name)


async def _one_turn(host: Host, name: str) -> None:
    session = await host.session(name, agent="clerk")
    await session.ask(MESSAGE)


async def idle_memory(path: Path, sessions: int) -> tuple[float, float]:
    """Kilobytes that a live idle session takes, and one that is made when others were let go."""
    async with open_lmdb(path) as store, host_on(store) as host:
        await _made(host, "warm", 500)
        before = held()
        await _made(host, "s", sessions)
        live = held()
        for actor in list(host.services.actors.values()):
            host.passivate(actor)
        del actor
        await _made(host, "t", sessions)
        again = held()
    return (live - before) / sessions / 1_024, (again - live) / sessions / 1_024


async def _made(host: Host, prefix: str, sessions: int) -> None:
    for start in range(0, sessions, 500):
        await _one_turn_each(host, [f"{prefix}{n}" for n in range(start, start + 500)])


async def long_session(path: Path, messages: int, repeats: int) -> list[float]:
    """Milliseconds to open a session of ``messages`` messages and finish a turn, store open."""
    took = []
    async with open_lmdb(path) as store:
        async with host_on(store) as host:
            session = await host.session("long", agent="clerk")
            for _ in range(messages // 4):
                await session.ask(MESSAGE)
        for _ in range(repeats):
            async with host_on(store) as host:
                began = time.perf_counter()
                session = await host.session("long")
                await session.ask(MESSAGE)
                took.append(1e3 * (time.perf_counter() - began))
    return took


async def start_on(path: Path) -> float:
    """Milliseconds until a host on a store is ready and has answered for one session."""
    began = time.perf_counter()
    async with open_lmdb(path) as store, host_on(store) as host:
        session = await host.session("s0")
        await session.state()
        return 1e3 * (time.perf_counter() - began)


def import_seconds(repeats: int) -> float:
    """Seconds that a fresh process takes for the import alone: the median."""
    code = "import time; a = time.time(); import greenroom.actors; print(time.time() - a)"
    command = [sys.executable, "-c", code]
    runs = [subprocess.check_output(command, text=True) for _ in range(repeats)]
    return statistics.median(map(float, runs))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-", dir=Path.cwd()) as name:
        folder = Path(name)
        live, again = trio.run(idle_memory, folder / "many", arguments.sessions)
        print(f"live idle session: {live:.1f} kB; one in place of a passivated one: {again:.1f} kB")
        started = trio.run(start_on, folder / "many")
        print(f"start on {arguments.sessions:,} stored sessions: {started:.1f} ms")
        took = trio.run(long_session, folder / "long", 1_000, 9)
        print(f"open 1,000 messages and finish a turn: median {statistics.median(took):.2f} ms")
    print(f"import greenroom.actors: median {import_seconds(7):.3f} s")


if __name__ == "__main__":
    main()
