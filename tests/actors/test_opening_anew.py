"""Laws of an opening that is made anew, or for another beginning than a person's message."""

from typing import Any

import pytest
from msgspec import structs

from greenroom.actors import Later, tool
from greenroom.actors.compaction_plan import Plan, Wanted, planned
from greenroom.actors.importing import import_history
from greenroom.actors.models.port import SessionInfo
from greenroom.actors.models.scripted import call
from greenroom.actors.opening import NOT_YET
from greenroom.protocol.contributor import EagerLoad, EagerRun, Text
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import OverBudget
from greenroom.protocol.message import AssistantMessage, Message, UserMessage
from greenroom.protocol.record import EagerRan
from tests.actors.test_opening import LOAD, RUN, by_the_host, counting, declared, hosting, space
from tests.actors.world import AGENT, Stage, check_requests, opened, sent


async def test_a_compaction_carries_what_was_run_and_loads_anew(stage: Stage) -> None:
    """R113, C16: installed runs verbatim and not again; removed ones left out; none is added."""
    seen: list[str] = []
    stage.plays("A", "B", "C", "A summary.", "D", "E")
    late = declared(EagerRun, "late", tool="count")
    async with hosting(stage, RUN, LOAD, seen=seen) as host:
        session = await opened(host)
        for words in ("one " * 400, "two " * 400, "three"):
            await session.ask(words)
        first = list(stage.model.requests[0].messages)
        await host.reload(space(RUN, LOAD, late))
        assert (await session.compact()).status == "compacted"
        await session.ask("four " * 400)
        behind = list(stage.model.requests[-1].messages)
        assert behind[:5] == first[:5]
        assert b"A summary." in behind[5]
        await host.reload(space(LOAD))
        assert await session.recompose()
        await session.ask("five")
        last = list(stage.model.requests[-1].messages)
        assert b"1 times" not in b"".join(last)
        assert b"load_tools" in last[1]
        await check_summaries(session)
    assert seen == ["count"]


async def test_loads_by_usage_are_made_again_by_a_compaction(stage: Stage) -> None:
    """R113, R145: what was called meanwhile is loaded behind it, and another model moves none."""
    stage.plays(call("use_tool", name="tell", arguments={}), "A " * 400, "B", "A summary.", "C")
    stage.other._steps.extend(["D"])
    async with hosting(stage, declared(EagerLoad, "usual", most_used=1)) as host:
        session = await opened(host)
        for words in ("one " * 400, "two"):
            await session.ask(words)
            await host.reload()
        assert b"load_tools" not in stage.model.requests[-1].messages.joined()
        await session.set_model("other")
        await session.ask("three " * 400)
        assert b"load_tools" not in stage.other.requests[-1].messages.joined()
        await session.set_model("default")
        assert (await session.compact()).status == "compacted"
        await session.ask("four")
        assert b"load_tools" in list(stage.model.requests[-1].messages)[1]


async def test_what_is_carried_over_is_composed_with_the_summary(stage: Stage) -> None:
    """R114, R58: a contribution like any other; edited meanwhile it is told with the summary."""
    stage.plays("A", "B", "A summary.", "C")
    carried, later = (
        declared(Text, "carried", text=text, version=version)
        for version, text in (("1", "Order 7 is open."), ("2", "Order 7 is paid."))
    )
    async with hosting(stage, carried, seen=[]) as host:
        session = await opened(host)
        await session.ask("one " * 400)
        await host.reload(space(later))
        await session.ask("two " * 400)
        for request in stage.model.requests:
            assert b"Order 7 is open." in request.messages[0]
        assert (await session.compact()).status == "compacted"
        await session.ask("three")
        first, summary = list(stage.model.requests[-1].messages)[:2]
        assert b"Order 7 is paid." in first
        assert b"A summary." in summary
        await check_summaries(session)


async def test_an_imported_conversation_may_begin_with_its_compaction(stage: Stage) -> None:
    """R113, R146, R48: its run is made then, and stands in front of the summary from then on."""
    seen: list[str] = []
    stage.plays("A summary.", "B")
    turn: list[Message] = [UserMessage("one " * 400), AssistantMessage("Fine.")]
    async with hosting(stage, RUN, seen=seen) as host:
        session, _ = await import_history(host, "old", agent=AGENT, messages=turn * 3)
        assert (await session.compact()).status == "compacted"
        assert seen == ["count"]
        assert b"1 times" not in stage.model.requests[0].messages.joined()
        await session.ask("two")
        first, *rest = [words for role, words in sent(stage.model.requests[-1]) if role != "tool"]
        assert "count" in rest[0]
        assert "A summary." in rest[1]
        assert first.startswith("[platform note]")
        assert seen == ["count"]
        await check_summaries(session)


