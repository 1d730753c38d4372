"""Laws of what is asked before a conversation begins: the message waits, and may be taken back."""

from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Policy, Session
from greenroom.actors.answering_stored import answer_stored
from greenroom.actors.importing import import_history
from greenroom.actors.questions import open_questions
from greenroom.actors.world import simulated
from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.errors import Busy, InvalidInput, SaveFailed, SessionLost, StoreUnavailable
from greenroom.protocol.event import EagerRunMade, MessageRecalled, QuestionAsked, QuestionSettled
from greenroom.protocol.identity import MessageId
from greenroom.protocol.message import AssistantMessage, Message, UserMessage
from greenroom.protocol.opening import asked_first
from greenroom.protocol.question import Deny, Failure, Withdrawn
from greenroom.protocol.record import Answered, Dispatched, EagerAsked, EagerBegun, EagerRan
from tests.actors.asked import is_indexed, let_go, open_of, records_of
from tests.actors.test_answering_late import JUMPS, by_the_clock
from tests.actors.test_opening import declared, hosting
from tests.actors.unopened import (
    BY,
    CLOCK,
    PAY,
    asked,
    kinds,
    message_of,
    paying,
    question_of,
    told_of,
    until,
)
from tests.actors.world import (
    AGENT,
    FULL,
    Stage,
    check_requests,
    conversation,
    is_commit,
    sent,
)


async def test_the_message_waits_in_the_queue_until_the_run_is_approved(stage: Stage) -> None:
    """R215, R148, R161: nothing has begun; the decision is committed before the call runs."""
    seen: list[str] = []
    async with paying(stage, seen, "Hello.") as host:
        session = await asked(host)
        state = await session.state()
        assert (state.queued, state.running) == (1, None)
        question = await question_of(session)
        assert (question.kind, question.tool, question.turn) == ("approval", "pay", 1)
        assert (seen, stage.model.requests) == ([], [])
        assert (await host.answer(question, BY)).answer == BY
        await until(session, "idle")
        assert seen == ["pay"]
        assert [words for _, words in sent(stage.model.requests[0])][-2:] == ["paid", "Hi"]
        assert kinds(stage, session) == [EagerAsked, Answered, EagerBegun, EagerRan, Dispatched]
        assert not is_indexed(stage, session)
        await check_requests(session, stage.model.requests)
        assert told_of(stage, session) == [QuestionAsked, QuestionSettled, EagerRunMade]


KEYS = [str(number) for number in range(8)]
"""So many sessions, where it is left to the loop whose task goes on first."""


async def test_a_question_is_answered_as_soon_as_somebody_hears_of_it(stage: Stage) -> None:
    """R215, R223: also while its message is on the way back into the queue."""
    seen: list[str] = []
    async with paying(stage, seen, *["Hello."] * len(KEYS)) as host:

        async def answers(session: Session) -> None:
            async for event in session.events():
                if isinstance(event, QuestionAsked):
                    assert (await host.answer(event.question, BY)).answer == BY
                    return

        for key in KEYS:
            session = await host.session(key, agent=AGENT)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(answers, session)
                await wait_all_tasks_blocked()
                assert (await session.ask("Hi")).end == "done"
            assert not is_indexed(stage, session)
        assert seen == ["pay"] * len(KEYS)


async def test_a_recall_that_fails_leaves_message_and_question(stage: Stage) -> None:
    """R127, R215, R223: nothing behind it begins, or asks, before it is known what stands."""
    seen: list[str] = []
    async with paying(stage, seen, *["Hello.", "Again."] * len(KEYS)) as host:
        for key in KEYS:
            session = await asked(host, key=key)
            question, begun = await question_of(session), message_of(stage, session)
            stage.fails(lambda operation: is_commit(operation) and bool(operation.consumed))
            stage.memory.faults.hold()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fails_to_recall, session, begun)
                await wait_all_tasks_blocked()
                nursery.start_soon(partial(session.prompt, "Second", when="queue"))
                await wait_all_tasks_blocked()
                stage.memory.faults.release()
            await wait_all_tasks_blocked()
            assert [one.id for one in await open_of(session)] == [question.id]
            await host.answer(question, BY)
            await until(session, "idle")
            assert await conversation(session) == ["Hi", "Hello.", "Second", "Again."]
        assert seen == ["pay"] * len(KEYS)


async def fails_to_recall(session: Session, message: MessageId) -> None:
    with pytest.raises(SaveFailed):
        await session.recall(message)


async def test_a_message_that_is_recalled_takes_the_question_with_it(stage: Stage) -> None:
    """R215, R127: durably; who answers late hears so, and the next message asks anew."""
    seen: list[str] = []
    async with paying(stage, seen, "Hello.") as host:
        session = await asked(host)
        first = await question_of(session)
        begun = message_of(stage, session)
        second = await session.prompt("Never mind", when="queue")
        assert await session.recall(begun)
        await until(session, "asking")
        question = await question_of(session)
        assert question.id != first.id
        late = await host.answer(first.id, BY)
        assert isinstance(late.answer, Withdrawn)
        assert await session.recall(second.message)
        assert (await session.state()).phase == "idle"
        assert not is_indexed(stage, session)
        assert open_questions(stage.store, None) == []
        for gone in (first, question):
            assert isinstance((await host.answer(gone.id, BY)).answer, Withdrawn)
        assert (seen, stage.model.requests) == ([], [])
        recalled = [QuestionAsked, MessageRecalled, QuestionSettled]
        assert told_of(stage, session) == recalled * 2
    async with paying(stage, seen, "Hello.") as host:
        session = await host.session("ann")
        assert (await session.state()).phase == "idle"


