"""Models that answer from a script: for tests, demonstrations and measurements.

:class:`Scripted` plays its steps once, one for each request, and keeps what it was asked.
:class:`Looping` plays the same script in every turn of any number of sessions and keeps nothing:
which round it is at is read off the request, so it costs a few microseconds a call.
"""

from collections.abc import Callable
from typing import TypeAlias

import attrs
import msgspec
import trio

from greenroom.actors.models.port import (
    Capabilities,
    ModelResponse,
    RequestedCall,
    SessionInfo,
    Sink,
)
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.request import Messages, ModelRequest
from greenroom.protocol.usage import Usage

Answer: TypeAlias = str | RequestedCall | ModelResponse | tuple[str | RequestedCall, ...]
"""What is answered whole: text, a call, both, or a response with whatever stands in it."""


@attrs.frozen
class Streamed:
    """An answer whose text comes in so many pieces of about one size."""

    answer: Answer
    pieces: int = 3


@attrs.frozen
class Stalled:
    """A step that begins when ``until`` is set; ``reached`` is set as soon as it is waited for."""

    until: trio.Event
    then: "Step"
    reached: trio.Event = attrs.field(factory=trio.Event)


@attrs.frozen
class CutOff:
    """Text that is streamed and then lost: the call fails, or is made again (P024)."""

    text: str
    then: "Step"
    """An error is raised; any other step is played as the next try of the same request."""


Step: TypeAlias = (
    Answer
    | Streamed
    | Stalled
    | CutOff
    | Exception
    | Callable[[ModelRequest, SessionInfo], "Answer | Streamed | Stalled | CutOff | Exception"]
)
"""One answer of a script; a callable makes it from what is asked."""


def call(name: str, /, **arguments: object) -> RequestedCall:
    """A call as a model would write it. For odd ids or arguments make a ``RequestedCall``."""
    return RequestedCall(f"call_{name}", name, msgspec.json.encode(arguments).decode())


def scripted(*steps: Step) -> "Scripted":
    """A model that plays these steps, one for each request, in order."""
    return Scripted(list(steps))


@attrs.define(eq=False)
class Scripted:
    """Plays each step once, for whichever session asks next, and keeps the requests it got."""

    _steps: list[Step]
    name: str = "scripted"
    capabilities: Capabilities = attrs.field(factory=Capabilities)
    usage: Usage = attrs.field(factory=Usage)
    """What each answer costs that does not say it itself."""
    requests: list[ModelRequest] = attrs.field(factory=list, init=False)
    sessions: list[SessionInfo] = attrs.field(factory=list, init=False)
    """Whom each of the requests was for."""

    @property
    def leftover(self) -> int:
        """How many steps nobody has asked for yet."""
        return len(self._steps) - min(len(self.requests), len(self._steps))

    def check_done(self) -> None:
        """Raise ``AssertionError`` unless every step was played."""
        if self.leftover:
            raise AssertionError(
                f"{self.leftover} of the {len(self._steps)} steps of the script were not asked for."
            )

    async def respond(
        self, request: ModelRequest, session: SessionInfo, sink: Sink, /
    ) -> ModelResponse:
        """Play the next step.

        Raises:
            ModelFailed: the script is at its end.
            Exception: the step is that error.
        """
        self.requests.append(request)
        self.sessions.append(session)
        await trio.lowlevel.checkpoint()
        number = len(self.requests)
        if number > len(self._steps):
            raise ModelFailed(
                f"The script has {len(self._steps)} steps and this is request {number}."
            )
        return await self._play(self._steps[number - 1], request, session, sink)

    async def _play(
        self, step: Step, request: ModelRequest, session: SessionInfo, sink: Sink
    ) -> ModelResponse:
        while True:
            match step:
                case Exception():
                    raise step
                case Stalled(until, then, reached):
                    reached.set()
                    await until.wait()
                    step = then
                case CutOff(text, then):
                    sink.text(text)
                    if not isinstance(then, Exception):
                        sink.restart()
                    step = then
                case Streamed(answer, pieces):
                    return _stream(response_of(answer, self.usage), pieces, sink)
                case str() | tuple() | RequestedCall() | ModelResponse():
                    return _stream(response_of(step, self.usage), 1, sink)
                case _:
                    step = step(request, session)


@attrs.define(eq=False)
class Looping:
    """Plays the same answers in every turn: the first to a message, the next behind its results.

    Further rounds than the script has get its last answer.
    """

    _script: tuple[Answer | Streamed, ...]
    name: str = "looping"
    capabilities: Capabilities = attrs.field(factory=Capabilities)
    usage: Usage = attrs.field(factory=Usage)
    _rounds: list[tuple[ModelResponse, list[str]]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        if not self._script:
            raise ValueError("A looping model needs an answer.")
        steps = [step if isinstance(step, Streamed) else Streamed(step, 1) for step in self._script]
        responses = [response_of(step.answer, self.usage) for step in steps]
        self._rounds = [
            (response, pieces_of(response.text, step.pieces))
            for response, step in zip(responses, steps, strict=True)
        ]

    async def respond(
        self,
        request: ModelRequest,
        session: SessionInfo,  # noqa: ARG002 - part of the port
        sink: Sink,
        /,
    ) -> ModelResponse:
        """Play the answer of the round that the request's end shows."""
        response, pieces = self._rounds[round_of(request.messages, len(self._rounds) - 1)]
        await trio.lowlevel.checkpoint()
        for piece in pieces:
            sink.text(piece)
        return response


def round_of(messages: Messages, at_most: int) -> int:
    """How often a model answered since the last user message, read off the encoded bytes."""
    rounds = 0
    place = len(messages) - 1
    while place >= 0 and rounds < at_most:
        message = messages[place]
        if message.startswith(b'{"role":"user"'):
            break
        if message.startswith(b'{"role":"assistant"'):
            rounds += 1
        place -= 1
    return rounds


def response_of(answer: Answer, usage: Usage) -> ModelResponse:
    """The whole response that an answer of a script stands for."""
    if isinstance(answer, ModelResponse):
        return answer
    blocks = answer if isinstance(answer, tuple) else (answer,)
    calls = tuple(block for block in blocks if isinstance(block, RequestedCall))
    text = "".join(block for block in blocks if isinstance(block, str))
    return ModelResponse(text, calls, usage=usage, finish="calls" if calls else "stop")


def pieces_of(text: str, number: int) -> list[str]:
    """``text`` in at most ``number`` pieces, none of them empty."""
    size = max(1, -(-len(text) // max(1, number)))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _stream(response: ModelResponse, pieces: int, sink: Sink) -> ModelResponse:
    for piece in pieces_of(response.text, pieces):
        sink.text(piece)
    return response
