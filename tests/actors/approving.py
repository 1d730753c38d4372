"""A process of its own that approves a call and then waits to be killed: run by a test."""

import sys
from pathlib import Path
from typing import Any

import trio

from greenroom.actors import Tool, tool
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.limits import Limits
from greenroom.protocol.question import Allow
from greenroom.store import open_lmdb
from tests.actors.asked import asks
from tests.actors.submitting import OPTIONS
from tests.actors.world import AGENT, Stage


def paying(folder: Path, *, stays: bool = False) -> Tool[Any]:
    """A tool that pays: a line in a file, which no crash takes back."""

    @tool(effect="write", advisory=["why"])
    async def pay(cents: int = 1, why: str = "") -> str:
        """Pay somebody."""
        with (folder / "paid").open("a") as book:
            book.write(f"{cents}\n")
        del why
        if stays:
            print("submitted", flush=True)
            await trio.sleep_forever()
        return f"paid {cents}"

    return pay


def paid(folder: Path) -> list[str]:
    """What was paid by whichever process."""
    book = folder / "paid"
    return book.read_text().split() if book.exists() else []


async def approve(path: Path, where: str) -> None:
    """Approve a call; the kill comes before it goes on, or while its tool runs."""
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        stalled = Stalled(trio.Event(), "Never.")
        stage.plays((call("pay", cents=1), call("pay", cents=2)), stalled)
        tools = [paying(path.parent, stays=where == "begun")]
        # One place only: a turn of another session keeps the answered one from going on.
        async with stage.host(tools=tools, limits=Limits(running_turns_max=1)) as host:
            session = await host.session("ann", agent=AGENT)
            first, second = await asks(session)
            if where != "begun":
                other = await host.session("ben", agent=AGENT)
                await other.prompt("Hi")
                await stalled.reached.wait()
            await host.answer(first, Allow("kim"))
            if where != "one":
                await host.answer(second, Allow("kim"))
            if where != "begun":
                print("submitted", flush=True)
            await trio.sleep_forever()


async def leave(path: Path, where: str) -> None:
    """Approve a call whose host stops before it began; the kill comes then, or in the next turn."""
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        stalled = Stalled(trio.Event(), "Never.")
        stage.plays(call("pay", cents=1), stalled if where == "sent" else call("pay", cents=1))
        answered: list[bool] = []

        async def deps(_: object) -> None:
            if answered:
                await stage.gate.wait()

        async with stage.host(tools=[paying(path.parent)], deps=deps) as host:
            [question] = await asks(await host.session("ann", agent=AGENT))
            answered.append(True)
            await host.answer(question, Allow("kim"))
            await stage.gate.reached.wait()
        if where == "left":
            print("submitted", flush=True)
            await trio.sleep_forever()
        async with stage.host(tools=[paying(path.parent, stays=True)]) as host:
            await (await host.session("ann")).prompt("Again")
            await stalled.reached.wait()
            print("submitted", flush=True)
            await trio.sleep_forever()


if __name__ == "__main__":
    program = leave if sys.argv[2] in ("left", "sent", "granted") else approve
    trio.run(program, Path(sys.argv[1]), sys.argv[2])
