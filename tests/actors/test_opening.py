"""Laws of what a conversation opens with: loads and runs, made once, sent as they were."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
from msgspec import structs

from greenroom.actors import Host, Session, Tool, Workspace, tool
from greenroom.actors.admission import accept, admitted, checked
from greenroom.actors.models.scripted import call
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.contributor import Declaration, EagerLoad, EagerRun, Text
from greenroom.protocol.event import EagerRunMade
from greenroom.protocol.permission import Preset, PresetTable
from greenroom.protocol.record import EagerBegun, EagerRan
from greenroom.protocol.wording import CURRENT
from tests.actors.stage import package
from tests.actors.world import (
    AGENT,
    FULL,
    Stage,
    check_requests,
    conversation,
    opened,
    sent,
)

GUIDE = package("guide", "Follow the guide.", {"more.md": b"More.", "index.md": b"Index."})


def declared(kind: type[Any], id_: str, **fields: Any) -> Any:
    """A declaration of the workspace's that stands in the conversation."""
    usual = {"version": "1", "owner": "workspace", "placement": "conversation"}
    return kind(id=id_, **{**usual, **fields})


LOAD = declared(EagerLoad, "begin", tools=("tell",))
SKILL = declared(EagerLoad, "book", skill="skills/guide", files=("more.md",))
RUN = declared(EagerRun, "clock", tool="count", about="how often it was counted before")
WORDS = declared(Text, "words", text="You are in the shop.")


def space(*contributors: Declaration, approved: tuple[str, ...] = ()) -> Workspace:
    """An agent with a tool on demand, a bound skill, and these contributors."""
    agent = AgentDeclaration(
        name=AGENT, prompt="You help.", skills=("guide",), tools_on_demand=("tell",)
    )
    return Workspace.build(
        agents=[agent], skills=[GUIDE], contributors=contributors, approved=approved
    )


def counting(seen: list[str]) -> list[Tool[Any]]:
    """Tools that tell how often they were called."""

    @tool(effect="read")
    async def count() -> str:
        """Count."""
        seen.append("count")
        return f"{len(seen)} times"

    @tool(effect="read")
    async def tell(what: str = "it") -> str:
        """Tell."""
        return what

    @tool(effect="write")
    async def pay() -> str:
        """Pay."""
        seen.append("pay")
        return "paid"

    return [count, tell, pay]


@asynccontextmanager
async def hosting(
    stage: Stage, *contributors: Declaration, seen: list[str] | None = None, **told: Any
) -> AsyncIterator[Host]:
    """A host whose workspace has these contributors."""
    approved = told.pop("approved", ())
    tools = counting([] if seen is None else seen)
    work = space(*contributors, approved=approved)
    async with stage.host(workspace=work, tools=tools, **told) as host:
        yield host


async def test_loads_stand_in_the_opening_and_cost_no_round(stage: Stage) -> None:
    """R142, R143, C18: what the agent's own fetch returns, behind a note in user position."""
    stage.plays(
        "Fine.",
        (
            call("load_tools", names=["tell"]),
            call("load_skill", name="skills/guide"),
            call("read_object", path="skills/guide/more.md"),
        ),
        "Fetched.",
    )
    async with hosting(stage, LOAD, SKILL, WORDS) as host:
        session = await opened(host)
        await session.ask("Hi")
        first = sent(stage.model.requests[0])
        assert [role for role, _ in first] == [
            *("user", "assistant", "tool", "assistant", "tool", "tool", "user"),
        ]
        assert first[0] == ("user", "[platform note] You are in the shop.")
        await session.ask("Fetch it yourself")
        results = [words for role, words in sent(stage.model.requests[-1]) if role == "tool"]
        assert sorted(results[:3]) == sorted(results[3:])
        tools = stage.model.requests[0].tools
        assert b'"name":"tell"' not in tools  # the captured ones
        await check_requests(session, stage.model.requests)
        assert (await session.turns().all())[0].model_calls[0].round == 0
        assert (await conversation(session))[:2] == ["Hi", "Fine."]


