"""``greenroom demo``: many sessions at once on the sample workspace, and what that costs."""

import tempfile
from functools import partial
from pathlib import Path

import trio
from rich.console import Console

from greenroom.actors import Host, Model, Workspace, open_host
from greenroom.actors.cli.demo_plan import plan_of
from greenroom.actors.cli.demo_report import Progressing, print_report
from greenroom.actors.cli.demo_run import Demo
from greenroom.actors.cli.measuring import Measured
from greenroom.actors.cli.places import own_sample
from greenroom.actors.cli.stores import open_store
from greenroom.actors.world import World, simulated


async def demo(
    console: Console,
    model: Model,
    *,
    sessions: int,
    turns: int,
    seed: int,
    store: Path | None,
) -> int:
    """Run the demo and print its table; exit code 1 if a turn did not end as done.

    Without ``store`` everything is in a folder that is gone afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="greenroom-demo-") as name:
        folder = Path(name)
        workspace = Workspace.folder(await trio.to_thread.run_sync(own_sample, folder))
        plans = [plan_of(workspace, seed, number, turns) for number in range(sessions)]
        run = Demo(plans, Measured(model))
        open_hosting = partial(
            open_host,
            workspace=workspace,
            models={"default": run.model},
            world=World(random=simulated(seed).random),
        )
        async with open_store(store or folder / "store") as kept:
            async with open_hosting(kept) as host:
                await _shown(console, host, run)
            print_report(console, run, kept, store)
    return 0 if run.ends["done"] == run.turns else 1


async def _shown(console: Console, host: Host, run: Demo) -> None:
    async with trio.open_nursery() as nursery:
        with Progressing(console, run) as progress:
            nursery.start_soon(progress.watch)
            await run.run(host)
            nursery.cancel_scope.cancel()
