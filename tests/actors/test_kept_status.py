"""Laws of the status of a kept prompt: current, or behind of what moved (R67)."""

from greenroom.protocol.movement import Moved
from tests.actors.stage import agent, package, stage, workspace


async def test_a_prompt_is_current_until_something_moves() -> None:
    """R67: it names what came, what went, and what stands at another version."""
    bound = [agent(skills=("plan", "check"))]
    async with stage("A", "B", agents=bound, skills=[package("plan"), package("check")]) as on:
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


async def test_a_passive_session_is_asked_without_being_woken() -> None:
    """R67, R219: reading wakes nothing."""
    async with stage("A") as on:
        session = await on.session()
        await session.ask("Hi")
        actor = on.host.live(session.id)
        assert actor is not None
        on.host.passivate(actor)
        assert (await session.kept_prompt_status()).is_current
        assert on.host.live(session.id) is None


def _names(moved: tuple[Moved, ...]) -> list[tuple[str, str]]:
    return [(one.what, one.id) for one in moved]
