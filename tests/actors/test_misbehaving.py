"""Models and tools of others that do what no port promises: a call fails, never a host (R168)."""

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import Session, Tool, tool
from greenroom.actors.models.port import (
    Capabilities,
    ModelResponse,
    RequestedCall,
    SessionInfo,
    Sink,
)
from greenroom.actors.models.scripted import call
from greenroom.actors.tool import _threads
from greenroom.actors.tool_text import Output
from greenroom.protocol.errors import ModelFailed, ToolFailed
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import OpaquePart, ToolMessage
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage
from tests.actors.stage import stage
from tests.actors.test_said import Bare, Mute, Words

FULL = "danger-full-access"
Answers = Callable[[Sink], Any]


@attrs.define(eq=False)
class Odd:
    """A model that first does what it is told to do, and then answers as it should."""

    first: Answers
    name: str = "odd"
    capabilities: Capabilities = Capabilities()
    sinks: list[Sink] = attrs.field(factory=list)

    async def respond(
        self, request: ModelRequest, session: SessionInfo, sink: Sink, /
    ) -> ModelResponse:
        self.sinks.append(sink)
        if len(self.sinks) > 1:
            return ModelResponse("Fine.")
        found = self.first(sink)
        if hasattr(found, "__await__"):
            found = await found
        return found  # type: ignore[no-any-return]


def returns(value: object) -> Odd:
    return Odd(lambda _: value)


def raises(error: BaseException) -> Odd:
    def first(_: Sink) -> None:
        raise error

    return Odd(first)


def usage(*counts: Any, cost: Any = None) -> ModelResponse:
    return ModelResponse("t", usage=Usage(*counts, cost=cost))


def asks(*fields: Any) -> ModelResponse:
    return ModelResponse("t", (RequestedCall(*fields),))


def opaque(*parts: Any) -> ModelResponse:
    return ModelResponse("t", opaque=parts)


async def fails_and_goes_on(model: Odd) -> str:
    """One turn fails; the next, and the session after a look at all of it, work."""
    async with stage(model=model) as on:
        session = await on.session()
        first = await session.ask("one")
        assert first.end == "failed"
        assert (await session.ask("two")).text == "Fine."
        assert [turn.end for turn in await session.turns().all()] == ["failed", "done"]
        assert (await session.state()).messages
        return first.reason


ANSWERS: tuple[Any, ...] = (
    None,
    "hello",
    ModelResponse(None),  # type: ignore[arg-type]
    ModelResponse(b"abc"),  # type: ignore[arg-type]
    ModelResponse(Words("abc")),
    ModelResponse("t", None),  # type: ignore[arg-type]
    ModelResponse("t", [RequestedCall("i", "n", "{}")]),  # type: ignore[arg-type]
    ModelResponse("t", ("n",)),  # type: ignore[arg-type]
    asks(None, "n", "{}"),
    asks("i", None, "{}"),
    asks("i", "n", None),
    asks("i", "n", {"a": 1}),
    asks("i", "n" * 100_000, "{}"),
    opaque({"a": 1}),
    opaque(OpaquePart("m", "text")),  # type: ignore[arg-type]
    opaque(OpaquePart("\ud800", b"x")),
    opaque(OpaquePart(5, b"x")),  # type: ignore[arg-type]
    ModelResponse("t", usage=None),  # type: ignore[arg-type]
    usage("a"),
    usage(1.5),
    usage(True),  # noqa: FBT003
    usage(0, -1),
    usage(0, 0, 0, 0, 2**53 + 1),
    usage(1, cost="1"),
    usage(1, cost=float("nan")),
    usage(1, cost=float("inf")),
    ModelResponse("t", finish=7),  # type: ignore[arg-type]
    ModelResponse("t", finish=[]),  # type: ignore[arg-type]
)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: repr(answer)[:60])
async def test_an_answer_that_is_none_fails_its_turn_and_is_never_stored(answer: Any) -> None:
    """R194, R168: of another type, or a count that none can be."""
    assert (await fails_and_goes_on(returns(answer))).startswith("The model ")