async def test_conversations_of_one_agent_open_alike(stage: Stage) -> None:
    """R214: equal up to the first run whose result differs; ids come from the contributor."""
    stage.plays("A", "B")
    async with hosting(stage, RUN, LOAD, WORDS) as host:
        for key in ("one", "two"):
            await (await opened(host, key)).ask("Hi")
    one, two = (list(request.messages) for request in stage.model.requests)
    assert one[:4] == two[:4]  # note, load, and the call of the run
    assert one[4] != two[4]
    assert b"1 times" in one[4]
    assert b"2 times" in two[4]
    told = CURRENT.run_about.format(tool="count", about="how often it was counted before")
    assert sent(stage.model.requests[0])[0][1].endswith(told)  # R150


async def test_a_run_that_says_nothing_of_its_result_is_told_as_all_are(stage: Stage) -> None:
    """R150, C18: the one sentence says that it was run when this conversation began."""
    stage.plays("A")
    async with hosting(stage, structs.replace(RUN, about="")) as host:
        await (await opened(host)).ask("Hi")
    assert sent(stage.model.requests[0])[0][1] == f"{CURRENT.note_label} {CURRENT.opening}"
    assert "when this conversation began" in CURRENT.opening
    assert "began" in CURRENT.run_about


async def test_a_run_is_made_once_and_replayed(stage: Stage) -> None:
    """R146, R147, P192: over turns, a restart and another model; marked as the contributor's."""
    seen: list[str] = []
    stage.plays("A", "B")
    stage.other._steps.extend(["C"])
    async with hosting(stage, RUN, seen=seen) as host:
        session = await opened(host)
        await session.ask("Hi")
        events = [e async for e in _numbered(session, 4)]
        assert [e.contributor for e in events if isinstance(e, EagerRunMade)] == ["clock@1"]
    async with hosting(stage, RUN, seen=seen) as host:
        session = await opened(host)
        await session.ask("Again")
        await session.set_model("other")
        await session.ask("Once more")
        await check_requests(session, stage.model.requests)
        await check_requests(session, stage.other.requests)
        marked = [e for e in await session.transcript().all() if e.origin == "eager"]
        assert {entry.contributor for entry in marked} == {"clock@1"}
        assert await conversation(session) == ["Hi", "A", "Again", "B", "Once more", "C"]
        assert [turn.ordinal for turn in await session.turns().all()] == [0, 1, 2]
    assert seen == ["count"]
    last = list(stage.other.requests[-1].messages)
    assert last[:3] == list(stage.model.requests[0].messages)[:3]


async def _numbered(session: Any, most: int) -> AsyncIterator[Any]:
    count = 0
    async for event in session.events():
        yield event
        count += 1
        if count == most:
            return


async def test_a_refused_first_prompt_leaves_the_run(stage: Stage) -> None:
    """R146: committed at once, independent of dispatch; the next try does not run it again."""
    seen: list[str] = []
    stage.plays("A")
    async with hosting(stage, RUN, seen=seen) as host:
        session = await opened(host)
        assert (await session.ask("x" * 1_000_000)).end == "context_full"
        assert stage.model.requests == []
        records = session._reader.committed()
        assert sum(isinstance(record, EagerRan) for record in records) == 1
    async with hosting(stage, RUN, seen=seen) as host:
        session = await opened(host)
        assert (await session.ask("Hi")).end == "done"
        await check_requests(session, stage.model.requests)
        assert (await session.state()).user_messages == 1
    assert seen == ["count"]


async def test_what_may_not_run_is_told_and_the_turn_goes_on(stage: Stage) -> None:
    """R148, C17: the same door as a model's call; refused: an error result is recorded."""
    seen: list[str] = []
    stage.plays("A")
    shut = Preset(
        id="shut", label="Shut", policy="Write nothing.", confined_write="refuse", write="refuse"
    )
    pay = declared(EagerRun, "fee", tool="pay")
    work = attrs.evolve(space(pay, approved=("fee@1",)), presets=PresetTable((shut,)))
    async with stage.host(workspace=work, tools=counting(seen)) as host:
        session = await host.session("ann", agent=AGENT)
        assert (await session.ask("Hi")).end == "done"
        (ran,) = [r for r in session._reader.committed() if isinstance(r, EagerRan)]
        assert ran.result.state == "refused"
    assert seen == []


