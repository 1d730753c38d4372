"""Events, live text and the feed: complete, in order, once, for any number of readers."""

import gc
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session, tool
from greenroom.actors.models.scripted import CutOff, Looping, Scripted, Stalled, Streamed, call
from greenroom.actors.subscribers import RING_COMMITS
from greenroom.protocol.errors import Rewound
from greenroom.protocol.event import (
    Event,
    MessageAccepted,
    NumberedEvent,
    Replied,
    SkillsLoaded,
    TextDelta,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from greenroom.protocol.receipt import Cursor
from tests.actors.stage import Stage, all_of, package, stage, until_ended

WORDS = "abcdefghijklmnopqrstuvwxyz"


class Paced:
    """Streams its words one after the other, and lets others run between them."""

    name = "paced"
    capabilities = Looping(("",)).capabilities

    def __init__(self, script: Sequence[Any]) -> None:
        self.script = Looping(tuple(script))

    async def respond(self, request: Any, session: Any, sink: Any, /) -> Any:
        pieces: list[str] = []

        class Collecting:
            def text(self, piece: str) -> None:
                pieces.append(piece)

            def restart(self) -> None:
                pieces.clear()

        response = await self.script.respond(request, session, Collecting())
        for piece in "".join(pieces):
            sink.text(piece)
            await trio.lowlevel.checkpoint()
        return response


@tool(effect="write", confined=True, loop="host")
def note() -> str:
    """Take a note."""
    return "noted"


def numbered(told: Sequence[Any]) -> list[Event]:
    """The numbered events of what was told."""
    return [event for event in told if isinstance(event, NumberedEvent)]  # type: ignore[misc]


def spoken(told: Sequence[Any]) -> dict[tuple[int, int], str]:
    """The text of each block, put together from its deltas; a gap or a repeat fails."""
    blocks: dict[tuple[int, int], str] = {}
    for event in told:
        if isinstance(event, TextDelta):
            have = blocks.setdefault((event.turn, event.block), "")
            assert event.start == len(have), (event, have)
            blocks[event.turn, event.block] = have + event.text
    return blocks


async def read_from(session: Session, after: Cursor | None, pause: int = 0) -> list[Any]:
    """What a reader is told from a cursor to the end of the turn, at a pace of his own."""
    told: list[Any] = []
    async for event in session.events(after=after):
        told.append(event)
        for _ in range(pause):
            await trio.lowlevel.checkpoint()
        if isinstance(event, TurnEnded):
            return told
    raise AssertionError("The turn did not end.")


# --- live text -----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    joins=st.lists(st.integers(0, 120), min_size=1, max_size=6),
    pauses=st.lists(st.integers(0, 12), min_size=6, max_size=6),
    script=st.lists(st.sampled_from(["text", "write", "read"]), min_size=0, max_size=3),
)
def test_a_reader_who_joins_anywhere_has_it_all_once(
    joins: list[int], pauses: list[int], script: list[str]
) -> None:
    """R221: whenever he comes and however slow he is, no gap and no repeat."""

    async def drill() -> None:
        answers: list[Any] = [_answer(kind, place) for place, kind in enumerate(script)]
        model = Paced([*answers, WORDS])
        async with stage(model=model, tools=[note]) as on:
            session = await on.session(preset="danger-full-access")
            told: list[list[Any]] = []

            async def join(at: int, pause: int) -> None:
                for _ in range(at):
                    await trio.lowlevel.checkpoint()
                told.append(await read_from(session, None, pause))

            async with trio.open_nursery() as nursery:
                for at, pause in zip(joins, pauses, strict=False):
                    nursery.start_soon(join, at, pause)
                await session.prompt("go")
            whole = [
                (event.turn, event.block, event.text)
                for event in numbered(told[0])
                if isinstance(event, Replied)
            ]
            for heard in told:
                assert numbered(heard) == numbered(told[0])
                assert spoken(heard) == {(t, b): text for t, b, text in whole if text}
                assert_text_stands_before_its_reply(heard)

    trio.run(drill)


def _answer(kind: str, place: int) -> Any:
    words = f"Answer {place}. "
    if kind == "text":
        return (words, call("get_current_time"))
    return (words, call("note" if kind == "write" else "get_current_time"))


def assert_text_stands_before_its_reply(told: Sequence[Any]) -> None:
    """No word of a block comes behind the event that says it whole."""
    replied: set[tuple[int, int]] = set()
    for event in told:
        if isinstance(event, Replied):
            replied.add((event.turn, event.block))
        elif isinstance(event, TextDelta):
            assert (event.turn, event.block) not in replied


