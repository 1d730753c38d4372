"""Tools of others that do what no tool may: a call fails, never its turn or a host (R168)."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import Tool, tool
from greenroom.actors.models.scripted import call
from greenroom.actors.tool import _threads
from greenroom.actors.tool_text import Output
from greenroom.actors.tools import Door
from greenroom.protocol.errors import ToolFailed
from greenroom.protocol.gate import Commitment
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import Function, ToolCall, ToolMessage
from greenroom.protocol.permission import PRESETS
from tests.actors.misbehaving import ERRORS, FULL, cancelled, fails_on_the_way_out, states
from tests.actors.stage import agent, stage
from tests.actors.test_said import Words


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("threaded", [False, True])
async def test_whatever_a_tool_raises_is_its_result(
    error: BaseException,
    threaded: bool,
) -> None:
    """R175, R168: in the loop and from a thread."""

    async def in_loop() -> str:
        raise error

    def in_thread() -> str:
        raise error

    odd: Tool[Any] = tool(effect="read", name="odd", description="Odd.")(
        in_thread if threaded else in_loop
    )
    async with stage(call("odd"), "Done.", tools=[odd]) as on:
        session = await on.session()
        assert (await session.ask("go")).end == "done"
        assert await states(session) == ["failed"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Words("x"), "x"),
        ([Words("x")], '["x"]'),
        (Output(5), "5"),  # type: ignore[arg-type]
        (Output(Words("x"), mended=3), "x"),  # type: ignore[arg-type]
        (Output("\ud800"), "\ufffd"),
        (Output(b"\xff"), "\ufffd"),  # type: ignore[arg-type]
        (object(), "The tool returned a object, which is no JSON"),
    ],
    ids=["text", "list", "number", "mended", "surrogate", "bytes", "object"],
)
async def test_whatever_a_tool_returns_is_text_or_a_failure(value: object, shown: str) -> None:
    """R194: a result of its own making too."""

    @tool(effect="read")
    async def odd() -> object:
        """Odd."""
        return value

    async with stage(call("odd"), "Done.", tools=[odd]) as on:
        session = await on.session()
        assert (await session.ask("go")).end == "done"
        (result,) = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
    assert result.content.startswith(shown)


async def test_the_bounds_of_the_host_hold_for_tools() -> None:
    """R194: not the defaults; for arguments before the tool, and for results behind it."""
    ran: list[object] = []

    @tool(effect="read")
    async def odd(items: list[Any]) -> str:
        """Odd."""
        ran.append(items)
        return "x" * 101

    limits = Limits(value_depth_max=3, arguments_bytes_max=40, object_bytes_max=100)
    calls = (
        call("odd", items=[[[]]]),
        call("odd", items=["é" * 20]),
        call("odd", items=[]),
    )
    async with stage(calls, "Done.", tools=[odd], limits=limits) as on:
        session = await on.session()
        await session.ask("go")
        found = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
        assert await states(session) == ["failed"] * 3
    assert ran == [[]]
    assert "deeper than 3" in found[0].content
    assert "the bound is 40" in found[1].content
    assert "the 100 bytes" in found[2].content


async def test_the_bounds_of_the_host_hold_behind_use_tool() -> None:
    """R194, R216: also for the arguments in which the tool's own ones stand."""
    hidden = agent(tools_on_demand=("odd",))

    @tool(effect="read")
    async def odd(items: list[Any]) -> str:
        """Odd."""
        return "x"

    wide = call("use_tool", name="odd", arguments={"items": ["x" * 100]})
    limits = Limits(arguments_bytes_max=60)
    asked = ToolCall("c1-0-0", Function("use_tool", wide.arguments))
    door = Door([odd], limits, lambda: 0, with_files=False)
    box = door.box(hidden)
    ticket = door.decide(asked, box, Commitment(PRESETS.get(FULL)), frozenset(box.declared))
    assert not ticket.may_run
    assert "the bound is 60" in ticket.reason


async def test_what_a_tool_says_of_its_cancellation_is_kept() -> None:
    """R175, R180: it knows best whether it happened; the turn is cancelled all the same."""
    begun = trio.Event()

    @tool(effect="write")
    async def odd() -> None:
        """Odd."""
        begun.set()
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            raise ToolFailed("Nothing was sent.") from None

    async with stage(call("odd"), "Done.", tools=[odd]) as on:
        session = await on.session(preset=FULL)
        assert await cancelled(session, begun) == "cancelled"
        assert await states(session) == ["failed"]


async def test_what_fails_while_it_is_cut_off_was_cut_off(autojump_clock: MockClock) -> None:
    """R180: a tool that writes may have happened, whatever it raises on the way out."""

    @tool(effect="write", timeout=5)
    async def odd() -> None:
        """Odd."""
        await fails_on_the_way_out(trio.Event())

    @tool(effect="write", timeout=5)
    async def own() -> None:
        """Own."""
        raise trio.TooSlowError

    async with stage((call("odd"), call("own")), "Done.", tools=[odd, own]) as on:
        session = await on.session(preset=FULL)
        assert (await session.ask("go")).end == "done"
        assert await states(session) == ["unknown", "failed"]


@pytest.mark.parametrize("seconds", [None, 0.01])
async def test_a_tool_that_never_got_a_thread_did_not_run(seconds: float | None) -> None:
    """R175, R189: it is told as not run, and does not run when a thread is free at last."""
    ran: list[int] = []

    @tool(effect="write", timeout=seconds)
    def odd() -> None:
        """Odd."""
        ran.append(1)

    limiter = trio.CapacityLimiter(1)
    _threads.set(limiter)
    await limiter.acquire_on_behalf_of("another")
    async with stage(call("odd"), "Done.", tools=[odd]) as on:
        session = await on.session(preset=FULL)
        receipt = await session.prompt("go")
        if seconds is None:
            await trio.testing.wait_all_tasks_blocked(0.05)
            await session.cancel()
        assert (await session.outcome(receipt)).end == ("cancelled" if seconds is None else "done")
        assert await states(session) == ["not_run"]
        limiter.release_on_behalf_of("another")
        await trio.testing.wait_all_tasks_blocked(0.05)
    assert ran == []