async def test_an_approved_run_that_writes_is_begun_before_it_starts(stage: Stage) -> None:
    """R146, R149: after a crash before its outcome it is unknown, and is not run again."""
    seen: list[str] = []
    stage.plays("A", "B")
    pay = declared(EagerRun, "fee", tool="pay")
    async with hosting(stage, pay, seen=seen, approved=("fee@1",)) as host:
        session = await host.session("ann", agent=AGENT, preset=FULL)
        stage.fails(lambda op: b"eager_ran" in getattr(op, "records", b""))
        assert (await session.ask("Hi")).end == "not_sent"
        records = session._reader.committed()
        assert sum(isinstance(record, EagerBegun) for record in records) == 1
    async with hosting(stage, pay, seen=seen, approved=("fee@1",)) as host:
        session = await opened(host)
        assert (await session.ask("Again")).end == "done"
        (ran,) = [r for r in session._reader.committed() if isinstance(r, EagerRan)]
        assert ran.result.state == "unknown"
        await check_requests(session, stage.model.requests)
    assert seen == ["pay"]


async def test_an_exchange_over_its_budget_is_left_out_whole(stage: Stage) -> None:
    """R103, R104: recorded with the figures; the conversation goes on without it."""
    stage.plays("A")
    small = declared(EagerRun, "clock", tool="count", budget=5)
    load = declared(EagerLoad, "begin", tools=("tell",), budget=5)
    async with hosting(stage, small, load) as host:
        session = await opened(host)
        await session.ask("Hi")
        (ran,) = [r for r in session._reader.committed() if isinstance(r, EagerRan)]
        assert "its budget is 5" in ran.left_out
        kept = host.live(session.id)
        assert kept is not None
        assert kept.kept is not None
        assert [each.contributor for each in kept.kept.composition.left_out] == ["begin@1"]
        await check_requests(session, stage.model.requests)
    assert [role for role, _ in sent(stage.model.requests[0])] == ["user", "user"]


async def test_without_a_person_nothing_opens_that_is_theirs(stage: Stage) -> None:
    """R204, P193: what reaches only persons is not in such a conversation's opening."""
    stage.plays("A", "B")
    theirs = declared(EagerRun, "clock", tool="count", reach="turns_with_a_person")
    async with hosting(stage, theirs) as host:
        await (await host.session("timer", agent=AGENT)).ask("Tick")
        await (await host.session("ada", agent=AGENT, person="ada")).ask("Hi")
    assert [len(request.messages) for request in stage.model.requests] == [1, 4]


async def by_the_host(session: Session, words: str) -> None:
    """One turn that no person asked for."""
    actor = await session._host._activated(session.id)
    told = checked(words, (), "steer", None, actor.services.limits)
    await session.outcome(await accept(actor, admitted(actor, told, by="host")))


async def test_a_load_by_usage_goes_by_what_was_called(stage: Stage) -> None:
    """R145: as it stood when the prompt was composed, and not recomputed between."""
    most = declared(EagerLoad, "usual", most_used=1)
    use = call("use_tool", name="tell", arguments={})
    stage.plays(use, "A", "B", "C")
    async with hosting(stage, most) as host:
        await (await opened(host, "one")).ask("Hi")
        assert len(stage.model.requests[0].messages) == 1
        await (await opened(host, "two")).ask("Hi")
        await host.reload()
        await (await opened(host, "three")).ask("Hi")
    first = [list(request.messages) for request in stage.model.requests[-2:]]
    assert [b"load_tools" in b"".join(messages) for messages in first] == [False, True]


async def test_what_has_not_begun_is_composed_with_its_first_message(stage: Stage) -> None:
    """R111, R146: asked for before that, neither composes, and the run is made when it begins."""
    seen: list[str] = []
    stage.plays("A")
    async with hosting(stage, RUN, seen=seen) as host:
        session = await opened(host)
        assert not await session.recompose()
        done = await session.compact()
        assert (done.status, done.composition, seen) == ("nothing to compact", "", [])
        await session.ask("one")
        assert seen == ["count"]
        assert b"1 times" in stage.model.requests[0].messages.joined()
