"""What is asked for a summary, and what is taken of the answers."""

from greenroom.actors.models.scripted import Scripted
from tests.actors.compacted import SMALL, SPENT, check_all, compactions, summaries, talked, text
from tests.actors.world import Stage, sent


async def test_the_next_piece_fits_beside_a_summary(stage: Stage) -> None:
    """R210, R109: one that leaves no room for it is asked for again."""
    stage.other = Scripted([], name="other", capabilities=SMALL, usage=SPENT)
    async with stage.session() as session:
        await talked(stage, session, 8, size=2_000)
        await session.set_model("other")
        stage.other._steps.extend([text("long", 12_000), "One.", "Two.", "Fine."])
        assert (await session.ask("And now?")).text == "Fine."
        (landed,) = compactions(stage, session)
        assert [one.summary for one in landed.calls] == ["", "One.", "Two."]
        assert len({one.request for one in landed.calls}) == 2
        assert landed.calls[0].until == landed.calls[1].until < landed.calls[2].until
        assert landed.usage == SPENT + SPENT + SPENT
        assert "One." in sent(summaries(stage.other)[-1])[0][1]
        await check_all(stage, session)
