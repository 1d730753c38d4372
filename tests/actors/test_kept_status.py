"""Laws of the status of a kept prompt: current, or behind of what moved (R67)."""

import pytest

from greenroom.actors import preparing
from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.movement import Moved
from tests.actors.stage import agent, package, workspace
from tests.actors.stage import stage as staged
from tests.actors.test_opening import RUN, declared, hosting, space
from tests.actors.world import Stage, opened


async def test_a_prompt_is_current_until_something_moves() -> None:
    """R67: it names what came, what went, and what stands at another version."""
    bound = [agent(skills=("plan", "check"))]
    async with staged("A", "B", agents=bound, skills=[package("plan"), package("check")]) as on:
        session = await on.session()
        assert (await session.kept_prompt_status()).composition is None
        assert (await session.kept_prompt_status()).is_current
        await session.ask("Hi")
        status = await session.kept_prompt_status()
        assert (status.is_current, status.composition is not None) == (True, True)
        skills = [package("plan", "Otherwise."), package("sum")]
        agents = [agent(skills=("plan", "sum"))]
        await on.host.reload(workspace(agents=agents, skills=skills))
        status = await session.kept_prompt_status()
        assert not status.is_current
        assert [one.id for one in status.moved.changed] == ["skills/plan"]
        assert _names(status.moved.added) == [("skill", "skills/sum")]
        assert _names(status.moved.removed) == [("skill", "skills/check")]
        # Asking changes nothing: the next turn sends what was kept.
        await session.ask("Again")
        assert len({request.system for request in on.model.requests}) == 1


async def test_a_run_that_came_too_late_is_nothing_to_be_behind_of(stage: Stage) -> None:
    """R67, R113: no composition of the conversation would hold it; one that went would hold."""
    stage.plays("A", "B")
    late = declared(EagerRun, "late", tool="count")
    async with hosting(stage, RUN) as host:
        session = await opened(host)
        await session.ask("Hi")
        await host.reload(space(RUN, late))
        assert (await session.kept_prompt_status()).is_current
        await session.ask("Again")
        assert b"contributor late" not in stage.model.requests[-1].messages.joined()
        assert not await session.recompose()
        await host.reload(space(late))
        assert _names((await session.kept_prompt_status()).moved.removed) == [
            ("contributor", "clock")
        ]
        assert await session.recompose()
        assert (await session.kept_prompt_status()).is_current
        # It was made in this conversation: where it comes back, so does what it brought.
        await host.reload(space(RUN, late))
        assert _names((await session.kept_prompt_status()).moved.added) == [
            ("contributor", "clock")
        ]
        assert await session.recompose()
        assert (await session.kept_prompt_status()).is_current


async def test_a_passive_session_is_asked_without_being_woken() -> None:
    """R67, R219: reading wakes nothing."""
    async with staged("A") as on:
        session = await on.session()
        await session.ask("Hi")
        actor = on.host.live(session.id)
        assert actor is not None
        on.host.passivate(actor)
        assert (await session.kept_prompt_status()).is_current
        assert on.host.live(session.id) is None


async def test_what_would_be_composed_now_is_remembered_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R67: it is composed once for all that would get the same, and for so many at most."""
    monkeypatch.setattr(preparing, "CURRENT_MAX", 2)
    async with staged(*"ABCD") as on:
        current = on.host.services.current
        for number, person in enumerate(("ada", "ada", "ben", "cat")):
            session = await on.session(f"s{number}", person=person)
            await session.ask("Hi")
            assert (await session.kept_prompt_status()).is_current
            assert len(current) == (1, 1, 2, 1)[number]


def _names(moved: tuple[Moved, ...]) -> list[tuple[str, str]]:
    return [(one.what, one.id) for one in moved]
