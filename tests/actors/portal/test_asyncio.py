"""A host in an asyncio program: the same answers, errors and cancellation as in trio (R188)."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.actors import portal, tool
from greenroom.actors.models.scripted import Looping, Stalled, call
from greenroom.protocol.errors import (
    HostClosed,
    InvalidInput,
    Mismatch,
    Missing,
    StoreTaken,
    UnknownAgent,
    WrongLoop,
)
from greenroom.protocol.event import TurnEnded
from greenroom.protocol.identity import SessionId
from greenroom.protocol.question import Allow
from greenroom.store import Options, Store, open_lmdb, open_memory
from tests.actors.guest import SECONDS_MAX, run
from tests.actors.portal.stage import Memory, Signal, names, opening, settled


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AbstractAsyncContextManager[Store]:
    if request.param == "memory":
        return open_memory()
    return open_lmdb(tmp_path / "s", options=Options(map_size=64 << 20, reserve_bytes=0))


async def until_ended(reader: AsyncIterator[Any]) -> list[Any]:
    told = []
    async for event in reader:
        told.append(event)
        if isinstance(event, TurnEnded):
            break
    return told


def test_a_conversation_from_asyncio(store: AbstractAsyncContextManager[Store]) -> None:
    """R188: prompt, outcome, events, listings and tenants, as in a trio program."""

    async def program() -> None:
        async with opening("One.", "Two.", "Three.", store=store) as host:
            session = await host.session("ann", agent="support")
            assert (session.id, repr(session)) == (SessionId("default", "ann"), "<Session ann>")
            receipt = await session.prompt("one", key="k")
            assert (await session.outcome(receipt)).text == "One."
            assert (await session.prompt("one", key="k")).repeated
            told = await until_ended(session.events(after=receipt.cursor))
            assert names(told)[0] == "TurnStarted"
            numbers = [event.cursor for event in told if hasattr(event, "cursor")]
            assert numbers == sorted(numbers)
            assert (await session.ask("two")).text == "Two."
            assert [turn.end async for turn in session.turns()] == ["done", "done"]
            other = await host.tenant("b").session("ann", agent="support")
            assert (await other.ask("three")).text == "Three."
            assert await host.sessions().count() == 2
            assert [s.session.tenant for s in await host.tenant("b").sessions().all()] == ["b"]
            assert host.presets()[0].id == "read-only"
            feed = host.feed()
            fed = [await anext(feed) for _ in range(5)]
            assert names(fed)[:2] == ["SessionOpened", "MessageAccepted"]

    run(program)


def test_people_answer_and_hold_from_asyncio() -> None:
    """R188: a question is answered, and a hold is placed and lifted."""

    @tool(effect="write")
    async def pay() -> str:
        """Pay."""
        return "paid"

    async def program() -> None:
        async with opening(call("pay"), "Done.", "More.", tools=[pay]) as host:
            session = await host.session("ann", agent="support", preset="workspace-write")
            receipt = await session.prompt("pay")
            await settled(host)
            [question] = await host.questions().all()
            await host.answer(question, Allow("ben"))
            assert (await session.outcome(receipt)).text == "Done."
            hold = await host.hold(reason="a defect", by="ben")
            waiting = await session.prompt("more")
            assert [each.id async for each in host.holds()] == [hold.id]
            await host.lift(hold, by="ben")
            assert (await session.outcome(waiting)).text == "More."
            assert await host.journal().count() >= 2

    run(program)


def test_errors_are_those_of_trio() -> None:
    """R188, R232: the same types, with their facts, as themselves and in no group."""

    async def program() -> None:
        async with opening("One.") as host:
            with pytest.raises(Missing):
                await host.session("nobody")
            with pytest.raises(UnknownAgent):
                await host.session("ann", agent="nobody")
            await host.session("ann", agent="support", person="ann")
            with pytest.raises(Mismatch) as mismatch:
                await host.session("ann", person="ben")
            assert mismatch.value.facts == {"stored": "ann", "asked": "ben"}
            with pytest.raises(InvalidInput):
                host.sessions(labels={"": "x"})
            with pytest.raises(InvalidInput):
                await anext(host.feed(after="somewhere"))  # type: ignore[arg-type]
            with pytest.raises(InvalidInput):
                host.tenant("")

    run(program)


def test_what_keeps_a_host_from_opening_is_raised_where_it_is_opened(tmp_path: Path) -> None:
    """R188: typed, and no thread is left."""

    async def program() -> None:
        before = threading.active_count()
        with pytest.raises(InvalidInput, match="models"):
            await opening(models={}).__aenter__()
        async with opening(store=tmp_path / "s"):
            with pytest.raises(StoreTaken):
                await opening(store=tmp_path / "s").__aenter__()
        assert threading.active_count() <= before + 2  # trio keeps a thread or two for a while

    run(program)


async def test_a_store_that_another_loop_has_open_is_refused() -> None:
    """R188: with what to give instead."""
    async with open_memory() as store:
        with pytest.raises(InvalidInput, match="unopened"):
            opening(store=store)


@pytest.mark.parametrize(
    "error", [KeyError("k"), SystemExit(3), ExceptionGroup("g", [OSError()]), StopAsyncIteration()]
)
def test_what_the_block_raises_leaves_it_as_it_is(error: BaseException) -> None:
    """R208: no group around it, and the host has ended."""
    held: list[portal.Session] = []

    async def program() -> None:
        async with opening(Stalled(trio.Event(), "never")) as host:
            held.append(await host.session("ann", agent="support"))
            await held[0].prompt("one")
            raise error

    async def caught() -> None:
        with pytest.raises(type(error)) as raised:
            await program()
        assert raised.value is error
        with pytest.raises(HostClosed):
            await held[0].state()

    run(caught)


def test_a_timeout_ends_the_waiting_and_nothing_else() -> None:
    """R188: the message stays, and the host and its session go on."""
    go = Signal()

    async def program() -> None:
        async with opening(Stalled(go.event, "One.")) as host:
            session = await host.session("ann", agent="support")
            receipt = await session.prompt("one")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await session.outcome(receipt)
            go.set(host)
            assert (await session.outcome(receipt)).text == "One."

    run(program)


def test_a_cancelled_prompt_that_is_being_committed_is_waited_for() -> None:
    """R83, R188: its task is not over before its commit is; what was acknowledged is there."""
    memory = Memory()

    async def program() -> None:
        async with opening("One.", store=memory.opened()) as host:
            assert memory.store is not None
            session = await host.session("ann", agent="support")
            host.line.soon(memory.store.faults.hold)
            task = asyncio.create_task(session.prompt("one", key="k"))
            await settled(host)
            for _ in range(2):
                task.cancel()
                await settled(host)
            assert not task.done()
            host.line.soon(memory.store.faults.release)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await session.prompt("one", key="k")).repeated

    run(program)


def test_calls_that_are_under_way_end_with_the_host() -> None:
    """R188, R208: an outcome is told how its turn ended, a stream ends, and nothing hangs."""

    async def program() -> None:
        async with opening(Stalled(trio.Event(), "never")) as host:
            session = await host.session("ann", agent="support")
            receipt = await session.prompt("one")
            outcome = asyncio.create_task(session.outcome(receipt))
            events = asyncio.create_task(until_ended(session.events()))
            everything = asyncio.create_task(all_of(host.feed()))
            await settled(host)
        assert (await outcome).end == "interrupted"
        assert names(await events)[:2] == ["SessionOpened", "MessageAccepted"]
        assert names(await everything)[0] == "SessionOpened"

    async def all_of(reader: AsyncIterator[Any]) -> list[Any]:
        return [item async for item in reader]

    run(program)


def test_a_host_that_was_left_says_so() -> None:
    """R87: to whoever comes later, by whatever name."""

    async def program() -> None:
        async with opening("One.") as host:
            session = await host.session("ann", agent="support")
            begun = host.feed()
            await anext(begun)
        for late in (
            session.prompt("one"),
            session.state(),
            host.sessions().all(),
            anext(host.feed()),
            anext(aiter(host.sessions())),
        ):
            with pytest.raises(HostClosed):
                await late
        assert [event async for event in begun] == []

    run(program)


def test_a_host_that_breaks_tells_its_callers_why() -> None:
    """R188: calls say that it was closed, and the block what broke it."""
    broken = ValueError("a defect")

    async def fail() -> None:
        raise broken

    async def program() -> None:
        async with opening(Stalled(trio.Event(), "never")) as host:
            session = await host.session("ann", agent="support")
            receipt = await session.prompt("one")
            nursery = host.held.services.nursery
            host.line.soon(lambda: nursery.start_soon(fail))
            with pytest.raises(HostClosed):
                await session.outcome(receipt)
            with pytest.raises(HostClosed) as closed:
                await until_closed(session)
            assert closed.value.__cause__ is broken

    async def until_closed(session: portal.Session) -> None:
        while True:
            await session.state()

    async def caught() -> None:
        with pytest.raises(ValueError, match="a defect") as raised:
            await program()
        assert raised.value is broken

    run(caught)


def test_thousands_of_calls_at_once_take_no_thread_each() -> None:
    """R188: and each gets its own answer."""

    async def program() -> None:
        async with opening(model=Looping(("Hi.",))) as host:
            session = await host.session("ann", agent="support")
            before = threading.active_count()
            most = before

            async def ask(place: int) -> SessionId:
                nonlocal most
                made = await host.session(f"s{place}", agent="support")
                most = max(most, threading.active_count())
                return made.id

            found = await asyncio.gather(*[ask(place) for place in range(3_000)])
            assert [each.key for each in found] == [f"s{place}" for place in range(3_000)]
            assert most <= before + 10
            assert (await session.ask("one")).text == "Hi."

    run(program)


def test_a_host_that_is_busy_holds_up_nobodys_loop() -> None:
    """R188: a call waits for it, and the caller's loop runs on."""
    reached, free = threading.Event(), threading.Event()

    @tool(effect="read", loop="host")
    def block() -> None:
        """Block the host's loop."""
        reached.set()
        assert free.wait(SECONDS_MAX)

    async def program() -> None:
        async with opening(call("block"), "Done.", tools=[block]) as host:
            session = await host.session("ann", agent="support")
            asking = asyncio.create_task(session.ask("go"))
            await asyncio.to_thread(reached.wait)
            more = [asyncio.create_task(session.state()) for _ in range(100)]
            await asyncio.sleep(0)  # the calls are sent, and this loop runs
            assert not any(task.done() for task in more)
            free.set()
            assert (await asking).text == "Done."
            await asyncio.gather(*more)

    run(program)


