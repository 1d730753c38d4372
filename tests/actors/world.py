"""A small world for the laws of the turn: one agent, a scripted model, tools that leave a trace."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import attrs
import trio
from msgspec import structs

from greenroom.actors import Host, Policy, Session, Tool, Workspace, open_host, tool
from greenroom.actors.models.port import Capabilities
from greenroom.actors.models.scripted import Scripted, Step
from greenroom.actors.skill_source import skill_package
from greenroom.actors.world import simulated
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.compaction import closing
from greenroom.protocol.errors import SaveFailed, SkillUnavailable
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.message import AssistantMessage, Message, ToolMessage, UserMessage
from greenroom.protocol.permission import PRESETS, PresetTable
from greenroom.protocol.rebuild import SentRequest, sent_in
from greenroom.protocol.record import AnyRecord, Compacted
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.skill import SkillPackage
from greenroom.protocol.wording import CURRENT
from greenroom.store import Commit, Enqueue, MemoryStore, Store

AGENT = "support"
FULL = "danger-full-access"
QUIET = PresetTable(tuple([structs.replace(preset, asks=False) for preset in PRESETS]))
"""Presets under which what may not be done is refused, and nobody is asked."""
SEES = Capabilities(images=True)
ASKED = closing((), (), CURRENT)[:80]
"""How the last message of a request for a summary begins."""
SECONDS_MAX = 200.0
"""A test that waits longer than this (in simulated time) waits for ever."""


@attrs.define(eq=False)
class Gate:
    """Where a tool waits until the test lets it go on."""

    reached: trio.Event = attrs.field(factory=trio.Event)
    open: trio.Event = attrs.field(factory=trio.Event)

    async def wait(self) -> None:
        self.reached.set()
        await self.open.wait()


@attrs.define(eq=False)
class Skills:
    """The skills of the workspace: edited, taken away, and counted when they are read."""

    packages: dict[str, SkillPackage] = attrs.field(factory=dict)
    reads: list[str] = attrs.field(factory=list)

    def publish(self, name: str, body: str, **files: str) -> None:
        package = skill_package(name, f"Does {name}.", body, files)
        self.packages[package.summary.id] = package

    def withdraw(self, slug: str) -> None:
        del self.packages[f"skills/{slug}"]

    def instructions(self) -> str:
        return ""

    def package(self, skill: str, /) -> SkillPackage:
        self.reads.append(skill)
        try:
            return self.packages[skill]
        except KeyError:
            raise SkillUnavailable(f"The skill {skill} is gone.", skill=skill) from None


@attrs.define(eq=False)
class Stage:
    """A store, a model and a workspace, over which hosts are opened one after the other."""

    store: Store
    model: Scripted = attrs.field(factory=lambda: Scripted([], capabilities=SEES))
    other: Scripted = attrs.field(factory=lambda: Scripted([], name="other"))
    effects: list[str] = attrs.field(factory=list)
    """What tools did to the world, in order."""
    gate: Gate = attrs.field(factory=Gate)
    skills: Skills = attrs.field(factory=Skills)
    bound: tuple[str, ...] = ()
    presets: PresetTable = PRESETS
    seed: int = 0

    def plays(self, *steps: Step) -> None:
        """What the model answers next."""
        self.model._steps.extend(steps)

    @property
    def memory(self) -> MemoryStore:
        assert isinstance(self.store, MemoryStore)
        return self.store

    def fails(self, where: Callable[[Any], bool] | None = None, **how: Any) -> None:
        """Let the next commit (or operation for which ``where`` holds) fail."""
        self.memory.faults.fail_next(
            SaveFailed("The disk is full."), where=where or is_commit, **how
        )

    def workspace(self) -> Workspace:
        """One agent; what it may pick is whatever is published now."""
        agent = AgentDeclaration(name=AGENT, prompt="You help.", skills=self.bound)
        skills = self.skills.packages.values()
        made = Workspace.build(agents=[agent], skills=skills, presets=self.presets)
        return attrs.evolve(made, source=self.skills)

    @asynccontextmanager
    async def host(self, *, limits: Limits = DEFAULT_LIMITS, **options: Any) -> AsyncIterator[Host]:
        """A host over the store. A test that hangs in it fails."""
        self.seed += 1
        given = {"workspace": self.workspace(), "tools": self.tools(), **options}
        given.setdefault("world", simulated(self.seed))
        with trio.fail_after(SECONDS_MAX):
            async with open_host(
                self.store,
                models={"default": self.model, "other": self.other},
                limits=limits,
                **given,
            ) as host:
                yield host

    @asynccontextmanager
    async def session(self, **options: Any) -> AsyncIterator[Session]:
        """The session that most tests are about, in a host of its own."""
        async with self.host(**options) as host:
            yield await opened(host)

    def tools(self) -> Sequence[Tool[Any]]:
        """Reading and writing, at once and behind the gate."""

        @tool(effect="read")
        async def look(what: str = "it") -> str:
            """Look at something."""
            self.effects.append(f"look {what}")
            return f"saw {what}"

        @tool(effect="write")
        async def pay(cents: int = 1) -> str:
            """Pay somebody."""
            self.effects.append(f"pay {cents}")
            return f"paid {cents}"

        @tool(effect="read")
        async def watch() -> str:
            """Look for as long as the gate is closed."""
            self.effects.append("watch")
            await self.gate.wait()
            return "watched"

        @tool(effect="write")
        async def send() -> str:
            """Send for as long as the gate is closed."""
            self.effects.append("send")
            await self.gate.wait()
            return "sent"

        return (look, pay, watch, send)


async def opened(host: Host, key: str = "ann") -> Session:
    """The session of that key, in which everything is allowed."""
    return await host.session(key, agent=AGENT, preset=FULL)


def is_commit(operation: object) -> bool:
    return isinstance(operation, Commit)


def is_enqueue(operation: object) -> bool:
    return isinstance(operation, Enqueue)


# --- what was sent and said -----------------------------------------------------------------------


def sent(request: ModelRequest) -> list[tuple[str, str]]:
    """The messages of a request as (role, words); calls stand as ``name(arguments)``."""
    return [_told(json.loads(message)) for message in request.messages]


def _told(message: dict[str, Any]) -> tuple[str, str]:
    content = message.get("content", "")
    calls = [
        f"{call['function']['name']}({call['function']['arguments']})"
        for call in message.get("tool_calls", ())
    ]
    words = content if isinstance(content, str) else json.dumps(content)
    return message["role"], " ".join([part for part in (words, *calls) if part])


def said(messages: Sequence[Message]) -> list[str]:
    """A conversation in short: users' and the model's words, and results in brackets."""
    return [f"[{m.content}]" if isinstance(m, ToolMessage) else str(m.content) for m in messages]


async def conversation(session: Session) -> list[str]:
    """What :func:`said` tells of the session as it stands."""
    return said((await session.state()).messages)


async def queue_of(session: Session) -> list[str]:
    """The words that wait, in the transcript's order."""
    return [str(e.message.content) async for e in session.transcript() if e.mark == "queued"]


