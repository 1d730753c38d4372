"""Models that do what no port promises, and what anybody may raise."""

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import trio

from greenroom.actors import Session
from greenroom.actors.models.port import (
    Capabilities,
    ModelResponse,
    SessionInfo,
    Sink,
)
from greenroom.protocol.errors import ModelFailed, ToolFailed
from greenroom.protocol.request import ModelRequest
from tests.actors.test_said import Bare, Mute, Words

FULL = "danger-full-access"
Answers = Callable[[Sink], Any]


@attrs.define(eq=False)
class Odd:
    """A model that first does what it is told to do, and then answers as it should."""

    first: Answers
    name: str = "odd"
    capabilities: Capabilities = attrs.field(factory=Capabilities)
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
    """A model whose first answer is that."""
    return Odd(lambda _: value)


def raises(error: BaseException) -> Odd:
    """A model whose first call ends by that."""

    def first(_: Sink) -> None:
        raise error

    return Odd(first)


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


async def states(session: Session) -> list[str]:
    """How the calls of its one turn ended."""
    (turn,) = await session.turns().all()
    return [each.state for each in turn.calls]


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


async def cancelled(session: Session, begun: trio.Event) -> str:
    """How a turn ends that is cancelled when something of it runs."""
    receipt = await session.prompt("go")
    await begun.wait()
    await session.cancel()
    return (await session.outcome(receipt)).end
