"""The feed: every event of a scope, once, in the store's order."""

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors.models.scripted import Looping, call
from greenroom.protocol.encoding import encode_header
from greenroom.protocol.event import Event, TurnEnded
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.receipt import Cursor
from greenroom.store import Create, open_memory
from tests.actors.listening import numbered
from tests.actors.stage import Stage, all_of, stage, until_ended
from tests.store.offering import ask


async def follow(on: Stage, after: Cursor | None, until: Cursor) -> list[Event]:
    """What the feed tells from one cursor to another."""
    told = []
    async for event in on.host.feed(after=after):
        told.append(event)
        if event.cursor >= until:
            break
    return told


async def test_the_feed_has_every_event_once_in_store_order() -> None:
    """R222: also of sessions that were never activated since, and from each cursor on."""
    async with open_memory() as store:
        async with stage(model=Looping((call("get_current_time"), "Hi.")), store=store) as on:
            sessions = [await on.session(f"s{n}") for n in range(5)]
            await all_of(5, lambda place: sessions[place].ask("go"))
            each = {s.id: numbered(await until_ended(s)) for s in sessions}
        async with stage(store=store) as on:
            last = max(events[-1].cursor for events in each.values())
            told = await follow(on, None, last)
            assert [e.cursor for e in told] == sorted({e.cursor for e in told})
            for session, events in each.items():
                assert [e for e in told if e.session == session] == events
            for place, event in enumerate(told[:-1]):
                assert await follow(on, event.cursor, last) == told[place + 1 :]
            assert not on.host.services.actors


async def test_the_feed_waits_for_what_comes() -> None:
    """R222: a reader at its end is woken by the next commit of any session."""
    async with stage(model=Looping(("Hi.",))) as on:
        heard: list[Any] = []

        async def read() -> None:
            async for event in on.host.feed():
                heard.append(event)
                if isinstance(event, TurnEnded):
                    return

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            await (await on.session("later")).ask("go")
        assert heard[0].session.key == "later"


async def test_a_reader_of_a_long_feed_lets_others_run() -> None:
    """R186: ten thousand stored events are not read in one breath."""
    async with stage(model=Looping(("Hi.",))) as on:
        session = await on.session()
        for turn in range(200):
            await session.ask(f"{turn}")
        end = (await session.state()).cursor.number
        steps = 0

        async def others(scope: trio.CancelScope) -> None:
            nonlocal steps
            with scope:
                while True:
                    steps += 1
                    await trio.lowlevel.checkpoint()

        scope = trio.CancelScope()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(others, scope)
            async for event in on.host.feed():
                if event.cursor.number >= end:
                    break
            scope.cancel()
        assert steps >= 5


async def test_a_damaged_session_is_left_out_of_the_feed(caplog: pytest.LogCaptureFixture) -> None:
    """R92, R222: the others' events come, before and behind it, and what is missing is logged."""
    header = encode_header(Header("support", None, "read-only", None, 0))
    async with open_memory() as store, stage(model=Looping(("Hi.",)), store=store) as on:
        ann, ben = await on.session("ann"), await on.session("ben")
        await ann.ask("one")
        await ask(store, Create(SessionId("default", "broken"), header, b"[{}]"))
        await ben.ask("two")
        last = (await until_ended(ben))[-1]
        assert isinstance(last, TurnEnded)
        told = await follow(on, None, last.cursor)
        assert {event.session.key for event in told} == {"ann", "ben"}
    assert [record.levelname for record in caplog.records] == ["ERROR"]
