"""Who waits for whom: circles are refused at once, everything else is let."""

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Host, Session, ToolContext, tool
from greenroom.actors.models.port import ModelResponse, RequestedCall
from greenroom.actors.models.scripted import Looping, call
from greenroom.actors.waiting import Turnstile
from greenroom.actors.waits import Waits
from greenroom.protocol.errors import WouldWaitForItself
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from tests.actors.stage import Stage, agent, stage

A, B, C = (SessionId("default", key) for key in "abc")


@tool(effect="read")
async def ask(context: ToolContext[dict[str, Host]], session: str) -> str:
    """Ask another session and wait for its answer."""
    host = context.deps["host"]
    other = await host.session(session)
    return (await other.ask("go")).text


def results(said: tuple[object, ...]) -> list[str]:
    """The results of tools in a conversation."""
    return [m.content for m in said if type(m).__name__ == "ToolMessage"]  # type: ignore[attr-defined]


async def circle(on: Stage, deps: dict[str, Host], keys: str) -> list[str]:
    """Let each session ask the next one, and the last the first; what their tools returned."""
    deps["host"] = on.host
    for place, key in enumerate(keys):
        await on.session(key, agent=f"asks-{keys[(place + 1) % len(keys)]}")
    first = await on.session(keys[0], agent=f"asks-{keys[1 % len(keys)]}")
    with trio.fail_after(5):
        assert (await first.ask("go")).end == "done"
    found = []
    for key in keys:
        session = await on.host.session(key)
        found += results((await session.state()).messages)
    return found


@pytest.mark.parametrize("keys", ["a", "ab", "abc"])
async def test_a_circle_of_tools_that_ask_is_refused_at_once(keys: str) -> None:
    """P157: a session that asks itself, directly or over others, would wait for ever."""
    deps: dict[str, Host] = {}
    agents = [agent(name=f"asks-{key}", model=f"asks-{key}") for key in "abc"]
    models = {f"asks-{key}": Looping((call("ask", session=key), "Done.")) for key in "abc"}
    async with stage(agents=agents, models=models, tools=[ask], deps=lambda _: deps) as on:
        found = await circle(on, deps, keys)
    assert len([text for text in found if "would wait for" in text]) == 1
    assert found.count("Done.") == len(keys) - 1


async def test_a_tool_does_not_feed_the_turn_it_runs_in() -> None:
    """P157: a message to its own session is refused, since it would keep that turn going."""

    @tool(effect="read")
    async def remind(context: ToolContext[dict[str, Host]]) -> str:
        """Send the own session a message."""
        session = await context.deps["host"].session("ann")
        return (await session.prompt("remember")).status

    deps: dict[str, Host] = {}
    script = (call("remind"), "Done.")
    async with stage(*script, tools=[remind], deps=lambda _: deps) as on:
        deps["host"] = on.host
        session = await on.session()
        assert (await session.ask("go")).end == "done"
        said = (await session.state()).messages
    assert "WouldWaitForItself" in results(said)[0]
    assert [m.content for m in said if type(m).__name__ == "UserMessage"] == ["go"]


async def test_a_task_that_outlives_its_turn_may_send_and_wait() -> None:
    """P157: what a tool started and left behind runs in no turn any more, nor in a later one."""
    go, told = trio.Event(), []

    @tool(effect="read")
    async def later(context: ToolContext[dict[str, Any]]) -> str:
        """Ask the own session when the turn is over."""
        context.deps["nursery"].start_soon(ask_later, context.deps["session"])
        return "started"

    async def ask_later(session: Session) -> None:
        await go.wait()
        told.append((await session.ask("late")).text)

    deps: dict[str, Any] = {}
    script = (call("later"), "Done.", "Late.")
    async with (
        trio.open_nursery() as nursery,
        stage(*script, tools=[later], deps=lambda _: deps) as on,
    ):
        deps["nursery"], deps["session"] = nursery, await on.session()
        assert (await deps["session"].ask("go")).end == "done"
        go.set()
        await wait_all_tasks_blocked()
        assert told == ["Late."]


async def test_an_outcome_that_is_there_is_told_inside_a_turn_too() -> None:
    """P157: nobody waits for a message whose turn has ended."""

    @tool(effect="read")
    async def look(context: ToolContext[dict[str, Any]]) -> str:
        """Look at the outcome of the first message."""
        return (await context.deps["session"].outcome(context.deps["first"])).text  # type: ignore[no-any-return]

    deps: dict[str, Any] = {}
    async with stage("One.", call("look"), "Done.", tools=[look], deps=lambda _: deps) as on:
        session = deps["session"] = await on.session()
        deps["first"] = await session.prompt("first")
        await session.outcome(deps["first"])
        assert (await session.ask("second")).end == "done"
        assert results((await session.state()).messages) == ["One."]


