"""Programs without trio, as the laws of the portal run them: asyncio in a plain test function."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import portal
from greenroom.actors.models.scripted import Scripted
from greenroom.actors.portal.waiting import awaited
from greenroom.actors.world import simulated
from greenroom.store import MemoryStore, open_memory
from tests.actors.stage import workspace


def opening(*steps: Any, store: Any = None, model: Any = None, **told: Any) -> portal.Opening:
    """A host of the agent ``support``, over a memory store unless another is given."""
    given = {"workspace": workspace(), "world": simulated(0), **told}
    given.setdefault("models", {"m": model or Scripted(list(steps))})
    return portal.open_host(store if store is not None else open_memory(), **given)


@attrs.define
class Memory:
    """A memory store that a law can look into, and keep from writing."""

    store: MemoryStore | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[MemoryStore]:
        async with open_memory() as self.store:
            yield self.store


@attrs.define
class Signal:
    """A trio event in the host's loop that the law sets from outside."""

    event: trio.Event = attrs.field(factory=trio.Event)

    def set(self, host: portal.Host | portal.PlainHost) -> None:
        host.line.soon(self.event.set)


async def settled(host: portal.Host) -> None:
    """Return when all that was sent to the host has come, and everything in it waits."""
    await asyncio.sleep(0)  # tasks that were made just now send what they have
    await awaited(host.line, wait_all_tasks_blocked)


def names(events: list[Any]) -> list[str]:
    """What events are, in short."""
    return [type(event).__name__ for event in events]
