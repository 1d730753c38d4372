"""A store that fails at one of a turn's commits: whichever it is, whatever it says."""

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.scripted import Step, call
from greenroom.protocol.errors import (
    PendingSave,
    SaveFailed,
    StoreUnavailable,
    TurnFailed,
)
from greenroom.protocol.receipt import Outcome
from tests.actors.world import (
    STILL,
    Stage,
    check_conversation,
    check_requests,
    conversation,
    is_commit,
    is_enqueue,
)

TURN: tuple[Step, ...] = (call("pay", cents=7), call("look", what="a"), "Done.")
"""Five commits: dispatch, response with its intent, outcomes, a round that reads, settle."""
COMMITS = 5
HOW: dict[str, dict[str, Any]] = {
    "fails": {},
    "is unknown and was written": {"unknown": True, "applied": True},
    "is unknown and was not": {"unknown": True},
}


async def asked(session: Session, text: str = "Hi") -> Outcome | BaseException:
    try:
        return await session.ask(text)
    except (SaveFailed, StoreUnavailable, ExceptionGroup) as error:
        return error


KEPT = (SaveFailed, "unsaved", True)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("place", range(COMMITS))
async def test_a_fault_at_every_commit(stage: Stage, place: int, how: str) -> None:
    """R83, R84, R85, R205, R206, R175, P026: kept, flushed without effects, and on it goes."""
    stage.plays(*TURN)
    async with stage.session() as session:
        stage.fails(skip=place, **HOW[how])
        outcome = await asked(session)
        state = await session.state()
        if how == "is unknown and was written":
            assert isinstance(outcome, Outcome)
            assert (outcome.end, state.has_pending_save) == ("done", False)
        else:
            # Of a message that was not accepted nothing is kept, so nothing has to be flushed.
            expected = (StoreUnavailable, "idle", False) if place == 0 else KEPT
            assert (type(outcome), state.phase, state.has_pending_save) == expected
        await check_conversation(session)
        before = (list(stage.effects), len(stage.model.requests), state.messages)
        await session.flush()
        state = await session.state()
        assert (stage.effects, len(stage.model.requests), state.messages) == before
        assert not state.has_pending_save
        assert stage.effects.count("pay 7") <= 1
        stage.model._steps[:] = ["Next."] * 9
        assert (await session.ask("Next")).end == "done"
        await check_conversation(session)
        await check_requests(session, stage.model.requests)
        live = (await session.state()).messages
    async with stage.session() as session:
        assert (await session.state()).messages == live


@pytest.mark.parametrize("place", range(COMMITS))
async def test_an_actor_that_dies_unsaved_leaves_the_last_commit(stage: Stage, place: int) -> None:
    """R83, R84, R87: a failed write leaves the disk as it was; reopened, exactly that is seen."""
    stage.plays(*TURN)
    async with stage.session() as session:
        stage.fails(skip=place)
        await asked(session)
        stored = [entry.records for entry in stage.store.read(session.id)]
        assert len(stored) == 1 + place
        session._host.services.actors.clear()  # it dies, with what it kept
    async with stage.session() as session:
        await session._host.activate(session.id)
        now = [entry.records for entry in stage.store.read(session.id)]
        assert now[: 1 + place] == stored
        assert len(now) == len(stored) + (0 < place < COMMITS)
        await check_conversation(session)
        ends = [turn.end async for turn in session.turns()]
        assert ends == ([] if place == 0 else ["interrupted"])
        stage.model._steps[:] = ["Next."] * 9
        assert (await session.ask("Next")).end == "done"
        await check_requests(session, stage.model.requests)
    assert stage.effects.count("pay 7") <= 1


async def test_a_failed_dispatch_keeps_the_message_first(stage: Stage) -> None:
    """R205, R86: its receipt stays good; the flush probes the store, and the queue goes on."""
    stage.plays(call("watch"), "One.", "Two.", "Three.")
    async with stage.session() as session:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        queued = await session.prompt("two", when="queue")
        stage.fails(skip=2)  # outcomes, settle, then the next dispatch
        stage.gate.open.set()
        await session.outcome(first)
        while not (await session.state()).has_pending_save:
            await trio.lowlevel.checkpoint()
        assert len(stage.model.requests) == 2
        later = await session.prompt("three")
        assert (later.status, len(stage.model.requests)) == ("queued", 2)
        stage.fails()
        with pytest.raises(SaveFailed):
            await session.flush()
        await wait_all_tasks_blocked()
        assert len(stage.model.requests) == 2
        await session.flush()
        assert [(await session.outcome(r)).turn for r in (queued, later)] in ([2, 3], [3, 4])
        assert (await conversation(session))[-4:] == ["two", "Two.", "three", "Three."]


