"""One run of a command: its loop, its signals, its exit code."""

import gc
import signal
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias

import trio

from greenroom.actors.cli.exits import INTERRUPTED, SIGNALLED
from greenroom.actors.cli.faults import causes_of, told

Command: TypeAlias = Callable[[], Awaitable[int]]

GC_THRESHOLDS: Final = (200_000, 20, 50)
"""A host makes many objects that live long; a library leaves its embedder's thresholds alone."""
STOPPING: Final = (signal.SIGINT, signal.SIGTERM)


def run(
    command: Command, *, debug: bool = False, stopped_by: Iterable[signal.Signals] = STOPPING
) -> int:
    """Run a command in a loop of its own and return the exit code.

    The signals ``stopped_by`` cancel it, so that a host in it ends its turns and closes its store;
    a second one ends it at once. Every error of greenroom's is told in a sentence (R232).
    """
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        return trio.run(
            _stoppable, command, tuple(stopped_by), restrict_keyboard_interrupt_to_checkpoints=True
        )
    except (Exception, BaseExceptionGroup, KeyboardInterrupt) as error:  # noqa: BLE001 - told
        if any(isinstance(cause, KeyboardInterrupt) for cause in causes_of(error)):
            return INTERRUPTED
        return told(error, debug=debug)


async def _stoppable(command: Command, signals: tuple[signal.Signals, ...]) -> int:
    code = 0
    async with trio.open_nursery() as nursery:
        stopped = await nursery.start(_watch, signals, nursery.cancel_scope)
        code = await command()
        nursery.cancel_scope.cancel()
    return SIGNALLED + stopped[0] if stopped else code


async def _watch(
    signals: tuple[signal.Signals, ...],
    scope: trio.CancelScope,
    *,
    task_status: trio.TaskStatus[list[int]],
) -> None:
    """Cancel at the first signal. Leaving the block gives the next one its usual meaning."""
    received: list[int] = []
    with trio.open_signal_receiver(*signals) as arriving:
        task_status.started(received)
        async for number in arriving:
            received.append(number)
            break
    scope.cancel()
