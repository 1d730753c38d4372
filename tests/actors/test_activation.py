"""From what is stored to a live actor, which is as it was before."""

from random import Random
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy, Workspace, tool
from greenroom.actors.models.scripted import Looping, Stalled, call
from greenroom.protocol.encoding import decode_header, decode_records
from greenroom.protocol.errors import Busy
from greenroom.protocol.event import PermissionChanged
from greenroom.store import Release, open_memory
from tests.actors.stage import SUPPORT, agent, all_of, messages, package, stage, workspace
from tests.store.offering import ask

WIDE = "danger-full-access"


@pytest.mark.parametrize("how", ["passivated", "reopened"])
async def test_the_next_request_begins_with_the_same_bytes(how: str) -> None:
    """R169: kept prompt, preset, tools and conversation are as before, to the byte."""
    skills = [package("plan"), package("bound")]
    agents = [agent(skills=("skills/bound",))]
    script = (call("get_current_time"), "One.")
    async with open_memory() as store:
        async with stage(model=Looping(script), store=store, agents=agents, skills=skills) as on:
            session = await on.session(preset="workspace-write")
            await session.ask("one", skills=["plan"])
            await session.ask("two")
            before = (await session.request(2)).request
            if how == "passivated":
                actor = on.host.live(session.id)
                assert actor is not None
                on.host.passivate(actor)
                await session.ask("three")
                after = (await session.request(3)).request
        if how == "reopened":
            async with stage(
                model=Looping(script), store=store, agents=agents, skills=skills
            ) as on:
                session = await on.session()
                await session.ask("three")
                after = (await session.request(3)).request
    assert list(after.messages)[: len(before.messages)] == list(before.messages)
    assert (after.system, after.tools, after.parameters, after.model) == (
        before.system,
        before.tools,
        before.parameters,
        before.model,
    )


async def test_the_queue_is_as_it_was_in_its_order() -> None:
    """R169, R93: interruptions first, the others as they came; all of them are served."""
    async with open_memory() as store:
        async with stage(Stalled(trio.Event(), "never"), store=store) as on:
            session = await on.session()
            receipts = [await session.prompt("zero")]
            receipts += [await session.prompt(f"m{n}", when="queue") for n in range(4)]
        async with stage(model=Looping(("Hi.",)), store=store) as on:
            session = await on.session()
            outcomes = [await session.outcome(receipt) for receipt in receipts]
    assert [outcome.end for outcome in outcomes] == ["interrupted"] + ["done"] * 4
    assert [outcome.turn for outcome in outcomes] == [1, 2, 3, 4, 5]


async def test_what_waits_in_the_store_goes_on_by_itself_one_after_the_other() -> None:
    """R93: nobody has to open the session for its queued messages to be served."""
    async with open_memory() as store:
        async with stage(Stalled(trio.Event(), "never"), store=store) as on:
            sessions = [await on.session(f"s{n}") for n in range(3)]
            await sessions[0].prompt("zero")
            waiting = await sessions[0].prompt("one", when="queue")
        async with stage(model=Looping(("Hi.",)), store=store) as on:
            await wait_all_tasks_blocked()
            assert list(on.host.services.actors) == [sessions[0].id]
            session = await on.session("s0")
            assert (await session.outcome(waiting)).text == "Hi."


async def test_the_preset_is_in_force_again_and_rendered() -> None:
    """R16, R11: what was chosen before closing is what the next request says and the door does."""
    ran = []

    @tool(effect="write")
    async def send() -> str:
        """Send."""
        ran.append(1)
        return "sent"

    script = (call("send"), "Done.")
    async with open_memory() as store:
        async with stage(store=store, tools=[send]) as on:
            session = await on.session()
            await session.set_permission_preset(WIDE)
        async with stage(*script, store=store, tools=[send]) as on:
            session = await on.session()
            assert (await session.state()).preset == WIDE
            await session.ask("go")
            assert WIDE in on.model.requests[0].system
    assert ran == [1]


async def test_a_preset_named_at_opening_is_a_switch_like_any_other() -> None:
    """R16: committed with one event; refused while the session is busy, queued or interrupted."""
    async with open_memory() as store:
        async with stage("One.", Stalled(trio.Event(), "never"), store=store) as on:
            session = await on.session()
            await session.ask("one")
            session = await on.session(preset=WIDE)
            told = [e async for e in _until(session, PermissionChanged)]
            assert (told[-1].preset, told[-1].before) == (WIDE, "read-only")
            await session.prompt("two")
            with pytest.raises(Busy):
                await on.session(preset="read-only")
            await session.prompt("three", when="queue")
        async with stage("Three.", store=store, policy=Policy(revive=False)) as on:
            assert (await (await on.session()).state()).phase == "queued"
            with pytest.raises(Busy):
                await on.session(preset="read-only")
            assert (await (await on.session()).state()).preset == WIDE


