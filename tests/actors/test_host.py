"""The host: sessions found and activated once, bounded, let go, and one failing alone."""

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Capabilities, Policy, open_host, tool
from greenroom.actors.drafting import Drafted, draft_of
from greenroom.actors.gateway import Waiting
from greenroom.actors.models.scripted import Looping, Stalled, call, scripted
from greenroom.actors.session import SessionActor
from greenroom.protocol.encoding import encode_header, encode_records
from greenroom.protocol.errors import (
    GreenroomError,
    HostFull,
    Missing,
    SessionFailed,
    StoreTaken,
    UnknownTool,
)
from greenroom.protocol.event import SessionDeleted, TurnEnded
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.protocol.phase import Phase
from greenroom.protocol.record import Opened
from greenroom.store import Create, open_memory
from tests.actors.stage import agent, all_of, claims, stage, workspace
from tests.store.offering import ask_all


async def test_fifty_tasks_create_once_and_activate_once() -> None:
    """R219, P023: one creation and one claim, however many ask at the same time."""
    async with stage(model=Looping(("Hi.",))) as on:
        sessions = await all_of(50, lambda _: on.session("s"))
        assert {session.id for session in sessions} == {SessionId("default", "s")}
        assert len(on.store.read(sessions[0].id)) == 1
        await all_of(50, lambda place: sessions[place].ask(f"{place}"))
        assert claims(on.store, "s") == 1


async def test_a_hundred_tasks_submit_turn_after_turn() -> None:
    """P020, P022: a history is strictly turn after turn, whoever writes at the same time."""
    async with stage(model=Looping(("Hi.",))) as on:
        session = await on.session()
        outcomes = await all_of(100, lambda place: session.ask(f"m{place}", when="queue"))
        said = [message.content for message in (await session.state()).messages]
    assert sorted(outcome.turn for outcome in outcomes) == list(range(1, 101))
    assert said[1::2] == ["Hi."] * 100
    assert sorted(said[::2]) == sorted(f"m{place}" for place in range(100))
    for outcome, place in zip(outcomes, range(100), strict=True):
        assert said[2 * (outcome.turn - 1)] == f"m{place}"


async def test_markers_of_sessions_do_not_cross() -> None:
    """P030: two sessions, a thousand turns, and no word of one in the other."""
    echo = Echo()
    async with stage(model=echo) as on:
        sessions = [await on.session(key) for key in ("ann", "ben")]

        async def talk(place: int) -> None:
            for turn in range(500):
                outcome = await sessions[place].ask(f"{'ab'[place]}{turn}")
                assert outcome.text == f"{'ab'[place]}{turn}"

        await all_of(2, talk)
        for place, session in enumerate(sessions):
            other = "ba"[place]
            said = "".join(str(m.content) for m in (await session.state()).messages)
            assert other not in said


class Echo:
    """A model that answers the last words it was sent."""

    name = "echo"
    capabilities = Looping(("",)).capabilities

    async def respond(self, request: Any, session: Any, sink: Any, /) -> Any:
        await trio.lowlevel.checkpoint()
        words = request.messages[-1].decode().rsplit('"', 2)[1]
        return Looping((words,))._rounds[0][0]


async def test_an_idle_session_is_let_go_and_activated_once(autojump_clock: MockClock) -> None:
    """R184: its memory returns, and fifty messages at once activate it once."""
    async with stage(model=Looping(("Hi.",)), limits=Limits(idle_seconds=10)) as on:
        session = await on.session()
        await session.ask("one")
        actor = weakref.ref(on.host.live(session.id))
        await trio.sleep(30)
        assert on.host.live(session.id) is None
        gc.collect()
        assert actor() is None
        await all_of(50, lambda place: session.ask(f"{place}"))
        assert claims(on.store) == 2


async def test_a_session_that_is_busy_is_not_let_go(autojump_clock: MockClock) -> None:
    """R184: a running turn keeps its session, however long it takes."""
    go = trio.Event()
    async with stage(Stalled(go, "Hi."), limits=Limits(idle_seconds=10)) as on:
        session = await on.session()
        receipt = await session.prompt("one")
        await trio.sleep(100)
        assert on.host.live(session.id) is not None
        go.set()
        assert (await session.outcome(receipt)).end == "done"
        assert claims(on.store) == 1


