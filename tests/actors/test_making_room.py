"""Room in the window, made before a turn is dispatched; or there is none."""

from typing import Any

import pytest
import trio

from greenroom.actors import Policy
from greenroom.actors.models.scripted import Scripted, Stalled, call
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.event import ConversationCompacted, MessageNotSent
from greenroom.protocol.record import Accepted, Compacted, Dispatched
from greenroom.protocol.usage import Usage
from tests.actors.compacted import (
    LATE,
    SMALL,
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
from tests.actors.world import Stage, conversation, sent


async def test_what_does_not_fit_is_compacted_for(stage: Stage) -> None:
    """R210, C22, R58, R190: first a summary, then the turn; its calls are the turn's."""
    narrow(stage)
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
        turn = await last_turn(session)
        assert [made.cause for made in turn.model_calls] == ["compaction", "turn"]
        assert turn.usage == outcome.usage == usage_of_calls(turn) == SPENT + SPENT
        assert await used(session) == turn.usage
        await check_all(stage, session)
    async with stage.session() as session:
        assert await used(session) == turn.usage
        await check_all(stage, session)


async def test_a_window_that_fills_is_compacted_for_in_time(stage: Stage) -> None:
    """R210: by the share that the policy says, and once for all turns that follow."""
    narrow(stage)
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
    narrow(stage)
    async with stage.session(policy=Policy(compact_at=0.3)) as session:
        await talked(stage, session, 2)
        stage.model.usage = SPENT
        stage.plays(answer, answer, "Fine.")
        outcome = await session.ask(text("q"))
        assert (outcome.end, outcome.text) == ("done", "Fine.")
        assert compactions(stage, session) == []
        assert not begins_with_summary(stage.model.requests[-1])
        turn = await last_turn(session)
        assert [made.cause for made in turn.model_calls] == ["turn", "compaction", "compaction"]
        assert turn.usage == usage_of_calls(turn)
        assert await used(session) == turn.usage
        await check_all(stage, session)


async def test_little_before_a_turn_is_not_worth_a_summary(stage: Stage) -> None:
    """R109: a turn that fills the window by itself makes no older one shorter."""
    narrow(stage)
    async with stage.session(policy=Policy(compact_at=0.5)) as session:
        await talked(stage, session, 2, size=300)
        stage.plays("Fine.")
        assert (await session.ask(text("q", 12_000))).end == "done"
        assert summaries(stage.model) == []


@pytest.mark.parametrize("queued", [False, True])
@pytest.mark.parametrize("answer", [ModelFailed("No."), "", text("longer", 30_000)])
async def test_no_summary_and_no_room(stage: Stage, answer: Any, queued: bool) -> None:
    """P091, R81, R102, R210: at most one retry; then it ends `context_full`, and is kept unsent."""
    narrow(stage)
    waiting = Stalled(trio.Event(), text("answer"))
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.plays(waiting) if queued else None
        first = await session.prompt(text("before", 10)) if queued else None
        stage.model.usage = SPENT
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
        paid = await used(session)
        answers = queued + 2 * (not isinstance(answer, ModelFailed))
        assert paid == sum([SPENT] * answers, Usage())
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
    narrow(stage)
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
    """R212, R37, R108: what its own compaction composed holds the skill that it picks."""
    narrow(stage)
    stage.skills.publish("refunds", "Version 1.")
    stage.bound = ("skills/refunds",)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.skills.publish("refunds", "Version 2.")
        stage.plays("A summary.", "Fine.")
        await session.ask(text("large", 6_000), skills=["refunds"])
        alone, behind = [decode_records(e.records) for e in stage.store.read(session.id)[-3:-1]]
        assert [type(record) for record in alone] == [Compacted]
        assert [type(record) for record in behind] == [Accepted, Dispatched]
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
    narrow(stage)
    stage.skills.publish("long", "x" * 30_000)
    stage.bound = ("skills/long",)
    async with stage.session() as session:
        outcome = await session.ask("Hi")
        assert outcome.end == "not_sent"
        assert "skill:skills/long" in outcome.reason
        assert stage.model.requests == []