async def test_whoever_ends_the_turn_while_it_asks_takes_back_what_it_asked(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R160, R81: the message is not sent, and its question waits for nobody."""
    seen: list[str] = []
    async with paying(stage, seen) as host:
        session = await host.session("ann", agent=AGENT)
        offer, faults = stage.memory.offer, stage.memory.faults

        def offering(operation: Any, then: Any) -> None:
            if b"eager_asked" in getattr(operation, "records", b""):
                faults.hold()
                asking.set()
            offer(operation, then)

        asking = trio.Event()
        monkeypatch.setattr(stage.memory, "offer", offering)
        receipt = await session.prompt("Hi")
        await asking.wait()
        assert await session.cancel()
        faults.release()
        outcome = await session.outcome(receipt)
        assert (outcome.end, seen) == ("cancelled", [])
        assert await open_of(session) == []
        assert not is_indexed(stage, session)
        assert (await session.state()).phase == "idle"
        assert told_of(stage, session) == [QuestionAsked, QuestionSettled]


async def test_a_declined_run_is_told_and_the_conversation_begins(stage: Stage) -> None:
    """R160, C17: with who declined it and why; its result stands in the opening."""
    seen: list[str] = []
    async with paying(stage, seen, "Hello.") as host:
        session = await asked(host)
        await host.answer(await question_of(session), Deny("lee", "too dear"))
        await until(session, "idle")
        (ran,) = [r for r in records_of(stage, session) if isinstance(r, EagerRan)]
        assert ran.result.state == "declined"
        assert b"lee declined it and said: too dear" in bytes(ran.result.body)
        assert await conversation(session) == ["Hi", "Hello."]
    assert seen == []


@pytest.mark.parametrize("how", ["live", "let go", "stopped", "answered while no host runs"])
async def test_it_can_be_answered_days_later(stage: Stage, how: str) -> None:
    """R161, R184: the question is still there, and the message with it, wherever it waits."""
    seen: list[str] = []
    async with paying(stage, seen, "Hello.") as host:
        session = await asked(host)
        question = await question_of(session)
        if how == "let go":
            await let_go(session)
            assert (await session.state()).phase == "asking"
        if how in ("live", "let go"):
            await host.answer(question, BY)
            await until(session, "idle")
    if how == "answered while no host runs":
        world = simulated(0)
        for wrong in (Failure("no", "x"),):
            with pytest.raises(InvalidInput):
                await answer_stored(stage.store, world, None, question, wrong)
        assert (await answer_stored(stage.store, world, None, question.id, BY)).answer == BY
        assert not is_indexed(stage, session)
    async with paying(stage, seen) as host:
        session = await host.session("ann")
        if how == "stopped":
            assert await open_of(session) == [question]
            assert (await session.state()).phase == "asking"
            await host.answer(question, BY)
        await wait_all_tasks_blocked()
        await until(session, "idle")
        assert await conversation(session) == ["Hi", "Hello."]
        await check_requests(session, stage.model.requests)
    assert seen == ["pay"]
    assert kinds(stage, session).count(EagerRan) == 1


async def test_nothing_is_run_before_all_of_it_is_answered(stage: Stage) -> None:
    """R146, R215: what is read when a conversation begins is not days old; the order stays."""
    seen: list[str] = []
    tip: EagerRun = declared(EagerRun, "tip", tool="pay")
    async with paying(stage, seen, "Hello.", runs=(CLOCK, PAY, tip)) as host:
        session = await asked(host)
        first, second = await open_of(session)
        assert first.id != second.id
        await host.answer(second, Deny("lee"))
        await wait_all_tasks_blocked()
        assert (await open_of(session), seen) == ([first], [])
        assert (await host.answer(second, BY)).answer == Deny("lee")
        await host.answer(first, BY)
        await until(session, "idle")
        assert seen == ["count", "pay"]


async def test_what_waits_is_read_back_without_what_was_answered_or_withdrawn(
    stage: Stage,
) -> None:
    """R215, R161: over a restart, of two runs one of which was answered, for the message of now."""
    seen: list[str] = []
    tip: EagerRun = declared(EagerRun, "tip", tool="pay")
    async with paying(stage, seen, "Hello.", runs=(PAY, tip)) as host:
        session = await asked(host)
        gone = await open_of(session)
        await session.prompt("This rather", when="queue")
        assert await session.recall(message_of_first(stage, session))
        await until(session, "asking")
        first, second = await open_of(session)
        assert {first.id, second.id}.isdisjoint(each.id for each in gone)
        assert (await host.answer(second, Deny("lee"))).id == second.id
    async with paying(stage, seen, runs=(PAY, tip)) as host:
        session = await host.session("ann")
        assert (await session.state()).phase == "asking"
        assert await open_of(session) == [first]
        actor = await host._activated(session.id)
        assert [each.question.id for each in actor.gateway.waits_for] == [first.id]
        await host.answer(first, BY)
        await until(session, "idle")
        assert await conversation(session) == ["This rather", "Hello."]
    assert seen == ["pay"]


def message_of_first(stage: Stage, session: Session) -> MessageId:
    """The message for which all that waits is asked."""
    (message,) = {each.message for each in asked_first(records_of(stage, session))}
    return message


async def test_one_answer_counts_and_only_one_that_fits(stage: Stage) -> None:
    """R223: an answer of another kind is refused; of two at once the first stands."""
    seen: list[str] = []
    async with paying(stage, seen, "Hello.") as host:
        session = await asked(host)
        question = await question_of(session)
        with pytest.raises(InvalidInput):
            await host.answer(question, Failure("no", "x"))
        given: list[Any] = []

        async def answer(one: Any) -> None:
            given.append((await host.answer(question, one)).answer)

        async with trio.open_nursery() as nursery:
            for one in (Deny("lee"), BY):
                nursery.start_soon(answer, one)
        assert given[0] == given[1]
        await until(session, "idle")
        assert seen == (["pay"] if given[0] == BY else [])


async def test_a_former_holder_answers_nothing_first(stage: Stage) -> None:
    """R209, R215: whoever holds the session now decides; the former one has lost it."""
    seen: list[str] = []
    async with paying(stage, seen, "Hello.") as host:
        session = await asked(host)
        question = await question_of(session)
        async with hosting(stage, PAY, seen=seen, approved=("fee@1",)) as other:
            again = await other.session("ann")
            await again.set_title("Mine")  # claims it
            with pytest.raises(SessionLost):
                await host.answer(question, BY)
            assert host.live(session.id) is None
            assert await open_of(again) == [question]
            assert (await other.answer(question, Deny("kim"))).answer == Deny("kim")
            await until(again, "idle")
    assert seen == []


async def test_nobody_answers_in_time(stage: Stage, autojump_clock: MockClock) -> None:
    """R223, P131: it counts as declined by policy, and the conversation begins."""
    seen: list[str] = []
    autojump_clock.autojump_threshold = JUMPS
    options: dict[str, Any] = {"policy": Policy(approval_seconds=20), "world": by_the_clock()}
    async with paying(stage, seen, "Hello.", **options) as host:
        session = await asked(host)
        question = await question_of(session)
        assert question.expires is not None
        await trio.sleep(30)
        assert isinstance((await host.answer(question, BY)).answer, Deny)
    assert seen == []


@pytest.mark.parametrize("what", ["question", "answer", "recall"])
async def test_what_cannot_be_written_changes_nothing(stage: Stage, what: str) -> None:
    """R83, R205: a question that is not kept is not asked; an answer or recall may come again."""
    seen: list[str] = []
    async with paying(stage, seen, "Hello.", "Hello.") as host:
        session = await host.session("ann", agent=AGENT)
        if what == "question":
            stage.fails()
            assert (await session.ask("Hi")).end == "not_sent"
            assert open_questions(stage.store, None) == []
            await session.prompt("Hi again")
        else:
            await session.prompt("Hi")
        await until(session, "asking")
        question = await question_of(session)
        if what == "answer":
            stage.fails()
            with pytest.raises(StoreUnavailable):
                await host.answer(question, BY)
        elif what == "recall":
            stage.fails()
            with pytest.raises(SaveFailed):
                await session.recall(message_of(stage, session))
        assert (await session.state()).phase == "asking"
        assert await open_of(session) == [question]
        await host.answer(question, BY)
        await until(session, "idle")
    assert seen == ["pay"]


async def test_settings_and_compaction_wait_too(stage: Stage) -> None:
    """R9, R110: refused with what keeps the session; nobody is asked for a compaction."""
    seen: list[str] = []
    async with paying(stage, seen) as host:
        session = await asked(host)
        with pytest.raises(Busy, match="waits for approval"):
            await session.set_permission_preset(FULL)
        told: list[Message] = [UserMessage("one " * 400), AssistantMessage("Fine.")]
        imported, _ = await import_history(host, "old", agent=AGENT, messages=told * 3)
        with pytest.raises(Busy, match="fee@1") as refusal:
            await imported.compact()
        assert "message" in refusal.value.way_out
        assert await open_of(imported) == []
    assert seen == []


async def test_a_hold_keeps_what_was_approved(stage: Stage) -> None:
    """R159: with the answer its turn may begin, and does not before the hold is lifted."""
    seen: list[str] = []
    async with paying(stage, seen, "Hello.") as host:
        session = await asked(host)
        hold = await host.hold(reason="look", by="ops")
        await host.answer(await question_of(session), BY)
        await wait_all_tasks_blocked()
        assert ((await session.state()).phase, seen) == ("held", [])
        await host.lift(hold, by="ops")
        await until(session, "idle")
    assert seen == ["pay"]
