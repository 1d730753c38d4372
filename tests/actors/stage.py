"""A host on a stage: a small workspace, a scripted model, and looks at what it was sent."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import attrs
import msgspec
import trio

from greenroom.actors import Host, Session, Workspace, open_host
from greenroom.actors.models.scripted import Scripted
from greenroom.actors.world import World, simulated
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.event import Event, TextDelta, ToolProgress, TurnEnded
from greenroom.protocol.identity import SessionId
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.skill import SkillPackage, SkillSummary
from greenroom.store import MemoryStore, Store, Stored, open_memory

SUPPORT = AgentDeclaration(name="support", prompt="You help customers.", model="m")


def agent(**fields: Any) -> AgentDeclaration:
    """The agent ``support``, with something about it changed."""
    return msgspec.structs.replace(SUPPORT, **fields)


def workspace(**fields: Any) -> Workspace:
    """A workspace with the agent ``support``, unless it has others."""
    return Workspace.build(**{"agents": [SUPPORT], **fields})


def package(
    slug: str, body: str = "Be kind.", files: dict[str, bytes] | None = None
) -> SkillPackage:
    """A skill of one main file, and more if there are more."""
    summary = SkillSummary(f"skills/{slug}", slug, slug.title(), f"Does {slug}.", f"skills/{slug}")
    return SkillPackage(summary, body, {"SKILL.md": body.encode(), **(files or {})})


@attrs.frozen
class Stage:
    """A host and what stands behind it."""

    host: Host
    model: Any
    store: Any

    async def session(self, key: str = "ann", **told: Any) -> Session:
        """Open or create a session of the agent ``support``."""
        return await self.host.session(key, **{"agent": "support", **told})

    def stored(self, session: Session) -> Stored:
        """The session as it stands in the store."""
        stored = self.store.look(session.id)
        assert isinstance(stored, Stored)
        return stored


@asynccontextmanager
async def stage(
    *steps: Any,
    store: Store | None = None,
    model: Any = None,
    models: dict[str, Any] | None = None,
    agents: Iterable[AgentDeclaration] = (SUPPORT,),
    skills: Iterable[SkillPackage] = (),
    work: Workspace | None = None,
    world: World | None = None,
    **told: Any,
) -> AsyncIterator[Stage]:
    """Open a host over ``store``, or over a memory store of its own."""
    async with AsyncExitStack() as stack:
        kept = await stack.enter_async_context(open_memory()) if store is None else store
        plays = model if model is not None else Scripted(list(steps))
        host = await stack.enter_async_context(
            open_host(
                kept,
                workspace=work or workspace(agents=agents, skills=skills),
                models=models or {"m": plays},
                world=world or simulated(0),
                **told,
            )
        )
        yield Stage(host, plays, kept)


def messages(request: ModelRequest) -> list[dict[str, Any]]:
    """The messages of a request, read back from the bytes that were handed over."""
    found: list[dict[str, Any]] = msgspec.json.decode(request.messages.joined())
    return found


async def until_ended(session: Session, turns: int = 1) -> list[Event | TextDelta | ToolProgress]:
    """Everything a session tells, up to the end of so many turns."""
    told: list[Event | TextDelta | ToolProgress] = []
    async for event in session.events():
        told.append(event)
        turns -= isinstance(event, TurnEnded)
        if not turns:
            break
    return told


async def all_of(number: int, work: Callable[[int], Any]) -> list[Any]:
    """What so many tasks at once return, by their numbers."""
    found: dict[int, Any] = {}

    async def one(place: int) -> None:
        found[place] = await work(place)

    async with trio.open_nursery() as nursery:
        for place in range(number):
            nursery.start_soon(one, place)
    return [found[place] for place in range(number)]


def claims(store: MemoryStore, key: str = "ann") -> int:
    """How often a session was claimed: its epoch."""
    stored = store.look(SessionId("default", key))
    assert isinstance(stored, Stored)
    return stored.epoch
