"""Laws of the notes before a turn: declared, due by a condition, told once, never moved."""

from datetime import date

import attrs
from msgspec import structs

from greenroom.actors import Workspace, World
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.condition import DateCrossed, TimeElapsed, VersionChanged
from greenroom.protocol.contributor import Declaration, Note
from greenroom.protocol.record import Dispatched
from tests.actors.test_opening import by_the_host
from tests.actors.world import (
    AGENT,
    Stage,
    check_requests,
    conversation,
    opened,
    sent,
)

HOUR = Note(
    id="pause",
    version="1",
    owner="workspace",
    placement="message",
    condition=TimeElapsed(3_600),
    text="An hour passed; it is {now}.",
)
DAY = Note(
    id="day",
    version="1",
    owner="workspace",
    placement="message",
    condition=DateCrossed("Pacific/Auckland"),
    text="It is {today}.",
)
PLANS = Note(
    id="plans",
    version="1",
    owner="workspace",
    placement="message",
    condition=VersionChanged(("skills/plan",)),
    text="Plans changed: {moved}.",
)


def publish(stage: Stage, body: str) -> None:
    """The one skill that the agent is bound to, at another version."""
    stage.bound = ("refunds",)
    stage.skills.publish("refunds", body)


def declaring(stage: Stage, *notes: Declaration, off: tuple[str, ...] = ()) -> Workspace:
    """The stage's workspace with these notes declared."""
    agent = AgentDeclaration(name=AGENT, prompt="You help.", skills=stage.bound)
    made = Workspace.build(
        agents=[agent],
        skills=stage.skills.packages.values(),
        contributors=notes,
        switched_off=off,
    )
    return attrs.evolve(made, source=stage.skills)


def told(stage: Stage) -> list[str]:
    """The notes in the last request."""
    words = [text for role, text in sent(stage.model.requests[-1]) if role == "user"]
    return [text for text in words if text.startswith("[platform note]")]


async def test_a_changed_version_is_told_once(stage: Stage) -> None:
    """R69, R151, R152, P062: one note, no byte of the prompt moves, and the note stays."""
    publish(stage, "One.")
    stage.plays("A", "B", "C")
    async with stage.host() as host:
        session = await opened(host)
        await session.ask("Hi")
        publish(stage, "Two.")
        await host.reload()
        await session.ask("Again")
        assert len(told(stage)) == 1
        assert "skills/refunds has another version" in told(stage)[0]
        assert [words for _, words in sent(stage.model.requests[-1])][-1] == "Again"
        await session.ask("And again")
        assert len(told(stage)) == 1
        await check_requests(session, stage.model.requests)
        assert len({request.system for request in stage.model.requests}) == 1  # R153
        # R50, R94, R98: a note is no message, has no ordinal, and stands in the transcript.
        assert await conversation(session) == ["Hi", "A", "Again", "B", "And again", "C"]
        assert [entry.origin for entry in await session.transcript().all()].count("note") == 1
        assert [turn.ordinal for turn in await session.turns().all()] == [0, 1, 2]


async def test_it_is_told_again_of_another_version_only(stage: Stage) -> None:
    """R152: over a restart too, it is not repeated until its condition newly holds."""
    publish(stage, "One.")
    stage.plays("A", "B", "C", "D")
    async with stage.session() as session:
        await session.ask("Hi")
    publish(stage, "Two.")
    async with stage.session() as session:
        await session.ask("Again")
        assert len(told(stage)) == 1
    async with stage.session() as session:
        await session.ask("And again")
        assert len(told(stage)) == 1
    publish(stage, "Three.")
    async with stage.session() as session:
        await session.ask("Once more")
        assert len(told(stage)) == 2
        await check_requests(session, stage.model.requests)


async def test_it_can_be_switched_off(stage: Stage) -> None:
    """R69, R141: it is a contributor like any other."""
    publish(stage, "One.")
    stage.plays("A", "B")
    off = declaring(stage, off=("version-changed",))
    async with stage.session(workspace=off) as session:
        await session.ask("Hi")
        publish(stage, "Two.")
        await session._host.reload()
        await session.ask("Again")
    assert told(stage) == []


async def test_a_note_of_a_refused_turn_is_not_told(stage: Stage) -> None:
    """R151, R80: its condition still holds, so the next turn tells it."""
    publish(stage, "One.")
    stage.plays("A", "B")
    async with stage.host() as host:
        session = await opened(host)
        await session.ask("Hi")
        publish(stage, "Two.")
        await host.reload()
        assert (await session.ask("x" * 1_000_000)).end == "context_full"
        await session.ask("Again")
        assert len(told(stage)) == 1


async def test_time_that_passed_is_told(stage: Stage) -> None:
    """R151: since the last settled turn ended, by the host's clock, and after a restart alike."""
    publish(stage, "One.")
    stage.plays("A", "B", "C")
    async with stage.host(workspace=declaring(stage, HOUR)) as host:
        world, session = host.services.world, await opened(host)
        await session.ask("Hi")
        at = world.now()
        host.services.world = moved(world, at + 3_599_999)
        await session.ask("Soon")
        assert told(stage) == []
    async with stage.host(workspace=declaring(stage, HOUR)) as host:
        host.services.world = moved(host.services.world, at + 2 * 3_600_000 - 1)
        session = await opened(host)
        await session.ask("Later")
        assert told(stage) == ["[platform note] An hour passed; it is 2023-11-15 00:13 UTC."]


