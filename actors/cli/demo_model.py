"""The demo's model: it answers from a seed, calls tools, and takes a model's time for it.

What it answers depends on nothing but the seed, the session, the turn and how long the conversation
is, so the same demo does about the same again: where a steer meets its turn is the machine's.
"""

from collections.abc import Iterable
from typing import Final

import attrs
import trio

from greenroom.actors import (
    Capabilities,
    ModelResponse,
    RequestedCall,
    SessionInfo,
    Sink,
)
from greenroom.actors.cli.seeds import seeded
from greenroom.actors.models.scripted import call, pieces_of, round_of
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage

ROUNDS_OF_TURNS: Final = (0, 1, 1, 2, 3)
"""Rounds of tools in a turn: one of these."""
BYTES_PER_TOKEN: Final = 4

CALLS: Final = (
    call("get_current_time"),
    call("read_file", path="orders/2026-03.csv", length=2_000),
    call("read_file", path="orders/README.md"),
    call("read_file", path="tools.csv"),
    call("list_files", path="orders"),
    call("load_skill", name="plain-answers"),
    call("load_skill", name="delivery-problems"),
    call("write_file", path="notes/today.md", content="Order HW-1042: the parcel is searched for."),
)
SENTENCES: Final = (
    "The order left us on Monday and the carrier has had it since.",
    "Two rows of the file belong to it, and both say the same day.",
    "The price in the table is the one that was paid.",
    "A search with the carrier takes six working days.",
    "Nothing else is open for this customer.",
    "The pruning shears are in stock again from Thursday.",
    "I do not know that; the file ends before that day.",
    "The money goes back the way it came, within a week.",
)


@attrs.frozen
class Pace:
    """How long a model takes, in seconds."""

    first: tuple[float, float] = (0.1, 0.3)
    """Until the first piece, between these two."""
    piece: float = 0.02
    """Between two pieces."""
    pieces: int = 6


@attrs.define(eq=False)
class DemoModel:
    """Implements the model port without a model."""

    seed: int = 0
    pace: Pace = attrs.field(factory=Pace)
    name: str = "scripted"
    capabilities: Capabilities = attrs.field(factory=Capabilities)

    async def respond(
        self, request: ModelRequest, session: SessionInfo, sink: Sink, /
    ) -> ModelResponse:
        """Answer as the seed says, a piece at a time."""
        where = (self.seed, session.id, session.turn)
        whole_turn = seeded(*where).random
        now = seeded(*where, len(request.messages)).random
        await trio.sleep(now.uniform(*self.pace.first))
        # Outside of a turn a summary is asked for: no tool is called for that.
        rounds = whole_turn.choice(ROUNDS_OF_TURNS) if session.turn else 0
        behind = round_of(request.messages, max(ROUNDS_OF_TURNS))
        calls = _calls(request, now.sample(CALLS, now.choice((1, 1, 2)))) if behind < rounds else ()
        text = "" if calls else " ".join(now.sample(SENTENCES, now.randint(2, 5)))
        for piece in pieces_of(text, self.pace.pieces):
            sink.text(piece)
            await trio.sleep(self.pace.piece)
        usage = Usage(input=_tokens(request), output=len(text) // BYTES_PER_TOKEN)
        return ModelResponse(text, calls, usage=usage, finish="calls" if calls else "stop")


def _calls(request: ModelRequest, wanted: Iterable[RequestedCall]) -> tuple[RequestedCall, ...]:
    """Those of tools that the agent has."""
    return tuple(each for each in wanted if b'"name":"%b"' % each.name.encode() in request.tools)


def _tokens(request: ModelRequest) -> int:
    size = len(request.system) + len(request.tools) + sum(map(len, request.messages))
    return size // BYTES_PER_TOKEN
