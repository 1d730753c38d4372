"""Numbered events: complete, in order, once, for any number of readers."""

import gc
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.scripted import Looping, Stalled, call
from greenroom.actors.subscribers import RING_COMMITS
from greenroom.protocol.errors import Rewound, SaveFailed, StoreFull
from greenroom.protocol.event import (
    MessageAccepted,
    Replied,
    SkillsLoaded,
    TurnEnded,
    TurnStarted,
)
from greenroom.protocol.receipt import Cursor
from greenroom.store import Commit, open_memory
from tests.actors.listening import (
    numbered,
    read_from,
)
from tests.actors.stage import package, stage, until_ended


async def test_a_later_reader_has_everything_from_the_beginning() -> None:
    """P150, R186: nobody read while the turn ran, and all of it can be read later."""
    async with stage((call("get_current_time")), "Done.", skills=[package("plan")]) as on:
        session = await on.session()
        await session.ask("go", skills=["plan"])
        told = numbered(await until_ended(session))
    names = [type(event).__name__ for event in told]
    assert names == [
        "SessionOpened",
        "MessageAccepted",
        "TurnStarted",
        "SkillsLoaded",
        "Replied",
        "ToolCalled",
        "ToolReturned",
        "Replied",
        "TurnEnded",
    ]
    cursors = [event.cursor for event in told]
    assert cursors == sorted(set(cursors))
    (loaded,) = [event for event in told if isinstance(event, SkillsLoaded)]
    assert (loaded.ordinal, [use.id for use in loaded.skills]) == (0, ["skills/plan"])


async def test_reading_on_from_each_cursor_leaves_out_and_repeats_nothing() -> None:
    """P151, R186: every numbered event is a place to go on from, also inside of one commit."""
    async with stage(call("get_current_time"), "One.", "Two.") as on:
        session = await on.session()
        await session.ask("one")
        await session.ask("two")
        whole = numbered(await until_ended(session, 2))
        for place, event in enumerate(whole[:-1]):
            rest: list[Any] = []
            async for later in session.events(after=event.cursor):
                rest.append(later)
                if later == whole[-1]:
                    break
            assert numbered(rest) == whole[place + 1 :]


async def test_a_reader_far_behind_the_ring_loses_nothing_and_costs_nothing() -> None:
    """P152, R186: one who never reads keeps nothing in memory, and reads on from the store."""
    turns = RING_COMMITS * 3
    async with stage(model=Looping(("Hi.",))) as on:
        session = await on.session()
        lazy, eager = session.events(), session.events()
        heard: list[Any] = []

        async def read() -> None:
            async for event in eager:
                heard.append(event)
                if len([e for e in heard if isinstance(e, TurnEnded)]) == turns:
                    return

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            for turn in range(turns):
                await session.ask(f"{turn}")
        shared = on.host.services.subscribers[session.id]
        assert len(shared._ring) <= RING_COMMITS
        assert len(lazy._ready) <= 1
        late: list[Any] = []
        async for event in lazy:
            late.append(event)
            if len([e for e in late if isinstance(e, TurnEnded)]) == turns:
                break
        assert numbered(late) == numbered(heard)
        assert len([e for e in late if isinstance(e, MessageAccepted)]) == turns


async def test_a_reader_who_leaves_half_way_disturbs_nobody() -> None:
    """P179, P148, R186: no error, no end of the turn, nothing kept, wherever he leaves."""
    events_of_a_turn = 7
    for leave_after in range(1, events_of_a_turn):
        async with stage((call("get_current_time"),), "Done.") as on:
            session = await on.session()
            seen = 0

            async def read(session: Session, most: int) -> None:
                nonlocal seen
                async for _ in session.events():
                    seen += 1
                    if seen == most:
                        break

            async with trio.open_nursery() as nursery:
                nursery.start_soon(read, session, leave_after)
                outcome = await session.ask("go")
            gc.collect()
            assert (outcome.end, seen) == ("done", leave_after)
            assert not on.host.services.subscribers


