"""Laws of reading the turns of many sessions: what shaped them, what it cost, and nothing woken."""

from typing import Any

import pytest

from greenroom.actors import Host, Workspace
from greenroom.actors.models.scripted import call
from greenroom.actors.workspace_files import Person
from greenroom.protocol import InvalidInput, SessionTurn, TokenEstimate, spend_of
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.contributor import Declaration, personality
from greenroom.protocol.encoding import encode_header, encode_records
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import Dispatched, Ended
from greenroom.store import Create, Created
from tests.actors.stage import package
from tests.actors.world import AGENT, FULL, Stage
from tests.protocol.prompt_samples import text
from tests.store.offering import ask as offered

DISPATCHED = Dispatched(0, 1, "m", 0, 1, "m", FULL, "0" * 64, "0" * 64)

ADA = Person(name="ada", text="Ada counts.", contributors=("voice",))


def workspace(*contributors: Declaration, **fields: Any) -> Workspace:
    agents = [
        AgentDeclaration(name=AGENT, prompt="You help.", skills=("skills/plan",)),
        AgentDeclaration(name="other", prompt="You do not."),
    ]
    skills = [package("plan", "Plan first."), package("act", "Act.")]
    return Workspace.build(
        agents=agents, persons=[ADA], skills=skills, contributors=contributors, **fields
    )


VOICE = personality("voice", "1", "Arr.")
FIRST = workspace(text("money"), text("large", "x" * 4_000, budget=2_000), VOICE)
SECOND = workspace(text("money", "Money is in EUR.", version="2"), VOICE)


async def ask(host: Host, key: str, *words: str, **told: Any) -> None:
    skills = told.pop("skills", ())
    session = await host.session(key, **{"agent": AGENT, "preset": FULL, **told})
    for each in words:
        assert (await session.ask(each, skills=skills)).end == "done"


async def told(host: Host) -> None:
    """Turns of two versions, two agents, with a person and without."""
    await ask(host, "a", "One", "Two")
    await ask(host, "b", "One", person="ada")
    await ask(host, "c", "One", agent="other")
    await host.reload(SECOND)
    await ask(host, "d", "One", skills=["act"])


@pytest.fixture
async def host(stage: Stage) -> Any:
    stage.plays("A", call("look"), "B", "C", "D", "E")
    async with stage.host(workspace=FIRST) as opened:
        await told(opened)
        yield opened


async def test_a_turn_says_what_shaped_it(host: Host) -> None:
    """R77: contributors and skills at their versions, prompt, preset, model, requests, left out."""
    [first, second] = await (await host.session("a")).turns().all()
    ids = [each.rpartition("@")[0] for each in second.contributors]
    assert ids == ["preamble", "agent", "skills/plan", "catalog", "large", "money"]
    assert (second.model, second.preset, second.with_person) == ("scripted", FULL, False)
    assert len(second.model_calls) == 2
    assert first.composition == second.composition
    session = await host.session("a")
    assert [(await session.request(2, round=n)).recorded for n in (0, 1)] == [
        model_call.request for model_call in second.model_calls
    ]
    [ada] = await (await host.session("b")).turns().all()
    assert {"voice@1"} < set(ada.contributors)
    assert ada.with_person


async def test_what_grew_over_its_budget_is_left_out_and_the_record_says_so(stage: Stage) -> None:
    """R103: whole, with the figures; the conversation goes on without it."""
    stage.plays("A", "B")
    greeting = text("hello", "You talk with {person}.", placement="person", budget=9)
    async with stage.host(workspace=workspace(greeting, VOICE)) as host:
        await ask(host, "a", "One", person="Wilhelmina of the long name")
        await ask(host, "b", "One", person="Jo")
        [over] = await (await host.session("a")).turns().all()
        [under] = await (await host.session("b")).turns().all()
    [left] = over.left_out
    assert left.sentence == f"It needs {left.tokens} tokens; its budget is 9."
    assert "hello@1" not in over.contributors
    assert (under.left_out, "hello@1" in under.contributors) == ((), True)
    assert "You talk with" not in stage.model.requests[0].system
    assert "You talk with Jo." in stage.model.requests[1].system


