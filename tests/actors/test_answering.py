"""Answers: the first one stands, whenever and however it comes."""

from typing import Any

import pytest
import trio
from trio._core import _run
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import InvalidInput, Missing
from greenroom.protocol.event import QuestionSettled
from greenroom.protocol.identity import call_key
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Result
from greenroom.protocol.record import Answered
from tests.actors.asked import (
    asking,
    asks,
    calls_of,
    epoch_of,
    hosting,
    is_indexed,
    last_turn,
    let_go,
    open_of,
    parked,
    records_of,
)
from tests.actors.stage import all_of
from tests.actors.world import (
    FULL,
    STILL,
    Stage,
    check_conversation,
    check_requests,
    conversation,
)

BY = Allow("kim")


@pytest.mark.parametrize("by", ["id", "question"])
async def test_the_first_answer_stands(stage: Stage, by: str) -> None:
    """R223, P131: who comes later gets it; while the turn waits, when it is over, and reopened."""
    async with asking(stage, (call("pay"), call("pay", cents=2)), "Paid.") as session:
        first, second = await asks(session)
        name: Any = first.id if by == "id" else first
        answered = await session._host.answer(name, BY)
        assert (answered.answer, answered.is_open, answered.id) == (BY, False, first.id)
        stored = len(records_of(stage, session))
        for late in (Deny("lee"), Allow("lee"), BY):
            assert await session._host.answer(name, late) == answered
        assert len(records_of(stage, session)) == stored
        await session._host.answer(second, BY)
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        assert await session._host.answer(name, Deny("lee")) == answered
        assert await session.answer(first.id, Deny("lee")) == answered
        stage.plays(call("pay", cents=3), "Again.")
        [third] = await asks(session, "Again")
        assert await session._host.answer(name, Deny("lee")) == answered
        await session._host.answer(third, BY)
        await wait_all_tasks_blocked()
        await let_go(session)
    async with asking(stage) as session:
        before = epoch_of(stage, session)
        assert await session._host.answer(name, Deny("lee")) == answered
        # Nobody is woken to be told what is written.
        assert epoch_of(stage, session) == before
    assert sorted(stage.effects) == ["pay 1", "pay 2", "pay 3"]


@pytest.mark.parametrize("passive", [False, True])
async def test_of_many_answers_at_once_one_is_the_first(stage: Stage, passive: bool) -> None:
    """R223, R184, R161: it is committed once, told to all, and a passive session wakes once."""
    async with asking(stage, call("pay"), "Paid.") as session:
        [question] = await asks(session)
        if passive:
            await let_go(session)
        before = epoch_of(stage, session)

        async def one(number: int) -> Any:
            given: Answer = Allow(f"kim {number}") if number % 2 else Deny(f"lee {number}")
            return (await session._host.answer(question.id, given)).answer

        answers = await all_of(10, one)
        assert len(set(answers)) == 1
        await wait_all_tasks_blocked()
        told = [r for r in records_of(stage, session) if isinstance(r, Answered)]
        assert [record.answer for record in told] == answers[:1]
        assert stage.effects == (["pay 1"] if isinstance(answers[0], Allow) else [])
        assert epoch_of(stage, session) == before + passive


async def test_many_questions_are_answered_at_once(stage: Stage) -> None:
    """R160, R223: in whichever order, each gets its own, and the turn goes on once."""
    calls = tuple(call("pay", cents=n) for n in range(12))
    async with asking(stage, calls, "Paid.") as session:
        questions = await asks(session)

        async def one(number: int) -> Any:
            given: Answer = Allow(f"kim {number}") if number % 2 else Deny(f"lee {number}")
            return await session._host.answer(questions[number], given)

        answered = await all_of(12, one)
        assert [a.answer.by for a in answered][:3] == ["lee 0", "kim 1", "lee 2"]
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        assert sorted(stage.effects) == sorted(f"pay {n}" for n in range(1, 12, 2))
        assert len(stage.model.requests) == 2


async def test_an_answer_of_another_kind_is_refused(stage: Stage) -> None:
    """R223: an approval is no result, and the other way round; the question stays open."""
    async with asking(stage, (call("pay"), call("fetch")), "Done.") as session:
        approval, result = await asks(session)
        wrong: list[tuple[Any, Answer]] = [
            (approval, Result("x", "kim")),
            (approval, Failure("x", "kim")),
            (result, Allow("kim")),
            (result, Deny("kim")),
        ]
        for question, answer in wrong:
            with pytest.raises(InvalidInput):
                await session._host.answer(question, answer)
        assert await parked(session) == [approval, result]


async def test_a_subscriber_that_left_finds_the_question(stage: Stage) -> None:
    """P132, R186: it waits on without him, and is told from wherever he comes back."""
    async with asking(stage, call("pay"), "Paid.") as session:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def reading() -> None:
                async for _ in session.events():
                    pass

            [question] = await asks(session)
            nursery.cancel_scope.cancel()
        cursor = (await session.state()).cursor
        assert await open_of(session) == [question]
        await let_go(session)
        settled = await session._host.answer(question, BY)
        async for event in session.events(after=cursor):
            if isinstance(event, QuestionSettled):
                assert (event.question, event.answer) == (question.id, BY)
                break
        assert settled.answered is not None