# --- what holds whatever happens ------------------------------------------------------------------


async def check_conversation(session: Session) -> None:
    """Every call has one result right behind its message, and no message is empty (R175)."""
    messages = list((await session.state()).messages)
    while messages:
        message = messages.pop(0)
        assert not isinstance(message, ToolMessage), "a result without its call"
        if isinstance(message, UserMessage):
            assert message.content
            continue
        assert isinstance(message, AssistantMessage)
        assert message.content or message.tool_calls
        results = [messages.pop(0) for _ in message.tool_calls]
        answered = [each.tool_call_id for each in results if isinstance(each, ToolMessage)]
        # In whichever order: one that waited for an answer comes behind the others.
        assert sorted(answered) == sorted(call.id for call in message.tool_calls)


async def check_requests(session: Session, given: Sequence[ModelRequest]) -> list[SentRequest]:
    """Every dispatched request is rebuilt to the byte, and each begins with the one before.

    Unless the kept prompt was composed anew between them, or a summary came in front.

    ``given`` is what the model port got, in order: each of them is one that was dispatched.
    """
    records = session._reader.committed()
    places = sent_in(records)
    rebuilt = [await session.request(place.turn, round=place.round) for place in places]
    for one in rebuilt:
        assert one.is_exact, f"turn {one.turn} round {one.round} is not rebuilt"
    told = [(_compactions(records[: place.index + 1]), place.composition) for place in places]
    for (earlier, before), (later, behind) in pairwise(zip(rebuilt, told, strict=True)):
        if before == behind:
            sent_before, sent_after = list(earlier.request.messages), list(later.request.messages)
            assert sent_after[: len(sent_before)] == sent_before
    bodies = iter([one.request.canonical() for one in rebuilt])
    for request in given:
        # `in` moves the iterator on: the given ones stand in the rebuilt ones in their order.
        assert is_for_summary(request) or request.canonical() in bodies
    await _check_summaries(session, records, given)
    return rebuilt


async def _check_summaries(
    session: Session, records: Sequence[AnyRecord], given: Sequence[ModelRequest]
) -> None:
    """What was asked for a summary that was taken is rebuilt, and was given so (R196)."""
    asked = {request.canonical() for request in given if is_for_summary(request)}
    made = [record for record in records if isinstance(record, Compacted)]
    for number, record in enumerate(made):
        for call in range(len(record.calls)):
            one = await session.summary_request(number, call=call)
            assert one.is_exact, f"call {call} of compaction {number} is not rebuilt"
            if given and given[0].model == record.model:
                assert one.request.canonical() in asked


def _compactions(records: Sequence[AnyRecord]) -> int:
    return sum(isinstance(record, Compacted) for record in records)


def is_for_summary(request: ModelRequest) -> bool:
    """Whether a summary is asked for."""
    return ASKED in request.messages[-1]


STILL = Policy(revive=False)
"""A reopened host that lets queued sessions be, until somebody asks for them."""
