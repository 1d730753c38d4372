"""Room in the window: before a turn's dispatch, between its rounds, or not at all."""

from typing import Any

import pytest
import trio

from greenroom.actors import Policy, Session
from greenroom.actors.models.scripted import Scripted, Stalled, Step, call
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.event import ConversationCompacted, MessageNotSent, TurnEnded
from greenroom.protocol.limits import Limits
from greenroom.protocol.prompt_checkpoint import replay_text
from greenroom.protocol.record import Dispatched, Ended, Returned
from greenroom.protocol.turn import TurnRecord
from greenroom.protocol.usage import Usage
from tests.actors.compacted import (
    SMALL,
    SPENT,
    answering,
    begins_with_summary,
    check_all,
    compactions,
    records,
    summaries,
    talked,
    text,
)
from tests.actors.world import Stage, conversation, sent

LATE = Policy(compact_at=1)
"""Only what does not fit is compacted for."""


def small(stage: Stage, *steps: Step) -> None:
    """A model whose window is full after about eight long turns."""
    stage.model = Scripted(list(steps), capabilities=SMALL)


async def turn_record(session: Session, number: int = -1) -> TurnRecord:
    turns = [turn async for turn in session.turns()]
    return turns[number]


def usages(turn: TurnRecord) -> Usage:
    return sum([made.usage for made in turn.model_calls], Usage())


# --- before the dispatch --------------------------------------------------------------------------