# --- before its call says so ----------------------------------------------------------------------


async def ships(stage: Stage, session: Session) -> str:
    """Begin a call that says late that its result comes later; the key that it was given."""
    await session.prompt("Hi")
    while not (keys := [e[5:] for e in stage.effects if e.startswith("ship ")]):
        await trio.lowlevel.checkpoint()
    return keys[0]


@pytest.mark.parametrize("by", ["session", "host"])
async def test_a_result_may_come_before_its_call_says_that_it_will(stage: Stage, by: str) -> None:
    """R224: it stands at that call, is answered once, and the turn parks for nothing."""
    async with asking(stage, call("ship"), "Shipped.", preset=FULL) as session:
        key = await ships(stage, session)
        assert key == call_key(session.id, "c1-0-0")
        answer = session.answer if by == "session" else session._host.answer
        with pytest.raises(InvalidInput):
            await answer(key, Allow("kim"))
        answered = await answer(key, Result("Left.", "shop"))
        for late in (Result("Other.", "shop"), Failure("No.", "kim")):
            assert (await answer(key, late)).answer == Result("Left.", "shop")
        stage.gate.open.set()
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        assert "[Left.]" in await conversation(session)
        assert "parked" not in {type(r).__name__ for r in records_of(stage, session)}
        assert len([e for e in stage.effects if e.startswith("ship")]) == 1
        again = await answer(key, Failure("No.", "kim"))
        assert (again.answer, again.kind) == (answered.answer, "result")
        await check_requests(session, stage.model.requests)


async def test_an_early_result_survives_a_crash(stage: Stage) -> None:
    """R224, R173: it stands though the call never said that it comes, and is the only one."""
    async with asking(stage, (call("ship"), call("send")), preset=FULL) as session:
        await session.prompt("Hi")
        while len(stage.effects) < 2:
            await trio.lowlevel.checkpoint()
        key = call_key(session.id, "c1-0-0")
        first = await session.answer(key, Result("Left.", "shop"))
        async with hosting(stage, "Next.", policy=STILL) as host:
            again = await host.session("ann")
            assert (await again.ask("Next")).end == "done"
            assert await calls_of_first(again) == [("ship", "done"), ("send", "unknown")]
            assert "[Left.]" in await conversation(again)
            settled = await host.answer(key, Result("Other.", "shop"))
            assert settled.answer == first.answer == Result("Left.", "shop")
            assert await open_of(again) == []
            await check_conversation(again)
            await check_requests(again, stage.model.requests)


async def calls_of_first(session: Session) -> list[tuple[str, str]]:
    [first, *_] = await session.turns().all()
    return [(made.tool, made.state) for made in first.calls]


async def test_an_early_result_stands_in_a_turn_that_is_cancelled(stage: Stage) -> None:
    """R224, R90: also where the cancel comes while it is on its way."""
    async with asking(stage, (call("ship"), call("watch")), "Next.", preset=FULL) as session:
        key = await ships(stage, session)
        stage.memory.faults.hold()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.answer, key, Result("Left.", "shop"))
            await wait_all_tasks_blocked()
            await session.cancel()
            await wait_all_tasks_blocked()
            stage.memory.faults.release()
        await wait_all_tasks_blocked()
        assert await calls_of(session) == [("ship", "done"), ("watch", "unknown")]
        assert "[Left.]" in await conversation(session)
        assert (await session.ask("Next")).end == "done"
        await check_conversation(session)


@pytest.mark.parametrize("order", range(4))
async def test_a_result_on_its_way_is_not_asked_for(stage: Stage, order: int) -> None:
    """R224, R161: a host that dies then finds a turn that has all its answers, and goes on."""
    async with asking(stage, call("ship"), preset=FULL) as session:
        key = await ships(stage, session)
        stage.memory.faults.hold()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.answer, key, Result("Left.", "shop"))
            await wait_all_tasks_blocked()
            stage.gate.open.set()
            await wait_all_tasks_blocked()
            stage.plays("Shipped.")
            _run._r.seed(order)
            stage.memory.faults.release()
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        assert not is_indexed(stage, session)
        assert all(type(record).__name__ != "Asked" for record in records_of(stage, session))


async def test_a_call_that_has_its_result_takes_no_other(stage: Stage) -> None:
    """R224: neither while its round is parked nor after; nothing is stored of it."""
    async with asking(stage, (call("look"), call("pay")), "Paid.") as session:
        [question] = await asks(session)
        stored = len(records_of(stage, session))
        for name in ("c1-0-0", "c1-0-1", "c1-0-2"):
            with pytest.raises(Missing):
                await session.answer(call_key(session.id, name), Result("x", "kim"))
        assert len(records_of(stage, session)) == stored
        await session._host.answer(question, BY)
