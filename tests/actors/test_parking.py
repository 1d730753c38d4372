"""A turn asks, parks, and goes on behind the answers."""

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors.models.port import RequestedCall
from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import Busy, StoreUnavailable
from greenroom.protocol.event import (
    MessageAbsorbed,
    NumberedEvent,
    QuestionAsked,
    QuestionSettled,
    ToolReturned,
    TurnEnded,
)
from greenroom.protocol.limits import Limits
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Result, Withdrawn
from tests.actors.asked import (
    ASKS,
    asking,
    asks,
    calls_of,
    hosting,
    is_indexed,
    last_turn,
    let_go,
    open_of,
    parked,
)
from tests.actors.world import (
    AGENT,
    FULL,
    Stage,
    check_conversation,
    check_requests,
    conversation,
    queue_of,
    sent,
)

ROUND = (call("look"), call("pay", cents=7), call("pay", cents=8))
BY = Allow("kim")
APPROVED = "The call of {} was put to a person, and kim approved it, once."
DECLINED = "The call of {} was put to a person, and kim declined it."


async def test_a_round_asks_for_each_gated_call_and_runs_the_others(stage: Stage) -> None:
    """R160, P136, R223: a yes runs that call once, a no declines it, and a note tells of both."""
    async with asking(stage, ("Paying.", *ROUND), "Paid.") as session:
        first, second = await asks(session)
        assert stage.effects == ["look it"]
        assert [(q.tool, q.arguments) for q in (first, second)] == [
            ("pay", '{"cents":7}'),
            ("pay", '{"cents":8}'),
        ]
        await session._host.answer(first, BY)
        assert await parked(session) == [second]
        assert stage.effects == ["look it"]
        await session._host.answer(second, Deny("kim", "too much"))
        told = [event async for event in _until_end(session)]
        assert stage.effects == ["look it", "pay 7"]
        assert await calls_of(session) == [("look", "done"), ("pay", "done"), ("pay", "declined")]
        assert await conversation(session) == [
            "Hi", "Paying.", "[saw it]", "[paid 7]",
            "[Not run: kim declined it and said: too much]", "Paid.",
        ]  # fmt: skip
        note = f"[platform note] {APPROVED.format('pay')} {DECLINED.format('pay')}"
        assert sent(stage.model.requests[-1])[-1] == ("user", note)
        await check_conversation(session)
        await check_requests(session, stage.model.requests)
        assert not is_indexed(stage, session)
    asked = [event for event in told if isinstance(event, QuestionAsked)]
    assert [event.question for event in asked] == [first, second]
    settled = [event for event in told if isinstance(event, QuestionSettled)]
    assert [event.question for event in settled] == [first.id, second.id]


async def test_a_note_is_no_message(stage: Stage) -> None:
    """R1, R94, R98, R50: it stands in the transcript, marked, and is counted nowhere."""
    async with asking(stage, call("pay"), "Paid.", "Next.") as session:
        for question in await asks(session):
            await session._host.answer(question, BY)
        assert (await session.outcome(await session.prompt("Now", when="queue"))).end == "done"
        state = await session.state()
        assert [type(m).__name__ for m in state.messages].count("UserMessage") == 2
        assert (state.user_messages, len(state.messages)) == (2, 6)
        [summary] = await session._host.sessions().all()
        assert (summary.messages, summary.turns) == (6, 2)
        entries = [entry async for entry in session.transcript()]
        assert [e.origin for e in entries] == [
            "person", "model", "tool", "note", "model", "person", "model",
        ]  # fmt: skip
        assert [e.ordinal for e in entries if e.ordinal is not None] == [0, 1]
        assert [turn.ordinal async for turn in session.turns()] == [0, 1]
        mapped = await session.model_input_projection()
        assert mapped is not None
        assert [source.origin for source in mapped.sources].count("note") == 1


