"""A turn that is cut off, or cannot be saved, while room is made for it."""

from typing import Any

import pytest
import trio

from greenroom.actors import Session
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.errors import GreenroomError, SaveFailed, SessionLost, StoreUnavailable
from greenroom.protocol.identity import SessionId
from greenroom.protocol.question import Allow
from greenroom.protocol.receipt import Receipt
from greenroom.protocol.record import Compacted, Returned
from greenroom.protocol.usage import Usage
from greenroom.store import Claim
from greenroom.store.contract import Commit
from tests.actors.compacted import (
    LATE,
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
from tests.actors.world import AGENT, Stage, conversation, queue_of

LARGE = text("large", 6_000)
FINE = answering(lambda: "A summary.", lambda: "Fine.")
MUCH = call("look", what="x" * 4_500)


def holds_compaction(operation: Any) -> bool:
    return isinstance(operation, Commit) and b'"is":"compacted"' in operation.records


async def until_stalled(stage: Stage, session: Session, where: str) -> tuple[Receipt, Stalled]:
    """A turn whose summary is being made, before its dispatch or between its rounds."""
    stalled = Stalled(trio.Event(), "A summary.")
    if where == "rounds":
        stage.plays(MUCH, stalled)
        receipt = await session.prompt("Look")
    else:
        # Queued, so that its receipt comes before its dispatch.
        waiting = Stalled(trio.Event(), text("answer", 10))
        stage.plays(waiting, stalled)
        await session.prompt("Hi")
        receipt = await session.prompt(LARGE, when="queue")
        waiting.until.set()
    await stalled.reached.wait()
    return receipt, stalled


@pytest.mark.parametrize("where", ["dispatch", "rounds"])
async def test_cancelled_while_the_summary_is_made(stage: Stage, where: str) -> None:
    """R110, R80, R180: prompt and history stand as before; the session takes the next message."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5 if where == "dispatch" else 4)
        receipt, _ = await until_stalled(stage, session, where)
        kept = session._host.services.actors[session.id].kept
        assert (await session.state()).phase == "compacting"
        assert await session.cancel()
        outcome = await session.outcome(receipt)
        assert outcome.end == "cancelled"
        assert outcome.messages == (3 if where == "rounds" else 0)
        assert compactions(stage, session) == []
        assert session._host.services.actors[session.id].kept is kept
        stage.plays(*[FINE] * 3)
        assert (await session.ask("Small")).text == "Fine."
        await check_all(stage, session)


@pytest.mark.parametrize("where", ["dispatch", "rounds"])
async def test_a_host_that_stops_while_the_summary_is_made(stage: Stage, where: str) -> None:
    """R199, R174, R110: the message waits on, or its turn is interrupted; results are kept."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5 if where == "dispatch" else 4)
        receipt, _ = await until_stalled(stage, session, where)
    stage.model._steps[:] = stage.model._steps[: len(stage.model.requests)]
    stage.plays(*[FINE] * 4)
    async with stage.session(policy=LATE) as session:
        outcome = await session.outcome(receipt)
        if where == "dispatch":
            assert (outcome.end, outcome.text) == ("done", "Fine.")
        else:
            assert (outcome.end, outcome.messages) == ("interrupted", 3)
            assert (await session.ask("Small")).text == "Fine."
        assert len(compactions(stage, session)) == 1
        await check_all(stage, session)


async def test_its_own_message_is_refused_when_it_cannot_be_saved(stage: Stage) -> None:
    """R110, R205: the compaction is a pending save; the message was not accepted."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.plays("A summary.", "Fine.")
        stage.fails(holds_compaction)
        with pytest.raises(StoreUnavailable, match="not kept"):
            await session.prompt(LARGE)
        assert (await session.state()).has_pending_save
        assert len(stage.model.requests) == 6
        await session.flush()
        assert len(compactions(stage, session)) == 1
        assert (await session.ask(LARGE)).text == "Fine."
        assert begins_with_summary(stage.model.requests[-1])
        await check_all(stage, session)


async def test_a_queued_message_stays_first_when_it_cannot_be_saved(stage: Stage) -> None:
    """R110, R205, R86: after the flush the queue goes on, and nothing is summarised again."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        receipt, stalled = await until_stalled(stage, session, "dispatch")
        stage.plays("Fine.", "Last.")
        last = await session.prompt("Last", when="queue")
        stage.fails(holds_compaction)
        stalled.until.set()
        while not (await session.state()).has_pending_save:
            await trio.lowlevel.checkpoint()
        assert await queue_of(session) == [LARGE, "Last"]
        await session.flush()
        assert (await session.outcome(receipt)).text == "Fine."
        assert (await session.outcome(last)).text == "Last."
        assert len(summaries(stage.model)) == 1
        await check_all(stage, session)
    async with stage.session() as session:
        await check_all(stage, session)


async def test_a_turn_that_could_not_begin_behind_it_begins_anew(stage: Stage) -> None:
    """R190, R205: the compaction was of another turn; what it used is counted, and once."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5)
        stage.model.usage = SPENT
        stage.plays("A summary.", "Fine.")
        stage.fails(skip=1)
        with pytest.raises(StoreUnavailable):
            await session.prompt(LARGE)
        assert (await session.ask(LARGE)).text == "Fine."
        turn = await last_turn(session)
        assert [made.cause for made in turn.model_calls] == ["turn"]
        assert turn.usage == SPENT
        assert await used(session) == SPENT + SPENT


@pytest.mark.parametrize("how", ["fails", "written"])
async def test_between_rounds_it_is_settled_in_memory(stage: Stage, how: str) -> None:
    """R110, R206, R85: the turn ends `save_failed`; flush writes it, and no model is asked."""
    narrow(stage)
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 4)
        receipt, stalled = await until_stalled(stage, session, "rounds")
        stage.fails(holds_compaction, unknown=how == "written", applied=how == "written")
        stage.plays("Fine.", "Fine.")
        stalled.until.set()
        if how == "written":
            assert (await session.outcome(receipt)).text == "Fine."
        else:
            with pytest.raises(SaveFailed):
                await session.outcome(receipt)
            assert len(stage.model.requests) == 6
            assert [e.origin async for e in session.transcript()][-1] == "compaction"
            await session.flush()
            assert (await session.outcome(receipt)).end == "save_failed"
        kinds = [type(record) for record in records(stage, session)]
        assert kinds.index(Compacted) > kinds.index(Returned)
        assert (await session.ask("And now?")).text == "Fine."
        assert begins_with_summary(stage.model.requests[-1])
        assert "Fine." in await conversation(session)
        await check_all(stage, session)
        actor = session._host.services.actors[session.id]
        header = actor.header
    async with stage.session() as session:
        await session._host.activate(session.id)
        assert session._host.services.actors[session.id].header == header
        await check_all(stage, session)


async def paid(session: Session) -> tuple[Usage, Usage, Usage]:
    """What the last turn used: in its record, in its calls, and in all that the session used."""
    turn = await last_turn(session)
    return turn.usage, usage_of_calls(turn), await used(session)


@pytest.mark.parametrize("where", ["dispatch", "rounds"])
async def test_a_turn_that_is_read_back_knows_what_room_cost_it(stage: Stage, where: str) -> None:
    """R190, R161: a parked turn goes on in another host, and every call is counted once."""
    narrow(stage)
    async with stage.host(policy=LATE) as host:
        session = await host.session("ann", agent=AGENT, preset="read-only")
        await talked(stage, session, 5 if where == "dispatch" else 4)
        stage.model.usage = SPENT
        steps = [MUCH] if where == "rounds" else []
        stage.plays(*steps, "A summary.", call("pay"))
        receipt = await session.prompt("Look" if where == "rounds" else LARGE)
        while (await session.state()).phase != "parked":
            await trio.lowlevel.checkpoint()
    async with stage.host() as host:
        session = await host.session("ann")
        stage.plays("Paid.")
        (question,) = await host.questions().all()
        await host.answer(question, Allow("ann"))
        outcome = await session.outcome(receipt)
        assert outcome.text == "Paid."
        whole = sum([SPENT] * (len(steps) + 3), Usage())
        assert (*await paid(session), outcome.usage) == (whole,) * 4
        await check_all(stage, session)


@pytest.mark.parametrize("where", ["dispatch", "rounds"])
async def test_an_interrupted_turn_knows_what_room_cost_it(stage: Stage, where: str) -> None:
    """R190, R175: what was recorded of a host that is gone is counted, and once."""
    narrow(stage)
    stalled = Stalled(trio.Event(), "Never.")
    async with stage.session(policy=LATE) as session:
        await talked(stage, session, 5 if where == "dispatch" else 4)
        stage.model.usage = SPENT
        steps = [MUCH] if where == "rounds" else []
        stage.plays(*steps, "A summary.", stalled)
        receipt = await session.prompt("Look" if where == "rounds" else LARGE)
        await stalled.reached.wait()
        async with stage.session() as other:
            assert (await other.outcome(receipt)).end == "interrupted"
            assert await paid(other) == (sum([SPENT] * (len(steps) + 1), Usage()),) * 3
            await check_all(stage, other)


@pytest.mark.parametrize("where", ["dispatch", "rounds", "asked"])
async def test_a_session_that_was_lost_is_not_compacted(stage: Stage, where: str) -> None:
    """R207: somebody else holds it by now; whoever waits is told, and nothing is stored."""
    narrow(stage)
    errors: list[GreenroomError] = []

    async def compact(session: Session) -> None:
        try:
            await session.compact()
        except GreenroomError as error:
            errors.append(error)

    async with stage.session(policy=LATE) as session, trio.open_nursery() as nursery:
        await talked(stage, session, 4 if where == "rounds" else 5)
        receipt = None
        if where == "asked":
            stalled = Stalled(trio.Event(), "A summary.")
            stage.plays(stalled)
            nursery.start_soon(compact, session)
            await stalled.reached.wait()
        else:
            receipt, stalled = await until_stalled(stage, session, where)
        stage.store.offer(Claim(SessionId("default", "ann")), lambda _: None)
        waiting = session._host.services.actors[session.id]
        stalled.until.set()
        if receipt is not None:
            with pytest.raises(SessionLost):
                await waiting.outcomes.wait_for(receipt.message).get()
        while waiting.phase != "closed":
            await trio.lowlevel.checkpoint()
        assert compactions(stage, session) == []
    assert [type(error) for error in errors] == [SessionLost] * (where == "asked")
