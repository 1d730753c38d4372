"""Answers in a store that no host holds: as durable as any other, and the next host goes on."""

from typing import Any

import pytest
import trio
from msgspec import structs
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.answering_stored import answer_stored
from greenroom.actors.models.scripted import call
from greenroom.actors.questions import open_questions
from greenroom.actors.world import World, simulated
from greenroom.protocol.errors import InvalidInput, Missing, SaveFailed, SessionLost
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Question, Result, Withdrawn
from tests.actors.asked import (
    asking,
    asks,
    calls_of,
    is_indexed,
    last_turn,
    open_of,
    parked,
    records_of,
)
from tests.actors.world import Stage, check_requests, conversation

BY = Allow("kim")


async def answered(stage: Stage, question: Any, answer: Answer, tenant: str | None = None) -> Any:
    return await answer_stored(stage.store, simulated(0), tenant, question, answer)


@pytest.mark.parametrize("by", ["id", "question"])
async def test_the_next_host_goes_on_behind_the_answers(stage: Stage, by: str) -> None:
    """R161, R223, P134: asked by nobody again, and with the bytes that a host would have sent."""
    calls = (call("pay"), call("pay", cents=2), call("fetch"))
    async with asking(stage, calls) as session:
        questions = await asks(session)
    given: list[Answer] = [BY, Deny("lee", "no"), Result("It came.", "shop")]
    for left, (question, answer) in enumerate(zip(questions, given, strict=True)):
        assert open_questions(stage.store, None) == questions[left:]
        settled = await answered(stage, question.id if by == "id" else question, answer)
        assert (settled.id, settled.answer) == (question.id, answer)
    assert not is_indexed(stage, session)
    async with asking(stage, "Done.") as session:
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        assert await calls_of(session) == [("pay", "done"), ("pay", "declined"), ("fetch", "done")]
        assert "[It came.]" in await conversation(session)
        await check_requests(session, stage.model.requests)
    assert stage.effects == ["fetch it", "pay 1"]


async def test_the_first_answer_stands_there_too(stage: Stage) -> None:
    """R223, P131: before its turn has gone on, and when it is over."""
    async with asking(stage, (call("pay"), call("pay", cents=2))) as session:
        first, second = await asks(session)
    await answered(stage, first.id, BY)
    stored = records_of(stage, session)
    for late in (BY, Deny("lee"), Allow("lee")):
        assert (await answered(stage, first.id, late)).answer == BY
    assert records_of(stage, session) == stored
    async with asking(stage) as session:
        [left] = await parked(session)
        assert left == second
        await session.cancel()
        await wait_all_tasks_blocked()
    for name, settled in ((first.id, Allow), (second.id, Withdrawn)):
        assert type((await answered(stage, name, Deny("lee"))).answer) is settled


async def test_what_is_no_answer_to_a_question_of_the_store(stage: Stage) -> None:
    """R194, R218, R223: another kind, another tenant's, or of nothing; nothing is written."""
    async with asking(stage, (call("pay"), call("fetch"))) as session:
        approval, result = await asks(session)
    stored = records_of(stage, session)
    wrong: list[tuple[Question, Answer]] = [
        (approval, Result("x", "kim")),
        (result, Deny("kim")),
        (result, Result("\ud800", "kim")),
        (approval, Deny("kim", "x" * 65_537)),
    ]
    for question, answer in wrong:
        with pytest.raises(InvalidInput):
            await answered(stage, question.id, answer)
    nobodys = structs.replace(approval, session=SessionId("default", "nobody"))
    for name in ("x", "0" * 64, approval.id[:-1] + "!", nobodys, structs.replace(approval, id="y")):
        with pytest.raises(Missing):
            await answered(stage, name, BY)
    with pytest.raises(Missing):
        await answered(stage, approval.id, BY, tenant="other")
    assert (await answered(stage, approval.id, BY, tenant="default")).answer == BY
    assert records_of(stage, session)[:-1] == stored


async def test_an_expired_question_is_settled_by_policy(stage: Stage) -> None:
    """P131, R223: whoever answers it too late, where no host has looked meanwhile."""
    async with asking(stage, call("pay"), policy=Policy(approval_seconds=20)) as session:
        [question] = await asks(session)
    late = World(lambda: 1_700_000_021.0)
    settled = await answer_stored(stage.store, late, None, question.id, BY)
    assert settled.answer == Deny("greenroom", "Nobody answered in time.")
    async with asking(stage, "No.") as session:
        await wait_all_tasks_blocked()
        assert await calls_of(session) == [("pay", "declined")]
    assert stage.effects == []


async def test_an_answer_that_cannot_be_written(stage: Stage) -> None:
    """R84: the question stays open, and can be answered when the disk works again."""
    async with asking(stage, call("pay")) as session:
        [question] = await asks(session)
    stage.fails()
    with pytest.raises(SaveFailed):
        await answered(stage, question.id, BY)
    assert open_questions(stage.store, None) == [question]
    stage.fails(where=lambda operation: type(operation).__name__ == "Claim")
    with pytest.raises(SaveFailed):
        await answered(stage, question.id, BY)
    assert (await answered(stage, question.id, BY)).answer == BY


async def test_a_long_result_is_kept_apart(stage: Stage) -> None:
    """R193: once, by content, and the model gets its head and a handle."""
    content = "y" * (DEFAULT_LIMITS.result_bytes_max + 1)
    async with asking(stage, call("fetch")) as session:
        [question] = await asks(session)
    settled = await answered(stage, question.id, Result(content, "shop"))
    assert len(settled.answer.content) < 10_000
    assert all(len(entry.records) < 20_000 for entry in stage.store.read(session.id))
    async with asking(stage, "Done.") as session:
        await wait_all_tasks_blocked()
        assert f"[{content}]" in await conversation(session)
        await check_requests(session, stage.model.requests)


async def test_a_failed_result_is_told(stage: Stage) -> None:
    """R224: who was to bring it says why it does not come."""
    async with asking(stage, call("fetch")) as session:
        [question] = await asks(session)
    await answered(stage, question, Failure("lost at sea", "shop"))
    async with asking(stage, "A pity.") as session:
        await wait_all_tasks_blocked()
        assert await calls_of(session) == [("fetch", "failed")]
        assert "[lost at sea]" in await conversation(session)
        assert await open_of(session) == []


async def test_a_host_that_holds_the_session_meanwhile(stage: Stage) -> None:
    """R207, R209: it is fenced, and whoever opens the session next has the answer."""
    async with asking(stage, (call("pay"), call("pay", cents=2)), "Paid.") as session:
        first, second = await asks(session)
        await answered(stage, first, BY)
        with pytest.raises(SessionLost):
            await session._host.answer(second, BY)
        await session._host.answer(second, BY)
        with trio.fail_after(5):
            while (await session.state()).phase != "idle":
                await trio.lowlevel.checkpoint()
        assert sorted(stage.effects) == ["pay 1", "pay 2"]
