"""The thread in which a host lives beside a program that does not run trio: one trio run."""

import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress

import trio

from greenroom.actors.host import Host
from greenroom.actors.portal.line import Line, taking_calls
from greenroom.protocol.errors import HostClosed


class HostThread:
    """A host in a trio run of its own thread, from when this is made until it was told to stop.

    ``opened`` and ``ended`` are called in this order, once each, from the thread. Where opening
    fails ``opened`` comes without a host, and the failure stands when ``ended`` comes.
    """

    def __init__(
        self,
        opening: Callable[[], AbstractAsyncContextManager[Host]],
        opened: Callable[[], object],
        ended: Callable[[], object],
    ) -> None:
        self._opening = opening
        self._opened, self._ended = opened, ended
        self._scope = trio.CancelScope()
        self._told_to_stop = False
        self._line: Line | None = None
        self.open: tuple[Line, Host] | None = None
        """The host and the line to it; None: it could not be opened, or was stopped before."""
        self.failure: BaseException | None = None
        """What kept the host from opening, or ended it."""
        # A daemon: a program that ends without leaving the block must end all the same, and what
        # was acknowledged is on disk.
        self._thread = threading.Thread(target=self._run, name="greenroom-host", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let the host's block be left, as by a cancellation: its turns settle within their bound.

        From any thread, and at any time: while it opens, and when it has ended.
        """
        # The thread looks at this behind its line, and here the line is looked at behind this.
        self._told_to_stop = True
        if self._line is not None:
            with suppress(HostClosed):
                self._line.soon(self._scope.cancel)

    def join(self) -> None:
        """Wait for the thread itself; behind ``ended`` that takes a moment only."""
        self._thread.join()

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as error:  # noqa: BLE001 - whoever opened the host is told
            self.failure = error
        if self.open is None:
            self._opened()
        self._ended()

    async def _main(self) -> None:
        async with taking_calls() as line:
            self._line = line
            if self._told_to_stop:
                return
            with self._scope:
                async with self._opening() as host:
                    self.open = (line, host)
                    self._opened()
                    await trio.sleep_forever()
