"""Where a host may be asked: in a task of the trio loop that it lives in.

Where trio is a guest, another loop runs in the same thread, and its code can reach whatever a host
holds. What it would begin there could be accepted while it is told of a failure, for no task waits
for the verdict; so it is refused before anything is done.
"""

import trio

from greenroom.protocol.errors import WrongLoop


def check_loop() -> None:
    """Raise :class:`WrongLoop` unless a task of trio calls (P181)."""
    if not trio.lowlevel.in_trio_task():
        raise WrongLoop("This is a host in a trio loop, and no task of trio asks it.")


async def checkpoint() -> None:
    """:func:`check_loop`, and where a caller who is cancelled is told so."""
    check_loop()
    await trio.lowlevel.checkpoint_if_cancelled()