async def test_callers_from_outside_are_never_refused() -> None:
    """P157: whoever runs in no turn may wait for any session, at any time."""
    deps: dict[str, Host] = {}
    agents = [agent(name="asks-b", model="asks-b"), agent()]
    models = {"asks-b": Looping((call("ask", session="b"), "Done.")), "m": Looping(("Hi.",))}
    async with stage(agents=agents, models=models, tools=[ask], deps=lambda _: deps) as on:
        deps["host"] = on.host
        b = await on.session("b")
        a = await on.session("a", agent="asks-b")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(a.ask, "go")
            nursery.start_soon(b.ask, "hello")
            await wait_all_tasks_blocked()
        assert (await a.ask("again")).text == "Done."
        assert not on.host.services.waits._targets


async def test_a_full_host_lets_a_tool_ask_another_session() -> None:
    """P157, R185: a turn that waits for another gives its place; else a full host stood still."""
    deps: dict[str, Host] = {}
    agents = [agent(name="asks-b", model="asks-b"), agent()]
    asking = ModelResponse(
        "", tuple(RequestedCall(f"call_{n}", "ask", '{"session": "b"}') for n in range(2))
    )
    models = {"asks-b": Looping((asking, "Done.")), "m": Looping(("Hi.",))}
    places = Limits(running_turns_max=1)
    async with stage(
        agents=agents, models=models, tools=[ask], deps=lambda _: deps, limits=places
    ) as on:
        deps["host"] = on.host
        await on.session("b")
        asks = [await on.session(key, agent="asks-b") for key in ("a1", "a2")]
        with trio.fail_after(5):
            async with trio.open_nursery() as nursery:
                for session in asks:
                    nursery.start_soon(session.ask, "go")
        for session in asks:
            assert results((await session.state()).messages) == ["Hi.", "Hi."]
        await wait_all_tasks_blocked()
        assert on.host.services.turns.free == 1


def test_waiting_is_forgotten_when_it_ends() -> None:
    """P157: what no longer waits is no part of a circle, also when several tools waited."""
    places = Turnstile(3)
    waits = Waits(places)
    with waits.waiting(A, B), waits.waiting(A, B):
        with pytest.raises(WouldWaitForItself) as caught, waits.waiting(B, A):
            pass
        assert caught.value.facts == {"session": "b", "target": "a"}
        with waits.waiting(B, C), pytest.raises(WouldWaitForItself), waits.waiting(C, A):
            pass
    with waits.waiting(B, A), waits.waiting(C, B):
        assert places.free == 5
    assert not waits._targets
    assert places.free == 3


def test_what_outlives_its_turn_waits_in_nobodys_way() -> None:
    """P157, R185: the turn's end gives its one place back once, and takes it out of circles."""
    places = Turnstile(3)
    waits = Waits(places)
    with waits.waiting(A, B):
        assert places.free == 4
        waits.over(A)
        assert places.free == 3
        with waits.waiting(B, A), waits.waiting(A, C):
            assert places.free == 5
    assert not waits._targets
    assert places.free == 3


async def test_a_left_task_leaves_the_places_as_they_are() -> None:
    """R185: a task that a tool leaves behind waits on, and no turn more may run for it."""

    @tool(effect="read")
    async def leave(context: ToolContext[dict[str, Any]]) -> str:
        """Leave a task behind that asks the other session."""
        context.deps["nursery"].start_soon(context.deps["b"].ask, "go")
        await wait_all_tasks_blocked()
        return "started"

    @tool(effect="read")
    async def hold(context: ToolContext[dict[str, Any]]) -> str:
        """Wait to be let go."""
        await context.deps["go"].wait()
        return "held"

    deps: dict[str, Any] = {"go": trio.Event()}
    agents = [agent(name=name, model=name) for name in ("leaves", "holds")]
    models = {
        "leaves": Looping((call("leave"), "Done.")),
        "holds": Looping((call("hold"), "Done.")),
    }
    places = Limits(running_turns_max=2)
    async with (
        trio.open_nursery() as nursery,
        stage(
            agents=agents, models=models, tools=[leave, hold], deps=lambda _: deps, limits=places
        ) as on,
    ):
        deps["nursery"], deps["b"] = nursery, await on.session("b", agent="holds")
        a = await on.session("a", agent="leaves")
        assert (await a.ask("go")).end == "done"
        assert on.host.services.turns.free == 1
        assert not on.host.services.waits._targets
        deps["go"].set()
        await wait_all_tasks_blocked()
        assert on.host.services.turns.free == 2