@pytest.mark.parametrize("how", ["live", "passivated", "reopened"])
async def test_messages_behind_a_parked_turn_wait_and_then_steer(stage: Stage, how: str) -> None:
    """R129, R122, R123, R120: those before the first waiting one steer at its next boundary."""
    async with asking(stage, call("pay"), "Paid.", call("look"), "Own.") as session:
        [question] = await asks(session)
        receipts = [
            await session.prompt("plain one"),
            await session.prompt("plain two"),
            await session.prompt("of its own", when="queue"),
            await session.prompt("behind"),
        ]
        assert [receipt.status for receipt in receipts] == ["steered"] * 2 + ["queued"] * 2
        await wait_all_tasks_blocked()
        assert (await session.state()).phase == "parked"
        assert len(stage.model.requests) == 1
        if how == "passivated":
            await let_go(session)
        if how != "reopened":
            await session._host.answer(question, BY)
            await _goes_on_with_its_steers(stage, session, receipts)
    if how == "reopened":
        async with asking(stage) as session:
            assert len(await queue_of(session)) == 4
            await session._host.answer(question, BY)
            await _goes_on_with_its_steers(stage, session, receipts)


async def _goes_on_with_its_steers(stage: Stage, session: Any, receipts: list[Any]) -> None:
    outcomes = [await session.outcome(receipt) for receipt in receipts]
    assert [(o.turn, o.absorbed) for o in outcomes] == [(1, True), (1, True), (2, False), (2, True)]
    behind = [words for _, words in sent(stage.model.requests[1])][-3:]
    assert behind[0].startswith("[platform note]")
    assert behind[1:] == ["plain one", "plain two"]
    absorbed = [e async for e in _until_end(session, 2) if isinstance(e, MessageAbsorbed)]
    assert [e.message for e in absorbed] == [receipts[n].message for n in (0, 1, 3)]
    await check_requests(session, stage.model.requests)
    assert (await session.state()).user_messages == 5


async def _until_end(session: Any, turns: int = 1) -> Any:
    async for event in session.events():
        if isinstance(event, NumberedEvent):
            yield event
        turns -= isinstance(event, TurnEnded)
        if not turns:
            return


@pytest.mark.parametrize("place", ["ask", "message", "late"])
async def test_a_parked_turn_may_be_ended(stage: Stage, place: str) -> None:
    """R160, R178, R175, R223: cancel and interruption withdraw what is open, durably."""
    async with asking(stage, ROUND, "Next.") as session:
        receipt = await session.prompt("Hi")
        first, second = await parked(session)
        await session._host.answer(first, BY)
        if place == "message":
            later = await session.prompt("Stop", when="interrupt")
            assert (await session.outcome(later)).text == "Next."
        else:
            assert await session.cancel(1)
            assert not await session.cancel(1)
        assert (await session.outcome(receipt)).end == "cancelled"
        assert await open_of(session) == []
        assert not is_indexed(stage, session)
        turn = (await session.turns().all())[0]
        assert [made.state for made in turn.calls] == ["done", "not_run", "not_run"]
        late = await session._host.answer(second if place == "late" else second.id, BY)
        assert isinstance(late.answer, Withdrawn)
        told = [event async for event in _until_end(session)]
        settled = [e.answer for e in told if isinstance(e, QuestionSettled)]
        assert [type(answer) for answer in settled] == [Allow, Withdrawn]
        await check_conversation(session)
    assert stage.effects == ["look it"]
    async with asking(stage, "More.") as session:
        assert isinstance((await session._host.answer(second.id, BY)).answer, Withdrawn)
        assert (await session.ask("More")).end == "done"


async def test_nothing_is_changed_while_a_turn_is_parked(stage: Stage) -> None:
    """R9, C8: what raises says why; a message that is not to wait is refused."""
    async with asking(stage, call("pay"), "Paid.") as session:
        await asks(session)
        for refused in (
            session.set_permission_preset(FULL),
            session.set_model("other"),
            session.prompt("Now", when="reject"),
            session._host.session("ann", preset=FULL),
        ):
            with pytest.raises(Busy, match="parked"):
                await refused
        await let_go(session)
        with pytest.raises(Busy, match="parked"):
            await session._host.session("ann", preset=FULL)
        assert (await session.state()).preset == ASKS