async def test_nothing_is_activated_by_opening_a_host() -> None:
    """P122: ten thousand stored sessions cost an opened host nothing; one costs one."""
    async with open_memory() as store:
        header = encode_header(Header("support", None, "read-only", None, 0))
        records = encode_records([Opened(0, "support", None, "read-only")])
        made = [Create(SessionId("default", f"s{n}"), header, records) for n in range(10_000)]
        await ask_all(store, made)
        before = store.statistics().operations
        async with stage("Hi.", store=store) as on:
            await wait_all_tasks_blocked()
            assert (on.host.services.actors, store.statistics().operations) == ({}, before)
            assert await on.host.sessions().count() == 10_000
            session = await on.session("s7")
            await session.ask("one")
            assert list(on.host.services.actors) == [session.id]


async def test_the_bound_of_live_sessions_holds_for_those_on_their_way() -> None:
    """R185: no more are live than the bound, also when all are activated at the same time."""
    async with stage(model=Looping(("Hi.",)), limits=Limits(live_sessions_max=3)) as on:
        sessions = [await on.session(f"s{n}") for n in range(10)]
        refused = []

        async def one(place: int) -> None:
            try:
                await sessions[place].ask("hello")
            except HostFull as error:
                refused.append(error)

        await all_of(10, one)
        assert (len(on.host.services.actors), len(refused)) == (3, 7)
        assert refused[0].facts["bound"] == 3


async def test_one_session_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """R168: its waiters are told, the others run on, and it goes on with the next message."""
    broken = {"ben"}

    async def defective(actor: SessionActor, entry: Waiting, number: int) -> Drafted:
        if actor.id.key in broken:
            raise RuntimeError("a defect")
        return await draft_of(actor, entry, number)

    monkeypatch.setattr("greenroom.actors.making_room.draft_of", defective)
    async with stage(model=Looping(("Hi.",))) as on:
        ann, ben = await on.session("ann"), await on.session("ben")
        with pytest.raises(SessionFailed, match="a defect"):
            await ben.ask("one")
        with pytest.raises(SessionFailed):
            await ben.prompt("two")
        assert (await ann.ask("one")).end == "done"
        assert ben.id not in on.host.services.actors
        assert (await ben.state()).phase == "idle"
        broken.clear()
        assert (await ben.ask("three")).end == "done"


async def test_a_stopping_host_ends_what_runs_and_keeps_what_waits() -> None:
    """R199, R208: a running turn is interrupted, what is queued stays queued, and goes on later."""
    async with open_memory() as store:
        never = trio.Event()
        async with stage(Stalled(never, "never"), store=store) as on:
            session = await on.session()
            first = await session.prompt("one")
            second = await session.prompt("two", when="queue")
        async with stage("Hi.", store=store) as on:
            session = await on.session()
            assert (await session.outcome(first)).end == "interrupted"
            assert (await session.outcome(second)).text == "Hi."


async def test_a_message_whose_turn_waits_for_a_place_stays_queued() -> None:
    """R199: a turn that was not dispatched leaves its queued message where it stood."""
    async with open_memory() as store:
        async with stage(Stalled(trio.Event(), ""), store=store) as on:
            ben = await on.session("ben")
            await ben.prompt("one")
            queued = await ben.prompt("two", when="queue")
        limits, still = Limits(running_turns_max=1), Policy(revive=False)
        async with stage(Stalled(trio.Event(), ""), store=store, limits=limits, policy=still) as on:
            await (await on.session("ann")).prompt("one")
            actor = await on.host.activate(ben.id)
            await wait_all_tasks_blocked()
            assert actor.phase is Phase.DRAFTING
        async with stage("Hi.", store=store) as on:
            assert (await (await on.session("ben")).outcome(queued)).text == "Hi."


async def test_a_message_that_waits_for_a_place_is_told_when_the_host_stops() -> None:
    """R199, R177: accepted as not sent, or not accepted at all; its sender does not hang."""
    limits = Limits(running_turns_max=1)
    receipts = []
    script = Stalled(trio.Event(), "")
    async with trio.open_nursery() as nursery, stage(script, limits=limits) as on:
        ann, ben = await on.session("ann"), await on.session("ben")
        await ann.prompt("one")

        async def send() -> None:
            receipts.append(await ben.prompt("two"))

        nursery.start_soon(send)
        await wait_all_tasks_blocked()
    assert [receipt.status for receipt in receipts] == ["queued"]


