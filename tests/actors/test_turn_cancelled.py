"""A turn that is cancelled, at whatever step of its task."""

import pytest
import trio

from greenroom.actors import Session
from greenroom.actors.models.scripted import Stalled, Step, call
from greenroom.protocol.receipt import Outcome
from tests.actors.world import Stage, check_conversation, check_requests, conversation, sent

TURN: tuple[Step, ...] = (
    ("Looking.", call("look", what="a"), call("look", what="b")),
    (call("pay", cents=7), call("look", what="c")),
    "Done.",
)


class CancelAt(trio.abc.Instrument):
    """Cancels the session's turn just before the n-th step of the task that runs it."""

    def __init__(self, session: Session, step: int) -> None:
        self.session = session
        self.step = step
        self.steps = 0
        self.cancelled = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if not task.name.endswith("SessionActor._run"):
            return
        self.steps += 1
        actor = self.session._host.live(self.session.id)
        if self.steps == self.step and actor is not None and actor.turn is not None:
            self.cancelled = actor.turn.stop("cancelled", "Cancelled by the test.")


async def cancelled_at(stage: Stage, session: Session, step: int) -> tuple[CancelAt, Outcome]:
    instrument = CancelAt(session, step)
    trio.lowlevel.add_instrument(instrument)
    try:
        return instrument, await session.ask("Hi")
    finally:
        trio.lowlevel.remove_instrument(instrument)


@pytest.mark.parametrize("step", range(1, 16))
async def test_cancelled_at_every_step(stage: Stage, step: int) -> None:
    """R80, R82, R90, R175, R180, P001, P008: before or after, one result a call, and on it goes."""
    stage.plays(*TURN)
    async with stage.session() as session:
        instrument, outcome = await cancelled_at(stage, session, step)
        assert outcome.end in ("cancelled", "done")
        if not instrument.cancelled:
            assert outcome.end == "done"
        await check_conversation(session)
        state = await session.state()
        assert len(state.messages) == outcome.messages
        assert (state.messages == ()) == (outcome.messages == 0)
        effects = list(stage.effects)
        assert len(set(effects)) == len(effects)
        stage.model._steps[:] = ["Next."] * 9
        following = await session.ask("Next")
        assert (following.end, following.text) == ("done", "Next.")
        assert stage.effects == effects  # nothing is run again
        await check_conversation(session)
        await check_requests(session, stage.model.requests)
        live = (await session.state()).messages
    async with stage.session() as session:
        assert (await session.state()).messages == live


async def test_the_steps_are_all_there_are(stage: Stage) -> None:
    """R180: the range above reaches beyond the last step of such a turn."""
    stage.plays(*TURN)
    async with stage.session() as session:
        instrument, outcome = await cancelled_at(stage, session, 999)
        assert outcome.end == "done"
        assert 6 < instrument.steps < 15
    assert sorted(stage.effects) == ["look a", "look b", "look c", "pay 7"]


@pytest.mark.parametrize(
    ("tool", "says"), [("watch", "was running"), ("send", "may have happened")]
)
async def test_cancelled_in_a_tool(stage: Stage, tool: str, says: str) -> None:
    """R90, P001, P008: the call has a result that says so, and a first turn's cancel is no end."""
    stage.plays((call(tool), call("watch")), "Next.")
    async with stage.session() as session:
        receipt = await session.prompt("Hi")
        await stage.gate.reached.wait()
        assert await session.cancel(1)
        assert (await session.outcome(receipt)).end == "cancelled"
        [turn] = [turn async for turn in session.turns()]
        assert {made.state for made in turn.calls} <= {"unknown", "not_run"}
        assert says in (await conversation(session))[2]
        assert (await session.ask("Next")).end == "done"
        await check_conversation(session)


async def test_a_cancel_of_nothing_does_nothing(stage: Stage) -> None:
    """R180: idle, or of another turn, it is false; and it never leaks to the next turn."""
    stall = Stalled(trio.Event(), "One.")
    stage.plays(stall, "Two.")
    async with stage.session() as session:
        assert not await session.cancel()
        receipt = await session.prompt("Hi")
        await stall.reached.wait()
        assert not await session.cancel(7)
        assert await session.cancel()
        assert not await session.cancel()
        assert (await session.outcome(receipt)).end == "cancelled"
        assert not await session.cancel()
        assert (await session.ask("Next")).end == "done"


async def test_cancelled_before_dispatch_is_as_if_it_was_not_sent(stage: Stage) -> None:
    """R80, R81, R62: counts, ordinals and prompt stay; it can be sent again under its id."""
    stage.plays("Hello.")
    async with stage.session() as session:
        _, outcome = await cancelled_at(stage, session, 1)
        assert (outcome.end, outcome.messages) == ("cancelled", 0)
        assert stage.model.requests == []
        assert await session.get_system_prompt_checkpoints() == ()
        [entry] = [entry async for entry in session.transcript()]
        assert (entry.mark, entry.ordinal) == ("not sent", None)
        assert entry.id is not None
        again = await session.retry(entry.id)
        assert again.message == entry.id
        assert (await session.outcome(again)).end == "done"
        assert await conversation(session) == ["Hi", "Hello."]


async def test_a_caller_that_leaves_cancels_nothing(stage: Stage) -> None:
    """R213, R180: cancelling the waiter ends only the waiting."""
    stall = Stalled(trio.Event(), "One.")
    stage.plays(stall)
    async with stage.session() as session:
        with trio.move_on_after(1):
            await session.ask("Hi")
        stall.until.set()
        [entry] = [entry async for entry in session.transcript()]
        assert entry.id is not None
        assert (await session.outcome(entry.id)).text == "One."
    assert len(sent(stage.model.requests[0])) == 1


async def test_no_tool_starts_for_a_cancelled_turn(stage: Stage) -> None:
    """R172, R90: cancelled while the answer with its intent was saved: not run, and it says so."""
    stage.plays(call("pay"), "Next.")
    async with stage.session() as session:
        receipt = await session.prompt("Hi")
        while (await session.state()).phase != "saving_response":
            await trio.lowlevel.checkpoint()
        assert await session.cancel()
        assert (await session.outcome(receipt)).end == "cancelled"
        [turn] = [turn async for turn in session.turns()]
        assert [made.state for made in turn.calls] == ["not_run"]
    assert stage.effects == []