ERRORS: tuple[BaseException, ...] = (
    Mute(),
    Bare(),
    SystemExit(2),
    GeneratorExit(),
    asyncio.CancelledError(),
    ValueError("\ud800\0"),
    ExceptionGroup("g", [ValueError("x")]),
    BaseExceptionGroup("g", [SystemExit()]),
    ModelFailed("It \ud800 failed."),
    ToolFailed(Words("x")),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_whatever_a_model_raises_fails_its_turn(error: BaseException) -> None:
    """R179, R168: the host, its other sessions and the next turn know nothing of it."""
    assert await fails_and_goes_on(raises(error))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("threaded", [False, True])
async def test_whatever_a_tool_raises_is_its_result(
    error: BaseException,
    threaded: bool,  # noqa: FBT001 - parametrized
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
    ids=repr,
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


async def states(session: Session) -> list[str]:
    """How the calls of its one turn ended."""
    (turn,) = await session.turns().all()
    return [each.state for each in turn.calls]


# --- cancelled -----------------------------------------------------------------------------------


async def fails_on_the_way_out(begun: trio.Event) -> None:
    """A group of our own cancellation and of an error."""

    async def child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("cleaning up failed")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(child)
        begun.set()
        await trio.sleep_forever()


async def test_a_cancelled_turn_is_cancelled_whatever_fails_meanwhile() -> None:
    """R180: of a tool and of a model; the session takes the next message."""
    begun = trio.Event()

    @tool(effect="write")
    async def odd() -> None:
        """Odd."""
        await fails_on_the_way_out(begun)

    async with stage(call("odd"), "Done.", tools=[odd]) as on:
        session = await on.session(preset=FULL)
        assert await cancelled(session, begun) == "cancelled"
        assert await states(session) == ["unknown"]
        assert (await session.ask("on")).end == "done"
    begun = trio.Event()
    async with stage(model=Odd(lambda _: fails_on_the_way_out(begun))) as on:
        session = await on.session()
        assert await cancelled(session, begun) == "cancelled"
        assert (await session.ask("on")).text == "Fine."


async def cancelled(session: Session, begun: trio.Event) -> str:
    """How a turn ends that is cancelled when something of it runs."""
    receipt = await session.prompt("go")
    await begun.wait()
    await session.cancel()
    return (await session.outcome(receipt)).end


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


# --- threads that cannot be had ------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [None, 0.01])
async def test_a_tool_that_never_got_a_thread_did_not_run(timeout: float | None) -> None:
    """R175, R189: it is told as not run, and does not run when a thread is free at last."""
    ran: list[int] = []

    @tool(effect="write", timeout=timeout)
    def odd() -> None:
        """Odd."""
        ran.append(1)

    limiter = trio.CapacityLimiter(1)
    _threads.set(limiter)
    await limiter.acquire_on_behalf_of("another")
    async with stage(call("odd"), "Done.", tools=[odd]) as on:
        session = await on.session(preset=FULL)
        receipt = await session.prompt("go")
        if timeout is None:
            await trio.testing.wait_all_tasks_blocked(0.05)
            await session.cancel()
        assert (await session.outcome(receipt)).end == ("cancelled" if timeout is None else "done")
        assert await states(session) == ["not_run"]
        limiter.release_on_behalf_of("another")
        await trio.testing.wait_all_tasks_blocked(0.05)
    assert ran == []


# --- what is said too late -----------------------------------------------------------------------


async def test_a_sink_that_was_left_behind_says_nothing() -> None:
    """R221: neither in its own turn after its answer, nor in the next."""
    model = Odd(lambda sink: sink.text("One."))
    model.first = lambda _: ModelResponse("One.")
    async with stage(model=model) as on:
        session = await on.session()
        await session.ask("one")
        (old,) = model.sinks
        seen: list[str] = []

        async def second(sink: Sink) -> ModelResponse:
            sink.text("Tw")
            old.text("STALE")
            old.restart()
            old.text("STALE")
            sink.text("o.")
            turn = on.host.live(session.id).turn  # type: ignore[union-attr, attr-defined]
            seen.append(turn.stream.live.text)
            return ModelResponse("Two.")

        model.sinks.clear()
        model.first = second
        assert (await session.ask("two")).text == "Two."
    assert seen == ["Two."]


@pytest.mark.parametrize("piece", [None, 5, b"x"])
async def test_words_that_are_no_text_fail_the_call(piece: Any) -> None:
    """R221: told to the port that says them."""
    assert "TypeError" in await fails_and_goes_on(Odd(lambda sink: sink.text(piece)))


async def test_words_without_end_fail_the_call() -> None:
    """R128: a stream is bounded as the whole answer is."""

    def endless(sink: Sink) -> None:
        while True:
            sink.text(Words("x" * 1_000))

    async with stage(model=Odd(endless), limits=Limits(response_bytes_max=5_000)) as on:
        outcome = await (await on.session()).ask("one")
    assert (outcome.end, "5,000" in outcome.reason) == ("failed", True)
