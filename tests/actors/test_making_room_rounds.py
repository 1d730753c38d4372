"""Room in the window, made between the rounds of a turn that stays whole."""

from typing import Any

import pytest
import trio

from greenroom.actors import Policy
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.event import TurnEnded
from greenroom.protocol.limits import Limits
from greenroom.protocol.prompt_checkpoint import replay_text
from greenroom.protocol.record import Ended, Returned
from tests.actors.compacted import (
    LATE,
    SPENT,
    answering,
    begins_with_summary,
    check_all,
    compactions,
    last_turn,
    narrow,
    records,
    summaries,
    talked,
    text,
    usage_of_calls,
    used,
)
from tests.actors.world import Stage, sent


async def test_results_that_do_not_fit_are_compacted_for(stage: Stage) -> None:
    """P097, R105, R210, R70, R89: older turns give way; the turn stays whole and goes on."""
    narrow(stage)
    stage.skills.publish("refunds", "Version 1.")
    stage.bound = ("skills/refunds",)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 4)
        stage.skills.publish("refunds", "Version 2.")
        stage.model.usage = SPENT
        stage.plays(call("look", what="x" * 4_500), "A summary.", "Done.")
        outcome = await session.ask("Look at much")
        assert (outcome.end, outcome.text, outcome.messages) == ("done", "Done.", 4)
        assert len(stage.effects) == 1
        (landed,) = compactions(stage, session)
        assert landed.turn == 5
        assert landed.request
        request = stage.model.requests[-1]
        assert begins_with_summary(request)
        assert [role for role, _ in sent(request)][-3:] == ["user", "assistant", "tool"]
        assert "Version 2." in request.system
        checkpoints = await session.get_system_prompt_checkpoints()
        assert landed.checkpoint is not None
        assert checkpoints[-1].order == landed.checkpoint.order
        assert checkpoints[-1].message_count == 11
        assert replay_text(checkpoints) == request.system
        [returned] = [r for r in records(stage, session) if isinstance(r, Returned)]
        assert returned.request == ""
        turn = await last_turn(session)
        assert [made.cause for made in turn.model_calls] == ["turn", "compaction", "turn"]
        assert turn.usage == usage_of_calls(turn) == outcome.usage
        assert [made.request for made in turn.model_calls][-1] == landed.request
        assert await used(session) == turn.usage
        shown = await session.model_input_projection()
        assert shown is not None
        assert len(shown.sources) == len(request.messages)
        assert shown.sources[0].origin == "compaction"
        await check_all(stage, session)
        stage.plays("Fine.")
        await session.ask("And now?")
        assert len(await session.get_system_prompt_checkpoints()) == len(checkpoints)
        await check_all(stage, session)
    async with stage.session() as session:
        stage.plays("Fine.")
        await session.ask("Again")
        assert len(await session.get_system_prompt_checkpoints()) == len(checkpoints)
        await check_all(stage, session)


@pytest.mark.parametrize("answers", [["A summary."], [ModelFailed("No.")] * 2])
async def test_a_window_that_fills_between_rounds(stage: Stage, answers: list[Any]) -> None:
    """R210, R110, R196: compacted for once; and where that fails the committed request goes out."""
    narrow(stage)
    async with stage.session(policy=Policy(compact_at=0.7)) as session:
        await talked(stage, session, 3)
        stage.plays(call("look", what="x" * 2_500), *answers, call("look"), "Done.")
        assert (await session.ask("Look")).text == "Done."
        landed = len(answers) == 1
        assert len(compactions(stage, session)) == landed
        assert len(summaries(stage.model)) == len(answers)
        assert begins_with_summary(stage.model.requests[-1]) == landed
        [first, *_] = [r for r in records(stage, session) if isinstance(r, Returned)]
        assert first.request
        await check_all(stage, session)


@pytest.mark.parametrize("older", [0, 3])
async def test_a_running_turn_too_large_by_itself_ends(stage: Stage, older: int) -> None:
    """R109, R89, P097: it stays whole, so no model is asked; its results are kept, not repeated."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, older)
        looking = answering(lambda: "A summary.", lambda: call("look", what="x" * 2_900))
        stage.plays(*[looking] * 9)
        outcome = await session.ask("Look at much")
        assert outcome.end == "context_full"
        assert "the result of the call" in outcome.reason or "an answer" in outcome.reason
        assert "output reserve" in outcome.reason
        looked = len(stage.effects)
        assert all(landed.turn == older + 1 for landed in compactions(stage, session))
        ended = records(stage, session)[-1]
        assert isinstance(ended, Ended)
        stage.model._steps[:] = stage.model._steps[: len(stage.model.requests)]
        stage.plays(*["A summary."] * 5)
        await session.ask("And now?")
        assert len(stage.effects) == looked
        async for event in session.events():
            if isinstance(event, TurnEnded) and event.turn == older + 1:
                assert event.outcome.end == "context_full"
                break
        await check_all(stage, session)


async def test_attempts_in_vain_are_in_the_turns_record(stage: Stage) -> None:
    """R190, P091: between rounds as well; the turn ends, and all that was paid is counted."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 4)
        stage.model.usage = SPENT
        stage.plays(call("look", what="x" * 4_500), "", "")
        outcome = await session.ask("Look")
        assert outcome.end == "context_full"
        turn = await last_turn(session)
        assert [made.cause for made in turn.model_calls] == ["turn", "compaction", "compaction"]
        assert turn.usage == usage_of_calls(turn) == SPENT + SPENT + SPENT
        assert await used(session) == turn.usage
        await check_all(stage, session)


async def test_what_is_sent_meanwhile_steers_at_the_next_boundary(stage: Stage) -> None:
    """R212, R116: it is in no summary's input, and is handed over behind it."""
    narrow(stage)
    stalled = Stalled(trio.Event(), "A summary.")
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 4)
        stage.plays(call("look", what="x" * 4_500), stalled, call("look"), "Done.")
        first = await session.prompt("Look")
        await stalled.reached.wait()
        steer = await session.prompt("Also this")
        assert steer.status == "steered"
        stalled.until.set()
        assert (await session.outcome(first)).text == "Done."
        assert (await session.outcome(steer)).absorbed
        assert b"Also this" not in summaries(stage.model)[0].messages.joined()
        assert sent(stage.model.requests[-1])[-1] == ("user", "Also this")
        await check_all(stage, session)


async def test_a_summary_is_waited_for_within_a_bound(stage: Stage) -> None:
    """R180: then there is no room, and the turn ends."""
    narrow(stage)
    limits = Limits(model_seconds_max=0.5, summary_attempts_max=1)
    async with stage.session(policy=LATE, limits=limits) as session:
        await talked(stage, session, 5)
        stage.plays(Stalled(trio.Event(), "Never."))
        outcome = await session.ask(text("large", 6_000))
        assert outcome.end == "context_full"
        assert "within 0.5 s" in outcome.reason
