"""What a handle answers where an actor has something that is not on disk, or a source is gone."""

import pytest
from trio.testing import wait_all_tasks_blocked

from greenroom.actors.models.scripted import call
from greenroom.actors.workspace_files import Person
from greenroom.protocol.errors import ModelFailed, SaveFailed, SkillUnavailable, TurnFailed
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.skill import SkillSummary
from tests.actors.stage import agent, package, workspace
from tests.actors.stage import stage as on_stage
from tests.actors.world import FULL, Stage


@pytest.mark.parametrize("fails", [True, False])
async def test_an_outcome_that_is_asked_for_late_tells_what_those_who_waited_were_told(
    stage: Stage, fails: bool
) -> None:
    """R88: a failed turn that could not be saved is both; one that was done is unsaved only."""
    stage.plays(call("watch"), ModelFailed("429") if fails else "One.")
    async with stage.session() as session:
        receipt = await session.prompt("one")
        await stage.gate.reached.wait()
        stage.fails(lambda operation: b'"ended"' in bytes(getattr(operation, "records", b"")))
        stage.gate.open.set()
        await wait_all_tasks_blocked()
        if fails:
            with pytest.raises(ExceptionGroup) as caught:
                await session.outcome(receipt)
            kinds = [type(error) for error in caught.value.exceptions]
            assert kinds == [TurnFailed, SaveFailed]
            assert "429" in str(caught.value.exceptions[0])
        else:
            with pytest.raises(SaveFailed):
                await session.outcome(receipt)
        await session.flush()
        assert (await session.outcome(receipt)).end == ("failed" if fails else "done")


async def test_a_skill_of_the_kept_prompt_is_valid_without_its_source(stage: Stage) -> None:
    """R26, R28: its kept revision is what would be sent; another one has to be readable."""
    for name in ("kept", "other"):
        stage.skills.publish(name, "Body.")
    stage.bound = ("skills/kept",)
    stage.plays("One.", "Two.")
    async with stage.host() as host:
        session = await host.session("ann", agent="support", preset=FULL)
        await session.ask("one")
        stage.skills.withdraw("kept")
        stage.skills.withdraw("other")
        await session.validate_skill_selection(["kept"])
        assert (await session.ask("two", skills=["kept"])).text == "Two."
        with pytest.raises(SkillUnavailable):
            await session.validate_skill_selection(["other"])


async def test_a_picker_is_told_presets_and_the_sessions_skills() -> None:
    """R99: what its agent and its person have, by id, slug, name and description; no other."""
    agents = [agent(skills=("skills/zeta",), available=("skills/plan",))]
    work = workspace(
        agents=agents,
        skills=[package(name) for name in ("plan", "zeta", "own", "strange")],
        persons=[Person(name="ada", skills=("skills/own",))],
    )
    async with on_stage(work=work) as on:
        ada, nobody = await on.session("a", person="ada"), await on.session("b")
        first, *others = await ada.skills().all()
        assert first == SkillSummary("skills/zeta", "zeta", "Zeta", "Does zeta.", "skills/zeta")
        assert [skill.slug for skill in others] == ["own", "plan"]
        assert [skill.slug for skill in await nobody.skills().all()] == ["zeta", "plan"]
        assert on.host.presets() == PRESETS.presets
        assert on.host.tenant("another").presets() == PRESETS.presets
        assert not on.host.services.actors
