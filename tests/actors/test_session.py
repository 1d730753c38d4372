"""The session's own: settings between turns, what they leave, and the end of an actor."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.errors import (
    Busy,
    SaveFailed,
    SessionFailed,
    SessionLost,
    UnknownModel,
    UnknownPreset,
    WouldWaitForItself,
)
from greenroom.protocol.event import PermissionChanged
from tests.actors.world import (
    AGENT,
    FULL,
    QUIET,
    Stage,
    check_conversation,
    check_requests,
    conversation,
    opened,
)


def systems(stage: Stage) -> list[str]:
    return [request.system for request in stage.model.requests]


async def switched(session: Session) -> list[PermissionChanged]:
    """The switches that were told so far."""
    last = (await session.state()).cursor.number
    told = []
    async for event in session.events():
        if isinstance(event, PermissionChanged):
            told.append(event)
        if getattr(getattr(event, "cursor", None), "number", 0) >= last:
            return told
    return told


async def test_a_switch_is_committed_in_force_and_told(stage: Stage) -> None:
    """R8, R14, R17: one event; only the system string's tail differs; no snapshot."""
    stage.presets = QUIET
    stage.plays("One.", call("pay"), "Two.")
    async with stage.session() as session:
        await session.ask("Hi")
        before = stage.store.last_number()
        await session.set_permission_preset("read-only")
        assert stage.store.last_number() == before + 1
        assert [(e.before, e.preset) for e in await switched(session)] == [(FULL, "read-only")]
        await session.ask("Pay")
        assert stage.effects == []
        assert await session.get_runtime_contexts() == ()
        await check_requests(session, stage.model.requests)
    one, two, _ = systems(stage)
    kept = one[: one.index("<permissions>")]
    assert two.startswith(kept)
    assert two != one
    assert "Read only" in two


async def test_only_the_last_of_several_switches_is_rendered(stage: Stage) -> None:
    """R12, R13, R70, R71: at most one checkpoint; there and back again adds none."""
    stage.plays("One.", "Two.", "Three.")
    async with stage.session() as session:
        await session.ask("Hi")
        [first] = await session.get_system_prompt_checkpoints()
        assert first.message_count == 1
        assert first.order is not None
        assert set(first.order) == set(first.sections)
        for preset in ("read-only", "workspace-write", FULL):
            await session.set_permission_preset(preset)
        await session.ask("Hi")
        assert await session.get_system_prompt_checkpoints() == (first,)
        for preset in ("read-only", "workspace-write"):
            await session.set_permission_preset(preset)
        await session.ask("Hi")
        _, second = await session.get_system_prompt_checkpoints()
        assert list(second.sections) == ["permissions"]
        assert (second.order, second.message_count) == (None, 5)
        await check_requests(session, stage.model.requests)
    one, two, three = systems(stage)
    assert one == two != three


async def test_settings_are_refused_unless_the_session_is_idle(stage: Stage) -> None:
    """R9: in a turn and with messages queued, and nothing of them changes."""
    stage.plays(call("watch"), "One.", "Two.")
    async with stage.session() as session:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        queued = await session.prompt("two", when="queue")
        before = stage.store.last_number()
        for refused in (session.set_permission_preset("read-only"), session.set_model("other")):
            with pytest.raises(Busy, match="turn is running"):
                await refused
        assert stage.store.last_number() == before
        assert (await session.state()).preset == FULL
        stage.gate.open.set()
        await session.outcome(first)
        await session.outcome(queued)
        await session.set_permission_preset("read-only")


async def test_what_does_not_exist_is_refused_before_any_write(stage: Stage) -> None:
    """R10: and the choices are named."""
    async with stage.session() as session:
        before = stage.store.last_number()
        with pytest.raises(UnknownPreset, match="read-only"):
            await session.set_permission_preset("all")
        with pytest.raises(UnknownModel, match="default, other"):
            await session.set_model("third")
        assert stage.store.last_number() == before


async def test_a_switch_that_cannot_be_written_changes_nothing(stage: Stage) -> None:
    """R10: neither in enforcement nor in the next prompt."""
    stage.plays("One.", call("pay"), "Two.")
    async with stage.session() as session:
        await session.ask("Hi")
        stage.fails()
        with pytest.raises(SaveFailed):
            await session.set_permission_preset("read-only")
        assert (await session.state()).preset == FULL
        await session.ask("Pay")
    assert stage.effects == ["pay 1"]
    assert len(set(systems(stage))) == 1


