"""Contributors end to end: declared in a workspace, and found in what the model is given (P088)."""

import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs

from greenroom.actors import Host, Session, Workspace, open_host
from greenroom.actors.models.port import Capabilities
from greenroom.actors.models.scripted import Scripted
from greenroom.actors.workspace_files import Person
from greenroom.actors.world import simulated
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.composition import Composition, decode_composition, opening_texts
from greenroom.protocol.contributor import Declaration, personality, stance
from greenroom.protocol.wording import CURRENT
from tests.actors.stage import package
from tests.actors.test_opening import by_the_host
from tests.actors.world import AGENT, FULL, Stage, check_requests, conversation
from tests.protocol.prompt_samples import load, note, run, text

PEOPLE = (Person(name="ada", text="Ada counts.", contributors=("voice",)), Person(name="ben"))


def workspace(contributors: Iterable[Declaration], **fields: Any) -> Workspace:
    agents = [
        AgentDeclaration(
            name=AGENT,
            prompt="You help.",
            contributors=("reviewer",) if "reviewer" in {c.id for c in contributors} else (),
            tools_on_demand=("watch",),
        ),
        AgentDeclaration(name="other", prompt="You do not."),
    ]
    persons = PEOPLE if "voice" in {c.id for c in contributors} else ()
    return Workspace.build(agents=agents, persons=persons, contributors=contributors, **fields)


@asynccontextmanager
async def hosting(stage: Stage, *contributors: Declaration, **fields: Any) -> AsyncIterator[Host]:
    async with stage.host(workspace=workspace(contributors, **fields)) as host:
        yield host


async def first(host: Host, key: str, **told: Any) -> Session:
    """A session after its first turn."""
    session = await host.session(key, **{"agent": AGENT, "preset": FULL, **told})
    await session.ask("Hi")
    return session


async def composition_of(stage: Stage, session: Session) -> Composition:
    """What a session was composed to, as the store has it."""
    [turn, *_] = [turn async for turn in session.turns()]
    stored = stage.store.blob(turn.composition)
    assert stored is not None
    return decode_composition(stored)


async def test_a_text_of_each_placement_is_in_the_system_string(stage: Stage) -> None:
    """P088, R63: behind what is built in there, for whom it is for, and nowhere else."""
    stage.plays(*["Fine."] * 4)
    declared = (
        personality("voice", "1", "Arr, {person}."),
        text("hello", "You talk with {person}.", placement="person"),
        stance("reviewer", "1", "Challenge premises."),
        text("money", "Money is in pence.", heading="Money"),
        text("policy", "Be lawful.", placement="platform", owner="operator"),
    )
    async with hosting(stage, *declared) as host:
        await first(host, "a", person="ada")
        await first(host, "b", person="ben")
        await first(host, "c")
        await first(host, "d", agent="other")
    ada, ben, nobody, other = (request.system for request in stage.model.requests)
    places = [
        ada.index(words)
        for words in (
            "Three rules",
            "Be lawful.",
            "You help.",
            "## Money\n\nMoney is in pence.",
            "Challenge premises.",
            "Ada counts.",
            "You talk with ada.",
            "Arr, ada.",
            "<permissions>",
        )
    ]
    assert places == sorted(places)
    assert "Arr" not in ben
    assert "You talk with ben." in ben
    assert "You talk with" not in nobody
    assert "Challenge premises." in nobody
    assert "Challenge premises." not in other
    shared = ada[: ada.index("Ada counts.")]
    assert ben.startswith(shared)
    assert nobody.startswith(shared)


async def test_a_catalog_is_everyones_and_a_persons_own_is_theirs(stage: Stage) -> None:
    """R63, R69: a line where it is shared most, and none twice; without a person only the first."""
    stage.plays("Fine.", "Fine.")
    given = AgentDeclaration(name=AGENT, prompt="You help.", available=("sum",))
    made = Workspace.build(
        agents=[given],
        skills=[package("sum"), package("plan"), package("secret")],
        persons=[Person(name="ada", skills=("sum", "plan"))],
    )
    async with stage.host(workspace=made) as host:
        await first(host, "a", person="ada")
        await first(host, "b")
    hers, nobodys = (request.system for request in stage.model.requests)
    shared, _, own = hers.partition(CURRENT.person_catalog_heading)
    assert shared.count("skills/sum") == 1
    assert "skills/plan" not in shared
    assert own.count("skills/plan") == 1
    assert "skills/sum" not in own
    assert "skills/secret" not in hers
    assert "skills/plan" not in nobodys
    assert nobodys.count("skills/sum") == 1


async def test_a_turn_that_nobody_asked_for_has_no_persons_text(stage: Stage) -> None:
    """R137, R204, P193: in one conversation the bytes before that part are the same for both."""
    stage.plays(*["Fine."] * 3)
    voice = personality("voice", "1", "Arr, {person}.")
    async with hosting(stage, voice) as host:
        session = await host.session("a", agent=AGENT, preset=FULL, person="ada")
        await by_the_host(session, "Tick")
        await session.ask("Hi")
        await by_the_host(session, "Tock")
        assert await conversation(session) == ["Tick", "Fine.", "Hi", "Fine.", "Tock", "Fine."]
        assert [turn.ordinal for turn in await session.turns().all()] == [0, 1, 2]
        await check_requests(session, stage.model.requests)
    tick, hers, tock = (request.system for request in stage.model.requests)
    assert tick == tock
    assert "Arr, ada." in hers
    kept, _, live = tick.partition("<permissions>")
    assert hers.startswith(kept.rstrip())
    assert hers.endswith(live)
    assert "Arr" not in tick


