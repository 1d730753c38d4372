"""Answers that come late, or while something else happens to the session."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.models.scripted import call
from greenroom.actors.world import World
from greenroom.protocol.errors import Missing, SaveFailed
from greenroom.protocol.limits import Limits
from greenroom.protocol.question import Allow, Deny, Failure, Result, Withdrawn
from tests.actors.asked import (
    asking,
    asks,
    calls_of,
    hosting,
    last_turn,
    laters,
    let_go,
    open_of,
)
from tests.actors.world import (
    AGENT,
    Stage,
    check_requests,
    conversation,
    sent,
)

BY = Allow("kim")
SOON = Policy(approval_seconds=20)
JUMPS = 0.01
"""Seconds that the loop has to be still before time jumps."""


def by_the_clock() -> World:
    """A world whose wall clock goes with the host's."""
    return World(lambda: 1_700_000_000 + trio.current_time())


@pytest.mark.parametrize("passive", [False, True])
async def test_what_nobody_answers_in_its_time_is_settled_by_policy(
    stage: Stage, autojump_clock: MockClock, passive: bool
) -> None:
    """R223, R224: denied or failed, in the record, and the turn goes on; a late answer is told."""
    autojump_clock.autojump_threshold = JUMPS
    world = by_the_clock()
    soon = world.now() + 30_000
    steps = ((call("pay"), call("fetch")), "Nothing came.")
    tools = [*stage.tools(), *laters(stage, soon)]
    async with asking(stage, *steps, world=world, tools=tools, policy=SOON) as session:
        approval, result = await asks(session)
        assert approval.expires is not None
        assert approval.expires - approval.asked == 20_000
        assert result.expires == soon
        if passive:
            await let_go(session)
        await trio.sleep(19)
        assert (await open_of(session))[0].id == approval.id
        await trio.sleep(7)
        assert await open_of(session) == [result]
        await trio.sleep(12)
        assert await open_of(session) == []
        late = await session._host.answer(approval, BY)
        assert late.answer == Deny("greenroom", "Nobody answered in time.")
        failed = (await session._host.answer(result.id, Result("x", "kim"))).answer
        assert failed == Failure("The result did not come in time.", "greenroom")
        assert await calls_of(session) == [("pay", "declined"), ("fetch", "failed")]
        told = [words for _, words in sent(stage.model.requests[-1])]
        assert "The result did not come in time." in told
        assert any(words.endswith("and greenroom declined it.") for words in told)
    assert stage.effects == ["fetch it"]


async def test_an_answer_that_comes_too_late_is_policys(
    stage: Stage, autojump_clock: MockClock
) -> None:
    """P131, R223: also where nobody has looked since."""
    autojump_clock.autojump_threshold = JUMPS
    limits = Limits(overdue_seconds=1_000.0)
    options: dict[str, Any] = {"limits": limits, "policy": SOON, "world": by_the_clock()}
    async with asking(stage, call("pay"), "No.", **options) as session:
        [question] = await asks(session)
        await trio.sleep(20)
        answered = await session._host.answer(question, BY)
        assert answered.answer == Deny("greenroom", "Nobody answered in time.")
        await wait_all_tasks_blocked()
        assert await calls_of(session) == [("pay", "declined")]
    assert stage.effects == []


async def test_what_expired_while_no_host_ran_is_settled_by_the_next(
    stage: Stage, autojump_clock: MockClock
) -> None:
    """R223, R184: the index finds the session, and its turn goes on."""
    autojump_clock.autojump_threshold = JUMPS
    world = by_the_clock()
    async with asking(stage, call("pay"), "No.", world=world, policy=SOON) as session:
        await asks(session)
    await trio.sleep(3_600)
    async with asking(stage, world=by_the_clock()) as session:
        await trio.sleep(11)
        assert (await last_turn(session)).end == "done"
        assert await calls_of(session) == [("pay", "declined")]


async def test_an_index_that_cannot_be_read_ends_no_host(
    stage: Stage, autojump_clock: MockClock
) -> None:
    """R168, R223: it is said in the log, looked at again, and settled then."""
    autojump_clock.autojump_threshold = JUMPS
    world = by_the_clock()
    async with asking(stage, call("pay"), "No.", world=world, policy=SOON) as session:
        await asks(session)
        find, failures = stage.memory.find, [SaveFailed("It cannot be read.")] * 6

        def failing(*wanted: Any, **scope: Any) -> Any:
            if failures:
                raise failures.pop()
            return find(*wanted, **scope)

        stage.memory.find = failing  # type: ignore[method-assign]
        await trio.sleep(60)
        stage.memory.find = find  # type: ignore[method-assign]
        assert failures == []
        assert (await last_turn(session)).end == "done"
    stage.memory.find = failing  # type: ignore[method-assign]
    failures.append(SaveFailed("It cannot be read."))
    async with hosting(stage) as host:
        await wait_all_tasks_blocked()
        assert await host.sessions().count() == 1
        assert failures == []


