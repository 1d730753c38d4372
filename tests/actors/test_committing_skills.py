"""Laws of whose gates count: those of every skill that a turn shows, and of no other."""

from collections.abc import Callable
from typing import Any

import pytest

from greenroom.actors import Session
from greenroom.actors.models.scripted import call
from greenroom.store import open_memory
from tests.actors.policy import FULL, fates, last_result, tools
from tests.actors.stage import Stage, agent, package, stage, workspace


def gated(slug: str, tool_: str = "pay") -> Any:
    """A skill whose gate refuses a tool."""
    told = f"gates: [{{tool: {tool_}, decision: refuse, reason: The skill says no.}}]"
    return package(slug, f"Do {slug}.", {"gates.yaml": told.encode()})


async def says(session: Session, words: str, **told: Any) -> None:
    await session.ask(words, **told)


async def bound_now(on: Stage, session: Session) -> None:
    await session.ask("Hi.")  # its prompt is kept, without the skill
    work = workspace(agents=[agent(skills=("refunds",))], skills=[gated("refunds")])
    on.host.services.workspace = work


async def pinned_before(on: Stage, session: Session) -> None:
    await session.ask("Hi.", skills=["refunds"])


async def loaded_before(on: Stage, session: Session) -> None:
    on.model._steps[:1] = [call("load_skill", name="refunds"), "Hi."]
    await session.ask("Load it.")


async def read_before(on: Stage, session: Session) -> None:
    on.model._steps[:1] = [call("read_object", path="skills/refunds/SKILL.md"), "Hi."]
    await session.ask("Read it.")


@pytest.mark.parametrize("how", [bound_now, pinned_before, loaded_before, read_before])
async def test_the_gates_of_a_skill_count(how: Callable[..., Any]) -> None:
    """R155: of one that is bound now, pinned or loaded; of no other."""
    done: list[str] = []
    async with stage(
        "Hi.", call("pay"), "Done.", tools=tools(done), skills=[gated("refunds")]
    ) as on:
        session = await on.session(preset=FULL)
        await how(on, session)
        await session.ask("Pay.")
        assert done == []
        assert "a gate of the skill skills/refunds refuses" in await last_result(session)
        again = await on.session("ben", preset=FULL)
        on.model._steps += [call("pay"), "Done."]
        await again.ask("Pay.")
        assert done == (["pay 1"] if how is not bound_now else [])


async def test_the_gates_of_a_skill_count_for_the_message_that_picks_it() -> None:
    """R155: its body is in what is sent."""
    done: list[str] = []
    async with stage(call("pay"), "No.", tools=tools(done), skills=[gated("refunds")]) as on:
        session = await on.session(preset=FULL)
        await session.ask("Pay.", skills=["refunds"])
        assert done == []


async def test_the_gates_of_a_kept_skill_count_as_long_as_the_prompt_has_it() -> None:
    """R155: also when its agent is not given it any more; and those that it has now."""
    done: list[str] = []
    bound = [agent(skills=("refunds",))]
    async with open_memory() as store:
        work = workspace(agents=bound, skills=[gated("refunds")])
        async with stage("Hi.", store=store, tools=tools(done), work=work) as on:
            await (await on.session(preset=FULL)).ask("Hi.")
        work = workspace(skills=[gated("refunds", "fetch")])
        steps = [(call("pay"), call("fetch", url="a")), "No."]
        async with stage(*steps, store=store, tools=tools(done), work=work) as on:
            session = await on.session()
            await session.ask("Pay and fetch.")
            assert done == ["pay 1"]
            assert await fates(session) == [("pay", "done"), ("fetch", "refused")]


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_skill_that_goes_loosens_nothing(*, restarted: bool) -> None:
    """R155: there is nothing newer to read, so the gates of the last turn stay, also over a restart
    and for as many turns as the skill is shown."""
    done: list[str] = []
    async with open_memory() as store:
        steps = ["Hi.", call("pay"), "No.", call("pay"), "No."]
        async with stage(*steps, store=store, tools=tools(done), skills=[gated("refunds")]) as on:
            session = await on.session(preset=FULL)
            await session.ask("Hi.", skills=["refunds"])
            on.host.services.workspace = workspace()
            if not restarted:
                await session.ask("Pay.")
                await session.ask("Pay.")
        if restarted:
            async with stage(*steps[1:], store=store, tools=tools(done)) as on:
                session = await on.session()
                await session.ask("Pay.")
                await session.ask("Pay.")
                assert done == []
        assert done == []
        async with stage(store=store) as on:
            session = await on.session()
            assert (await fates(session)) == [("pay", "refused")] * 2
            first, *others = [turn.gates async for turn in session.turns()]
            assert others == [first, first]
