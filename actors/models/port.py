"""The model port: what greenroom asks of a model, whatever serves it.

A model gets one :class:`~greenroom.protocol.request.ModelRequest` and answers with one
:class:`ModelResponse`. Text is given to a synchronous ``sink`` as it comes. (An async iterator
would read better and cost a quarter of the turn; a generator that is left half way can also end
the whole host.) What the port promises:

* the request's bytes are sent as they are, or translated by a pure function of them;
* ``respond`` returns a whole response or raises :class:`~greenroom.protocol.errors.ModelFailed`;
  a partial stream is never returned;
* cancelling the scope around it ends the call at once;
* temporary faults are retried inside, with the same bytes (R179); each new attempt calls
  ``sink.restart()`` first if any text was streamed, or may have been paid for;
* a call that failed counts against a quota with its worst case, since nobody knows what was paid
  for it, unless its ``ModelFailed`` says ``begun=False``: no answer was ever begun (R233).
"""

from typing import Literal, Protocol

import msgspec

from greenroom.protocol.identity import SessionId
from greenroom.protocol.message import OpaquePart
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a model can do; the figures are data and belong to the model, not to the host."""

    context_tokens: int = 128_000
    """The window: prompt and answer together."""
    output_tokens: int | None = None
    """The longest answer; None: the host's reserve."""
    tools: bool = True
    images: bool = False
    bytes_per_token: float = 3.0
    """For estimates: low enough that no text in practice has more tokens than that (R100)."""
    image_tokens: int = 1_600
    """The declared cost of an image, whatever its size in bytes (P095)."""


class SessionInfo(msgspec.Struct, frozen=True, gc=False):
    """Whom a call is for. Used for keys, routing and caches; nothing of it is in the request."""

    id: SessionId
    agent: str
    person: str | None
    turn: int = 0


class RequestedCall(msgspec.Struct, frozen=True, gc=False):
    """A call as the provider named it; ids may repeat or be empty (R181)."""

    id: str
    name: str
    arguments: str


class ModelResponse(msgspec.Struct, frozen=True, gc=False):
    """A whole answer."""

    text: str = ""
    calls: tuple[RequestedCall, ...] = ()
    opaque: tuple[OpaquePart, ...] = ()
    """Blocks that only this provider understands; they stand before the text when sent back."""
    usage: Usage = Usage()
    finish: Literal["stop", "calls", "length", "filter"] = "stop"


class Sink(Protocol):
    """Where text goes while it comes."""

    def text(self, piece: str, /) -> None:
        """Take the next piece of the answer's text."""

    def restart(self) -> None:
        """Forget what was streamed: the call is made again."""


class Model(Protocol):
    """Something that answers requests."""

    @property
    def name(self) -> str:
        """What the provider calls it; part of the request and of the composition."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    async def respond(
        self, request: ModelRequest, session: SessionInfo, sink: Sink, /
    ) -> ModelResponse:
        """Answer one request; see the module's docstring for what is promised."""
        ...
