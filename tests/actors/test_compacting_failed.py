"""A compaction that comes to nothing, or is not on disk yet: what stood stands."""

from typing import Any

import pytest
import trio

from greenroom.actors.models.port import ModelResponse
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.errors import (
    GreenroomError,
    ModelFailed,
    OverBudget,
    PendingSave,
    SaveFailed,
)
from greenroom.protocol.usage import Usage
from tests.actors.compacted import (
    SPENT,
    begins_with_summary,
    check_all,
    compactions,
    long,
    records,
    summaries,
    text,
    used,
)
from tests.actors.world import Stage


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ModelFailed("No."), ModelFailed),
        ("", ModelFailed),
        (("Let me look.", call("look")), ModelFailed),
        (ModelResponse("Hm", finish="filter"), ModelFailed),
        (text("longer", 20_000), OverBudget),
    ],
)
async def test_what_is_no_summary_changes_nothing(
    stage: Stage, answer: Any, error: type[GreenroomError]
) -> None:
    """R110, R109, P091, R190: asked for twice; then prompt and history stand as they stood."""
    async with long(stage) as session:
        stage.skills.publish("refunds", "New.")
        before, actor = records(stage, session), session._host.services.actors[session.id]
        kept, messages = actor.kept, list(actor.conversation.messages())
        stage.model.usage = SPENT
        stage.plays(answer, answer)
        with pytest.raises(error) as raised:
            await session.compact()
        assert (
            "context" in str(raised.value)
            or "conversation is as it was" in str(raised.value)
            or ("Try again" in str(raised.value))
        )
        assert len(summaries(stage.model)) == 2
        assert records(stage, session) == before
        assert actor.kept is kept
        assert list(actor.conversation.messages()) == messages
        answered = not isinstance(answer, Exception | ModelResponse)
        spent = SPENT + SPENT if answered else Usage()
        assert await used(session) == spent
        stage.plays("A summary.")
        assert (await session.compact()).status == "compacted"
    async with stage.session() as session:
        assert await used(session) == spent + SPENT
        await check_all(stage, session)


async def test_a_second_try_may_serve(stage: Stage) -> None:
    """R109, R190, R196: both calls are recorded, under one digest."""
    async with long(stage) as session:
        stage.model.usage = SPENT
        stage.plays(text("longer", 20_000), "A summary.")
        done = await session.compact()
        assert done.usage == SPENT + SPENT
        (landed,) = compactions(stage, session)
        first, second = landed.calls
        assert (first.summary, second.summary) == ("", "A summary.")
        assert first.request == second.request
        await check_all(stage, session)


async def test_cancelled_before_its_save_it_never_was(stage: Stage) -> None:
    """R110, R212: what arrived meanwhile goes on under the old prompt, and nothing is stored."""
    stalled = Stalled(trio.Event(), "Never.")
    async with long(stage) as session:
        before = records(stage, session)
        stage.plays(stalled, "Fine.")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.compact)
            await stalled.reached.wait()
            assert records(stage, session) == before
            receipt = await session.prompt("And now?")
            nursery.cancel_scope.cancel()
        assert (await session.outcome(receipt)).text == "Fine."
        assert compactions(stage, session) == []
        assert not begins_with_summary(stage.model.requests[-1])
        await check_all(stage, session)


@pytest.mark.parametrize("how", ["fails", "unknown", "written"])
async def test_one_that_cannot_be_saved_is_a_pending_save(stage: Stage, how: str) -> None:
    """R110, R84, R86: it is kept, flush writes it, and no model is asked again."""
    async with long(stage) as session:
        stage.plays("A summary.", "Fine.")
        stage.fails(unknown=how != "fails", applied=how == "written")
        if how == "written":
            assert (await session.compact()).status == "compacted"
        else:
            with pytest.raises(SaveFailed, match="not on disk yet"):
                await session.compact()
            assert (await session.state()).has_pending_save
            assert compactions(stage, session) == []
            assert [e.origin async for e in session.transcript()][-1] == "compaction"
            with pytest.raises(PendingSave):
                await session.compact()
            with pytest.raises(PendingSave):
                await session.recompose()
            await session.prompt("And now?")
            assert len(stage.model.requests) == 5
            await session.flush()
        assert len(compactions(stage, session)) == 1
        outcome = await session.ask("And now?", when="queue")
        assert outcome.end in ("done", "failed")
        assert begins_with_summary(stage.model.requests[5])
        await check_all(stage, session)
    async with stage.session() as session:
        await check_all(stage, session)