async def test_an_opening_takes_up_room_behind_a_summary_too(stage: Stage) -> None:
    """R104, R109, P092: what is kept whole has to fit beside it; where it does not, it is named."""
    stage.plays("A", "B")
    words = declared(Text, "words", text="Mind this. " * 1_000, budget=5_000)
    async with hosting(stage, words) as host:
        session = await opened(host)
        await session.ask("one " * 4_000)
        await session.ask("two")
        actor = await host._activated(session.id)
        wanted = Wanted(
            "asked", stage.model, SessionInfo(session.id, AGENT, None), with_person=False
        )
        asked = await planned(actor, wanted)
        assert isinstance(asked, Plan)
        room = asked.part.variant.budget.room
        needed = structs.replace(wanted, why="no_room")
        fits, does_not = (
            structs.replace(needed, behind=(encode_message(UserMessage("x" * 3 * (room - left))),))
            for left in (5_000, 2_000)
        )
        assert isinstance(await planned(actor, fits), Plan)
        with pytest.raises(OverBudget, match="The newest turn takes"):
            await planned(actor, does_not)


async def test_what_the_host_begins_opens_with_nothing_of_a_person(stage: Stage) -> None:
    """R204, R137: though somebody talks there later; their loads come with the next compaction."""
    seen: list[str] = []
    stage.plays("A", "B", "A summary.", "C")
    reach = {"reach": "turns_with_a_person"}
    theirs = declared(EagerRun, "clock", tool="count", **reach)
    tools = declared(EagerLoad, "theirs", tools=("tell",), **reach)
    async with hosting(stage, theirs, tools, seen=seen) as host:
        session = await host.session("ada", agent=AGENT, person="ada")
        await by_the_host(session, "tick " * 400)
        await session.ask("Hi " * 400)
        assert [sent(request)[0][0] for request in stage.model.requests] == ["user", "user"]
        assert b"load_tools" not in stage.model.requests[-1].messages.joined()
        assert (await session.kept_prompt_status()).moved.removed == ()
        assert (await session.compact()).status == "compacted"
        await session.ask("And now?")
        assert b"load_tools" in list(stage.model.requests[-1].messages)[1]
        await check_requests(session, stage.model.requests)
    assert seen == []


async def test_a_reading_run_without_an_outcome_is_made_again(stage: Stage) -> None:
    """R146: what was read when nobody could keep it is read anew, and stands there once."""
    seen: list[str] = []
    stage.plays("A")
    async with hosting(stage, RUN, seen=seen) as host:
        session = await opened(host)
        stage.fails(lambda op: b"eager_ran" in getattr(op, "records", b""))
        assert (await session.ask("Hi")).end == "not_sent"
    async with hosting(stage, RUN, seen=seen) as host:
        session = await opened(host)
        assert (await session.ask("Again")).end == "done"
        (ran,) = [r for r in session._reader.committed() if isinstance(r, EagerRan)]
        assert ran.result.state == "done"
        assert b"2 times" in stage.model.requests[0].messages.joined()
        await check_requests(session, stage.model.requests)
    assert seen == ["count"] * 2


@pytest.mark.parametrize("why", ["it raises", "its result comes later"])
async def test_a_run_that_fails_is_told_and_stands(stage: Stage, why: str) -> None:
    """R146, R224, C17: an error result is its outcome; nobody is asked, and it is not run again."""
    seen: list[str] = []

    @tool(effect="read")
    async def count() -> Later:
        """Count."""
        seen.append("count")
        if why == "it raises":
            raise LookupError("nothing to count")
        return Later("Has somebody counted?")

    stage.plays("A", "B")
    for _ in range(2):
        async with stage.host(workspace=space(RUN), tools=[count, *counting([])[1:]]) as host:
            session = await opened(host)
            assert (await session.ask("Hi")).end == "done"
            assert await host.questions().all() == []
            (ran,) = [r for r in session._reader.committed() if isinstance(r, EagerRan)]
            assert ran.result.state == "failed"
            await check_requests(session, stage.model.requests)
    said = NOT_YET if why == "its result comes later" else "nothing to count"
    assert [said in sent(request)[2][1] for request in stage.model.requests] == [True, True]
    assert seen == ["count"]


async def check_summaries(session: Any) -> None:
    """Every request of a turn, and every one for a summary, is rebuilt to the byte (R196)."""
    for turn in await session.turns().all():
        assert (await session.request(turn.turn)).is_exact
    assert (await session.summary_request()).is_exact