async def test_an_outcome_is_waited_for_over_a_park(stage: Stage) -> None:
    """R213: who stops waiting ends nothing else; the answer is the same after a restart."""
    async with asking(stage, call("pay"), "Paid.") as session:
        receipt = await session.prompt("Hi")
        [question] = await parked(session)
        with trio.move_on_after(1) as gave_up:
            await session.outcome(receipt)
        assert gave_up.cancelled_caught
        async with trio.open_nursery() as nursery:
            outcomes: list[Any] = []

            @nursery.start_soon
            async def _() -> None:
                outcomes.append(await session.outcome(receipt))

            await wait_all_tasks_blocked()
            actor = session._host.live(session.id)
            assert actor is not None
            assert not actor.may_rest  # somebody waits here
            await session._host.answer(question, BY)
    async with asking(stage) as session:
        assert [await session.outcome(receipt)] == outcomes
        assert (outcomes[0].end, outcomes[0].messages) == ("done", 4)


@pytest.mark.parametrize("how", ["live", "reopened"])
async def test_a_call_that_was_approved_may_bring_its_result_later(stage: Stage, how: str) -> None:
    """R224, R160, P144: a round may park twice, and sends the same bytes whoever was restarted."""
    answers: list[Answer] = [Allow("kim"), Deny("kim"), Result("It came.", "shop")]
    steps = ((call("order", what="a"), call("pay")), "Done.")
    if how == "live":
        async with asking(stage, *steps) as session:
            await asks(session)
            for answer in answers:
                [question, *_] = await parked(session)
                await session._host.answer(question, answer)
                await wait_all_tasks_blocked()
    else:
        async with asking(stage, *steps) as session:
            await asks(session)
        for answer in answers:
            async with asking(stage) as session:
                [question, *_] = await open_of(session)
                await session._host.answer(question, answer)
                await wait_all_tasks_blocked()
    assert stage.effects == ["order a"]
    [_, request] = [sent(each) for each in stage.model.requests]
    assert request[2:] == [
        ("tool", "Not run: kim declined it."),
        ("tool", "It came."),
        ("user", f"[platform note] {APPROVED.format('order')} {DECLINED.format('pay')}"),
    ]
    async with asking(stage) as session:
        await check_requests(session, stage.model.requests)
        assert await calls_of(session) == [("pay", "declined"), ("order", "done")]


async def test_a_round_of_calls_that_come_later_goes_on_with_the_last_result(stage: Stage) -> None:
    """R224: also of a reading tool and one on a thread; the tools are not called again."""
    calls = (call("order"), call("fetch"), call("post"), call("look"))
    async with asking(stage, calls, "All there.", preset=FULL) as session:
        questions = await asks(session)
        assert [q.kind for q in questions] == ["result"] * 3
        assert [q.text for q in questions] == ["Has the tea come?", "", ""]
        assert sorted(stage.effects) == ["fetch it", "look it", "order tea", "post it"]
        brought: list[Answer] = [Result("one", "a"), Failure("lost", "b"), Result("three", "c")]
        for answer, question in zip(brought, questions, strict=True):
            assert (await session._host.answer(question, answer)).answer == answer
        told = [event async for event in _until_end(session)]
        states = {e.content: e.state for e in told if isinstance(e, ToolReturned)}
        assert states == {"saw it": "done", "one": "done", "lost": "failed", "three": "done"}
        assert len(stage.effects) == 4
        assert all(role != "user" for role, _ in sent(stage.model.requests[1])[1:])
        await check_requests(session, stage.model.requests)


async def test_a_parked_turn_holds_no_place(stage: Stage) -> None:
    """R184, R185: others run meanwhile; with its answers it waits for a place like any other."""
    limits = Limits(running_turns_max=1)
    async with hosting(stage, call("pay"), limits=limits) as host:
        session = await host.session("ann", agent=AGENT)
        [question] = await asks(session)
        stage.plays(call("watch"), "Watched.", "Paid.")
        other = await host.session("ben", agent=AGENT)
        receipt = await other.prompt("Look")
        await stage.gate.reached.wait()
        await host.answer(question, BY)
        await wait_all_tasks_blocked()
        assert stage.effects == ["watch"]
        stage.gate.open.set()
        assert (await other.outcome(receipt)).end == "done"
        while (await session.state()).phase != "idle":
            await trio.lowlevel.checkpoint()
        assert stage.effects == ["watch", "pay 1"]
        assert host.services.turns.free == 1


