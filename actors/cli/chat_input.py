"""Typed lines, read in a thread so that the loop lives on."""

import os
from collections.abc import Callable
from typing import Final

import attrs
import trio

LINE_BYTES_MAX: Final = 4_194_304
"""A line longer than this is cut here; it is far over what a message may have."""
READ_BYTES: Final = 65_536
STDIN: Final = 0


@attrs.define(eq=False)
class TypedLines:
    """The lines of standard input, for whoever asks next.

    They are read from the descriptor itself: a thread that waits inside of ``sys.stdin`` holds its
    lock, and Python cannot end while it does. The thread is left behind when we leave. Who stops
    waiting for a line takes none: the task that reads goes on, and the next one gets it.
    """

    _ask: Callable[[], object]
    """Called before a person is waited for."""
    _data: bytes = b""
    _ended: bool = False
    _wanted: trio.Event = attrs.field(factory=trio.Event)
    _came: trio.Event = attrs.field(factory=trio.Event)

    async def read(self) -> None:
        """Read for as long as lines are wanted; never returns before the input ends."""
        while not self._ended:
            await self._wanted.wait()
            received = await trio.to_thread.run_sync(_read, abandon_on_cancel=True)
            self._ended = not received
            self._data += received
            self._wanted = trio.Event()
            self._came.set()

    async def next(self) -> str | None:
        """The next line; None when there is no more."""
        while b"\n" not in self._data and not self._ended and len(self._data) < LINE_BYTES_MAX:
            if not self._data:
                self._ask()
            self._came = trio.Event()
            self._wanted.set()
            await self._came.wait()
        line, newline, self._data = self._data.partition(b"\n")
        return line.decode(errors="replace") if line or newline else None


def _read() -> bytes:
    """What was typed; nothing at the end, and when there is nobody any more who could type."""
    try:
        return os.read(STDIN, READ_BYTES)
    except OSError:  # a terminal that was hung up, or is another program's now
        return b""