async def test_what_each_version_spent_and_reached(host: Host) -> None:
    """R78: over all sessions, by exact version, beside the turns that it did not reach."""
    report = await host.spend(counter=TokenEstimate(1.0))
    assert (report.sessions, report.turns, report.unreadable) == (4, 5, 0)
    found = {each.contributor: each for each in report.contributors}
    first, second = found["money@1"], found["money@2"]
    assert (first.reached.turns, first.requests, first.sessions) == (4, 5, 3)
    assert (second.reached.turns, second.requests, second.sessions) == (1, 1, 1)
    assert second.beside.turns == 3  # the other agent never had it
    assert first.reached.tool_calls == 1
    assert found["voice@1"].reached.turns == 1
    assert [each.tokens for each in report.contributors] == sorted(
        [each.tokens for each in report.contributors], reverse=True
    )


async def test_what_is_reckoned_is_what_the_requests_hold(host: Host) -> None:
    """R77, R78: equal to the rebuilt requests, counted part by part and summed."""
    spent: dict[str, int] = {}
    async for each in host.turns():
        session = await host.session(each.session.key)
        for number in range(len(each.turn.model_calls)):
            for row in spend_of(await session.request(each.turn.turn, round=number)):
                spent[row.contributor] = spent.get(row.contributor, 0) + row.bytes
    del spent[""]
    report = await host.spend()
    assert {each.contributor: each.bytes for each in report.contributors} == spent


async def test_turns_that_a_contributor_reached_are_listed(host: Host) -> None:
    """R78: any version of an id, an exact one, a skill in the prompt or picked."""

    async def reached(**asked: Any) -> list[tuple[str, int]]:
        found = await host.turns(**asked).all()
        assert all(isinstance(each, SessionTurn) for each in found)
        return sorted((each.session.key, each.turn.turn) for each in found)

    everything = [("a", 1), ("a", 2), ("b", 1), ("c", 1), ("d", 1)]
    assert await reached() == everything
    assert await reached(contributor="money") == everything
    assert await reached(contributor="money@2") == [("d", 1)]
    assert await reached(contributor="voice") == [("b", 1)]
    assert await reached(contributor="skills/plan") == [
        each for each in everything if each[0] != "c"
    ]
    assert await reached(contributor="skills/act") == [("d", 1)]
    assert await reached(agent="other") == [("c", 1)]
    assert await reached(contributor="nobody") == []


async def test_a_tenant_reckons_with_its_own_turns(host: Host) -> None:
    """R218: and asking wakes nobody (R219)."""
    live = set(host.services.actors)
    assert (await host.tenant("another").spend()).turns == 0
    assert await host.tenant("another").turns().all() == []
    assert (await host.tenant("default").spend()).turns == 5
    assert set(host.services.actors) == live


async def test_a_name_that_is_none_is_refused(host: Host) -> None:
    """R194: at the border."""
    with pytest.raises(InvalidInput):
        host.turns(contributor="")
    with pytest.raises(InvalidInput):
        await host.spend(agent="\0")


@pytest.mark.parametrize("records", [b"[{}]", encode_records([DISPATCHED, Ended(0, 1, "done")])])
async def test_a_session_that_cannot_be_read_hides_no_other(
    stage: Stage, host: Host, records: bytes
) -> None:
    """R92: records or a kept prompt that are not there are counted as that, the others whole."""
    header = encode_header(Header(AGENT, None, FULL, None, 0))
    made = await offered(stage.store, Create(SessionId("default", "broken"), header, records))
    assert isinstance(made, Created)
    report = await host.spend()
    assert (report.sessions, report.turns, report.unreadable) == (4, 5, 1)
    assert len({each.session for each in await host.turns().all()}) == 4
