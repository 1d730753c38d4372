"""A process of its own that submits messages and then waits to be killed: run by a test."""

import sys
from pathlib import Path

import trio

from greenroom.actors.models.scripted import Stalled, call
from greenroom.store import Options, open_lmdb
from tests.actors.world import Stage

SUBMITTED = 10
OPTIONS = Options(map_size=64 << 20, reserve_bytes=0)


async def submit(path: Path, where: str) -> None:
    """Submit messages, the first of which stays in the model or in a writing tool; say so."""
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        stalled = Stalled(trio.Event(), "Never.")
        stage.plays(stalled if where == "model" else call("send"))
        async with stage.session() as session:
            await session.prompt("message 0", key="key 0")
            await (stalled.reached if where == "model" else stage.gate.reached).wait()
            for number in range(1, SUBMITTED):
                await session.prompt(f"message {number}", when="queue", key=f"key {number}")
            print("submitted", flush=True)
            await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(submit, Path(sys.argv[1]), sys.argv[2])