async def test_with_a_save_pending(stage: Stage) -> None:
    """R86, R9, R91, R53: messages and recalls are taken, settings are not, nothing runs."""
    stage.plays(call("pay"), "Two.")
    async with stage.session() as session:
        stage.fails(skip=2)
        assert isinstance(await asked(session), SaveFailed)
        queued = await session.prompt("two")
        stage.fails(where=is_enqueue)
        with pytest.raises(StoreUnavailable):
            await session.prompt("not kept")
        for refused in (
            session.set_permission_preset("read-only"),
            session.set_model("other"),
        ):
            with pytest.raises(PendingSave):
                await refused
        taken_back = await session.prompt("never mind")
        assert await session.recall(taken_back)
        assert len(stage.model.requests) == 1
        await session.flush()
        outcome = await session.outcome(queued)
        assert (outcome.turn, outcome.absorbed) == (2, False)
        assert (await session.outcome(taken_back)).end == "recalled"
        assert [entry.mark async for entry in session.transcript()].count("recalled") == 1
        assert session._host.services.store.look(session.id).queued == 0  # type: ignore[union-attr]
        assert (await conversation(session))[-2:] == ["two", "Two."]
        assert [turn.end async for turn in session.turns()] == ["save_failed", "done"]


async def test_a_flush_that_fails_keeps_everything(stage: Stage) -> None:
    """R85: pending stays; with nothing pending it does nothing; two at once write once."""
    stage.plays("One.")
    async with stage.session() as session:
        await session.flush()
        stage.fails(skip=1)
        assert isinstance(await asked(session), SaveFailed)
        stage.fails()
        with pytest.raises(SaveFailed):
            await session.flush()
        assert (await session.state()).has_pending_save
        before = stage.store.last_number()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.flush)
            nursery.start_soon(session.flush)
        assert stage.store.last_number() == before + 1
        assert await conversation(session) == ["Hi", "One."]


async def test_an_unknown_outcome_is_not_written_twice(stage: Stage) -> None:
    """R85: also where it cannot be read back at once: the same commit again is the one there is."""
    stage.plays("One.")
    async with stage.session() as session:
        stage.fails(skip=1, applied=True)  # says that it failed, and did not
        assert isinstance(await asked(session), SaveFailed)
        before = stage.store.last_number()
        await session.flush()
        assert stage.store.last_number() == before
        assert await conversation(session) == ["Hi", "One."]


async def test_both_failures_are_told(stage: Stage) -> None:
    """R88: the turn's own, and that it could not be saved."""
    stage.plays(ValueError("odd"))
    async with stage.session() as session:
        stage.fails(skip=1)
        with pytest.raises(ExceptionGroup) as caught:
            await session.ask("Hi")
    assert [type(error) for error in caught.value.exceptions] == [TurnFailed, SaveFailed]


async def test_steers_in_a_failed_round(stage: Stage) -> None:
    """R91, R123, R206: carried by what is kept; queued again, once, if the process dies instead."""
    stage.plays(call("watch"), "Next.")
    async with stage.session(policy=STILL) as session:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        steer = await session.prompt("steer")
        stage.fails()
        stage.gate.open.set()
        with pytest.raises(SaveFailed):
            await session.outcome(first)
        assert "steer" in await conversation(session)
        assert not await session.recall(steer)
        session._host.services.actors.clear()
    async with stage.session(policy=STILL) as session:
        assert (await session.state()).queued == 1
        outcome = await session.outcome(steer)
        assert (outcome.turn, outcome.absorbed, outcome.end) == (2, False, "done")


async def test_a_recall_never_overtakes_what_is_kept(stage: Stage) -> None:
    """R91: offered behind a commit that fails, it fails too, and the flush writes all there is."""
    stage.plays(call("watch"), "Two.")
    async with stage.session() as session, trio.open_nursery() as nursery:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        queued = await session.prompt("two", when="queue")
        stage.memory.faults.hold()
        stage.fails(where=is_commit)
        stage.gate.open.set()
        while (await session.state()).phase != "saving_outcomes":
            await trio.lowlevel.checkpoint()

        @nursery.start_soon
        async def _recall() -> None:
            with pytest.raises((SaveFailed, StoreUnavailable)):
                await session.recall(queued)

        await trio.lowlevel.checkpoint()
        stage.memory.faults.release()
        with pytest.raises(SaveFailed):
            await session.outcome(first)
        await session.flush()
        assert (await session.outcome(queued)).turn == 2
        assert (await conversation(session))[-2:] == ["two", "Two."]


@pytest.mark.parametrize("end", ["watched", "cancelled"])
async def test_a_boundary_behind_a_failed_recall_is_kept(stage: Stage, end: str) -> None:
    """R91, R84: nothing is committed out of order, and nobody is left waiting."""
    stage.plays(call("watch"), "One.", "Two.")
    async with stage.session() as session, trio.open_nursery() as nursery:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        queued = await session.prompt("two", when="queue")
        stage.memory.faults.hold()
        stage.fails()

        @nursery.start_soon
        async def _recall() -> None:
            with pytest.raises(SaveFailed):
                await session.recall(queued)

        await wait_all_tasks_blocked()
        if end == "cancelled":
            await session.cancel()
        stage.gate.open.set()
        await wait_all_tasks_blocked()
        stage.memory.faults.release()
        with pytest.raises((SaveFailed, ExceptionGroup)):
            await session.outcome(first)
        await session.flush()
        assert (await session.outcome(queued)).end == "done"
        await check_conversation(session)
        await check_requests(session, stage.model.requests)
