"""How those wait who are elsewhere: a task in its asyncio loop, a plain caller in his thread."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
import trio

from greenroom.actors.portal.line import Call, Line
from greenroom.protocol.errors import WrongLoop

R = TypeVar("R")


class InLoop:
    """A task of asyncio that waits for one thing; its loop runs on meanwhile."""

    __slots__ = ("_came", "_future", "_loop")

    def __init__(self) -> None:
        self._loop = running_loop()
        self._future: asyncio.Future[None] | None = None
        self._came = False

    def wake(self) -> None:
        """It came. From any thread, once."""
        # Where the loop was closed nobody waits any more.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._arrive)

    def _arrive(self) -> None:
        self._came = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> None:
        """Wait; a cancellation ends the waiting and nothing else."""
        if not self._came:
            self._future = self._loop.create_future()
            await self._future

    async def wait_to_the_end(self) -> None:
        """Wait until it came, however often the task is cancelled; then that is raised."""
        cancelled: asyncio.CancelledError | None = None
        with anyio.CancelScope(shield=True):
            while not self._came:
                try:
                    await self.wait()
                except asyncio.CancelledError as error:
                    cancelled = error
        if cancelled is not None:
            raise cancelled


class InThread:
    """A thread that waits for one thing, and can be interrupted by Ctrl-C."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        check_may_block()
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self) -> None:
        """It came. From any thread, once."""
        self._lock.release()

    def wait(self) -> None:
        """Wait until it came."""
        with self._lock:
            return


def running_loop() -> asyncio.AbstractEventLoop:
    """The asyncio loop that the caller runs in. Raises :class:`WrongLoop`."""
    loop = None if trio.lowlevel.in_trio_task() else _asyncio_loop()
    if loop is None:
        raise WrongLoop(
            "This host is held for asyncio, and no task of asyncio asks it.",
            way_out="Await it in asyncio, open it by `with` in a plain program, and take "
            "actors.open_host in a trio program.",
        )
    return loop


def check_may_block() -> None:
    """Raise :class:`WrongLoop` where waiting would hold up a loop."""
    if trio.lowlevel.in_trio_run() or _asyncio_loop() is not None:
        raise WrongLoop(
            "This call blocks, and would hold up the loop that runs here.",
            way_out="Open the host by `async with` in asyncio, and by actors.open_host in trio.",
        )


def _asyncio_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def awaited(
    line: Line, function: Callable[..., Awaitable[R]], /, *args: Any, **kwargs: Any
) -> R:
    """Call a coroutine function of the host from asyncio.

    A cancelled task cancels the call, waits until it has ended, and is cancelled then: what the
    call brought all the same is lost to the caller, and what it acknowledged stays.

    Raises:
        HostClosed: the host was closed, before it or meanwhile.
        WrongLoop: no asyncio loop runs here, and it is not the host's own either.
    """
    if line.is_here:  # a tool of the host, say
        return await function(*args, **kwargs)
    waiting = InLoop()
    call = Call(line, partial(function, *args, **kwargs), waiting.wake)
    call.begin()
    try:
        await waiting.wait()
    except asyncio.CancelledError as cancelled:
        call.cancel()
        await waiting.wait_to_the_end()
        raise cancelled from call.error
    except BaseException:  # the loop is taken down around it
        call.cancel()
        raise
    return call.result()


def blocking(line: Line, function: Callable[..., Awaitable[R]], /, *args: Any, **kwargs: Any) -> R:
    """Call a coroutine function of the host from a thread, and wait there.

    Ctrl-C cancels the call, waits until it has ended, and goes on.

    Raises:
        HostClosed: the host was closed, before it or meanwhile.
        WrongLoop: a loop runs here, which this would hold up.
    """
    waiting = InThread()
    call = Call(line, partial(function, *args, **kwargs), waiting.wake)
    call.begin()
    try:
        waiting.wait()
    except BaseException:
        call.cancel()
        waiting.wait()
        raise
    return call.result()