# --- who is woken, and who stops ------------------------------------------------------------------


async def test_an_answer_that_meets_a_session_that_is_let_go(stage: Stage) -> None:
    """R184, R161: whoever waited for another answer meanwhile wakes it again, and it goes on."""
    async with asking(stage, (call("pay"), call("pay", cents=2)), "Paid.") as session:
        first, second = await asks(session)
        actor = session._host.live(session.id)
        assert actor is not None
        stage.memory.faults.hold()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session._host.answer, first, BY)
            await wait_all_tasks_blocked()
            assert not actor.may_rest
            nursery.start_soon(session._host.answer, second, BY)
            await wait_all_tasks_blocked()
            stage.memory.faults.release()
            while actor.answering is not None:
                await trio.lowlevel.checkpoint()
            if actor.may_rest:
                session._host.passivate(actor)
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        assert sorted(stage.effects) == ["pay 1", "pay 2"]


async def test_a_host_that_stops_keeps_the_answer(stage: Stage) -> None:
    """R161, R199, R174: the turn is not interrupted, and goes on with the next host."""
    stage.plays(call("pay"))
    async with hosting(stage) as host, trio.open_nursery() as nursery:
        session = await host.session("ann", agent=AGENT)
        [question] = await asks(session)
        stage.memory.faults.hold()
        nursery.start_soon(host.answer, question, BY)
        await wait_all_tasks_blocked()
        host.services.closing = True  # as it does first when its block is left
        stage.memory.faults.release()
        await wait_all_tasks_blocked()
        assert stage.effects == []
    async with asking(stage, "Paid.") as session:
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        assert stage.effects == ["pay 1"]


@pytest.mark.parametrize("first", ["answer", "delete"])
async def test_an_answer_and_a_delete_at_once(stage: Stage, first: str) -> None:
    """R192, R223: the session is gone, with its questions; whoever answers is told the truth."""
    async with asking(stage, (call("pay"), call("pay", cents=2))) as session:
        question, _ = await asks(session)
        got: list[Any] = []

        async def answering() -> None:
            try:
                got.append((await session._host.answer(question, BY)).answer)
            except Missing as error:
                got.append(type(error))

        stage.memory.faults.hold()
        async with trio.open_nursery() as nursery:
            if first == "answer":
                nursery.start_soon(answering)
                await wait_all_tasks_blocked()
            nursery.start_soon(session.delete)
            await wait_all_tasks_blocked()
            if first == "delete":
                nursery.start_soon(answering)
                await wait_all_tasks_blocked()
            stage.memory.faults.release()
        told = [BY if first == "answer" else Withdrawn("The session was deleted.")]
        assert got in (told, [Missing])
        with pytest.raises(Missing):
            await session._host.answer(question, BY)
        assert await session._host.questions().all() == []
    assert stage.effects == []


async def test_an_answer_is_spilled_once_and_read_on(stage: Stage) -> None:
    """R193, R224: a long result is kept once by content; the model gets its head and a handle."""
    limits = Limits(result_bytes_max=1_000, result_head_bytes=100)
    content = "x" * 5_000
    async with asking(stage, (call("fetch"), call("pay")), limits=limits) as session:
        result, approval = await asks(session)
        answered = await session._host.answer(result, Result(content, "shop"))
        assert isinstance(answered.answer, Result)
        assert len(answered.answer.content) < 300
        assert all(len(entry.records) < 2_000 for entry in stage.store.read(session.id))
    handle = answered.answer.content.partition('read_object("')[2][:64]
    read = call("read_object", path=handle, start=4_990)
    async with asking(stage, read, "Read.", limits=limits) as session:
        assert (await session._host.answer(result, Result("other", "lee"))) == answered
        await session._host.answer(approval, BY)
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        assert [words for words in await conversation(session) if content in words]
        assert "xxxxxxxxxx" in sent(stage.model.requests[-1])[-1][1]
        await check_requests(session, stage.model.requests)


async def test_a_result_that_was_told_with_questions_can_be_read(stage: Stage) -> None:
    """R193: a call of a round that parked has a handle like any other."""
    limits = Limits(result_bytes_max=100, result_head_bytes=10)
    long = "y" * 400
    steps = ((call("look", what=long), call("pay")), lambda request, _: _reads(request), "Read.")
    async with asking(stage, *steps, limits=limits) as session:
        [question] = await asks(session)
        await session._host.answer(question, BY)
        await wait_all_tasks_blocked()
        assert ("read_object", "done") in await calls_of(session)


def _reads(request: Any) -> Any:
    [cut] = [words for _, words in sent(request) if "read_object(" in words]
    return call("read_object", path=cut.partition('read_object("')[2][:64])
