"""Requests compared end to end: sent by a host, rebuilt from the store, and told why they part."""

from typing import Any

from greenroom.actors import Host, Session, Workspace
from greenroom.actors.waiting import Slot
from greenroom.actors.workspace_files import Person
from greenroom.protocol import Comparison, Moved, SessionId, explain, spend_of
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.condition import TimeElapsed
from greenroom.protocol.contributor import Declaration
from greenroom.protocol.encoding import encode_records
from greenroom.store.contract import Done, ForkFrom, OtherVerdict, Stored
from tests.actors.test_due import moved
from tests.actors.world import AGENT, FULL, Stage, opened
from tests.protocol.prompt_samples import note, text

PEOPLE = (Person(name="ada", text="Ada counts."), Person(name="ben", text="Ben sings."))


def workspace(*contributors: Declaration, **fields: Any) -> Workspace:
    agents = [AgentDeclaration(name=AGENT, prompt="You help.")]
    return Workspace.build(
        **{"agents": agents, "persons": PEOPLE, **fields}, contributors=contributors
    )


async def asked(host: Host, key: str, *words: str, **told: Any) -> Session:
    """A session after these messages."""
    session = await host.session(key, **{"agent": AGENT, "preset": FULL, **told})
    for each in words:
        assert (await session.ask(each)).end == "done"
    return session


async def compared(one: Session, first: int, other: Session, second: int) -> Comparison:
    """Two turns' last requests, checked against the bytes that were rebuilt."""
    requests = [await one.request(first), await other.request(second)]
    assert all(request.is_exact for request in requests)
    found = explain(*requests)
    left, right = (request.request.canonical() for request in requests)
    assert left[: found.common] == right[: found.common]
    assert left[found.common : found.common + 1] != right[found.common : found.common + 1]
    return found


async def test_within_a_conversation_nothing_moves(stage: Stage) -> None:
    """R197, R57: each request goes on where the one before ends, also after a restart."""
    stage.plays("A", "B", "C")
    async with stage.host() as host:
        session = await opened(host)
        await session.ask("One")
        await session.ask("Two")
    async with stage.host() as host:
        session = await opened(host)
        await session.ask("Three")
        for turn in (1, 2):
            found = await compared(session, turn, session, turn + 1)
            assert (found.why, found.moved.is_current) == ("longer", True)
            assert found.part is not None
            assert (found.part.name, found.part.message) == ("assistant", 2 * turn - 1)


async def test_a_switch_of_the_preset_is_named(stage: Stage) -> None:
    """R197, R14, R17: the live section alone moved, and no kept byte."""
    stage.plays("A", "B")
    async with stage.host() as host:
        session = await opened(host)
        await session.ask("One")
        await session.set_permission_preset("read-only")
        await session.ask("Two")
        found = await compared(session, 1, session, 2)
        assert (found.why, found.moved.is_current) == ("preset", True)
        assert found.sentence == f"Another preset is in force: {FULL}, then read-only."


async def test_an_edit_is_named_with_both_versions(stage: Stage) -> None:
    """R197, P065, P085: a session reopened after it sends the old bytes, and says of what."""
    stage.plays("A", "B", "C")
    first, second = text("money"), text("money", "Money is in EUR.", version="2")
    async with stage.host(workspace=workspace(first)) as host:
        await asked(host, "old", "Hi")
    async with stage.host(workspace=workspace(second)) as host:
        old, new = await asked(host, "old"), await asked(host, "new", "Hi")
        found = await compared(old, 1, new, 1)
        assert (found.why, found.cause) == ("composed", Moved("contributor", "money", "1", "2"))
        assert found.part is not None
        assert (found.part.name, found.part.owner) == ("text:money", "workspace")
        await old.ask("Again")
        assert (await old.request(2)).request.system == (await old.request(1)).request.system
        [*_, last] = await old.turns().all()
        assert "money@1" in last.contributors
        status = await old.kept_prompt_status()
        assert status.moved.changed == (Moved("contributor", "money", "1", "2"),)


async def test_a_note_is_named_with_whose_it_is(stage: Stage) -> None:
    """R197, R152: it stands where the other session has the next words."""
    stage.plays(*["Fine."] * 4)
    pause = note("pause", "Time passed.", condition=TimeElapsed(3_600))
    async with stage.host(workspace=workspace(pause)) as host:
        hurried = await asked(host, "hurried", "One", "Two")
        waited = await asked(host, "waited", "One")
        world = host.services.world
        host.services.world = moved(world, world.now() + 4_000_000)
        await waited.ask("Two")
        found = await compared(hurried, 2, waited, 2)
        assert (found.why, found.sentence) == (
            "note",
            "A note of pause@1 stands here, in the second.",
        )
        assert found.part is not None
        assert (found.part.owner, found.part.turn, found.part.message) == ("workspace", 2, None)
        sent = await waited.request(2)
        [row] = [each for each in spend_of(sent) if each.contributor == "pause@1"]
        assert row.bytes == len(sent.request.messages[2])


async def test_another_person_and_another_conversation_are_told_apart(stage: Stage) -> None:
    """R197, R64: two persons share up to their parts, one person's sessions up to the words."""
    stage.plays(*"ABCD")
    async with stage.host(workspace=workspace()) as host:
        ada = await asked(host, "a", "One", person="ada")
        again = await asked(host, "b", "Other words", person="ada")
        ben = await asked(host, "c", "One", person="ben")
        nobody = await asked(host, "d", "One")
        assert (await compared(ada, 1, again, 1)).why == "conversation"
        found = await compared(ada, 1, ben, 1)
        assert (found.why, found.sentence) == ("person", "They are for two persons: ada, then ben.")
        assert (await compared(ada, 1, nobody, 1)).why == "person"


async def test_another_model_is_named(stage: Stage) -> None:
    """R197, R59: the prompt is composed for it, and no cache is shared with it."""
    stage.plays("A")
    stage.other._steps.append("B")
    async with stage.host() as host:
        session = await opened(host)
        await session.ask("One")
        await session.set_model("other")
        await session.ask("Two")
        found = await compared(session, 1, session, 2)
        assert found.why == "model"


async def test_a_fork_shares_all_of_its_parents_prefix(stage: Stage) -> None:
    """R197, P078: its first request goes on where the parent's last one ends."""
    stage.plays("A", "B", "C", "D")
    child = SessionId("default", "child")
    async with stage.host() as host:
        parent = await asked(host, "parent", "One", "Two")
        slot: Slot[OtherVerdict] = Slot()
        stored = stage.store.look(parent.id)
        assert isinstance(stored, Stored)
        records = encode_records([])
        fork = ForkFrom(child, parent.id, stored.number, stored.header, records)
        stage.store.offer(fork, slot.put)
        assert isinstance(await slot.get(), Done)
        forked = await asked(host, "child", "Three")
        await parent.ask("Four")
        assert (await compared(parent, 2, forked, 3)).why == "longer"
        apart = await compared(parent, 3, forked, 3)
        assert apart.why == "conversation"
        assert apart.part is not None
        assert apart.part.message == 4


async def test_what_it_was_made_of_is_in_no_byte(stage: Stage) -> None:
    """R46, R197: sources, sections and names stand beside a request and are none of it."""
    stage.plays("A")
    async with stage.host(workspace=workspace(text("money"))) as host:
        session = await asked(host, "key-of-it", "Hi")
        sent = await session.request(1)
        assert (sent.session, sent.agent, sent.preset) == (session.id, AGENT, FULL)
        for name in ("key-of-it", "text:money", "money@1", sent.recorded):
            assert name.encode() not in stage.model.requests[0].canonical()
