"""Reading a session: originals, everything by origin, and the map of a request."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import tool
from greenroom.actors.models.scripted import Looping, Scripted, Stalled, call
from greenroom.protocol.errors import ModelFailed, SaveFailed, StoreFull
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import TextPart, ToolMessage, UserMessage
from greenroom.store import Commit, open_memory
from tests.actors.looking import LONG, SKILLS, look
from tests.actors.stage import agent, messages, stage


async def test_state_holds_the_originals_and_nothing_else() -> None:
    """R1, R94, R193: what was typed and received, each equal; a spilled result reads whole."""
    script = (call("look"), "Done.")
    limits = Limits(result_bytes_max=100, result_head_bytes=10)
    agents = [agent(skills=("skills/check",))]
    async with stage(*script, tools=[look], skills=SKILLS, limits=limits, agents=agents) as on:
        session = await on.session(preset="workspace-write")
        await session.ask([TextPart("typed "), TextPart("in parts")], skills=["plan"])
        state = await session.state()
        assert state.messages[0] == UserMessage((TextPart("typed "), TextPart("in parts")))
        assert [type(m).__name__ for m in state.messages] == [
            "UserMessage",
            "AssistantMessage",
            "ToolMessage",
            "AssistantMessage",
        ]
        result = state.messages[2]
        assert isinstance(result, ToolMessage)
        assert result.content == LONG
        assert (state.user_messages, state.phase) == (1, "idle")
        (listed,) = await on.host.sessions().all()
        assert listed.messages == len(state.messages)


async def test_a_spilled_result_reads_whole_while_it_is_not_on_disk() -> None:
    """R1, R84, R193: what a failed save holds back reads like everything else."""
    limits = Limits(result_bytes_max=100, result_head_bytes=10)
    async with (
        open_memory() as store,
        stage(call("look"), "Done.", tools=[look], limits=limits, store=store) as on,
    ):
        session = await on.session()
        store.faults.fail_next(StoreFull("Full."), where=_has_result)
        with pytest.raises(SaveFailed):
            await session.ask("one")
        results = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
        assert [result.content for result in results] == [LONG]
        await session.flush()
        results = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
        assert [result.content for result in results] == [LONG]


def _has_result(operation: object) -> bool:
    return isinstance(operation, Commit) and b'"is":"returned"' in operation.records


async def test_transcript_marks_everything_by_origin() -> None:
    """R98, R90, R81: results of ours, picks, and what was queued, recalled or not sent."""
    never = trio.Event()

    @tool(effect="read")
    async def wait() -> str:
        """Wait."""
        await never.wait()
        return ""

    async with stage(call("wait"), "Hi.", Stalled(never, ""), tools=[wait], skills=SKILLS) as on:
        session = await on.session()
        receipt = await session.prompt("one $plan", skills=["plan"])
        await wait_all_tasks_blocked()
        await session.cancel()
        assert (await session.outcome(receipt)).end == "cancelled"
        await session.ask("two")
        await session.prompt("three")
        gone = await session.prompt("four", when="queue")
        await session.prompt("five", when="queue")
        await session.recall(gone)
        entries = await session.transcript().all()
        shown = [(entry.origin, entry.mark) for entry in entries]
        assert shown == [
            ("person", ""),
            ("model", ""),
            ("greenroom", ""),
            ("person", ""),
            ("model", ""),
            ("person", ""),
            ("person", "recalled"),
            ("person", "queued"),
        ]
        assert [pick.id for pick in entries[0].picks] == ["skills/plan"]
        assert entries[0].message == UserMessage("one $plan")
        said = (await session.state()).messages
        assert len(said) == 6


async def test_what_is_read_is_a_copy_that_nobody_shares() -> None:
    """R167, R97, R75: frozen, made anew each time, and equal."""
    async with stage("Hi.", skills=SKILLS) as on:
        session = await on.session(labels={"team": "a"})
        await session.ask("one", skills=["plan"])
        for read in (
            session.state,
            session.get_runtime_contexts,
            session.get_system_prompt_checkpoints,
            session.model_input_projection,
        ):
            first, second = await read(), await read()
            assert first == second
            assert first is not second or first == ()
        (listed,) = await on.host.sessions().all()
        listed.labels["team"] = "b"
        (again,) = await on.host.sessions().all()
        assert again.labels == {"team": "a"}
        state = await session.state()
        with pytest.raises(AttributeError):
            state.phase = "other"  # type: ignore[misc]


async def test_reading_a_passive_session_activates_nothing_and_claims_nothing() -> None:
    """R219: state, transcript, turns, requests, listings and events of a passive session."""
    async with open_memory() as store:
        async with stage("Hi.", store=store) as on:
            await (await on.session()).ask("one")
        before = store.statistics().operations
        async with stage(store=store) as on:
            session = await on.session()
            assert [m.content for m in (await session.state()).messages] == ["one", "Hi."]
            assert await session.transcript().count() == 2
            assert await session.turns().count() == 1
            assert (await session.request(1)).is_exact
            assert await session.get_runtime_contexts() == ()
            assert len(await session.get_system_prompt_checkpoints()) == 1
            assert await session.model_input_projection() is None
            assert await on.host.sessions(phase="idle").count() == 1
            async for _ in session.events():
                break
            async for _ in on.host.feed():
                break
            assert not on.host.services.actors
            assert store.statistics().operations == before


async def test_accepted_metadata_is_shown_before_it_is_on_disk() -> None:
    """R53, R75, R84: what a failed save holds back is read as it will be stored."""
    async with open_memory() as store, stage("Hi.", store=store) as on:
        session = await on.session()
        store.faults.fail_next(
            StoreFull("Full."), where=lambda op: b'"ended"' in getattr(op, "records", b"")
        )
        with pytest.raises(SaveFailed):
            await session.ask("one")
        state = await session.state()
        assert (state.has_pending_save, state.phase) == (True, "unsaved")
        assert [m.content for m in state.messages] == ["one", "Hi."]
        await session.flush()
        assert (await session.state()).messages == state.messages


# --- the map -------------------------------------------------------------------------------------


async def test_the_map_names_where_each_message_comes_from() -> None:
    """R45, R46: places, expansions and revisions are in the map, and none of it in the request."""
    async with stage(call("look"), "Done.", tools=[look], skills=SKILLS) as on:
        session = await on.session()
        await session.ask("one", skills=["plan", "check"])
        shown = await session.model_input_projection()
        assert shown is not None
        assert len(shown.sources) == len(on.model.requests[-1].messages)
        assert [source.message for source in shown.sources] == [0, 1, 2]
        expansion = shown.sources[0].expansion
        assert expansion is not None
        assert (expansion.user_turn, expansion.ids) == (0, ("skills/plan", "skills/check"))
        assert expansion.shown == (True, True)
        (context,) = await session.get_runtime_contexts()
        assert expansion.revisions == tuple(skill.revision for skill in context.skills)
        state = await session.state()
        for request in on.model.requests:
            sent = request.canonical().decode()
            for ours in (session.id.key, "tenant", "ordinal", "revision", "snapshot", "checkpoint"):
                assert f'"{ours}"' not in sent
            for revision in expansion.revisions:
                assert revision not in sent
            assert set(messages(request)[0]) == {"role", "content"}
        assert state.messages[0] == UserMessage("one")


async def test_when_the_map_is_there() -> None:
    """R47: none before a dispatch, after reopening or a model switch; kept after a failure."""
    models = {"m": Scripted(["One.", ModelFailed("No."), "Three."]), "n": Looping(("Hi.",))}
    async with open_memory() as store:
        async with stage(models=models, store=store) as on:
            session = await on.session()
            assert await session.model_input_projection() is None
            await session.ask("one")
            assert await session.model_input_projection() is not None
            assert (await session.ask("two")).end == "failed"
            kept = await session.model_input_projection()
            assert kept is not None
            assert len(kept.sources) == 3
            await session.set_model("n")
            assert await session.model_input_projection() is None
            await session.ask("three")
            assert await session.model_input_projection() is not None
        async with stage(models=models, store=store) as on:
            session = await on.session()
            assert await session.model_input_projection() is None


async def test_the_map_is_cleared_when_a_preparation_begins() -> None:
    """R47: a turn that is refused before its dispatch leaves no map of the one before."""
    async with stage("One.", skills=SKILLS) as on:
        session = await on.session()
        await session.ask("one")
        outcome = await session.ask("x" * 1_000_000)
        assert outcome.end == "context_full"
        assert await session.model_input_projection() is None
