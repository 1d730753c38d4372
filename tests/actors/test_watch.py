"""Bounds on a model that never answers and a tool that never returns."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import tool
from greenroom.actors.models.scripted import Stalled, call
from greenroom.actors.watch import SECONDS_MAX, SECONDS_MIN
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import ToolMessage
from tests.actors.stage import stage


def never(answer: str = "") -> Stalled:
    """A model that does not answer."""
    return Stalled(trio.Event(), answer)


@tool(effect="read")
async def hang() -> str:
    """Hang."""
    await trio.sleep_forever()
    return ""


@tool(effect="read", timeout=7)
async def hang_a_while() -> str:
    """Hang for as long as it may."""
    await trio.sleep_forever()
    return ""


async def test_a_model_that_never_answers_ends_its_turn_only(autojump_clock: MockClock) -> None:
    """R168: within a twentieth of the bound, with the reason; the session goes on."""
    limits = Limits(model_seconds_max=100, idle_seconds=1e6)
    async with stage(never(), "Hi.", limits=limits) as on:
        session = await on.session()
        began = trio.current_time()
        outcome = await session.ask("one")
        assert 100 <= trio.current_time() - began <= 100 + 2 * 100 / 20
        assert outcome.end == "failed"
        assert "100 s" in outcome.reason
        assert (await session.ask("two")).end == "done"


async def test_a_tool_that_never_returns_ends_its_turn(autojump_clock: MockClock) -> None:
    """R175: its call has a result all the same, and the next message is answered."""
    limits = Limits(tool_seconds_max=50, idle_seconds=1e6)
    async with stage(call("hang"), "Hi.", tools=[hang], limits=limits) as on:
        session = await on.session()
        outcome = await session.ask("one")
        assert (outcome.end, "50 s" in outcome.reason) == ("failed", True)
        results = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
        assert len(results) == 1
        assert (await session.ask("two")).end == "done"


async def test_a_tool_with_a_bound_of_its_own_ends_alone(autojump_clock: MockClock) -> None:
    """R175: the model is told, and the turn goes on."""
    async with stage(call("hang_a_while"), "Hi.", tools=[hang_a_while]) as on:
        session = await on.session()
        began = trio.current_time()
        assert (await session.ask("one")).end == "done"
        assert trio.current_time() - began == pytest.approx(7, abs=0.1)
        (result,) = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
        assert "did not return in time" in result.content


async def test_a_turn_that_moves_on_is_not_stopped(autojump_clock: MockClock) -> None:
    """Each call of a model has the bound for itself, however long the turn takes."""

    @tool(effect="read")
    async def slow() -> str:
        """Take a while."""
        await trio.sleep(80)
        return ""

    script: list[Any] = [call("slow")] * 5
    limits = Limits(model_seconds_max=100, tool_seconds_max=100, idle_seconds=1e6)
    async with stage(*script, "Done.", tools=[slow], limits=limits) as on:
        session = await on.session()
        began = trio.current_time()
        assert (await session.ask("one")).end == "done"
        assert trio.current_time() - began >= 400


def test_how_often_is_looked_is_bounded() -> None:
    """A tiny bound does not make the host spin, a huge one is still looked after."""
    assert 0 < SECONDS_MIN < SECONDS_MAX
