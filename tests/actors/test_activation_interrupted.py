"""A turn that nobody runs: settled when its session is activated, never by reading."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy, tool
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.errors import SaveFailed, SessionFailed, StoreFull
from greenroom.protocol.message import ToolMessage
from greenroom.store import Commit, MemoryStore, open_memory
from tests.actors.stage import stage

WIDE = "danger-full-access"


async def taken_over(
    store: MemoryStore,
    *script: Any,
    tools: list[Any],
    stop: Callable[[Any], Any],
) -> list[BaseException]:
    """Let one host stall in a turn and leave it there, as a process that was killed leaves it.

    Another host claims the session meanwhile, so whatever the first one still offers is fenced.
    """
    told: list[BaseException] = []
    async with stage(*script, store=store, tools=tools) as on:
        session = await on.session(preset=WIDE)
        receipt = await session.prompt("one", key="k")

        async def wait() -> None:
            try:
                await session.outcome(receipt)
            except SessionFailed as error:
                told.append(error)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await wait_all_tasks_blocked()
            async with stage("Two.", store=store, tools=tools) as other:
                await stop(await other.session())
            actor = on.host.live(session.id)
            assert actor is not None
            assert actor.turn is not None
            actor.turn.stop("cancelled", "")
    return told


@pytest.mark.parametrize(
    ("effect", "state", "says"),
    [("read", None, ""), ("write", "unknown", "may have happened")],
)
async def test_an_interrupted_turn_is_settled_and_the_session_goes_on(
    effect: Any,
    state: str | None,
    says: str,
) -> None:
    """R173, R175, P031: a write that ran has the result `unknown`; the next message is answered."""

    @tool(effect=effect)
    async def wait() -> str:
        """Wait."""
        await trio.sleep_forever()
        return ""

    async def stop(session: Any) -> None:
        receipt = await session.prompt("one", key="k")
        assert receipt.repeated
        assert (await session.outcome(receipt)).end == "interrupted"
        assert (await session.ask("two")).text == "Two."
        results = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
        turn = (await session.turns().all())[0]
        assert turn.end == "interrupted"
        assert [c.state for c in turn.calls] == ([state] if state else [])
        assert all(says in result.content for result in results)
        assert len(results) == (1 if state else 0)
        for number in (1, 2):
            assert (await session.request(number)).is_exact

    async with open_memory() as store:
        told = await taken_over(store, call("wait"), tools=[wait], stop=stop)
    assert [type(error).__name__ for error in told] == ["SessionLost"]


async def test_a_turn_that_was_interrupted_while_the_model_answered() -> None:
    """R87, R175: exactly what was committed is seen again, and the end of it says why."""

    async def stop(session: Any) -> None:
        state = await session.state()
        assert [m.content for m in state.messages] == ["one"]
        assert (await session.ask("two")).end == "done"
        assert [m.content for m in (await session.state()).messages] == ["one", "two", "Two."]

    async with open_memory() as store:
        await taken_over(store, Stalled(trio.Event(), "never"), tools=[], stop=stop)


async def test_reading_an_interrupted_session_settles_nothing() -> None:
    """R219, R92: reading says that it is interrupted, and changes nothing."""

    async def stop(session: Any) -> None:
        state = await session.state()
        assert (state.phase, state.running) == ("interrupted", None)

    async with open_memory() as store, stage(Stalled(trio.Event(), "never"), store=store) as on:
        session = await on.session()
        await session.prompt("one")
        async with stage(store=store, policy=Policy(revive=False)) as other:
            before = store.last_number()
            await stop(await other.session())
            assert store.last_number() == before
            assert not other.host.services.actors


async def test_unsaved_state_is_gone_with_its_host_and_the_committed_stands() -> None:
    """R87: the reopened session is exactly what was committed last; the waiter was told."""
    async with open_memory() as store:
        fault = StoreFull("The disk is full.")
        async with stage("One.", "Two.", store=store) as on:
            session = await on.session()
            await session.ask("one")
            for _ in range(2):
                store.faults.fail_next(fault, where=_is_end)
            with pytest.raises(SaveFailed):
                await session.ask("two")
            assert [m.content for m in (await session.state()).messages][-1] == "Two."
        async with stage("Three.", store=store) as on:
            session = await on.session()
            assert [m.content for m in (await session.state()).messages] == ["one", "One.", "two"]
            assert (await session.ask("three")).end == "done"


def _is_end(operation: object) -> bool:
    return isinstance(operation, Commit) and b'"is":"ended"' in operation.records
