"""Waiting for one value, at the price of one reschedule.

A channel and an event cost two to four times as much as parking a task (measured), and a turn parks
four times; so the few places of the hot path that wait use these, and everything else uses trio's
own means.
"""

from collections import deque
from typing import Generic, TypeVar

import trio
from outcome import Error, Value

T = TypeVar("T")


class _Nothing:
    """No value yet: None is a value like any other."""


_NOTHING = _Nothing()


class Slot(Generic[T]):
    """One value that comes once and that one task waits for."""

    __slots__ = ("_task", "_value")

    def __init__(self) -> None:
        self._value: T | _Nothing = _NOTHING
        self._task: trio.lowlevel.Task | None = None

    @property
    def filled(self) -> bool:
        """Whether the value has come."""
        return self._value is not _NOTHING

    def put(self, value: T) -> None:
        """Give the value; the task that waits wakes in the next round of the loop."""
        self._value = value
        task, self._task = self._task, None
        if task is not None:
            trio.lowlevel.reschedule(task, Value(value))

    def fail(self, error: BaseException) -> None:
        """Wake the task that waits with an error. Without one, nothing happens."""
        task, self._task = self._task, None
        if task is not None:
            trio.lowlevel.reschedule(task, Error(error))

    async def get_shielded(self) -> T:
        """Wait, and do not let go: for a commit, whose verdict decides what is true (R83)."""
        if not isinstance(self._value, _Nothing):
            return self._value
        self._task = trio.lowlevel.current_task()
        value: T = await trio.lowlevel.wait_task_rescheduled(_never)
        return value

    async def get(self) -> T:
        """Wait; a cancellation ends the waiting and nothing else."""
        if not isinstance(self._value, _Nothing):
            await trio.lowlevel.checkpoint_if_cancelled()
            return self._value
        self._task = trio.lowlevel.current_task()
        value: T = await trio.lowlevel.wait_task_rescheduled(self._let_go)
        return value

    def _let_go(self, _: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED


def _never(_: object) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED


class Turnstile:
    """A bound on how many run at once; the others wait in the order in which they came (R185).

    A counter that parks only when it is full: a limiter object costs 21 µs a turn at 1,000
    sessions (measured). Who comes back at once may bring it below zero.
    """

    __slots__ = ("_line", "free")

    def __init__(self, places: int) -> None:
        self.free = places
        self._line: deque[Slot[None]] = deque()

    @property
    def has_room(self) -> bool:
        """Whether a place is free."""
        return self.free > 0

    def enter_nowait(self) -> bool:
        """Take a place if one is free."""
        if self.free > 0:
            self.free -= 1
            return True
        return False

    async def enter(self) -> None:
        """Take a place, waiting for one if none is free. Cancelled while waiting: none is taken."""
        if self.enter_nowait():
            return
        slot: Slot[None] = Slot()
        self._line.append(slot)
        try:
            await slot.get()
        except BaseException:
            if slot.filled:
                self.leave()
            else:
                self._line.remove(slot)
            raise

    def leave(self) -> None:
        """Give the place back, to whoever has waited longest."""
        self.free += 1
        if self._line and self.enter_nowait():
            self._line.popleft().put(None)

    def return_at_once(self) -> None:
        """Take a place again after leaving, full or not: for one who is in the middle of it."""
        self.free -= 1


class Bell:
    """Wakes all that wait for news; what the news are, they look up themselves."""

    __slots__ = ("_parked", "closed")

    def __init__(self) -> None:
        self._parked: list[trio.lowlevel.Task] = []
        self.closed = False
        """There will be no more news."""

    def ring(self) -> None:
        """There is news."""
        if self._parked:
            parked, self._parked = self._parked, []
            for task in parked:
                trio.lowlevel.reschedule(task)

    def close(self) -> None:
        """There will be no more news."""
        self.closed = True
        self.ring()

    async def wait(self) -> None:
        """Park until it rings."""
        task = trio.lowlevel.current_task()

        def let_go(_: object) -> trio.lowlevel.Abort:
            self._parked.remove(task)
            return trio.lowlevel.Abort.SUCCEEDED

        self._parked.append(task)
        await trio.lowlevel.wait_task_rescheduled(let_go)