async def test_a_preset_outlives_its_host(stage: Stage) -> None:
    """R16, R61: reopened, it is in force and rendered; the kept prompt is the same to the byte."""
    stage.presets = QUIET
    stage.plays("One.", call("pay"), "Two.")
    async with stage.session() as session:
        await session.set_permission_preset("read-only")
        await session.ask("Hi")
    async with stage.host() as host:
        session = await host.session("ann", agent=AGENT)
        await session.ask("Pay")
        await check_requests(session, stage.model.requests)
    assert len(set(systems(stage))) == 1
    assert stage.effects == []


async def test_a_preset_chosen_at_opening_is_a_switch(stage: Stage) -> None:
    """R16: committed first, one event; refused while messages wait."""
    stage.plays(call("watch"), "One.")
    async with stage.host() as host:
        session = await opened(host)
        await host.session("ann", preset="read-only")
        assert len(await switched(session)) == 1
        await host.session("ann", preset="read-only")
        assert len(await switched(session)) == 1
        await session.prompt("Hi")
        with pytest.raises(Busy):
            await host.session("ann", preset=FULL)


async def test_another_model_composes_anew(stage: Stage) -> None:
    """R59, R47: A to B to A with nothing between keeps the kept prompt; the map is cleared."""
    stage.plays("One.", "Two.")
    stage.other._steps.append("Other.")
    stage.skills.publish("refunds", "One.")
    stage.bound = ("refunds",)
    async with stage.session() as session:
        await session.ask("Hi")
        assert await session.model_input_projection() is not None
        stage.skills.publish("refunds", "Two.")  # what composing anew would show
        await session.set_model("other")
        assert await session.model_input_projection() is None
        await session.set_model("default")
        await session.ask("Hi")
        turns = [turn.composition async for turn in session.turns()]
        assert turns[0] == turns[1]
        assert "One." in stage.model.requests[-1].system
        await session.set_model("other")
        assert (await session.ask("Hi")).text == "Other."
        turns = [turn.composition async for turn in session.turns()]
        assert turns[2] != turns[1]
        await check_requests(session, stage.model.requests)
    assert stage.other.requests[0].model == "other"


async def test_the_map_of_a_request(stage: Stage) -> None:
    """R47: none before dispatch and after reopening; kept past failure; cleared by drafting."""
    stall = Stalled(trio.Event(), ValueError("odd"))
    stage.plays(stall)
    async with stage.session() as session:
        assert await session.model_input_projection() is None
        receipt = await session.prompt("Hi")
        await stall.reached.wait()
        stall.until.set()
        await session.outcome(receipt)
        found = await session.model_input_projection()
        assert found is not None
        assert len(found.sources) == 1
        session._host.services.workspace = Stage(stage.store, bound=()).workspace()
        session._host.services.models.pop("default")  # type: ignore[attr-defined]
        assert (await session.ask("Hi")).end == "not_sent"
        assert await session.model_input_projection() is None
    async with stage.session() as session:
        assert await session.model_input_projection() is None


async def test_a_tool_cannot_wait_for_its_own_session(stage: Stage) -> None:
    """R168: it would wait for itself; it is told so, and the turn goes on."""
    found: list[BaseException] = []
    stage.plays(call("look"), "Done.")
    async with stage.host() as host:
        session = await opened(host)
        tool = host.services.door._tools["look"]

        async def asks(*_: object) -> str:
            try:
                await session.ask("Hi")
            except WouldWaitForItself as error:
                found.append(error)
            return "ok"

        object.__setattr__(tool, "body", asks)
        assert (await session.ask("Hi")).end == "done"
    assert len(found) == 1