async def test_whoever_waits_when_the_host_stops_is_told() -> None:
    """R87: nobody waits for ever for an outcome that this host will not bring about."""
    told: list[BaseException] = []
    async with trio.open_nursery() as nursery, stage(Stalled(trio.Event(), "never")) as on:
        session = await on.session()
        await session.prompt("one")
        queued = await session.prompt("two", when="queue")

        async def wait() -> None:
            try:
                await session.outcome(queued)
            except GreenroomError as error:
                told.append(error)

        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
    assert [type(error) for error in told] == [SessionFailed]


async def test_a_deleted_session_is_gone_and_its_readers_end() -> None:
    """R192: one last event, then the readers end, and the session is missing."""
    async with stage(model=Looping(("Hi.",))) as on:
        session = await on.session()
        await session.ask("one")
        told: list[Any] = []

        async def read() -> None:
            told.extend([event async for event in session.events()])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await wait_all_tasks_blocked()
            await session.delete()
        assert isinstance(told[-1], SessionDeleted)
        for asked in (session.ask("two"), session.state(), session.delete()):
            with pytest.raises(Missing):
                await asked
        with pytest.raises(Missing, match="its key is used up"):
            await on.session()


async def test_a_small_model_has_room_for_a_word() -> None:
    """R100, R101: the reserve for an answer leaves a window of 4k its prompt."""
    for output_tokens in (None, 256):
        can = Capabilities(context_tokens=4_096, output_tokens=output_tokens)
        async with stage(model=Looping(("Hello.",), capabilities=can)) as on:
            outcome = await (await on.session()).ask("hi")
            assert (outcome.end, outcome.text) == ("done", "Hello.")


async def test_a_session_is_deleted_while_its_turn_runs() -> None:
    """R192: the turn ends without an effect, and whoever waits for it is told."""
    async with stage(Stalled(trio.Event(), "never")) as on:
        session = await on.session()
        receipt = await session.prompt("one")
        failed = []

        async def wait() -> None:
            with pytest.raises(GreenroomError) as caught:
                await session.outcome(receipt)
            failed.append(caught.value)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await wait_all_tasks_blocked()
            await session.delete()
        assert len(failed) == 1
        await wait_all_tasks_blocked()
        with pytest.raises(Missing):
            await session.prompt("two")


async def test_a_blocking_tool_stalls_nobody() -> None:
    """R189, P162: a plain function runs in a thread while a hundred others get their turns."""
    others_are_done = threading.Event()

    @tool(effect="read")
    def block() -> str:
        """Block until the others are done."""
        return str(others_are_done.wait(10))

    model = Looping((call("block"), "Done."))
    talk = Looping(("Hi.",))
    agents = [agent(), agent(name="other", model="talk")]
    models = {"m": model, "talk": talk}
    async with stage(models=models, agents=agents, tools=[block]) as on:
        blocked = await (await on.session()).prompt("go")
        sessions = [await on.session(f"s{n}", agent="other") for n in range(100)]
        await all_of(100, lambda place: sessions[place].ask("hello"))
        others_are_done.set()
        session = await on.session()
        await session.outcome(blocked)
        said = [message.content for message in (await session.state()).messages]
    assert said[2] == "True"


async def test_a_store_has_one_host(tmp_path: Path) -> None:
    """R187: a second one is refused, naming the holder, and by its own error."""
    path = tmp_path / "store"
    async with open_host(path, workspace=workspace(), models={"m": scripted("Hi.")}) as host:
        await (await host.session("ann", agent="support")).ask("one")
        with pytest.raises(StoreTaken) as caught:
            async with open_host(path, workspace=workspace(), models={"m": scripted()}):
                pass
        assert "pid" in caught.value.facts


async def test_what_a_block_raises_comes_out_as_it_is() -> None:
    """An embedder's own error is no group of errors, and the host is stopped all the same."""
    with pytest.raises(ZeroDivisionError):
        async with stage():
            _ = 1 / 0


async def test_an_agent_names_only_tools_that_there_are() -> None:
    """R203: a host does not open over a workspace that it cannot serve."""
    with pytest.raises(UnknownTool, match="nope"):
        async with stage(agents=[agent(tools=("nope",))]):
            pass


async def test_readers_get_the_end_of_a_turn_that_the_host_stopped() -> None:
    """R186: what is committed while the host stops is told before the readers end."""
    told: list[Any] = []
    async with trio.open_nursery() as nursery, stage(Stalled(trio.Event(), "never")) as on:
        session = await on.session()

        async def read() -> None:
            told.extend([event async for event in session.events()])

        nursery.start_soon(read)
        await session.prompt("one")
        await wait_all_tasks_blocked()
    assert isinstance(told[-1], TurnEnded)
    assert told[-1].outcome.end == "interrupted"
