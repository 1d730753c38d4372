"""Conversations that are long enough to be compacted, and what was stored and sent of them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from greenroom.actors import Policy, Session
from greenroom.actors.models.port import Capabilities, SessionInfo
from greenroom.actors.models.scripted import Scripted
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.record import AnyRecord, Compacted
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.turn import TurnRecord
from greenroom.protocol.usage import Usage
from tests.actors.world import Stage, check_conversation, check_requests, is_for_summary

SMALL = Capabilities(context_tokens=10_000, images=True)
"""A window that is full after about six long turns."""
LATE = Policy(compact_at=1)
"""Only what does not fit is compacted for."""
LONG = 1_500
"""Characters of a message of such a conversation."""
FRAMED = b'{"role":"user","content":"[platform note] The part of this conversation'
"""How a summary begins in what is sent."""
SPENT = Usage(input=7, output=2)
"""What one call uses, where it is counted."""


def text(what: str, size: int = LONG) -> str:
    """A long text that says what it is."""
    return f"{what} " + "x" * size


async def talked(stage: Stage, session: Session, turns: int, size: int = LONG) -> None:
    """So many turns, of a long question and a long answer each."""
    for n in range(turns):
        stage.plays(text(f"answer {n}", size))
        assert (await session.ask(text(f"question {n}", size))).end == "done"


@asynccontextmanager
async def long(stage: Stage, turns: int = 4, **options: Any) -> AsyncIterator[Session]:
    """A session with a conversation of so many long turns."""
    async with stage.session(**options) as session:
        await talked(stage, session, turns)
        yield session


def records(stage: Stage, session: Session) -> list[AnyRecord]:
    """All that is stored of a session."""
    entries = stage.store.read(session.id)
    return [record for entry in entries for record in decode_records(entry.records)]


def compactions(stage: Stage, session: Session) -> list[Compacted]:
    """Those that are stored."""
    return [r for r in records(stage, session) if isinstance(r, Compacted)]


def begins_with_summary(request: ModelRequest) -> bool:
    """Whether a summary stands in front of what is sent."""
    return request.messages[0].startswith(FRAMED)


def summaries(model: Scripted) -> list[ModelRequest]:
    """The requests for a summary that a model was given."""
    return [request for request in model.requests if is_for_summary(request)]


def narrow(stage: Stage) -> None:
    """A model with such a window."""
    stage.model = Scripted([], capabilities=SMALL)


async def last_turn(session: Session) -> TurnRecord:
    """The record of the newest turn."""
    return [turn async for turn in session.turns()][-1]


def usage_of_calls(turn: TurnRecord) -> Usage:
    """What the calls in a turn's record used, which has to be what the turn used."""
    return sum([made.usage for made in turn.model_calls], Usage())


async def used(session: Session) -> Usage:
    """What all calls of the session used."""
    return (await session._host.sessions().all())[0].usage


def answering(
    summary: Callable[[], Any], other: Callable[[], Any]
) -> Callable[[ModelRequest, SessionInfo], Any]:
    """A step that tells a request for a summary from one of a turn."""

    def step(request: ModelRequest, _: SessionInfo) -> Any:
        return summary() if is_for_summary(request) else other()

    return step


async def check_all(stage: Stage, session: Session) -> None:
    """Everything that was sent is rebuilt to the byte, and the conversation is whole."""
    await check_conversation(session)
    for model in (stage.model, stage.other):
        await check_requests(session, model.requests)
