"""Models and deps of others that do what no port promises: a turn fails, never a host (R168)."""

from typing import Any

import pytest
import trio

from greenroom.actors import tool
from greenroom.actors.models.port import (
    ModelResponse,
    RequestedCall,
    SessionInfo,
    Sink,
)
from greenroom.actors.models.scripted import call
from greenroom.actors.said import SAID_MAX
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import OpaquePart
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage
from tests.actors.misbehaving import (
    ERRORS,
    FULL,
    Odd,
    cancelled,
    fails_on_the_way_out,
    raises,
    returns,
    states,
)
from tests.actors.stage import stage
from tests.actors.test_said import Words


def usage(first: Any, *others: Any, cost: Any = None) -> ModelResponse:
    counts = dict(zip(("cache_read", "cache_write", "output", "reasoning"), others, strict=False))
    return ModelResponse("t", usage=Usage(first, **counts, cost=cost))


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
    usage(True),
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


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_whatever_a_model_raises_fails_its_turn(error: BaseException) -> None:
    """R179, R168: the host, its other sessions and the next turn know nothing of it."""
    assert await fails_and_goes_on(raises(error))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_whatever_deps_raise_fails_the_turn(error: BaseException) -> None:
    """R220, R168: the host's own code ends its turn, and the session goes on."""

    def deps(_: SessionInfo) -> None:
        raise error

    async with stage(call("list_skills"), "Done.", deps=deps) as on:
        session = await on.session()
        outcome = await session.ask("go")
        assert (outcome.end, outcome.reason.startswith("The host's deps failed")) == (
            "failed",
            True,
        )
        assert (await session.ask("on")).end == "done"


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


async def test_deps_that_fail_while_the_turn_is_cancelled_do_not_matter() -> None:
    """R180: the turn ends as it was told to."""
    begun = trio.Event()

    async def deps(_: SessionInfo) -> None:
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("cleaning up failed")

    async with stage(call("list_skills"), "Done.", deps=deps) as on:
        assert await cancelled(await on.session(), begun) == "cancelled"


async def test_a_sink_that_was_left_behind_says_nothing() -> None:
    """R221: no word of it reaches who reads the next answer of its turn."""
    seen: list[tuple[str, int]] = []

    async def both(sink: Sink) -> ModelResponse:
        sink.text("One.")
        return ModelResponse("One.", (RequestedCall("i", "list_skills", "{}"),))

    class Leaky(Odd):
        async def respond(
            self, request: ModelRequest, session: SessionInfo, sink: Sink, /
        ) -> ModelResponse:
            if not self.sinks:
                return await super().respond(request, session, sink)
            (old,) = self.sinks
            sink.text("Tw")
            old.restart()
            old.text("STALE")
            sink.text("o.")
            actor: Any = on.host.live(session.id)
            live = actor.turn.stream.live
            seen.append((live.text, live.block))
            return ModelResponse("Two.")

    async with stage(model=Leaky(both)) as on:
        assert (await (await on.session()).ask("one")).text == "Two."
    assert seen == [("Two.", 1)]


@pytest.mark.parametrize("piece", [None, 5, b"x"])
async def test_words_that_are_no_text_fail_the_call(piece: Any) -> None:
    """R221: told to the port that says them."""
    assert "TypeError" in await fails_and_goes_on(Odd(lambda sink: sink.text(piece)))


async def test_what_is_kept_of_a_failure_is_bounded() -> None:
    """R128: also where the port says it in a failure of ours."""
    assert len(await fails_and_goes_on(raises(ModelFailed("x" * 100_000)))) == SAID_MAX


async def test_words_without_end_fail_the_call() -> None:
    """R128: a stream is bounded as the whole answer is."""

    def endless(sink: Sink) -> None:
        while True:
            sink.text(Words("x" * 1_000))

    async with stage(model=Odd(endless), limits=Limits(response_bytes_max=5_000)) as on:
        outcome = await (await on.session()).ask("one")
    assert (outcome.end, "5,000" in outcome.reason) == ("failed", True)
