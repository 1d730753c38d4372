"""Where a turn meets what it did not expect: shields, filters, strangers, and steers too large."""

from collections.abc import AsyncIterator

import pytest
import trio

from greenroom.actors import (
    Events,
    ModelResponse,
    RequestedCall,
    Session,
    ToolContext,
    Workspace,
    tool,
)
from greenroom.actors.models.port import Capabilities
from greenroom.actors.models.scripted import Scripted, call
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import StoreUnavailable
from greenroom.protocol.event import ToolProgress, TurnEnded
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import Image, TextPart
from greenroom.protocol.record import Dispatched, Returned
from greenroom.protocol.turn import TurnRecord
from greenroom.protocol.usage import Usage
from tests.actors.test_turn_steered import in_tool
from tests.actors.world import (
    FULL,
    QUIET,
    Stage,
    check_conversation,
    check_requests,
    conversation,
    opened,
)


async def test_a_stopped_turn_takes_no_steer(stage: Stage) -> None:
    """R180, R125, P008: a tool that shields itself ends the turn late; what waits is not in it."""

    @tool(effect="read")
    async def stubborn() -> str:
        """Go on, whatever happens."""
        with trio.CancelScope(shield=True):
            await stage.gate.wait()
        return "at last"

    stage.plays(call("stubborn"), "Answered.")
    async with stage.host(tools=[stubborn]) as host:
        session = await opened(host)
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        assert await session.cancel()
        later = await session.prompt("And this?")
        stage.gate.open.set()
        assert (await session.outcome(first)).end == "cancelled"
        outcome = await session.outcome(later)
        assert (outcome.turn, outcome.absorbed, outcome.text) == (2, False, "Answered.")
        assert len(stage.model.requests) == 2
        await check_conversation(session)


async def test_what_could_not_be_kept_may_be_sent_again_at_once(stage: Stage) -> None:
    """R205: nothing of a refused message is left, so nobody has to flush anything."""
    stage.plays("Hello.")
    async with stage.session() as session:
        stage.fails()
        with pytest.raises(StoreUnavailable):
            await session.prompt("Hi")
        assert (await session.state()).phase == "idle"
        assert (await session.ask("Hi")).text == "Hello."


async def test_calls_of_a_withheld_answer_are_not_run(stage: Stage) -> None:
    """R175: what the provider withheld is refused, whatever else came with it."""
    stage.plays(
        ModelResponse("", (RequestedCall("1", "pay", "{}"),), finish="filter"),
        ModelResponse("", finish="filter"),
        ModelResponse("Half a", (RequestedCall("1", "pay", "{}"),), finish="filter"),
        "Fine.",
    )
    async with stage.session() as session:
        ends = [(await session.ask(str(n))).end for n in range(4)]
        assert ends == ["refused", "refused", "refused", "done"]
        assert stage.effects == []
        await check_conversation(session)
        await check_requests(session, stage.model.requests)


async def test_an_answer_without_end_is_a_failure(stage: Stage) -> None:
    """R194: the bound on a response holds for every port."""
    stage.plays("x" * 3_000, "Fine.")
    async with stage.session(limits=Limits(response_bytes_max=2_000)) as session:
        assert (await session.ask("Hi")).end == "failed"
        assert (await session.ask("Hi")).end == "done"


async def test_a_tool_that_came_since_is_none_of_the_conversation(stage: Stage) -> None:
    """R195: what may be called is what the kept prompt declares."""
    stage.plays("One.", call("extra"), "Two.")
    async with stage.session() as session:
        await session.ask("Hi")

    @tool(effect="write")
    async def extra() -> str:
        """Do more."""
        stage.effects.append("extra")
        return "more"

    async with stage.host(tools=[*stage.tools(), extra]) as host:
        session = await opened(host)
        await session.ask("Again")
        assert stage.effects == []
        assert "There is no tool 'extra'" in (await conversation(session))[-2]


async def test_a_steer_that_does_not_fit_does_not_end_the_turn(stage: Stage) -> None:
    """R105, R123: the turn goes on without it, and it is refused as a prompt of its own."""
    stage.model = Scripted([], capabilities=Capabilities(context_tokens=9_000))
    async with stage.session() as session:
        receipt = await in_tool(stage, session, "Done.", "Small.")
        small = await session.prompt("small")
        large = await session.prompt("x" * 20_000)
        last = await session.prompt("last")
        stage.gate.open.set()
        outcome = await session.outcome(receipt)
        assert (outcome.end, outcome.text) == ("done", "Done.")
        assert (await session.outcome(small)).absorbed
        assert (await session.outcome(large)).end == "context_full"
        assert (await session.outcome(last)).text == "Small."
        await check_requests(session, stage.model.requests)


async def test_steers_of_one_boundary_are_numbered_on(stage: Stage) -> None:
    """R51, R126: each has an ordinal of its own."""
    async with stage.session() as session:
        receipt = await in_tool(stage, session, "Done.")
        steers = [await session.prompt(text) for text in ("a", "b", "c")]
        stage.gate.open.set()
        await session.outcome(receipt)
        entries = stage.store.read(session.id)
        records = [record for entry in entries for record in decode_records(entry.records)]
        (returned,) = [record for record in records if isinstance(record, Returned)]
        told = [(steer.message, steer.ordinal) for steer in returned.steers]
        assert told == [(steer.message, n) for n, steer in enumerate(steers, start=1)]


