"""Waiting for one value, for a place, and for news."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors.waiting import Bell, Slot, Turnstile


async def test_a_slot_gives_its_value_before_and_after() -> None:
    """R213: who comes late gets the same answer."""
    slot: Slot[int] = Slot()
    got: list[int] = []

    async def wait() -> None:
        got.append(await slot.get())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert not slot.filled
        slot.put(7)
    assert (got, await slot.get(), await slot.get_shielded()) == ([7], 7, 7)


async def test_leaving_ends_the_waiting_only() -> None:
    """R213: a cancelled waiter leaves, and the value still comes to the slot."""
    slot: Slot[int] = Slot()
    with trio.move_on_after(0) as scope:
        await slot.get()
    assert scope.cancelled_caught
    slot.put(7)
    assert slot.filled


async def test_a_verdict_is_waited_for_whatever_happens() -> None:
    """R83: a cancellation does not end the waiting for a commit."""
    slot: Slot[int] = Slot()
    got: list[int] = []

    async def wait() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            got.append(await slot.get_shielded())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert got == []
        slot.put(7)
    assert got == [7]


async def test_an_error_reaches_who_waits() -> None:
    """R87: a waiter is told, and does not wait for ever."""
    slot: Slot[int] = Slot()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _wait() -> None:
            with pytest.raises(ValueError, match="no"):
                await slot.get()

        await wait_all_tasks_blocked()
        slot.fail(ValueError("no"))


async def test_a_turnstile_lets_in_by_turns() -> None:
    """R185: as many at once as there are places; the others in the order in which they came."""
    turnstile, inside = Turnstile(1), list[int]()
    await turnstile.enter()

    async def enter(number: int) -> None:
        await turnstile.enter()
        inside.append(number)
        turnstile.leave()

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(enter, number)
            await wait_all_tasks_blocked()
        assert inside == []
        turnstile.leave()
    assert inside == [0, 1, 2]
    await turnstile.enter()  # nobody took the place with them


async def test_who_returns_at_once_is_counted() -> None:
    """R185: a place that was taken again over the bound is given back before others enter."""
    turnstile = Turnstile(1)
    await turnstile.enter()
    turnstile.leave()
    await turnstile.enter()
    turnstile.return_at_once()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turnstile.enter)
        await wait_all_tasks_blocked()
        turnstile.leave()
        assert not turnstile.has_room
        await wait_all_tasks_blocked()
        assert nursery.child_tasks
        turnstile.leave()


async def test_who_leaves_the_line_takes_no_place() -> None:
    """R180, R185: a place is not lost to one who was cancelled while waiting for it."""
    turnstile = Turnstile(1)
    await turnstile.enter()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turnstile.enter)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    turnstile.leave()
    with trio.fail_after(1):
        await turnstile.enter()


async def test_a_bell_wakes_all_that_wait() -> None:
    """R186: any number of readers; who left is not in the way, and a closed bell is closed."""
    bell, woken = Bell(), list[int]()

    async def wait(number: int) -> None:
        await bell.wait()
        woken.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(wait, number)
        with trio.CancelScope() as scope:
            await wait_all_tasks_blocked()
            scope.cancel()
            await bell.wait()
        bell.ring()
    assert sorted(woken) == [0, 1, 2]
    bell.close()
    assert bell.closed
