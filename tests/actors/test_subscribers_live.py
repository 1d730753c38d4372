"""Live text: whoever reads, from wherever and however slowly, has every word once."""

from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import ToolContext, tool
from greenroom.actors.models.scripted import CutOff, Stalled, Streamed, call
from greenroom.actors.subscribers import PROGRESS_MAX, Subscribers
from greenroom.protocol.errors import SaveFailed, StoreFull
from greenroom.protocol.event import (
    NumberedEvent,
    Replied,
    SessionOpened,
    TextDelta,
    ToolProgress,
    TurnEnded,
)
from greenroom.protocol.identity import SessionId
from greenroom.protocol.receipt import Cursor
from greenroom.store import Commit, open_memory
from tests.actors.listening import (
    Paced,
    assert_text_stands_before_its_reply,
    numbered,
    read_from,
    spoken,
)
from tests.actors.stage import stage, until_ended
from tests.actors.world import FULL

WORDS = "abcdefghijklmnopqrstuvwxyz"


@tool(effect="write", confined=True, loop="host")
def note() -> str:
    """Take a note."""
    return "noted"


@settings(max_examples=60)
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


@settings(max_examples=40)
@given(breaks=st.lists(st.integers(1, 12), min_size=1, max_size=12), pause=st.integers(0, 9))
def test_a_reader_who_leaves_and_comes_again_has_it_all_once(breaks: list[int], pause: int) -> None:
    """R221, P151: rejoined at any cursor, events come once, and text begins at his place."""

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
                        cursor = event.cursor
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
        first: list[Any] = []
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


@tool(effect="write", confined=True)
async def telling(context: ToolContext[object]) -> str:
    """Tell progress, more than waits for anybody."""
    for number in range(PROGRESS_MAX + 8):
        context.progress(f"step {number}")
    return "done"


async def test_progress_that_nobody_read_is_gone_with_its_call() -> None:
    """R220: it is live; who reads after the call's result finds that, and no old progress."""
    asked = Stalled(trio.Event(), "Done.")
    async with stage(call("telling"), asked, tools=[telling]) as on:
        session = await on.session(preset=FULL)
        events = session.events()
        receipt = await session.prompt("go")
        await asked.reached.wait()
        told = [type(await anext(events)).__name__ for _ in range(6)]
        assert told[-1] == "ToolReturned"
        assert not on.host.services.subscribers[session.id].progress
        asked.until.set()
        await session.outcome(receipt)


async def test_progress_is_gone_with_a_turn_that_is_not_saved() -> None:
    """R205, R220: where no commit tells of the call's result, the turn's end takes it away."""
    async with (
        open_memory() as store,
        stage(call("telling"), "Done.", tools=[telling], store=store) as on,
    ):
        session = await on.session(preset=FULL)
        events = session.events()
        fault = StoreFull("The disk is full.")
        store.faults.fail_next(fault, where=lambda op: isinstance(op, Commit), skip=2)
        with pytest.raises(SaveFailed):
            await session.ask("go")
        shared = on.host.services.subscribers[session.id]
        assert (len(shared.progress), shared.progressed) == (0, PROGRESS_MAX + 8)
        await session.flush()
        assert isinstance(await anext(events), SessionOpened)


async def test_only_so_much_progress_waits() -> None:
    """R220: a reader that is slow gets the newest words of a tool that tells without end."""
    told = [ToolProgress(1, "c", f"{n}") for n in range(PROGRESS_MAX + 8)]
    async with open_memory() as store:
        shared = Subscribers(SessionId("default", "ann"), store, 0)
        for progress in told:
            shared.tell_progress(progress)
    assert list(shared.progress) == told[8:]