async def test_an_image_costs_what_the_model_says(stage: Stage) -> None:
    """R100, P095: not its bytes, which are few here."""
    sees = Capabilities(images=True, image_tokens=5_000, context_tokens=12_000)
    stage.model = Scripted(["Seen."], capabilities=sees)
    picture = Image("image/png", b"\x89PNG")
    async with stage.session() as session:
        assert (await session.ask([TextPart("One"), picture])).end == "done"
        assert (await session.ask([TextPart("Two"), picture, picture])).end == "context_full"


@pytest.mark.parametrize("person", [None, "ada"])
async def test_the_persons_part_goes_with_a_person(stage: Stage, person: str | None) -> None:
    """R57: it is recorded, and so rebuilt, with the turn."""
    stage.plays("Hello.")
    async with stage.host() as host:
        session = await host.session("ann", agent="support", person=person)
        await session.ask("Hi")
        entries = stage.store.read(session.id)
        records = [record for entry in entries for record in decode_records(entry.records)]
        (dispatched,) = [record for record in records if isinstance(record, Dispatched)]
        assert dispatched.with_person is (person is not None)


async def test_a_preset_that_is_gone_leaves_the_strictest(stage: Stage) -> None:
    """R7, R92: a healthy session is not set aside for what the host's table lost."""
    stage.presets = QUIET
    stage.plays("One.", call("pay"), "Two.")
    async with stage.session() as session:
        await session.ask("Hi")
    presets = tuple(p for p in stage.workspace().presets if p.id != FULL)
    agent = AgentDeclaration(name="support", prompt="You help.")
    fewer = Workspace.build(agents=[agent], presets=type(stage.workspace().presets)(presets))
    async with stage.host(workspace=fewer) as host:
        session = await host.session("ann")
        assert (await session.ask("Again")).end == "done"
        assert stage.effects == []
        await session.set_permission_preset("workspace-write")
        assert (await session.state()).preset == "workspace-write"


async def test_a_record_names_the_tool_that_was_really_called(stage: Stage) -> None:
    """R216: never ``use_tool``."""

    @tool(effect="read")
    async def hidden(context: ToolContext[object]) -> str:
        """Reached on demand."""
        return context.call

    agent = AgentDeclaration(name="support", prompt="You help.", tools_on_demand=("hidden",))
    stage.plays(call("use_tool", name="hidden", arguments={}), "Done.")
    async with stage.host(workspace=Workspace.build(agents=[agent]), tools=[hidden]) as host:
        session = await opened(host)
        await session.ask("Hi")
        assert [made.tool for made in (await _only(session)).calls] == ["hidden"]


async def test_calls_of_a_model_that_brought_nothing_are_recorded(stage: Stage) -> None:
    """R77, R190: a request that was sent is in the record, with what it cost."""
    stage.model = Scripted([""], usage=Usage(input=10, output=3))
    async with stage.session() as session:
        assert (await session.ask("Hi")).end == "empty"
        turn = await _only(session)
    assert [made.usage for made in turn.model_calls] == [Usage(input=10, output=3)]
    assert turn.model_calls[0].request


async def test_the_newest_pin_is_what_a_model_reads_of_a_skill(stage: Stage) -> None:
    """R202: of a skill picked twice, the later revision."""
    stage.skills.publish("plan", "Plan like this.")
    stage.plays("One.", "Two.", call("load_skill", name="plan"), "Three.")
    async with stage.session() as session:
        await session.ask("Hi", skills=["plan"])
        stage.skills.publish("plan", "Plan like that.")
        await session.ask("Again", skills=["plan"])
        stage.skills.publish("plan", "Plan no more.")
        await session.ask("Read it")
        assert "Plan like that." in (await conversation(session))[-2]


async def test_a_tools_progress_reaches_who_reads_now(stage: Stage) -> None:
    """R220: live, with its turn and call, before the result; and never stored."""

    @tool(effect="read")
    async def long(context: ToolContext[object]) -> str:
        """Take long."""
        context.progress("half way")
        await stage.gate.wait()
        return "done"

    stage.plays(call("long"), "Done.")
    async with stage.host(tools=[long]) as host:
        session = await opened(host)
        events = session.events(after=(await session.state()).cursor)
        await session.prompt("Hi")
        progress = None
        async for event in events:
            if isinstance(event, ToolProgress):
                progress = event
                break
        assert progress == ToolProgress(1, "c1-0-0", "half way")
        stage.gate.open.set()
        told = [type(event).__name__ async for event in _until_ended(events)]
        assert "ToolReturned" in told
        assert "ToolProgress" not in told
        assert not any(b"half way" in entry.records for entry in stage.store.read(session.id))


async def _until_ended(events: Events) -> AsyncIterator[object]:
    async for event in events:
        yield event
        if isinstance(event, TurnEnded):
            return


async def _only(session: Session) -> TurnRecord:
    (turn,) = [turn async for turn in session.turns()]
    return turn


async def test_progress_of_a_loop_in_a_thread_wakes_ours_in_ours(stage: Stage) -> None:
    """R168, R220: a tool in a thread may run a loop of its own, and tell from there."""

    @tool(effect="read")
    def nested(context: ToolContext[object]) -> str:
        """Run a loop."""

        async def inside() -> None:
            context.progress("half way")

        trio.run(inside)
        return "ok"

    stage.plays(call("nested"), "Done.")
    async with stage.host(tools=[nested]) as host:
        session = await opened(host)
        events = session.events(after=(await session.state()).cursor)
        receipt = await session.prompt("Hi")
        with trio.fail_after(5):
            told = [type(event).__name__ async for event in _until_ended(events)]
        assert "ToolProgress" in told
        assert (await session.outcome(receipt)).text == "Done."
        assert (await conversation(session))[-2] == "[ok]"
