"""What is summarised and what stays, and when a summary is worth asking for."""

from typing import Any

import pytest
from msgspec import structs

from greenroom.actors import Policy, Session
from greenroom.actors.committing import preset_now
from greenroom.actors.compaction_plan import Plan, Wanted, planned
from greenroom.actors.importing import import_history
from greenroom.actors.models.port import SessionInfo
from greenroom.actors.models.scripted import Scripted, call
from greenroom.protocol.errors import OverBudget
from greenroom.protocol.message import (
    AssistantMessage,
    Function,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from greenroom.protocol.record import Dispatched
from greenroom.protocol.request import ModelRequest
from tests.actors.compacted import (
    LATE,
    SMALL,
    answering,
    begins_with_summary,
    check_all,
    compactions,
    long,
    narrow,
    records,
    summaries,
    talked,
    text,
)
from tests.actors.world import AGENT, Stage, check_requests, sent
from tests.protocol.histories import assert_paired


def room_of(session: Session) -> int:
    """Tokens that the window has for messages."""
    actor = session._host.services.actors[session.id]
    assert actor.kept is not None
    return actor.kept.under(preset_now(actor), with_person=False).budget.room


async def test_older_turns_stay_only_where_there_is_room(stage: Stage) -> None:
    """R109, R210: a message that takes nearly all of it leaves none to them."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.plays("A summary.", "Fine.")
        nearly_all = text("large", (room_of(session) - 300) * 3)
        assert (await session.ask(nearly_all)).text == "Fine."
        assert [words[:5] for _, words in sent(stage.model.requests[-1])][1:] == ["large"]
        await check_all(stage, session)


async def test_a_summary_has_to_make_it_fit(stage: Stage) -> None:
    """R109, P091: one that is shorter and still too long is asked for again."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.plays(text("long", 7_000), "A summary.", "Fine.")
        large = text("large", (room_of(session) - 1_500) * 3)
        assert (await session.ask(large)).text == "Fine."
        (landed,) = compactions(stage, session)
        assert [bool(one.summary) for one in landed.calls] == [False, True]
        await check_all(stage, session)


async def test_a_new_prompt_may_eat_up_what_a_summary_saves(stage: Stage) -> None:
    """R109: measured with the new prompt the request has to be smaller than with the old one."""
    stage.skills.publish("refunds", "Give it back.")
    stage.bound = ("skills/refunds",)
    async with long(stage) as session:
        stage.skills.publish("refunds", text("Give it back.", 20_000))
        stage.plays("A summary.", "A summary.")
        with pytest.raises(OverBudget, match="no request smaller"):
            await session.compact()
        assert len(summaries(stage.model)) == 2
        assert compactions(stage, session) == []


async def test_a_request_of_the_same_length_is_not_smaller(stage: Stage) -> None:
    """R109: by one token it is; and where the request did not fit, that is not enough."""
    async with long(stage) as session:
        actor = await session._host._activated(session.id)
        info = SessionInfo(session.id, AGENT, None)
        plan = await planned(actor, Wanted("asked", stage.model, info, with_person=False))
        assert isinstance(plan, Plan)
        after = plan.after("A summary.")
        assert not structs.replace(plan, measured=after).serves("A summary.")
        assert structs.replace(plan, measured=after + 1).serves("A summary.")
        wanted = structs.replace(plan.wanted, why="no_room")
        needed = structs.replace(plan, measured=after + 1, wanted=wanted)
        variant = plan.part.variant
        exactly = after + variant.budget.reserve + variant.budget.safety
        for window, serves in ((exactly, True), (exactly - 1, False)):
            budget = structs.replace(variant.budget, window=window)
            part = structs.replace(plan.part, variant=structs.replace(variant, budget=budget))
            assert structs.replace(needed, part=part).serves("A summary.") is serves


async def test_a_new_prompt_may_not_hide_that_a_summary_is_longer(stage: Stage) -> None:
    """P091, R109: longer than what it stands for is none, though the whole is smaller."""
    stage.skills.publish("refunds", text("Give it back.", 20_000))
    stage.bound = ("skills/refunds",)
    async with long(stage) as session:
        stage.skills.publish("refunds", "Give it back.")
        stage.plays(text("longer", 9_000), "A summary.")
        assert (await session.compact()).summary == "A summary."
        assert len(summaries(stage.model)) == 2


async def test_a_summary_alone_is_not_summarised_again(stage: Stage) -> None:
    """R111: with nothing before the newest turn but a summary there is nothing to compact."""
    async with long(stage, 2) as session:
        stage.plays("A summary.")
        assert (await session.compact()).before == 1
        assert (await session.compact()).status == "nothing to compact"
        assert len(summaries(stage.model)) == 1


async def test_a_long_summary_is_not_rewritten_for_little(stage: Stage) -> None:
    """R109: while a window fills, what came since has to be as long as the summary before it."""
    narrow(stage)
    async with stage.session(policy=Policy(compact_at=0.5)) as session:
        await talked(stage, session, 3)
        stage.plays(text("A summary", 6_000), "Fine.")
        await session.ask(text("q"))
        assert len(compactions(stage, session)) == 1
        for _ in range(3):
            stage.plays("Fine.")
            assert (await session.ask(text("q", 900))).text == "Fine."
        assert len(summaries(stage.model)) == 1
        stage.plays(text("answer", 3_000), "Shorter.", "Fine.")
        await session.ask(text("q", 3_000))
        await session.ask(text("q", 10))
        assert len(summaries(stage.model)) == 2
        assert begins_with_summary(stage.model.requests[-1])
        await check_all(stage, session)


async def test_what_was_composed_for_the_request_is_not_composed_again(stage: Stage) -> None:
    """R58, R59: another model and a full window are one moment, and sources are read once."""
    stage.skills.publish("refunds", "Give it back.")
    stage.bound = ("skills/refunds",)
    stage.other = Scripted(["A summary.", "Fine."], name="other", capabilities=SMALL)
    async with long(stage, 6) as session:
        await session.set_model("other")
        reads = len(stage.skills.reads)
        assert (await session.ask("And now?")).text == "Fine."
        assert len(stage.skills.reads) == reads + 1
        await check_all(stage, session)


async def test_two_hundred_turns_of_three_calls_each(stage: Stage) -> None:
    """P002, R109: wherever the window is full, the cut is at a turn and parts no call."""
    calls = tuple([call("look", what="x" * n) for n in (1, 40, 400)])
    stage.model = Scripted([], capabilities=SMALL)
    turn = [
        answering(lambda: "A summary.", lambda: calls),
        answering(lambda: "A summary.", lambda: "Seen."),
    ]

    def played(request: ModelRequest, info: SessionInfo) -> Any:
        behind_results = request.messages[-1].startswith(b'{"role":"tool"')
        return turn[behind_results](request, info)

    async with stage.session() as session:
        stage.plays(*[played] * 600)
        for n in range(200):
            assert (await session.ask(f"question {n}")).end == "done"
        made = compactions(stage, session)
        assert len(made) > 10
        starts = {r.ordinal for r in records(stage, session) if isinstance(r, Dispatched)}
        assert {one.before for one in made} <= starts
        for request in stage.model.requests:
            assert_paired(list(request.messages))


async def test_a_cancelled_tool_and_a_broken_history_compact(stage: Stage) -> None:
    """P001, P004, R48: what is sent of them is mended, and so is what is summarised."""
    history: list[Message] = [
        UserMessage(text("one")),
        AssistantMessage("", (ToolCall("t1", Function("look", "{}")),)),
        UserMessage(text("two")),
        ToolMessage("t1", "late"),
        ToolMessage("t9", "nobody asked"),
    ]
    async with stage.host() as host:
        session, _ = await import_history(host, "old", agent=AGENT, messages=history)
        stage.plays(call("watch"))
        receipt = await session.prompt(text("three"))
        await stage.gate.reached.wait()
        await session.cancel()
        assert (await session.outcome(receipt)).end == "cancelled"
        stage.plays("Fine.", "A summary.", "Fine.")
        await session.ask("four")
        assert (await session.compact()).status == "compacted"
        await session.ask("five")
        for request in stage.model.requests:
            assert_paired(list(request.messages))
        await check_requests(session, stage.model.requests)
