"""A store that fails at one of a parked turn's commits, and hosts that die at each of them."""

from typing import Any

import pytest
import trio
from trio._core import _run
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.scripted import Step, call
from greenroom.protocol.errors import (
    Missing,
    PendingSave,
    SaveFailed,
    SessionLost,
    StoreUnavailable,
)
from greenroom.protocol.permission import Preset, PresetTable
from greenroom.protocol.question import Allow, Answer, Deny, Result, Withdrawn
from greenroom.protocol.record import Resumed
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
from tests.actors.world import (
    STILL,
    Stage,
    check_conversation,
    check_requests,
    is_enqueue,
)

TURN: tuple[Step, ...] = ((call("look"), call("pay"), call("order")), "Done.")
COMMITS = 9
"""Dispatch, asked, two answers, resumed, asked again, answer, resumed, outcomes; then the end."""
HOW: dict[str, dict[str, Any]] = {
    "fails": {},
    "is unknown and was written": {"unknown": True, "applied": True},
    "is unknown and was not": {"unknown": True},
}
ANSWERS: tuple[Answer, ...] = (Allow("kim"), Allow("lee"), Result("It came.", "shop"))


async def goes_through(session: Session) -> None:
    """Send, and answer whatever is asked, until a fault or the end; then answer what is left."""
    try:
        await session.prompt("Hi")
    except StoreUnavailable:
        return
    given = list(ANSWERS)
    while True:
        await wait_all_tasks_blocked()
        questions = await open_of(session)
        if not questions:
            return
        answer = given[0] if questions[0].kind == "approval" else ANSWERS[2]
        try:
            await session._host.answer(questions[0], answer)
        except (StoreUnavailable, PendingSave):
            if (await session.state()).has_pending_save:
                return
        else:
            given.pop(0)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("place", range(COMMITS + 1))
async def test_a_fault_at_every_commit(stage: Stage, place: int, how: str) -> None:
    """R83, R84, R85, R206, R175: kept, flushed without effects, and on it goes."""
    async with asking(stage, *TURN) as session:
        stage.fails(skip=place, **HOW[how])
        await goes_through(session)
        state = await session.state()
        if how == "is unknown and was written":
            assert not state.has_pending_save
        await check_conversation(session)
        before = (sorted(stage.effects), len(stage.model.requests), state.messages)
        await session.flush()
        state = await session.state()
        assert (sorted(stage.effects), len(stage.model.requests), state.messages) == before
        await goes_on(stage, session, place)


async def test_what_an_unsaved_resumption_rendered_is_recorded_once(stage: Stage) -> None:
    """R70, R84: the kept record holds the checkpoint, so the next request has no other."""
    async with asking(stage, call("pay"), "Paid.") as session:
        [question] = await asks(session)
    stage.presets = PresetTable(
        (Preset(id="read-only", label="L", policy="Do it.", confined_write="ask", write="ask"),)
    )
    async with asking(stage) as session:
        stage.fails(skip=1)
        await session._host.answer(question, ANSWERS[0])
        await wait_all_tasks_blocked()
        assert (await session.state()).has_pending_save
        await session.flush()
        [resumed] = [r for r in records_of(stage, session) if isinstance(r, Resumed)]
        assert resumed.checkpoint is not None
        assert stage.effects == []
        await goes_on(stage, session, 0)
        assert len(await session.get_system_prompt_checkpoints()) == 2


async def goes_on(stage: Stage, session: Session, place: int) -> None:
    """The session takes the next message, and what was asked is asked no more."""
    assert await open_of(session) == []
    assert not is_indexed(stage, session)
    assert len(stage.effects) == len(set(stage.effects)), "a tool ran twice"
    stage.model._steps[:] = ["Next."] * 9
    assert (await session.ask("Next")).end == "done"
    await check_conversation(session)
    await check_requests(session, stage.model.requests)
    live = await session.state()
    async with asking(stage) as again:
        read = await again.state()
        assert (read.messages, read.user_messages) == (live.messages, live.user_messages)
        [summary] = await again._host.sessions().all()
        assert summary.messages == len(live.messages)