def test_a_caller_whose_loop_is_closed_leaves_the_host_alone() -> None:
    """R188: a stream and a call that were waiting are cancelled, and others are served."""

    async def program() -> None:
        async with opening(Stalled(trio.Event(), "never"), "Two.") as host:
            session = await host.session("ann", agent="support")
            receipt = await session.prompt("one")

            def elsewhere() -> None:
                loop = asyncio.new_event_loop()
                tasks = [
                    loop.create_task(until_ended(session.events())),
                    loop.create_task(session.outcome(receipt)),
                ]
                loop.run_until_complete(settled(host))
                assert not any(task.done() for task in tasks)
                loop.close()
                for task in tasks:
                    task._log_destroy_pending = False  # type: ignore[attr-defined]

            await asyncio.to_thread(elsewhere)
            assert await session.cancel()
            assert (await session.ask("two")).text == "Two."

    run(program)


def test_a_tool_may_ask_the_handle_that_its_program_holds() -> None:
    """R188: in the host's own loop the call is made there; what feeds its own turn is refused."""
    held: list[portal.Host] = []

    @tool(effect="read")
    async def consult() -> str:
        """Ask another session."""
        other = await held[0].session("other", agent="support")
        return (await other.ask("what now?")).text

    async def program() -> None:
        async with opening(call("consult"), "Wait.", "Done.", tools=[consult]) as host:
            held.append(host)
            session = await host.session("ann", agent="support")
            assert (await session.ask("go")).text == "Done."
            assert (await session.state()).messages[2].content == "Wait."

    run(program)


async def test_in_trio_the_portal_is_refused_with_what_to_take() -> None:
    """R188: before a thread is started."""
    with pytest.raises(WrongLoop, match=r"actors\.open_host"):
        await opening().__aenter__()
    with pytest.raises(WrongLoop, match=r"actors\.open_host"):
        opening().__enter__()


def test_a_handle_for_asyncio_is_refused_elsewhere() -> None:
    """R188: in another trio run, which it could only hang."""

    async def program() -> None:
        async with opening("One.") as host:

            async def elsewhere() -> None:
                with pytest.raises(WrongLoop):
                    await host.session("ann", agent="support")

            await asyncio.to_thread(trio.run, elsewhere)

    run(program)