async def _until(session: Any, kind: type) -> Any:
    async for event in session.events():
        yield event
        if isinstance(event, kind):
            return


async def test_an_edited_or_deleted_skill_leaves_old_messages_as_they_were() -> None:
    """R54, P060: revision A stands in the old message, to the byte; a new pick gets B."""
    async with open_memory() as store:
        async with stage("One.", store=store, skills=[package("plan", "Revision A.")]) as on:
            await (await on.session()).ask("one", skills=["plan"])
            first = on.model.requests[0].messages[0]
            assert b"Revision A." in first
        async with stage("Two.", store=store, skills=[package("plan", "Revision B.")]) as on:
            session = await on.session()
            await session.ask("two", skills=["plan"])
            sent = on.model.requests[0].messages
            assert sent[0] == first
            assert b"Revision B." in sent[2]
        async with stage("Three.", store=store) as on:
            session = await on.session()
            await session.ask("three")
            assert on.model.requests[0].messages[0] == first
            assert all([(await session.request(turn)).is_exact for turn in (1, 2, 3)])


async def test_project_instructions_are_read_once_for_a_session() -> None:
    """R68: an edit reaches new sessions only, whatever was closed or recomposed between."""
    text = ["Version 1."]
    work = workspace(instructions=lambda: text[0], agents=[agent(), agent(name="two", model="n")])
    models = {"m": Looping(("Hi.",), name="m"), "n": Looping(("Hi.",), name="n")}
    async with open_memory() as store:
        async with stage(store=store, work=work, models=models) as on:
            await on.session(person="kim")
            text[0] = "Version 2."
        async with stage(store=store, work=work, models=models) as on:
            old, new = await on.session(), await on.session("new", person="kim")
            for session in (old, new):
                await session.ask("one")
            await old.set_model("n")
            await old.ask("two")
            systems = [(await old.request(n)).request.system for n in (1, 2)]
            assert ["Version 1." in system for system in systems] == [True, True], systems
            assert "Version 2." in (await new.request(1)).request.system


@pytest.mark.parametrize("seed", range(25))
async def test_no_message_is_lost_whatever_is_let_go_when(seed: int) -> None:
    """P156, R184: passivated at every chance while many submit; each message has its turn, once."""
    chance = Random(seed)
    async with stage(model=Looping(("Hi.",))) as on:
        session = await on.session()
        done = False

        async def let_go() -> None:
            while not done:
                actor = on.host.live(session.id)
                if actor is not None and actor.is_quiet:
                    on.host.passivate(actor)
                for _ in range(chance.randrange(4)):
                    await trio.lowlevel.checkpoint()
                await trio.lowlevel.checkpoint()

        async def submit(place: int) -> str:
            for _ in range(chance.randrange(60)):
                await trio.lowlevel.checkpoint()
            outcome = await session.ask(f"m{place}", when=chance.choice(["queue", "steer"]))
            return outcome.end

        async with trio.open_nursery() as nursery:
            nursery.start_soon(let_go)
            ends = await all_of(30, submit)
            done = True
        said = [m.content for m in (await session.state()).messages]
    assert ends == ["done"] * 30
    assert sorted(text for text in said if text != "Hi.") == sorted(f"m{n}" for n in range(30))


async def test_a_release_changes_nothing() -> None:
    """R184: a session let go is the same session; its epoch alone tells that it was claimed."""
    async with stage(model=Looping(("Hi.",))) as on:
        session = await on.session()
        await session.ask("one")
        actor = on.host.live(session.id)
        assert actor is not None
        before = on.stored(session)
        on.host.passivate(actor)
        await ask(on.store, Release(session.id, before.epoch))
        after = on.stored(session)
        assert (after.head, after.header, after.queued) == (before.head, before.header, 0)


async def test_two_workspaces_of_one_agent_are_one_workspace() -> None:
    """R64: the same declarations give the same bytes, in whatever process they were read."""
    first, second = workspace(), Workspace.build(agents=[SUPPORT])
    sent = []
    for work in (first, second):
        async with stage("Hi.", work=work) as on:
            await (await on.session()).ask("one")
            sent.append(on.model.requests[0].canonical())
    assert sent[0] == sent[1]
    assert messages(on.model.requests[0])[0]["role"] == "user"


async def test_records_of_the_first_turn_are_read_back_as_they_are() -> None:
    """R87: the records of a turn are those that were committed, in their order."""
    async with stage("Hi.") as on:
        session = await on.session()
        await session.ask("one")
        kinds = [
            type(record).__name__
            for entry in on.store.read(session.id)
            for record in decode_records(entry.records)
        ]
        header = decode_header(on.stored(session).header)
    assert kinds == ["Opened", "Accepted", "Dispatched", "Responded", "Ended"]
    assert (header.turns, header.users, header.messages, header.open_turn) == (1, 1, 2, None)
