"""Streams and listings read from outside: complete, in order, bounded, and left at any time."""

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import portal
from greenroom.actors.models.scripted import Looping
from greenroom.actors.portal.reading import HANDFUL, Source
from greenroom.actors.portal.waiting import awaited
from greenroom.protocol.event import TextDelta, TurnEnded
from tests.actors.guest import run
from tests.actors.portal.stage import names, opening


def numbered(events: list[Any]) -> list[Any]:
    return [event for event in events if not isinstance(event, TextDelta)]


async def until_turns(reader: AsyncIterator[Any], turns: int) -> list[Any]:
    told: list[Any] = []
    while turns:
        told.append(await anext(reader))
        turns -= isinstance(told[-1], TurnEnded)
    return told


def test_readers_beside_a_busy_host_miss_nothing() -> None:
    """R186, R188: each event once, in order, for readers of a session and of the feed."""

    async def program() -> None:
        async with opening(model=Looping(("Hi there.",))) as host:
            session = await host.session("ann", agent="support")
            reading = [
                asyncio.create_task(until_turns(reader, 100))
                for reader in (session.events(), session.events(), host.feed())
            ]
            asks = [session.ask(f"m{place}", when="queue") for place in range(100)]
            await asyncio.gather(*asks)
            found = [numbered(await task) for task in reading]
            again = numbered(await until_turns(session.events(), 100))
        assert found == [again] * 3
        cursors = [event.cursor for event in again]
        assert cursors == sorted(set(cursors))

    run(program)


def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    """R186, R188: what was fetched when a timeout came is there at the next step."""

    async def program() -> None:
        async with opening(model=Looping(("Hi.",))) as host:
            session = await host.session("ann", agent="support")
            reader = session.events()
            asks = asyncio.gather(*[session.ask(f"m{n}", when="queue") for n in range(100)])
            told: list[Any] = []
            cancelled = 0
            while sum(isinstance(event, TurnEnded) for event in told) < 100:
                task = asyncio.ensure_future(anext(reader))
                await asyncio.sleep(0)
                task.cancel()
                try:
                    told.append(await task)
                except asyncio.CancelledError:
                    cancelled += 1
            await asks
            again = await until_turns(session.events(), 100)
        assert cancelled
        assert numbered(told) == numbered(again)

    run(program)


def test_a_slow_reader_holds_a_handful_at_most() -> None:
    """R186: the rest stays in the host, which does not wait for him."""

    async def program() -> None:
        async with opening(model=Looping(("Hi.",))) as host:
            session = await host.session("ann", agent="support")
            await asyncio.gather(*[session.ask(f"m{n}", when="queue") for n in range(100)])
            reader = session.events()
            told = []
            for _ in range(200):
                told.append(await anext(reader))
                assert len(reader._source.fetched) < HANDFUL
            assert names(told)[0] == "SessionOpened"

    run(program)


def test_a_loop_that_is_left_early_leaves_nothing_in_the_host() -> None:
    """R186, P179: no task, and no reader that the host would keep."""

    async def program() -> None:
        async with opening("One.") as host:
            session = await host.session("ann", agent="support")
            await session.ask("one")
            async for _ in session.events():
                break
            async for _ in host.sessions():
                break
            gc.collect()

            async def left() -> tuple[int, int]:
                await wait_all_tasks_blocked()
                calls = len(host.line.nursery.child_tasks) - 1  # this one
                return calls, len(host.held.services.subscribers)

            assert await awaited(host.line, left) == (0, 0)

    run(program)


def test_a_listing_is_read_anew_each_time() -> None:
    """R219: however long, and by steps of a handful."""

    async def program() -> None:
        async with opening() as host:
            listing = host.sessions()
            assert await listing.all() == []
            for number in range(3 * HANDFUL):
                await host.session(f"s{number:04}", agent="support")
            keys = [each.session.key async for each in listing]
            assert sorted(keys) == [f"s{number:04}" for number in range(3 * HANDFUL)]
            assert await listing.count() == len(keys)

    run(program)


def test_what_fails_on_the_way_comes_behind_what_came_before() -> None:
    """R188: no item is lost to an error, and no error to the items."""

    async def steps() -> AsyncIterator[int]:
        yield 1
        yield 2
        raise ValueError("a defect")

    async def program() -> None:
        async with opening() as host:
            reader = portal.Reader(host.line, Source(steps))
            assert [await anext(reader), await anext(reader)] == [1, 2]
            with pytest.raises(ValueError, match="a defect"):
                await anext(reader)
            with pytest.raises(StopAsyncIteration):
                await anext(reader)

    run(program)


async def test_a_fetch_brings_a_handful_of_what_never_waits() -> None:
    """R186: the bound holds whatever is read."""
    source = Source(Quick)
    await source.fetch()
    assert len(source.fetched) == HANDFUL


class Quick:
    """Ten thousand items, and no checkpoint between them."""

    def __init__(self) -> None:
        self._items = iter(range(10_000))

    def __aiter__(self) -> "Quick":
        return self

    async def __anext__(self) -> int:
        return next(self._items)


async def test_a_fetch_that_is_cancelled_keeps_what_it_has() -> None:
    """R186: in the host, at whichever item the cancellation comes."""

    class Steps:
        def __init__(self) -> None:
            self.number = 0

        def __aiter__(self) -> "Steps":
            return self

        async def __anext__(self) -> int:
            await trio.lowlevel.checkpoint()
            self.number += 1
            if self.number == 3:
                scope.cancel()
            return self.number

    source = Source(Steps)
    with trio.CancelScope() as scope:
        while True:
            await source.fetch()
    assert list(source.fetched) == [1, 2, 3]