@settings(max_examples=40, deadline=None)
@given(breaks=st.lists(st.integers(1, 12), min_size=1, max_size=12), pause=st.integers(0, 9))
def test_a_reader_who_leaves_and_comes_again_has_it_all_once(breaks: list[int], pause: int) -> None:
    """R221, P151: rejoined at each cursor, the numbered events come once; text begins at his place."""

    async def drill() -> None:
        model = Paced([("Look. ", call("note")), ("More. ", call("get_current_time")), WORDS])
        async with stage(model=model, tools=[note]) as on:
            session = await on.session(preset="danger-full-access")
            receipt = await session.prompt("go")
            told: list[Any] = []
            cursor: Cursor | None = receipt.cursor
            plan = list(breaks)
            while not (told and isinstance(told[-1], TurnEnded)):
                left = plan.pop(0) if plan else 1_000
                heard: list[Any] = []
                async for event in session.events(after=cursor):
                    heard.append(event)
                    if isinstance(event, NumberedEvent):
                        cursor = event.cursor  # type: ignore[attr-defined]
                    left -= 1
                    for _ in range(pause):
                        await trio.lowlevel.checkpoint()
                    if not left or isinstance(event, TurnEnded):
                        break
                spoken(heard)
                assert_text_stands_before_its_reply(heard)
                replied = {(e.turn, e.block) for e in told if isinstance(e, Replied)}
                again = {(e.turn, e.block) for e in heard if isinstance(e, TextDelta)}
                assert not replied & again, "words of an answer that he has whole"
                told += heard
            whole = await until_ended(session)
            assert numbered(told) == [e for e in numbered(whole) if e.cursor > receipt.cursor]

    trio.run(drill)


async def test_words_of_an_answer_are_not_told_again_while_its_tools_run() -> None:
    """R221: a reader who has an answer whole and comes again in mid-tool gets what is new."""
    go = trio.Event()

    @tool(effect="write", confined=True)
    async def wait() -> str:
        """Wait."""
        await go.wait()
        return "waited"

    script = (("Wait a bit.", call("wait")), "Done.")
    async with stage(*script, tools=[wait]) as on:
        session = await on.session(preset="danger-full-access")
        receipt = await session.prompt("go")
        await wait_all_tasks_blocked()
        first = []
        async for event in session.events(after=receipt.cursor):
            first.append(event)
            if isinstance(event, Replied):
                break
        go_on: list[Any] = []

        async def again() -> None:
            go_on.extend(await read_from(session, first[-1].cursor))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(again)
            await wait_all_tasks_blocked()
            go.set()
        assert [e.text for e in first if isinstance(e, TextDelta)] == ["Wait a bit."]
        assert [e.text for e in go_on if isinstance(e, TextDelta)] == ["Done."]


async def test_an_attempt_that_was_given_up_is_another_block() -> None:
    """R221, P024: words of a lost attempt never mix with those of the next."""
    async with stage(CutOff("Half an ans", "A whole answer.")) as on:
        session = await on.session()
        async with trio.open_nursery() as nursery:
            told: list[Any] = []

            async def read() -> None:
                told.extend(await read_from(session, None))

            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            await session.prompt("go")
        (replied,) = [event for event in told if isinstance(event, Replied)]
        assert spoken(told)[1, replied.block] == "A whole answer."


async def test_live_words_are_not_stored() -> None:
    """R221: a delta has no number and is in no record; the answer is."""
    go = trio.Event()
    async with stage(Stalled(go, Streamed("One two.", 3)), store=None) as on:
        session = await on.session()
        before = on.store.last_number()
        receipt = await session.prompt("go")
        go.set()
        await session.outcome(receipt)
        assert on.store.last_number() == before + 2
        told = await until_ended(session)
        assert spoken(told) == {(1, 0): "One two."}


# --- numbered events -----------------------------------------------------------------------------


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
            with pytest.raises(ZeroDivisionError):
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
        assert not on.host.services.subscribers.get(session.id, None) or gc.collect() >= 0


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
    async with trio.open_nursery() as nursery:
        async with stage("Done.") as on:
            session = await on.session()

            async def read() -> None:
                async for event in session.events():
                    heard.append(event)
                heard.append("end")

            async def follow() -> None:
                async for event in on.host.feed():
                    heard.append(event)
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
    from greenroom.protocol.errors import SaveFailed, StoreFull
    from greenroom.store import Commit, open_memory

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


# --- the feed ------------------------------------------------------------------------------------


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
    from greenroom.store import open_memory

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


def test_events_are_data_that_goes_through_json() -> None:
    """R232: an event that comes back from JSON is the same event."""
    event = ToolReturned(
        session=("t", "k"),  # type: ignore[arg-type]
        cursor=Cursor("i", 1, 2),
        at=3,
        turn=1,
        call="c1-0-0",
        state="done",
        content="é\n",
    )
    data = msgspec.json.encode(event)
    assert b'"event":"tool_returned"' in data


def test_a_scripted_model_is_what_these_laws_stand_on() -> None:
    """A stream of a script comes in the pieces that it says."""
    assert isinstance(Scripted([]), Scripted)