async def test_what_is_done_later_is_kept_with_the_prompt(stage: Stage) -> None:
    """R142, R146, R151: the opening's texts, loads, runs and notes, for the agent's own tools."""
    stage.plays("Fine.")
    declared = (
        text("begin", "{agent} begins.", placement="conversation"),
        load("tables", tools=("watch",)),
        load("others", tools=("look",)),
        run("glance", "look", arguments={"what": "all"}),
        run("payment", "pay"),
        run("absent", "gone"),
        note("hours"),
    )
    async with hosting(stage, *declared) as host:
        kept = await composition_of(stage, await first(host, "a"))
    assert opening_texts(kept) == (f"{AGENT} begins.",)
    assert [each.key for each in kept.eager] == ["tables@1", "glance@1"]
    assert [each.key for each in kept.notes] == ["version-changed@1", "hours@1"]
    assert {(each.contributor, each.why) for each in kept.left_out} == {
        ("others@1", "tool_refused"),
        ("payment@1", "tool_refused"),
        ("absent@1", "tool_refused"),
    }


async def test_a_writing_run_is_kept_if_the_workspace_approved_it(stage: Stage) -> None:
    """R149: that version, in a list of its own."""
    stage.plays("Fine.")
    async with hosting(stage, run("payment", "pay"), approved=["payment@1"]) as host:
        kept = await composition_of(stage, await first(host, "a"))
    assert [each.key for each in kept.eager] == ["payment@1"]
    assert kept.approved == ("payment@1",)


async def test_what_is_switched_off_is_absent_from_the_next_composition(stage: Stage) -> None:
    """R60, R141: a running conversation keeps it, a new one has it not."""
    stage.plays(*["Fine."] * 3)
    money = text("money")
    async with hosting(stage, money) as host:
        await first(host, "a")
    async with hosting(stage, money, switched_off=["money"]) as host:
        await (await host.session("a")).ask("Hi again")
        await first(host, "b")
    before, kept, new = (request.system for request in stage.model.requests)
    assert kept == before
    assert "Money is in pence." in kept
    assert "Money is in pence." not in new


async def test_a_budget_is_counted_with_the_models_own_counter(stage: Stage) -> None:
    """R103: installed under the default count, too long for this model: left out whole, named."""
    frugal = Scripted(["Fine.", "Fine."], capabilities=Capabilities(bytes_per_token=1.0))
    stage = attrs.evolve(stage, model=frugal)
    async with hosting(stage, text("long", "x" * 100, budget=40), text("money")) as host:
        session = await first(host, "a")
        kept = await composition_of(stage, session)
        assert (await session.ask("On")).end == "done"
    [left] = kept.left_out
    assert (left.contributor, left.tokens, left.budget) == ("long@1", 102, 40)
    assert "xxx" not in frugal.requests[0].system
    assert "Money is in pence." in frugal.requests[0].system


async def test_no_clock_and_no_session_moves_a_byte(stage: Stage) -> None:
    """R65: at two times and under two names, one composition and one system string."""
    stage.plays(*["Fine."] * 2)
    declared = (
        text("begin", "{agent} begins.", placement="conversation"),
        text("money", "You are {agent}."),
        run("glance", "look"),
        note("hours", "It is {now} in {session}."),
    )
    digests = []
    for key, wall in (("a", 1.0e9), ("b", 1.9e9)):
        world = simulated(7, wall=partial(float, wall))
        async with open_host(
            stage.store,
            workspace=workspace(declared),
            models={"default": stage.model},
            tools=stage.tools(),
            world=world,
        ) as host:
            session = await first(host, key)
            digests += [turn.composition async for turn in session.turns()]
    assert len(set(digests)) == 1
    one, other = stage.model.requests
    assert one.system == other.system


async def test_contributors_cost_a_later_turn_nothing(stage: Stage) -> None:
    """R57: fifty of them add no call of ours and no stored byte to a turn that does not compose."""
    counted: dict[int, tuple[int, int]] = {}
    for number in (0, 50):
        stage.plays("One.", "Two.", "Three.")
        texts = [text(f"t{n}", f"Rule {n}.") for n in range(number)]
        async with hosting(stage, *texts) as host:
            session = await first(host, f"with {number}")
            await session.ask("Again")
            calls = await calls_of(session)
            size = len(stage.store.read(session.id)[-1].records)
        counted[number] = (calls, size)
    assert counted[0] == counted[50]
    assert counted[0][0] > 100


async def calls_of(session: Session) -> int:
    """How many functions of greenroom one turn calls."""
    calls = 0

    def count(frame: Any, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and "greenroom" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        await session.ask("Once more")
    finally:
        sys.setprofile(None)
    return calls
