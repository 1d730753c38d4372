"""Sessions whose turns wait: calls that are put to a person, and such as bring results later."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Host, Later, Session, Tool, ToolContext, tool
from greenroom.actors.models.scripted import Step
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.question import Question
from greenroom.protocol.record import AnyRecord
from greenroom.protocol.turn import TurnRecord
from greenroom.store import Stored
from tests.actors.world import AGENT, Stage

ASKS = "read-only"
"""The preset under which each call that writes is put to a person."""


def laters(stage: Stage, expires: int | None = None) -> Sequence[Tool[Any]]:
    """Tools whose results come later: of a writing one, a reading one, one on a thread."""

    @tool(effect="write")
    async def order(what: str = "tea") -> Later:
        """Order something."""
        stage.effects.append(f"order {what}")
        return Later(f"Has the {what} come?", expires)

    @tool(effect="read")
    async def fetch(what: str = "it") -> Later:
        """Have something fetched."""
        stage.effects.append(f"fetch {what}")
        return Later(expires=expires)

    @tool(effect="write")
    def post(what: str = "it") -> Later:
        """Post something, in a thread."""
        stage.effects.append(f"post {what}")
        return Later(expires=expires)

    @tool(effect="write")
    async def ship(context: ToolContext[Any]) -> Later:
        """Begin to ship, and say only when the gate is open that the result comes later."""
        stage.effects.append(f"ship {context.key}")
        await stage.gate.wait()
        return Later(expires=expires)

    return (order, fetch, post, ship)


@asynccontextmanager
async def hosting(stage: Stage, *steps: Step, **options: Any) -> AsyncIterator[Host]:
    """A host with all these tools."""
    stage.plays(*steps)
    async with stage.host(**{"tools": [*stage.tools(), *laters(stage)], **options}) as host:
        yield host


@asynccontextmanager
async def asking(
    stage: Stage, *steps: Step, preset: str | None = None, **options: Any
) -> AsyncIterator[Session]:
    """The session ``ann``, made under the preset that asks, in a host of its own."""
    async with hosting(stage, *steps, **options) as host:
        yield await host.session("ann", agent=AGENT, preset=preset)


async def parked(session: Session) -> list[Question]:
    """What the session asks, once its turn is parked."""
    while (await session.state()).phase != "parked":
        await trio.lowlevel.checkpoint()
    return await open_of(session)


async def open_of(session: Session) -> list[Question]:
    """The open questions of a session."""
    return [each async for each in session._host.questions() if each.session == session.id]


async def asks(session: Session, text: str = "Hi") -> list[Question]:
    """Send a message, and what its turn asks."""
    await session.prompt(text)
    return await parked(session)


async def let_go(session: Session) -> None:
    """Let the session go from memory, as a host does with one that rests."""
    actor = session._host.live(session.id)
    assert actor is not None
    assert actor.may_rest
    session._host.passivate(actor)
    await wait_all_tasks_blocked()


async def calls_of(session: Session) -> list[tuple[str, str]]:
    """The calls of its last turn and how they ended, in the order in which they did."""
    turn = await last_turn(session)
    return [(made.tool, made.state) for made in turn.calls]


async def last_turn(session: Session) -> TurnRecord:
    return (await session.turns().all())[-1]


def records_of(stage: Stage, session: Session) -> list[AnyRecord]:
    """What is stored of a session."""
    return [r for entry in stage.store.read(session.id) for r in decode_records(entry.records)]


def is_indexed(stage: Stage, session: Session) -> bool:
    """Whether the store finds the session by a question that waits."""
    return session.id in set(stage.store.find("waiting", "answer"))


def epoch_of(stage: Stage, session: Session) -> int:
    """How often the session was claimed."""
    stored = stage.store.look(session.id)
    assert isinstance(stored, Stored)
    return stored.epoch