async def test_a_session_that_another_holds_now_is_lost(stage: Stage) -> None:
    """R207, R209: fenced: nothing in the store changes, waiters are told, the actor ends."""
    stage.plays(call("watch"), call("pay"), "Two.")
    async with stage.session() as session:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        async with stage.session() as taken:
            await taken._host.activate(taken.id)
            assert [turn.end async for turn in taken.turns()] == ["interrupted"]
            before = stage.store.last_number()
            stage.gate.open.set()
            with pytest.raises(SessionLost):
                await session.outcome(first)
            assert stage.store.last_number() == before
            assert session._host.live(session.id) is None
            await check_conversation(taken)
    assert len(stage.model.requests) == 1


async def test_a_flush_that_is_fenced_gives_up(stage: Stage) -> None:
    """R207: it says what is lost, and does not try again."""
    stage.plays(call("pay"))
    async with stage.session() as session:
        stage.fails(skip=2)
        with pytest.raises(SaveFailed):
            await session.ask("Hi")
        async with stage.session() as taken:
            await taken._host.activate(taken.id)
            with pytest.raises(SessionLost) as caught:
                await session.flush()
            assert caught.value.facts["lost"]
            await session.flush()


async def test_a_recall_that_is_fenced_ends_the_actor(stage: Stage) -> None:
    """R207, R127: as any other commit."""
    stage.plays(call("watch"))
    async with stage.session() as session:
        await session.prompt("Hi")
        await stage.gate.reached.wait()
        queued = await session.prompt("two", when="queue")
        async with stage.session() as taken:
            await taken._host.activate(taken.id)
            with pytest.raises(SessionLost):
                await session.recall(queued)
            assert session._host.live(session.id) is None


async def test_a_recall_that_fails_leaves_the_message(stage: Stage) -> None:
    """R127, R84: it stands where it stood, and gets its turn."""
    stage.plays("Two.")
    async with stage.session() as session:
        stage.plays("Three.")
        stage.fails()
        with pytest.raises(Exception, match="not kept"):
            await session.prompt("Hi")
        queued = await session.prompt("two")
        await session.flush()
        await session.outcome(queued)
        stall = Stalled(trio.Event(), "Four.")
        stage.model._steps[1:] = [stall, "Five."]
        first = await session.prompt("Hi")
        await stall.reached.wait()
        waits = await session.prompt("waits", when="queue")
        stage.fails()
        with pytest.raises(SaveFailed):
            await session.recall(waits)
        stall.until.set()
        await session.outcome(first)
        assert (await session.outcome(waits)).text == "Five."


async def test_a_host_that_stops_leaves_nobody_waiting(stage: Stage) -> None:
    """R87, R199, R208, P032: turns end as interrupted, the queue stays, waiters are told."""
    stage.plays(call("watch"), "Two.")
    ends: list[object] = []

    async def wait(session: Session, message: str) -> None:
        try:
            ends.append((await session.outcome(message)).end)
        except SessionFailed as error:
            ends.append(type(error))

    async with trio.open_nursery() as nursery, stage.session() as session:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        queued = await session.prompt("two", when="queue")
        nursery.start_soon(wait, session, first.message)
        nursery.start_soon(wait, session, queued.message)
        await wait_all_tasks_blocked()
    assert sorted(map(str, ends)) == sorted(map(str, ["interrupted", SessionFailed]))
    async with stage.session() as session:
        assert (await session.outcome(first)).end == "interrupted"
        assert (await session.outcome(queued)).text == "Two."
        assert (await conversation(session))[-2:] == ["two", "Two."]


async def test_a_stopping_host_tries_one_flush(stage: Stage) -> None:
    """R208: what can be written by then is."""
    stage.plays("One.")
    async with stage.session() as session:
        stage.fails(skip=1)
        with pytest.raises(SaveFailed):
            await session.ask("Hi")
    async with stage.session() as session:
        assert await conversation(session) == ["Hi", "One."]
        assert [turn.end async for turn in session.turns()] == ["done"]


async def test_what_a_stopping_host_cannot_save_is_named(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """R208, R87: session and records; the store stands at the last commit."""
    stage.plays("One.")
    async with stage.session() as session:
        stage.fails(skip=1)
        with pytest.raises(SaveFailed):
            await session.ask("Hi")
        stage.fails()
    assert "ann" in caplog.text
    assert "Responded, Ended" in caplog.text
    async with stage.session() as session:
        await session._host.activate(session.id)
        assert [turn.end async for turn in session.turns()] == ["interrupted"]
