"""Hosts over a contributor of two versions, and a process that marks its session and is killed."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from greenroom.actors import Workspace
from greenroom.actors.models.scripted import Scripted
from greenroom.protocol.composition import compose
from greenroom.protocol.contributor import Text
from greenroom.store import Store, open_lmdb
from tests.actors.held import WHY
from tests.actors.stage import Stage, agent, package, stage, workspace
from tests.actors.submitting import OPTIONS


def money(version: str = "1", placement: str = "agent") -> Text:
    return Text(
        id="money",
        version=version,
        owner="workspace",
        placement=placement,  # type: ignore[arg-type]
        text=f"Money is in pence, of version {version}.",
    )


AGENTS = [agent(), agent(name="sales")]


def work(version: str, *more: Any) -> Workspace:
    """A workspace whose contributor `money` has this version."""
    return workspace(agents=AGENTS, skills=[package("plain")], contributors=[money(version), *more])


@asynccontextmanager
async def opened(
    store: Store, version: str = "1", *steps: Any, composer: Any = compose, **told: Any
) -> AsyncIterator[Stage]:
    models = {"m": Scripted([*steps, *["Hi."] * 50], name="M"), "n": Scripted(["Hi."] * 50)}
    told.setdefault("work", work(version))
    async with stage(store=store, models=models, composer=composer, **told) as on:
        yield on


async def mark(path: Path, key: str) -> None:
    """Talk once, mark it, say so, and wait to be killed."""
    async with open_lmdb(path, options=OPTIONS) as store, opened(store) as on:
        await (await on.session(key)).ask("Hi.")
        await on.host.recompose(contributor="money", **WHY)
        print("submitted", flush=True)
        await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(mark, Path(sys.argv[1]), sys.argv[2])
