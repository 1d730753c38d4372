"""Gathering and delivering, without any store."""

from typing import Any

import attrs
import pytest
import trio

from greenroom.protocol.errors import StoreClosed, StoreUnavailable
from greenroom.store.contract import Failed
from greenroom.store.group import Finish, Group, Unfinished


@attrs.define(eq=False)
class Slow:
    """An executor that answers when it is told to."""

    groups: list[list[Any]] = attrs.field(factory=list)
    pending: list[tuple[list[Any], Finish]] = attrs.field(factory=list)

    def execute(self, operations: list[Any], finish: Finish) -> None:
        self.groups.append(operations)
        self.pending.append((operations, finish))

    def answer(self) -> None:
        operations, finish = self.pending.pop(0)
        finish(operations)


def group_of(executor: Slow, **bounds: int) -> tuple[Group, list[Any]]:
    return Group(executor, trio.lowlevel.current_trio_token(), **bounds), []


async def tick() -> None:
    for _ in range(3):
        await trio.testing.wait_all_tasks_blocked()


async def test_one_tick_is_one_group() -> None:
    """R170: what is offered in one tick is handed over together, what comes meanwhile follows."""
    executor = Slow()
    group, told = group_of(executor)
    for number in range(3):
        group.offer(number, told.append)
    await tick()
    for number in range(3, 5):
        group.offer(number, told.append)
    await tick()
    assert executor.groups == [[0, 1, 2]]
    assert group.waiting == 5
    executor.answer()
    assert executor.groups == [[0, 1, 2], [3, 4]]
    executor.answer()
    assert told == [0, 1, 2, 3, 4]
    assert (group.waiting, group.largest) == (0, 3)


async def test_a_group_is_bounded() -> None:
    """R194: no group is larger than its bound; the rest follows in order."""
    executor = Slow()
    group, told = group_of(executor, group_max=2)
    for number in range(5):
        group.offer(number, told.append)
    await tick()
    while executor.pending:
        executor.answer()
    assert executor.groups == [[0, 1], [2, 3], [4]]
    assert told == [0, 1, 2, 3, 4]


async def test_waiting_is_bounded() -> None:
    """R86: more than may wait is refused, in the next tick and not inside the offer."""
    executor = Slow()
    group, told = group_of(executor, waiting_max=2)
    for number in range(3):
        group.offer(number, told.append)
    assert told == []
    await tick()
    assert isinstance(told[0], Failed)
    assert isinstance(told[0].error, StoreUnavailable)
    executor.answer()
    assert told[1:] == [0, 1]


async def test_an_unfinished_operation_goes_on_in_the_next_group() -> None:
    """R192: step by step among the others, with one verdict at the end."""
    executor = Slow()
    group, told = group_of(executor)
    group.offer(Unfinished("second"), told.append)
    await tick()
    executor.answer()
    assert told == []
    group.offer("other", told.append)
    await tick()
    executor.answer()
    executor.answer()
    assert executor.groups[1:] == [["second"], ["other"]]
    assert told == ["second", "other"]


async def test_one_that_nobody_joins_does_not_wait_for_the_tick() -> None:
    """R170: behind a group of one the next is handed over at once, behind a larger one not."""
    executor = Slow()
    group, told = group_of(executor)
    group.offer(0, told.append)
    assert executor.groups == []
    await tick()
    executor.answer()
    group.offer(1, told.append)
    assert executor.groups == [[0], [1]]
    group.offer(2, told.append)
    group.offer(3, told.append)
    executor.answer()
    executor.answer()
    group.offer(4, told.append)
    assert executor.groups == [[0], [1], [2, 3]]
    await tick()
    assert executor.groups == [[0], [1], [2, 3], [4]]


async def test_a_failing_taker_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """R168: an exception in a callback would end the process."""
    executor = Slow()
    group, told = group_of(executor)

    def fail(verdict: object) -> None:
        raise RuntimeError(verdict)

    group.offer(1, fail)
    group.offer(2, told.append)
    await tick()
    executor.answer()
    assert told == [2]
    assert "RuntimeError" in caplog.text


async def test_closing_waits_even_when_cancelled() -> None:
    """R170: nobody leaves operations behind whose fate nobody learns."""
    executor = Slow()
    group, told = group_of(executor)

    async def close() -> None:
        try:
            await group.aclose()
        finally:
            told.append("closed")

    group.offer(1, told.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(close)
        await tick()
        nursery.cancel_scope.cancel()
        for _ in range(5):
            await trio.lowlevel.cancel_shielded_checkpoint()
        assert told == []
        executor.answer()
    assert told == [1, "closed"]
    group.offer(2, told.append)
    await tick()
    assert isinstance(told[2].error, StoreClosed)
