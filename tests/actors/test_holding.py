"""Laws of holds in a host: no turn begins, all that is sent waits, and a lift lets it go on."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.errors import Busy, Held, Missing
from greenroom.protocol.limits import Limits
from greenroom.protocol.question import Allow
from greenroom.store import open_memory
from tests.actors.held import WHY, ended, phase
from tests.actors.policy import FULL, fates, gate, last_result, put_in_force, tools, until_asked
from tests.actors.stage import claims, messages, stage, workspace

# --- a session that rests ------------------------------------------------------------------------


async def test_a_held_session_takes_what_is_sent_and_starts_nothing() -> None:
    """R127, R129, R159: durably, in order, and a lift serves it."""
    async with stage("One.", "Two.", "Three.") as on:
        session = await on.session()
        await session.ask("Hello.")
        hold = await on.host.hold(agent="support", **WHY)
        assert (hold.sessions, hold.stopped) == (1, 0)
        assert await phase(session) == "held"
        first = await session.prompt("A", when="queue")
        second = await session.prompt("B", when="queue", key="k")
        assert (first.status, second.status, second.position) == ("queued", "queued", 1)
        assert (await session.prompt("B", when="queue", key="k")).repeated
        await wait_all_tasks_blocked()
        assert on.stored(session).queued == 2
        assert len(on.model.requests) == 1
        await on.host.lift(hold, by="ben")
        assert await ended(session, first, second) == ["done", "done"]
        assert [m["content"] for m in messages(on.model.requests[-1])][2::2] == ["A", "B"]
        assert await phase(session) == "idle"


async def test_what_would_change_a_held_session_is_refused_with_who_and_why() -> None:
    """R159: settings, and a message that must not wait; reading, recalling and cancelling go."""
    async with stage("One.", "Two.") as on:
        session = await on.session()
        hold = await on.host.hold(**WHY)
        refused: list[Callable[[], Awaitable[object]]] = [
            lambda: session.set_permission_preset(FULL),
            lambda: session.set_model("m"),
            lambda: session.prompt("A", when="reject"),
            lambda: on.session(preset=FULL),
        ]
        for ask in refused:
            with pytest.raises(Held, match=r"held by ann: It pays twice\.") as caught:
                await ask()
            assert isinstance(caught.value, Busy)
            assert caught.value.facts["hold"] == hold.id
        assert (await on.session(preset="read-only")).id == session.id
        receipt = await session.prompt("A")
        assert await session.recall(receipt)
        assert not await session.cancel()
        assert (await session.outcome(receipt)).end == "recalled"
        await on.host.lift(hold, by="ben")
        await session.set_permission_preset(FULL)


async def test_a_held_session_may_be_let_go_and_deleted() -> None:
    """R184, R192: it needs no place in memory, and is held when it is read back."""
    async with stage("One.") as on:
        session = await on.session()
        await session.ask("Hello.")
        hold = await on.host.hold(**WHY)
        receipt = await session.prompt("A")
        actor = on.host.live(session.id)
        assert actor is not None
        assert actor.may_rest
        on.host.passivate(actor)
        assert on.host.live(session.id) is None
        assert await phase(session) == "held"
        assert [each.phase async for each in on.host.sessions(phase="held")] == ["held"]
        await session.prompt("B")
        assert on.stored(session).queued == 2
        assert claims(on.store) == 2
        await session.delete()
        await on.host.lift(hold, by="ben")
        with pytest.raises(Missing):
            await session.outcome(receipt)


# --- a session in a turn -------------------------------------------------------------------------


async def test_a_turn_that_runs_may_finish() -> None:
    """R159: words that steer are still handed to it; what waits for its own turn waits."""
    gate_ = trio.Event()
    asked = Stalled(gate_, call("look"))
    async with stage(asked, "Seen.", "Later.", tools=tools([])) as on:
        session = await on.session()
        first = await session.prompt("Look.")
        await asked.reached.wait()
        hold = await on.host.hold(**WHY)
        assert (hold.running, hold.sessions, hold.stopped) == ("finish", 1, 0)
        assert await phase(session) == "model"
        steer = await session.prompt("And this.")
        own = await session.prompt("A", when="queue")
        gate_.set()
        assert await ended(session, first, steer) == ["done", "done"]
        await wait_all_tasks_blocked()
        assert await phase(session) == "held"
        assert len(on.model.requests) == 2
        await on.host.lift(hold, by="ben")
        assert await ended(session, own) == ["done"]


async def test_a_turn_that_runs_may_be_stopped_at_its_next_boundary() -> None:
    """R127, R159: what was begun has its result, the model is not called again, and what waits is
    served after the lift."""
    done: list[str] = []
    gate_ = trio.Event()
    asked = Stalled(gate_, call("pay", cents=7))
    async with stage(asked, "Later.", tools=tools(done)) as on:
        session = await on.session(preset=FULL)
        other = await on.session("ben")
        first = await session.prompt("Pay.")
        await asked.reached.wait()
        hold = await on.host.hold(running="stop", **WHY)
        assert (hold.sessions, hold.stopped) == (2, 1)
        own = await session.prompt("A", when="queue")
        gate_.set()
        outcome = await session.outcome(first)
        assert (outcome.end, done) == ("cancelled", ["pay 7"])
        assert outcome.reason == "Stopped by a hold of ann: It pays twice."
        assert await fates(session) == [("pay", "done")]
        await wait_all_tasks_blocked()
        assert (await phase(session), len(on.model.requests)) == ("held", 1)
        assert other.id.key == "ben"
        await on.host.lift(hold, by="ben")
        assert await ended(session, own) == ["done"]


async def test_a_turn_that_waits_for_its_place_has_not_begun() -> None:
    """R159, R185: it goes back to the queue, and is served after the lift."""
    gate_ = trio.Event()
    asked = Stalled(gate_, "One.")
    async with stage(asked, "Two.", limits=Limits(running_turns_max=1)) as on:
        ann, ben = await on.session("ann"), await on.session("ben")
        first = await ann.prompt("A")
        second = await ben.prompt("B")
        await asked.reached.wait()
        hold = await on.host.hold(**WHY)
        gate_.set()
        assert await ended(ann, first) == ["done"]
        await wait_all_tasks_blocked()
        assert (await phase(ben), len(on.model.requests)) == ("held", 1)
        assert on.stored(ben).queued == 1
        await on.host.lift(hold, by="x")
        assert await ended(ben, second) == ["done"]


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_parked_turn_goes_on_after_the_lift_and_commits_anew(*, restarted: bool) -> None:
    """R129, R157, R159: its answer is taken and waits; what was queued behind it follows it."""
    done: list[str] = []
    async with open_memory() as store:
        async with stage(call("pay"), store=store, tools=tools(done)) as on:
            session = await on.session()
            first = await session.prompt("Pay.")
            await until_asked(on)
            hold = await on.host.hold(running="stop", **WHY)
            [question] = await on.host.questions().all()
            await on.host.answer(question, Allow("ben"))
            behind = await session.prompt("And thanks.")
            await wait_all_tasks_blocked()
            assert (done, await phase(session)) == ([], "parked")
            if not restarted:
                put_in_force(on.host, gate())
                on.model._steps.append("Well.")
                await on.host.lift(hold, by="ben")
                assert await ended(session, first, behind) == ["done", "done"]
        if restarted:
            work = workspace(gates=[gate()])
            async with stage("Well.", store=store, tools=tools(done), work=work) as on:
                session = await on.session()
                await wait_all_tasks_blocked()
                assert (done, await phase(session)) == ([], "parked")
                await on.host.lift(hold.id, by="ben")
                assert await ended(session, first, behind) == ["done", "done"]
        assert done == []
        async with stage(store=store) as on:
            told = await last_result(await on.session())
            assert "ben had approved it; that is void now" in told
