"""The line to a host's loop: calls from other threads and loops come in here, each as a task.

A call is begun by a callback that trio runs, which blocks nobody: not the caller's loop, however
long the host's is busy, and no thread per call. Its result is put down before its caller is woken,
so no wake-up is lost; a caller who gives up cancels the task, as trio cancels, and is told when it
has ended.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import Context, copy_context
from typing import Final, Generic, TypeVar

import trio
from outcome import Error, Outcome, Value

from greenroom.protocol.errors import HostClosed

R = TypeVar("R")


class Line:
    """Where a host takes calls from outside of its loop; see :func:`taking_calls`."""

    __slots__ = ("_token", "is_open", "nursery", "trouble")

    def __init__(self, nursery: trio.Nursery) -> None:
        self._token: Final = trio.lowlevel.current_trio_token()
        self.nursery: Final = nursery
        self.is_open = True
        """Whether calls are taken. Only the host's own loop ends that, once."""
        self.trouble: BaseException | None = None
        """What ended the host, if nobody asked for it."""

    @property
    def is_here(self) -> bool:
        """Whether the caller runs in a task of this very loop."""
        return trio.lowlevel.in_trio_task() and trio.lowlevel.current_trio_token() is self._token

    def soon(self, action: Callable[[], object]) -> None:
        """Let the host's loop do something that does not fail, in the order of the askings.

        Raises:
            HostClosed: its loop has ended.
        """
        try:
            self._token.run_sync_soon(action)
        except trio.RunFinishedError:
            raise self.closed() from self.trouble

    def closed(self) -> HostClosed:
        """What those are told who come too late, or stayed too long."""
        return HostClosed("The host was closed.")


@asynccontextmanager
async def taking_calls() -> AsyncIterator[Line]:
    """Take calls in this loop as long as the block; those still under way at its end are cancelled.

    What the block raises leaves it as it is.
    """
    failure: BaseException | None = None
    async with trio.open_nursery() as nursery:
        line = Line(nursery)
        try:
            yield line
        except BaseException as error:  # noqa: BLE001 - outside of the nursery it is no group
            failure = error
            if isinstance(error, Exception):
                line.trouble = error
        finally:
            line.is_open = False
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


class Call(Generic[R]):
    """One call on its way: begun, cancelled and ended in the host's loop."""

    __slots__ = ("_context", "_function", "_line", "_result", "_scope", "_wake")

    def __init__(
        self, line: Line, function: Callable[[], Awaitable[R]], wake: Callable[[], object]
    ) -> None:
        self._line = line
        self._function = function
        self._wake = wake
        self._result: Outcome[R] | None = None
        self._scope = trio.CancelScope()
        # As in a program of one loop: a tool that asks from its thread is known as that tool.
        self._context: Context = copy_context()

    def begin(self) -> None:
        """Send it; ``wake`` is called once, in the host's loop. Raises :class:`HostClosed`."""
        self._line.soon(self._start)

    def cancel(self) -> None:
        """Cancel it where it is, if it is still under way."""
        with suppress(HostClosed):
            self._line.soon(self._scope.cancel)

    def result(self) -> R:
        """What it returned, or raised. Raises :class:`HostClosed` where the host ended it."""
        if self._result is None:
            raise self._line.closed() from self._line.trouble
        value: R = self._result.unwrap()
        return value

    @property
    def error(self) -> BaseException | None:
        """What it raised of itself."""
        return self._result.error if isinstance(self._result, Error) else None

    def _start(self) -> None:
        if self._line.is_open:
            self._context.run(self._line.nursery.start_soon, self._run)
        else:
            self._wake()

    async def _run(self) -> None:
        with self._scope:
            try:
                self._result = Value(await self._function())
            except trio.Cancelled:
                # It has done its work, whoever's it was: the task ends, and the line goes on.
                self._result = None
            except BaseException as error:  # noqa: BLE001 - the caller's, whatever it is
                self._result = Error(error)
        self._wake()