@pytest.mark.parametrize("place", range(1, COMMITS + 1))
async def test_a_host_that_dies_at_every_commit(stage: Stage, place: int) -> None:
    """R87, R161, P133, P134: asked, approved or begun, and never lost; no tool runs twice."""
    async with hosting(stage, *TURN) as host:
        session = await host.session("ann", agent="support")
        stage.fails(skip=place)
        await goes_through(session)
        host.services.actors.clear()  # it dies, with what it kept
    stage.memory.faults._plans.clear()
    stored = records_of(stage, session)
    ran = list(stage.effects)
    async with asking(stage) as session:
        await wait_all_tasks_blocked()
        for answer in ANSWERS * 3:
            questions = await open_of(session)
            if questions:
                fits = (questions[0].kind == "approval") == isinstance(answer, Allow)
                if fits:
                    await session._host.answer(questions[0], answer)
            await wait_all_tasks_blocked()
        assert records_of(stage, session)[: len(stored)] == stored
        turn = await last_turn(session)
        assert turn.end in ("done", "interrupted")
        states = dict(await calls_of(session))
        for name, effect in (("pay", "pay 1"), ("order", "order tea")):
            assert stage.effects.count(effect) == (states.get(name, "not_run") != "not_run"), states
            if effect not in ran and effect in stage.effects:
                assert states[name] == "done"
        if turn.end == "done":
            assert set(states.values()) == {"done"}
        await goes_on(stage, session, place)


async def test_an_answer_that_is_not_kept_leaves_the_question_open(stage: Stage) -> None:
    """R84, R223: it is asked on, by everybody, and the next answer is the first."""
    async with asking(stage, call("pay"), "Paid.") as session:
        [question] = await asks(session)
        stage.fails()
        with pytest.raises(StoreUnavailable, match="not kept"):
            await session._host.answer(question, Deny("kim"))
        assert await open_of(session) == [question]
        assert (await session._host.answer(question, Allow("lee"))).answer == Allow("lee")
        await wait_all_tasks_blocked()
        assert stage.effects == ["pay 1"]


async def test_a_question_of_a_turn_whose_end_is_unsaved(stage: Stage) -> None:
    """R86, R223: it cannot be answered before the flush, and after it is withdrawn."""
    async with asking(stage, call("pay"), "Next.") as session:
        receipt = await session.prompt("Hi")
        [question] = await parked(session)
        stage.fails()
        await session.cancel()
        with pytest.raises(ExceptionGroup):
            await session.outcome(receipt)
        with pytest.raises(PendingSave):
            await session._host.answer(question, Allow("kim"))
        stage.fails()
        with pytest.raises(SaveFailed):
            await session.flush()
        await session.flush()
        answered = await session._host.answer(question, Allow("kim"))
        assert isinstance(answered.answer, Withdrawn)
        assert stage.effects == []


@pytest.mark.parametrize("fails", [False, True])
async def test_what_is_asked_may_be_answered_while_it_is_saved(stage: Stage, fails: bool) -> None:
    """R223, R91: the answer stands behind the question, and fails with it."""
    async with asking(stage, (call("watch"), call("pay")), "Paid.") as session:
        receipt = await session.prompt("Hi")
        await stage.gate.reached.wait()
        stage.memory.faults.hold()
        if fails:
            stage.fails()
        stage.gate.open.set()
        while (await session.state()).phase != "saving_questions":
            await trio.lowlevel.checkpoint()
        name = waits_for(session)
        got: list[Any] = []
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def answering() -> None:
                try:
                    got.append((await session.answer(name, Allow("kim"))).answer)
                except StoreUnavailable as error:
                    got.append(type(error))

            await wait_all_tasks_blocked()
            assert got == []
            stage.memory.faults.release()
        if fails:
            assert got == [StoreUnavailable]
            with pytest.raises((SaveFailed, ExceptionGroup)):
                await session.outcome(receipt)
            await session.flush()
            assert await open_of(session) == []
        else:
            assert got == [Allow("kim")]
            assert (await session.outcome(receipt)).end == "done"
    assert stage.effects == (["watch"] if fails else ["watch", "pay 1"])


