"""Gathering what all sessions offer in one tick of the loop, and delivering verdicts in order.

One hand-over to the executor for each *group*, never for each operation: a hand-over costs about
60 microseconds, a member of a group one or two. While a group is with the executor, further offers
gather and follow as the next group at once.

A verdict is delivered by calling ``then`` in the loop. An exception that leaves a callback of
``run_sync_soon`` ends the whole process, so each delivery catches its own.
"""

import logging
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

import attrs
import trio

from greenroom.protocol.errors import StoreClosed, StoreFailed, StoreUnavailable
from greenroom.store.contract import Failed

Then: TypeAlias = Callable[[Any], object]
Finish: TypeAlias = Callable[[list[Any]], None]
GROUP_MAX: Final = 1_000
"""Members of one group: more would make each of them wait for all."""
WAITING_MAX: Final = 100_000
"""Operations that may wait; those beyond are refused (``StoreUnavailable``)."""

_log: Final = logging.getLogger("greenroom.store")


@attrs.frozen(slots=True)
class Unfinished:
    """An answer of the executor: there is more to do, as ``step``, in one of the next groups."""

    step: object


class Executor(Protocol):
    """What applies a group."""

    def execute(self, operations: list[Any], finish: Finish, /) -> None:
        """Apply them; later, call ``finish`` in the loop with one answer for each, in order."""
        ...


@attrs.define(eq=False)
class Group:
    """The waiting operations of a store, and the one group that is being executed."""

    executor: Executor
    token: trio.lowlevel.TrioToken
    waiting_max: int = WAITING_MAX
    group_max: int = GROUP_MAX
    largest: int = 0
    _waiting: list[tuple[Any, Then]] = attrs.field(factory=list, init=False)
    _executing: list[tuple[Any, Then]] = attrs.field(factory=list, init=False)
    _scheduled: bool = attrs.field(default=False, init=False)
    _before: int = attrs.field(default=0, init=False)
    """How many shared the last group."""
    _closed: bool = attrs.field(default=False, init=False)
    _idle: trio.Event | None = attrs.field(default=None, init=False)

    @property
    def waiting(self) -> int:
        """Operations that have no verdict yet."""
        return len(self._waiting) + len(self._executing)

    def offer(self, operation: object, then: Then) -> None:
        """Take an operation into the next group; ``then`` is called once, and never from here."""
        if self._closed:
            self.refuse(then, StoreClosed("The store was closed."))
        elif len(self._waiting) >= self.waiting_max:
            self.refuse(
                then,
                StoreUnavailable(
                    f"{self.waiting_max:,} operations wait already.", bound=self.waiting_max
                ),
            )
        else:
            self._take(operation, then)

    def refuse(self, then: Then, error: StoreFailed) -> None:
        """Deliver ``Failed(error)`` in the next tick; nothing was written."""
        self.token.run_sync_soon(_deliver, then, Failed(error))

    async def aclose(self) -> None:
        """Refuse further offers, and wait until all that was offered has its verdict."""
        self._closed = True
        if self.waiting:
            self._idle = self._idle or trio.Event()
            # Whoever leaves must not leave operations behind whose fate nobody learns.
            with trio.CancelScope(shield=True):
                await self._idle.wait()

    def _take(self, operation: object, then: Then) -> None:
        self._waiting.append((operation, then))
        if self._scheduled or self._executing:
            return
        if self._before == 1:
            # Nobody shared the last group, so waiting for the tick's end would only cost a tick.
            self._hand_over()
        else:
            self._scheduled = True
            self.token.run_sync_soon(self._hand_over)

    def _hand_over(self) -> None:
        self._scheduled = False
        if not self._waiting:
            return
        if len(self._waiting) <= self.group_max:
            self._executing, self._waiting = self._waiting, []
        else:
            self._executing = self._waiting[: self.group_max]
            del self._waiting[: self.group_max]
        self._before = len(self._executing)
        self.largest = max(self.largest, self._before)
        self.executor.execute([operation for operation, _ in self._executing], self._finish)

    def _finish(self, answers: list[Any]) -> None:
        """Hand the next group over, then deliver the verdicts of this one while that is written."""
        members, self._executing = self._executing, []
        self._hand_over()
        for (_, then), answer in zip(members, answers, strict=True):
            if type(answer) is Unfinished:
                self._take(answer.step, then)
            else:
                _deliver(then, answer)
        if self._idle is not None and not self.waiting:
            self._idle.set()


def _deliver(then: Then, verdict: object) -> None:
    try:
        then(verdict)
    except Exception:  # noqa: BLE001 - of whatever kind, it must not reach the loop
        _log.exception("The taker of a verdict failed; the verdict stands: %r", verdict)