async def test_what_does_not_fit_is_compacted_for(stage: Stage) -> None:
    """R210, C22, R58, R190: first a summary, then the turn; its calls are the turn's."""
    small(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.model.usage = SPENT
        stage.plays("A summary.", "Fine.")
        outcome = await session.ask(text("large", 6_000))
        assert (outcome.end, outcome.text) == ("done", "Fine.")
        (landed,) = compactions(stage, session)
        assert (landed.turn, landed.request) == (6, "")
        assert begins_with_summary(stage.model.requests[-1])
        kinds = [type(record) for record in records(stage, session)]
        assert kinds[-5:-1][0].__name__ == "Compacted"
        assert kinds.index(type(landed)) < len(kinds) - 1 - kinds[::-1].index(Dispatched)
        turn = await turn_record(session)
        assert [made.cause for made in turn.model_calls] == ["compaction", "turn"]
        assert turn.usage == outcome.usage == usages(turn) == SPENT + SPENT
        assert (await session._host.sessions().all())[0].usage == turn.usage
        await check_all(stage, session)
    async with stage.session() as session:
        assert (await session._host.sessions().all())[0].usage == turn.usage
        await check_all(stage, session)


async def test_a_window_that_fills_is_compacted_for_in_time(stage: Stage) -> None:
    """R210: by the share that the policy says, and once for all turns that follow."""
    small(stage)
    async with stage.session(policy=Policy(compact_at=0.5)) as session:
        for n in range(6):
            stage.plays(lambda *_: "A summary." if len(stage.model.requests) == 4 else text("a"))
            stage.plays(text("a")) if n == 3 else None
            assert (await session.ask(text(f"q{n}"))).end == "done"
        assert len(compactions(stage, session)) == 1
        async for event in session.events():
            if isinstance(event, ConversationCompacted):
                assert (event.turn, event.before) == (4, 3)
                break
        await check_all(stage, session)


@pytest.mark.parametrize("answer", [ModelFailed("No."), text("longer", 9_000)])
async def test_a_turn_that_fits_does_not_depend_on_it(stage: Stage, answer: Any) -> None:
    """R110, R190: no summary came, so the request goes out as it is; what was asked is counted."""
    small(stage)
    async with stage.session(policy=Policy(compact_at=0.3)) as session:
        await talked(stage, session, 2)
        stage.model.usage = SPENT
        stage.plays(answer, answer, "Fine.")
        outcome = await session.ask(text("q"))
        assert (outcome.end, outcome.text) == ("done", "Fine.")
        assert compactions(stage, session) == []
        assert not begins_with_summary(stage.model.requests[-1])
        turn = await turn_record(session)
        assert [made.cause for made in turn.model_calls] == ["turn", "compaction", "compaction"]
        assert turn.usage == usages(turn)
        assert (await session._host.sessions().all())[0].usage == turn.usage
        await check_all(stage, session)


async def test_little_before_a_turn_is_not_worth_a_summary(stage: Stage) -> None:
    """R109: a turn that fills the window by itself makes no older one shorter."""
    small(stage)
    async with stage.session(policy=Policy(compact_at=0.5)) as session:
        await talked(stage, session, 2, size=300)
        stage.plays("Fine.")
        assert (await session.ask(text("q", 12_000))).end == "done"
        assert summaries(stage.model) == []


@pytest.mark.parametrize("queued", [False, True])
@pytest.mark.parametrize("answer", [ModelFailed("No."), "", text("longer", 30_000)])
async def test_no_summary_and_no_room(stage: Stage, answer: Any, queued: bool) -> None:
    """P091, R81, R102, R210: at most one retry; then it ends `context_full`, and is kept unsent."""
    small(stage)
    waiting = Stalled(trio.Event(), text("answer"))
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.plays(waiting) if queued else None
        first = await session.prompt(text("before", 10)) if queued else None
        stage.plays(answer, answer)
        receipt = await session.prompt(text("large", 8_000), when="queue")
        waiting.until.set()
        outcome = await session.outcome(receipt)
        assert (outcome.end, outcome.messages) == ("context_full", 0)
        assert "output reserve" in outcome.reason
        assert len(summaries(stage.model)) == 2
        assert first is None or (await session.outcome(first)).end == "done"
        assert compactions(stage, session) == []
        entries = [entry async for entry in session.transcript()]
        assert entries[-1].mark == "not sent"
        async for event in session.events():
            if isinstance(event, MessageNotSent):
                assert event.code == "over_budget"
                break
        stage.plays("Fine.")
        assert (await session.ask("Small")).end == "done"
        stage.plays("A summary.", "At last.")
        assert (await session.outcome(await session.retry(receipt))).text == "At last."
        await check_all(stage, session)


async def test_one_huge_message_is_refused_without_a_summary(stage: Stage) -> None:
    """P092, R210: it is named, and no model is called."""
    small(stage)
    async with stage.session() as session:
        await talked(stage, session, 3)
        asked = len(stage.model.requests)
        outcome = await session.ask(text("huge", 60_000))
        assert outcome.end == "context_full"
        assert "largest of it is a user message, with 20,0" in outcome.reason
        assert len(stage.model.requests) == asked
        stage.plays("Fine.")
        assert (await session.ask("Small")).end == "done"


async def test_an_invocation_is_pinned_behind_the_compaction(stage: Stage) -> None:
    """R212, R37: what its own compaction composed holds the skill that it picks."""
    small(stage)
    stage.skills.publish("refunds", "Version 1.")
    stage.bound = ("skills/refunds",)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.skills.publish("refunds", "Version 2.")
        stage.plays("A summary.", "Fine.")
        await session.ask(text("large", 6_000), skills=["refunds"])
        (context,) = await session.get_runtime_contexts()
        assert "Version 2." in context.content
        assert "Version 2." not in sent(stage.model.requests[-1])[-1][1]
        assert "Version 2." in stage.model.requests[-1].system
        checkpoints = await session.get_system_prompt_checkpoints()
        assert [list(c.sections) for c in checkpoints][1:] == [["skill:skills/refunds"]]
        await check_all(stage, session)


async def test_a_model_with_a_smaller_window_is_told_in_pieces(stage: Stage) -> None:
    """R210, R59, R196, R190: at turn boundaries, each behind the summary of those before."""
    stage.other = Scripted([], name="other", capabilities=SMALL)
    async with stage.session() as session:
        await talked(stage, session, 12, size=2_000)
        await session.set_model("other")
        stage.other._steps.extend(["One.", "Two.", "Three.", "Fine."])
        assert (await session.ask("And now?")).text == "Fine."
        asked = summaries(stage.other)
        assert len(asked) == 3
        first = [sent(request)[0][1] for request in asked]
        assert first[0].startswith("question 0")
        assert "One." in first[1]
        assert "Two." in first[2]
        for request in asked[1:]:
            assert sent(request)[1][1].startswith("question")
        told = [words for request in asked for _, words in sent(request)]
        told += [words for _, words in sent(stage.other.requests[-1])]
        for said in (await conversation(session))[:-2]:
            assert said in told
        (landed,) = compactions(stage, session)
        assert [one.summary for one in landed.calls] == ["One.", "Two.", "Three."]
        await check_all(stage, session)


async def test_a_round_too_large_for_the_new_window_is_taken_apart(stage: Stage) -> None:
    """R210, P013: result by result; no conversation is too long to be compacted."""
    stage.other = Scripted([], name="other", capabilities=SMALL)
    looks = tuple([call("look", what="x" * 5_000) for _ in range(5)])
    async with stage.session() as session:
        stage.plays(looks, "Seen.", "Fine.")
        await session.ask("Look")
        await session.ask("Again")
        await session.set_model("other")
        stage.other._steps.extend([answering(lambda: "A summary.", lambda: "Fine.")] * 9)
        outcome = await session.ask("And now?")
        assert outcome.text == "Fine."
        assert len(summaries(stage.other)) > 3
        for request in summaries(stage.other):
            calls = [m for m in request.messages if b'"tool_calls"' in m]
            results = [m for m in request.messages if m.startswith(b'{"role":"tool"')]
            assert sum(m.count(b'"function":{') for m in calls) == len(results)
        await check_all(stage, session)


async def test_one_result_too_large_by_itself_is_named(stage: Stage) -> None:
    """R210: then the turn ends `context_full`, whatever else could be summarised."""
    stage.other = Scripted([], name="other", capabilities=SMALL)
    async with stage.session() as session:
        stage.plays(call("look", what="x" * 30_000), "Seen.", "Fine.")
        await session.ask("Look")
        await session.ask("Again")
        await session.set_model("other")
        outcome = await session.ask("And now?")
        assert outcome.end == "context_full"
        assert "no room to summarise" in outcome.reason
        assert summaries(stage.other) == []


async def test_a_kept_prompt_without_room_is_no_matter_of_summaries(stage: Stage) -> None:
    """P094, R101: what is too long is said, and nothing is summarised for it."""
    small(stage)
    stage.skills.publish("long", "x" * 30_000)
    stage.bound = ("skills/long",)
    async with stage.session() as session:
        outcome = await session.ask("Hi")
        assert outcome.end == "not_sent"
        assert "skill:skills/long" in outcome.reason
        assert stage.model.requests == []


# --- between the rounds ---------------------------------------------------------------------------


async def test_results_that_do_not_fit_are_compacted_for(stage: Stage) -> None:
    """P097, R105, R210, R70, R89: older turns give way; the turn stays whole and goes on."""
    small(stage)
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
        turn = await turn_record(session)
        assert [made.cause for made in turn.model_calls] == ["turn", "compaction", "turn"]
        assert turn.usage == usages(turn) == outcome.usage
        assert [made.request for made in turn.model_calls][-1] == landed.request
        assert (await session._host.sessions().all())[0].usage == turn.usage
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
        await check_all(stage, session)


@pytest.mark.parametrize("answers", [["A summary."], [ModelFailed("No.")] * 2])
async def test_a_window_that_fills_between_rounds(stage: Stage, answers: list[Any]) -> None:
    """R210, R110, R196: compacted for once; and where that fails the committed request goes out."""
    small(stage)
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
    small(stage)
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
    small(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 4)
        stage.model.usage = SPENT
        stage.plays(call("look", what="x" * 4_500), "", "")
        outcome = await session.ask("Look")
        assert outcome.end == "context_full"
        turn = await turn_record(session)
        assert [made.cause for made in turn.model_calls] == ["turn", "compaction", "compaction"]
        assert turn.usage == usages(turn) == SPENT + SPENT + SPENT
        assert (await session._host.sessions().all())[0].usage == turn.usage
        await check_all(stage, session)


async def test_what_is_sent_meanwhile_steers_at_the_next_boundary(stage: Stage) -> None:
    """R212, R116: it is in no summary's input, and is handed over behind it."""
    small(stage)
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
    small(stage)
    limits = Limits(model_seconds_max=10, summary_attempts_max=1)
    async with stage.session(policy=LATE, limits=limits) as session:
        await talked(stage, session, 5)
        stage.plays(Stalled(trio.Event(), "Never."))
        outcome = await session.ask(text("large", 6_000))
        assert outcome.end == "context_full"
        assert "within 10 s" in outcome.reason
