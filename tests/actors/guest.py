"""Programs of asyncio, run in a plain test function, and trio as a guest of their loop (P181)."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import trio
from outcome import Outcome

SECONDS_MAX = 30
"""A law that waits longer than this waits for ever."""


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run an asyncio program. One that hangs fails."""
    return asyncio.run(asyncio.wait_for(main(), SECONDS_MAX))


async def run_guest(main: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
    """Run a trio program as a guest of the running asyncio loop; what it returns or raises."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Outcome[Any]] = loop.create_future()
    trio.lowlevel.start_guest_run(
        partial(main, *args),
        run_sync_soon_threadsafe=loop.call_soon_threadsafe,
        done_callback=ended.set_result,
    )
    return (await ended).unwrap()
