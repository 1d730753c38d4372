"""What a handle answers where an actor has something that is not on disk, or a source is gone."""

import pytest
from trio.testing import wait_all_tasks_blocked

from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import ModelFailed, SaveFailed, SkillUnavailable, TurnFailed
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