async def test_a_reader_who_raises_or_is_cancelled_stops_nobody() -> None:
    """R97: neither the turn nor another reader."""
    go = trio.Event()
    async with stage(Stalled(go, "Done.")) as on:
        session = await on.session()
        heard: list[Any] = []

        async def raise_() -> None:
            with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the loop is the law
                async for _ in session.events():
                    _ = 1 / 0

        async def cancelled(scope: trio.CancelScope) -> None:
            with scope:
                async for _ in session.events():
                    pass

        async def read() -> None:
            heard.extend(await read_from(session, None))

        scope = trio.CancelScope()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(raise_)
            nursery.start_soon(cancelled, scope)
            nursery.start_soon(read)
            await session.prompt("go")
            await wait_all_tasks_blocked()
            scope.cancel()
            go.set()
        assert isinstance(heard[-1], TurnEnded)
        gc.collect()
        assert not on.host.services.subscribers


async def test_readers_get_isolated_data_with_the_original_content() -> None:
    """R97, R23: frozen, and exactly what was typed, also where a skill was picked."""
    async with stage("Done.", skills=[package("plan")]) as on:
        session = await on.session()
        await session.ask("  typed $plan \n", skills=["plan"])
        told = numbered(await until_ended(session))
    (accepted,) = [event for event in told if isinstance(event, MessageAccepted)]
    assert accepted.content == "  typed $plan \n"
    with pytest.raises(AttributeError):
        accepted.content = "other"  # type: ignore[misc]


async def test_send_then_follow_and_show_then_follow() -> None:
    """R221: from a receipt the rest of the turn comes, from a state what comes after it."""
    async with stage("One.", "Two.") as on:
        session = await on.session()
        receipt = await session.prompt("one")
        told = await read_from(session, receipt.cursor)
        assert isinstance(numbered(told)[0], TurnStarted | Replied)
        state = await session.state()
        await session.prompt("two")
        rest = numbered(await read_from(session, state.cursor))
        assert [e.content for e in rest if isinstance(e, MessageAccepted)] == ["two"]
        assert [e.turn for e in rest if isinstance(e, TurnEnded)] == [2]


async def test_readers_end_with_the_host() -> None:
    """R186: a loop ends by itself when there is nothing more to come."""
    heard: list[Any] = []
    async with trio.open_nursery() as nursery, stage("Done.") as on:
        session = await on.session()

        async def read() -> None:
            heard.extend([event async for event in session.events()])
            heard.append("end")

        async def follow() -> None:
            heard.extend([event async for event in on.host.feed()])
            heard.append("end")

        nursery.start_soon(read)
        nursery.start_soon(follow)
        await session.ask("go")
    assert heard.count("end") == 2


async def test_a_cursor_of_another_incarnation_is_refused() -> None:
    """R222: it would mean another place."""
    async with stage() as on:
        session = await on.session()
        other = Cursor("other", 1)
        with pytest.raises(Rewound) as caught:
            session.events(after=other)
        assert caught.value.facts["incarnation"] == on.store.incarnation
        with pytest.raises(Rewound):
            on.host.feed(after=other)


async def test_a_pending_save_keeps_its_events_back_until_flush() -> None:
    """R186, R83: what is not durable is not told."""
    async with open_memory() as store, stage("Done.", store=store) as on:
        session = await on.session()
        fault = StoreFull("The disk is full.")
        store.faults.fail_next(fault, where=lambda op: isinstance(op, Commit), skip=1)
        with pytest.raises(SaveFailed):
            await session.ask("go")
        heard: list[Any] = []

        async def read() -> None:
            heard.extend(await read_from(session, None))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            assert not [event for event in heard if isinstance(event, Replied)]
            await session.flush()
        assert isinstance(heard[-1], TurnEnded)