async def test_an_answered_turn_that_waits_for_its_place_can_be_cancelled(stage: Stage) -> None:
    """R180, R174: and a host that stops leaves it parked, with its answers."""
    limits = Limits(running_turns_max=1)
    async with hosting(stage, call("pay"), limits=limits) as host:
        session = await host.session("ann", agent=AGENT)
        [question] = await asks(session)
        stage.plays(call("watch"))
        other = await host.session("ben", agent=AGENT)
        await other.prompt("Look")
        await stage.gate.reached.wait()
        await host.answer(question, BY)
        await wait_all_tasks_blocked()
    async with hosting(stage, "Paid.") as host:
        session = await host.session("ann")
        while (await session.state()).phase != "idle":
            await trio.lowlevel.checkpoint()
        assert (await last_turn(session)).end == "done"
        assert stage.effects == ["watch", "pay 1"]


async def test_what_is_asked_at_the_end_of_the_rounds(stage: Stage) -> None:
    """R175: a turn at its bound ends behind the answers, with every result."""
    async with asking(stage, call("pay"), limits=Limits(rounds_max=1)) as session:
        [question] = await asks(session)
        await session._host.answer(question, BY)
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "failed"
        assert await calls_of(session) == [("pay", "done")]
        await check_conversation(session)


async def test_what_nobody_can_run_asks_nobody(stage: Stage) -> None:
    """R160, P137: arguments that cannot be read are refused; the others of the round ask."""
    odd = RequestedCall("i", "pay", '{"cents":')
    async with asking(stage, (odd, call("pay"))) as session:
        [question] = await asks(session)
        assert question.arguments == "{}"
        assert await calls_of(session) == [("pay", "refused")]


@pytest.mark.parametrize("first", ["answer", "cancel"])
async def test_an_answer_and_a_cancel_at_once(stage: Stage, first: str) -> None:
    """R160, R223: whichever is committed first stands, for everybody and for good."""
    async with asking(stage, ROUND, "Next.") as session, trio.open_nursery() as nursery:
        receipt = await session.prompt("Hi")
        question, other = await parked(session)
        answers: list[Any] = []
        stage.memory.faults.hold()

        async def answering() -> None:
            answers.append((await session._host.answer(question, BY)).answer)

        if first == "cancel":
            assert await session.cancel()
        nursery.start_soon(answering)
        await wait_all_tasks_blocked()
        if first == "answer":
            assert await session.cancel()
        await wait_all_tasks_blocked()
        assert not answers
        stage.memory.faults.release()
        assert (await session.outcome(receipt)).end == "cancelled"
        await wait_all_tasks_blocked()
        assert [type(answer) for answer in answers] == [Allow if first == "answer" else Withdrawn]
        told = [e async for e in _until_end(session) if isinstance(e, QuestionSettled)]
        # In whichever order, each question is settled once.
        assert sorted(e.question for e in told) == sorted([question.id, other.id])
        assert [e.answer for e in told if e.question == question.id] == answers
        assert (await session._host.answer(question, Deny("lee"))).answer == answers[0]
        assert not is_indexed(stage, session)
        assert stage.effects == ["look it"]
        await check_conversation(session)
        assert (await session.ask("Now")).end == "done"


async def test_a_cancel_behind_an_answer_that_cannot_be_kept(stage: Stage) -> None:
    """R84, R160: who answered is told so, and the end is kept until it can be written."""
    async with asking(stage, call("pay"), "Next.") as session, trio.open_nursery() as nursery:
        await asks(session)
        [question] = await open_of(session)
        stage.fails()
        stage.memory.faults.hold()

        @nursery.start_soon
        async def answering() -> None:
            with pytest.raises(StoreUnavailable):
                await session._host.answer(question, BY)

        await wait_all_tasks_blocked()
        assert await session.cancel()
        stage.memory.faults.release()
        await wait_all_tasks_blocked()
        await session.flush()
        await wait_all_tasks_blocked()
        assert isinstance((await session._host.answer(question, BY)).answer, Withdrawn)
        assert (await last_turn(session)).end == "cancelled"
        assert (await session.ask("Now")).end == "done"
    assert stage.effects == []
