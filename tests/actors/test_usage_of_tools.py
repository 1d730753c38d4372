"""What a load by usage goes by: the tools on demand that the turns of an agent called (R145)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from greenroom.actors import Host, Scope, Tool, Workspace, tool, usage_of_tools
from greenroom.actors.models.scripted import call
from greenroom.actors.usage_of_tools import most_called
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.identity import DEFAULT_TENANT
from tests.actors.world import FULL, Stage


def named(name: str) -> Tool[Any]:
    @tool(effect="read", name=name)
    async def told() -> str:
        """Tell."""
        return name

    return told


@asynccontextmanager
async def hosting(stage: Stage) -> AsyncIterator[Host]:
    names = ("ask", "bid", "cut")
    agents = [
        AgentDeclaration(name=agent, prompt="You help.", tools_on_demand=names)
        for agent in ("one", "two")
    ]
    tools = [*map(named, names), *stage.tools()]
    async with stage.host(workspace=Workspace.build(agents=agents), tools=tools) as host:
        yield host


async def calling(stage: Stage, host: Scope, key: str, agent: str, *names: str) -> None:
    """One turn that calls these tools, and one that is always there."""
    stage.plays((call("look"), *(call("use_tool", name=name, arguments={}) for name in names)), "A")
    session = await host.session(key, agent=agent, preset=FULL)
    assert (await session.ask("Hi")).end == "done"


async def test_the_most_called_stand_first(stage: Stage) -> None:
    """R145: over all turns of the agent, equal ones by name; no other agent's, no other tool."""
    async with hosting(stage) as host:
        assert await most_called(host.services, DEFAULT_TENANT, "one") == ()
        await calling(stage, host, "a", "one", "cut", "bid")
        await calling(stage, host, "b", "one", "bid", "ask")
        await calling(stage, host, "c", "two", "cut", "cut", "cut")
        await host.reload()
        assert await most_called(host.services, DEFAULT_TENANT, "one") == ("bid", "ask", "cut")
        assert await most_called(host.services, DEFAULT_TENANT, "two") == ("cut",)


async def test_what_begins_meanwhile_is_composed_to_the_same(stage: Stage) -> None:
    """R145, R214: it is counted once until the workspace is read anew."""
    async with hosting(stage) as host:
        await calling(stage, host, "a", "one", "cut")
        assert await most_called(host.services, DEFAULT_TENANT, "one") == ("cut",)
        await calling(stage, host, "b", "one", "ask", "ask")
        assert await most_called(host.services, DEFAULT_TENANT, "one") == ("cut",)
        await host.reload()
        assert await most_called(host.services, DEFAULT_TENANT, "one") == ("ask", "cut")


async def test_what_a_tenant_calls_says_nothing_to_another(stage: Stage) -> None:
    """R218, R145: each is told by its own turns what is used most."""
    async with hosting(stage) as host:
        await calling(stage, host, "a", "one", "cut")
        await calling(stage, host.tenant("b"), "a", "one", "ask")
        assert await most_called(host.services, DEFAULT_TENANT, "one") == ("cut",)
        assert await most_called(host.services, "b", "one") == ("ask",)


async def test_the_newest_sessions_are_looked_at(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R145: what is really called now, and not what was called when the agent was new."""
    monkeypatch.setattr(usage_of_tools, "SESSIONS_MAX", 2)
    async with hosting(stage) as host:
        for key, name in (("a", "cut"), ("b", "ask"), ("c", "bid")):
            await calling(stage, host, key, "one", name)
        assert await most_called(host.services, DEFAULT_TENANT, "one") == ("ask", "bid")