async def test_a_note_may_reach_persons_only(stage: Stage) -> None:
    """R151, R204, P193: due in a turn that nobody asked for, it waits for one of a person."""
    publish(stage, "One.")
    stage.plays("A", "B", "C")
    theirs = structs.replace(HOUR, reach="turns_with_a_person", text="Welcome back, {person}.")
    async with stage.host(workspace=declaring(stage, theirs)) as host:
        world, session = host.services.world, await host.session("ann", agent=AGENT, person="ada")
        await session.ask("Hi")
        at = world.now() + 3_600_000
        host.services.world = moved(world, at)
        await by_the_host(session, "Tick")
        assert told(stage) == []
        host.services.world = moved(world, at + 3_600_000)
        await session.ask("Again")
        assert told(stage) == ["[platform note] Welcome back, ada."]


async def test_time_that_passed_again_is_told_again(stage: Stage) -> None:
    """R152: what moved in the workspace, and stays so, is no part of its condition."""
    publish(stage, "One.")
    stage.plays("A", "B", "C")
    hourly = declaring(stage, structs.replace(HOUR, text="An hour passed."))
    async with stage.host(workspace=hourly) as host:
        world, session = host.services.world, await opened(host)
        await session.ask("Hi")
        publish(stage, "Two.")
        await host.reload()
        for hours in (1, 2):
            host.services.world = moved(world, world.now() + hours * 3_600_000)
            await session.ask("Again")
        passed = [words for words in told(stage) if "An hour passed." in words]
        changed = [words for words in told(stage) if "another version" in words]
        assert (len(passed), len(changed)) == (2, 1)
        await check_requests(session, stage.model.requests)


async def test_a_note_that_its_moment_makes_too_long_is_left_out(stage: Stage) -> None:
    """R103, R151, P103: whole, and the turn record says so with figures; the rest is told."""
    names = [f"skill-{number}" for number in range(30)]
    stage.bound = tuple(names)
    stage.plays("A", "B", "C")

    def publish_all(body: str) -> None:
        for name in names:
            stage.skills.publish(name, body)

    publish_all("One.")
    told_of = structs.replace(PLANS, condition=VersionChanged(), text="{moved}.", budget=100)
    short = structs.replace(told_of, id="short", text="Something moved.")
    async with stage.host(workspace=declaring(stage, told_of, short)) as host:
        session = await opened(host)
        await session.ask("Hi")
        publish_all("Two.")
        await host.reload()
        assert (await session.ask("Again")).end == "done"
        assert "[platform note] Something moved." in told(stage)
        assert sum("skills/skill-29" in words for words in told(stage)) == 1  # what is built in
        turns = await session.turns().all()
        assert [len(turn.left_out) for turn in turns] == [0, 1]
        (left,) = turns[1].left_out
        assert (left.contributor, left.why, left.budget) == ("plans@1", "over_budget", 100)
        assert left.tokens > 100
        assert f"{left.tokens:,} tokens" in left.sentence
        await check_requests(session, stage.model.requests)


def moved(world: World, now: int) -> World:
    """The same world at another moment."""
    return attrs.evolve(world, wall=lambda: now / 1_000)


def test_a_day_is_that_of_a_zone() -> None:
    """R151: the same moment is another date elsewhere."""
    from greenroom.actors.zones import day_in  # noqa: PLC0415

    assert day_in("UTC", 1_700_000_000_000) == date(2023, 11, 14)
    assert day_in("Pacific/Auckland", 1_700_000_000_000) == date(2023, 11, 15)


async def test_a_declared_note_watches_what_it_names(stage: Stage) -> None:
    """R151: a change of something else does not make it due; both notes stand in their order."""
    publish(stage, "One.")
    stage.skills.publish("plan", "One.")
    stage.bound = ("refunds", "plan")
    stage.plays("A", "B", "C")
    async with stage.host(workspace=declaring(stage, PLANS, DAY)) as host:
        session = await opened(host)
        await session.ask("Hi")
        publish(stage, "Two.")
        await host.reload()
        await session.ask("Again")
        assert len(told(stage)) == 1
        stage.skills.publish("plan", "Two.")
        await host.reload()
        await session.ask("Once more")
        assert "[platform note] Plans changed: " in told(stage)[-1] + told(stage)[-2]
        assert len(told(stage)) == 3


async def test_a_declared_note_is_told_again_of_what_it_names_only(stage: Stage) -> None:
    """R152: what else moves meanwhile does not repeat it, and another version of it does."""
    publish(stage, "One.")
    stage.skills.publish("plan", "One.")
    stage.bound = ("refunds", "plan")
    stage.plays(*"ABCDE")
    only = declaring(stage, PLANS, off=("version-changed",))
    async with stage.host(workspace=only) as host:
        session = await opened(host)
        await session.ask("Hi")
        counts = []
        for skill, body in (("plan", "Two."), ("refunds", "Two."), ("plan", "Three.")):
            stage.skills.publish(skill, body)
            await host.reload()
            await session.ask("Again")
            counts.append(len(told(stage)))
        assert counts == [1, 1, 2]


async def test_an_ordinary_turn_reads_nothing(stage: Stage) -> None:
    """R57: where nothing was read anew, no source is consulted and nothing is composed."""
    publish(stage, "One.")
    stage.plays("A", "B", "C")
    async with stage.session() as session:
        await session.ask("Hi")
        stage.skills.reads.clear()
        await session.ask("Again")
        await session.ask("Again")
    assert stage.skills.reads == []


async def test_a_note_is_recorded_with_its_contributor(stage: Stage) -> None:
    """R77, R151: which note, at which version, and what it was about."""
    publish(stage, "One.")
    stage.plays("A", "B")
    async with stage.host() as host:
        session = await opened(host)
        await session.ask("Hi")
        publish(stage, "Two.")
        await host.reload()
        await session.ask("Again")
        records = session._reader.committed()
    (note,) = [note for r in records if isinstance(r, Dispatched) for note in r.notes]
    assert note.contributor.startswith("version-changed@")
    assert note.about
    assert structs.replace(note, about="") != note
