"""The end of a turn that asked: what is withdrawn, what stands, and who is told."""

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import SaveFailed
from greenroom.protocol.event import QuestionSettled, TurnEnded
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Result, Withdrawn
from greenroom.protocol.record import Ended
from tests.actors.asked import (
    asking,
    asks,
    calls_of,
    hosting,
    is_indexed,
    last_turn,
    open_of,
    parked,
    records_of,
)
from tests.actors.stage import until_ended
from tests.actors.world import STILL, Stage, check_conversation, check_requests, conversation

CALLS = (call("pay"), call("fetch", what="a"), call("fetch", what="b"), call("pay", cents=2))
ANSWERS: tuple[Answer, ...] = (
    Allow("kim"),
    Result("a came", "shop"),
    Failure("b is lost", "shop"),
    Deny("kim", "too much"),
)
STAND = ("[a came]", "[b is lost]", "[Not run: kim declined it and said: too much]")


async def answer_all_but(session: Session, left: int) -> None:
    for number, (question, answer) in enumerate(zip(await open_of(session), ANSWERS, strict=True)):
        if number != left:
            await session._host.answer(question, answer)


@pytest.mark.parametrize("how", ["live", "reopened"])
@pytest.mark.parametrize("left", range(4))
async def test_what_was_answered_stands_though_the_turn_ends(
    stage: Stage, left: int, how: str
) -> None:
    """R224, R90, R160: results and refusals that came are told; what is open is withdrawn."""
    async with asking(stage, CALLS, "Next.") as session:
        await asks(session)
        await answer_all_but(session, left)
        if how == "live":
            await _cancelled(session, left)
    if how == "reopened":
        async with asking(stage) as session:
            await _cancelled(session, left)
    states = ["not_run", "done", "failed", "declined"]
    states[left] = "unknown" if left in (1, 2) else "not_run"
    async with asking(stage) as session:
        assert [state for _, state in await calls_of(session)] == states
        said = await conversation(session)
        assert [words in said for words in STAND] == [n != left for n in (1, 2, 3)]
        assert (await session.ask("Next")).end == "done"
        await check_requests(session, stage.model.requests)
    assert sorted(stage.effects) == ["fetch a", "fetch b"]


async def _cancelled(session: Session, left: int) -> None:
    [question] = await open_of(session)
    assert await session.cancel()
    told: list[Any] = await until_ended(session)
    settled = [e for e in told if isinstance(e, QuestionSettled)]
    assert len(settled) == 4
    assert settled[-1].question == question.id
    assert settled[-1].answer == Withdrawn("Cancelled by the caller.")
    assert isinstance(told[-1], TurnEnded)
    assert told[-1].outcome.end == "cancelled"
    await check_conversation(session)


async def test_what_was_answered_stands_over_a_crash(stage: Stage) -> None:
    """R173, R224: done stays done, declined stays declined, what was approved may have happened."""
    calls = (call("send"), *CALLS[1:])
    async with asking(stage, calls) as session:
        await asks(session)
        await answer_all_but(session, 9)
        await stage.gate.reached.wait()
        async with hosting(stage, "Next.", policy=STILL) as host:
            again = await host.session("ann")
            assert (await again.ask("Next")).end == "done"
            turn = (await again.turns().all())[0]
            assert turn.end == "interrupted"
            assert [c.state for c in turn.calls] == ["unknown", "done", "failed", "declined"]
            said = await conversation(again)
            assert all(words in said for words in STAND)
            await check_conversation(again)
            await check_requests(again, stage.model.requests)
            assert await host.questions().count() == 0
    assert stage.effects.count("send") == 1


async def test_an_end_that_is_kept_in_memory_withdraws_too(stage: Stage) -> None:
    """R206, R223: the round that asks cannot be written; after the flush nothing is asked."""
    async with asking(stage, CALLS, "Next.") as session:
        stage.fails(skip=1)
        receipt = await session.prompt("Hi")
        with pytest.raises((SaveFailed, ExceptionGroup)):
            await session.outcome(receipt)
        await session.flush()
        ended = [r for r in records_of(stage, session) if isinstance(r, Ended)]
        assert [len(record.withdrawn) for record in ended] == [4]
        assert await open_of(session) == []
        assert not is_indexed(stage, session)
        assert [state for _, state in await calls_of(session)] == [
            "not_run", "unknown", "unknown", "not_run",
        ]  # fmt: skip


async def test_a_turn_that_asked_nothing_touches_no_index(stage: Stage) -> None:
    """R223: the terms of a session are written where they change, and by no ordinary turn."""
    async with asking(stage, "First.", call("look"), "Seen.") as session:
        await session.ask("Hi")  # it composes the prompt, which the index names
        seen: list[Any] = []
        offer = stage.store.offer

        def watched(operation: Any, then: Any, /) -> None:
            seen.append(getattr(operation, "terms", None))
            offer(operation, then)

        stage.store.offer = watched  # type: ignore[method-assign]
        await session.ask("Hi")
        stage.store.offer = offer  # type: ignore[method-assign]
    assert set(seen) == {None}


async def test_a_turn_that_went_on_withdraws_nothing(stage: Stage) -> None:
    """R160: its questions are used up; a cancel behind the answers ends it like any other."""
    async with asking(stage, call("send"), "Next.") as session:
        [question] = await asks(session)
        await session._host.answer(question, Allow("kim"))
        await stage.gate.reached.wait()
        assert await session.cancel()
        await wait_all_tasks_blocked()
        assert await calls_of(session) == [("send", "unknown")]
        [ended] = [r for r in records_of(stage, session) if isinstance(r, Ended)]
        assert ended.withdrawn == ()
        assert (await session._host.answer(question, Deny("lee"))).answer == Allow("kim")


async def test_a_stop_while_it_parks(stage: Stage) -> None:
    """R174, R160: a host that stops then leaves it parked; a cancel then ends it."""
    for cancelled in (False, True):
        stage.model._steps[:] = stage.model._steps[: len(stage.model.requests)]
        async with asking(stage, (call("watch"), call("pay")), "Paid.") as session:
            stage.gate.reached, stage.gate.open = trio.Event(), trio.Event()
            await session.prompt("Hi", when="queue")
            await stage.gate.reached.wait()
            stage.memory.faults.hold()
            stage.gate.open.set()
            while (await session.state()).phase != "saving_questions":
                await trio.lowlevel.checkpoint()
            actor = session._host.live(session.id)
            assert actor is not None
            assert actor.turn is not None
            end: Any = ("cancelled", "x") if cancelled else ("interrupted", "x")
            assert actor.turn.stop(*end)
            stage.memory.faults.release()
            await wait_all_tasks_blocked()
            if cancelled:
                assert (await last_turn(session)).end == "cancelled"
                assert await open_of(session) == []
                continue
            [question] = await parked(session)
        async with asking(stage) as session:
            await session._host.answer(question, Allow("kim"))
            await wait_all_tasks_blocked()
            assert (await last_turn(session)).end == "done"
    assert stage.effects == ["watch", "pay 1", "watch"]