def waits_for(session: Session) -> str:
    actor = session._host.live(session.id)
    assert actor is not None
    assert actor.turn is not None
    [asked] = actor.turn.waits_for
    return asked.id


@pytest.mark.parametrize("order", range(6))
async def test_an_answer_never_overtakes_what_could_not_be_asked(stage: Stage, order: int) -> None:
    """R91: the commit has failed, and its turn has not heard of it yet."""
    async with asking(stage, (call("watch"), call("pay")), "Next.") as session:
        receipt = await session.prompt("Hi")
        await stage.gate.reached.wait()
        stage.fails()
        stage.gate.open.set()
        while (await session.state()).phase != "saving_questions":
            await trio.lowlevel.checkpoint()
        name, actor = waits_for(session), session._host.live(session.id)
        assert actor is not None
        # The turn and this task wake in one tick, in whichever order.
        _run._r.seed(order)
        while actor._saving:
            await trio.lowlevel.checkpoint()
        with pytest.raises((Missing, PendingSave)):
            await session.answer(name, Allow("kim"))
        with pytest.raises((SaveFailed, ExceptionGroup)):
            await session.outcome(receipt)
        await session.flush()
        assert await open_of(session) == []
        assert (await session.ask("Next")).end == "done"
        await check_requests(session, stage.model.requests)
    assert stage.effects == ["watch"]


async def test_a_message_that_interrupts_ends_the_turn_also_over_a_crash(stage: Stage) -> None:
    """R178, P134: what a receipt promised holds though the host died before the turn ended."""
    async with hosting(stage, call("pay")) as host:
        session = await host.session("ann", agent="support")
        receipt = await session.prompt("Hi")
        [question] = await parked(session)
        stage.fails()
        later = await session.prompt("Stop", when="interrupt")
        await wait_all_tasks_blocked()
        assert (await session.state()).has_pending_save
        host.services.actors.clear()
    async with asking(stage, "Stopped.") as session:
        assert (await session.outcome(later)).text == "Stopped."
        assert (await session.outcome(receipt)).end == "cancelled"
        assert isinstance((await session._host.answer(question, Allow("kim"))).answer, Withdrawn)
    assert stage.effects == []


async def test_a_message_behind_a_parked_turn_interrupts_none_that_follows(stage: Stage) -> None:
    """R178: one that was not kept interrupts nothing, neither this turn nor the next."""
    async with asking(stage, call("pay"), "Paid.") as session:
        [question] = await asks(session)
        stage.fails(where=is_enqueue)
        with pytest.raises(StoreUnavailable):
            await session.prompt("Stop", when="interrupt")
        await session._host.answer(question, Allow("kim"))
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"


async def test_a_former_holder_answers_nothing(stage: Stage) -> None:
    """R209, R207: whoever holds the session now decides; the others are told that it is lost."""
    async with asking(stage, (call("pay"), call("pay", cents=2)), "Paid.") as session:
        first, second = await asks(session)
        async with stage.host(policy=STILL) as other:
            again = await other.session("ann")
            await again.answer(first.id, Allow("kim"))
            with pytest.raises(SessionLost):
                await session._host.answer(second, Allow("lee"))
            assert session._host.live(session.id) is None
            await again.answer(second.id, Deny("kim"))
            await wait_all_tasks_blocked()
            assert (await last_turn(again)).end == "done"
            assert await calls_of(again) == [("pay", "done"), ("pay", "declined")]
    assert stage.effects == ["pay 1"]
