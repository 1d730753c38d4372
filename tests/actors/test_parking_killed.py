"""A process that dies between an approval and its tool, and what the next one finds on disk."""

from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.actors import World
from greenroom.actors.answering_stored import answer_stored
from greenroom.actors.models.scripted import call
from greenroom.actors.questions import open_questions
from greenroom.protocol.event import TurnEnded
from greenroom.protocol.question import Allow
from greenroom.store import open_lmdb
from tests.actors.approving import paid, paying
from tests.actors.asked import asks, last_turn, open_of, parked
from tests.actors.submitting import OPTIONS
from tests.actors.test_session_reopened import killed
from tests.actors.world import AGENT, STILL, Stage, check_conversation, check_requests

PROGRAM = "approving"


async def ended(session: Any) -> Any:
    """The session's turn, once it is over; both are seen under the real clock."""
    with trio.fail_after(20):
        async for event in session.events():
            if isinstance(event, TurnEnded):
                break
    return await last_turn(session)


@pytest.mark.parametrize("where", ["all", "one"])
async def test_killed_between_an_answer_and_its_tool(tmp_path: Path, where: str) -> None:
    """P134, P133, R161, P136: the approved call runs once, and nobody is asked about it again."""
    path = tmp_path / "store"
    await killed(path, where, PROGRAM)
    assert paid(tmp_path) == []
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        stage.plays("Paid.", "And again?")
        async with stage.host(tools=[paying(tmp_path)]) as host:
            session = await host.session("ann")
            asked = await host.questions().all()
            assert [question.arguments for question in asked] == (
                [] if where == "all" else ['{"cents":2}']
            )
            for question in asked:
                assert paid(tmp_path) == []
                await host.answer(question, Allow("lee"))
            turn = await ended(session)
            assert (turn.end, [made.state for made in turn.calls]) == ("done", ["done", "done"])
            assert sorted(paid(tmp_path)) == ["1", "2"]
            await check_conversation(session)
            await check_requests(session, stage.model.requests[:1])
    async with open_lmdb(path, options=OPTIONS) as store, Stage(store).host() as host:
        await (await host.session("ann")).state()
        assert await host.questions().count() == 0
    assert sorted(paid(tmp_path)) == ["1", "2"]


async def test_killed_while_an_approved_tool_runs(tmp_path: Path) -> None:
    """P133, P031, R173: its grant is used up; it may have happened, and is never run again."""
    path = tmp_path / "store"
    await killed(path, "begun", PROGRAM)
    before = paid(tmp_path)
    assert before
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        stage.plays("Next.")
        async with stage.host(tools=[paying(tmp_path)], policy=STILL) as host:
            session = await host.session("ann")
            assert (await session.ask("Next")).end == "done"
            turn = (await session.turns().all())[0]
            assert turn.end == "interrupted"
            assert [made.state for made in turn.calls] == ["unknown", "unknown"]
            assert await open_of(session) == []
            await check_conversation(session)
    assert paid(tmp_path) == before


@pytest.mark.parametrize(
    ("where", "paid_before", "ends"),
    [
        ("left", [], ["interrupted"]),
        ("sent", [], ["interrupted"] * 2),
        ("granted", ["1"], ["interrupted"] * 2),
    ],
)
async def test_killed_with_something_granted(
    tmp_path: Path, where: str, paid_before: list[str], ends: list[str]
) -> None:
    """P139, P133, R161: it is good in the next turn, for one call, and no crash makes it two."""
    path = tmp_path / "store"
    await killed(path, where, PROGRAM)
    assert paid(tmp_path) == paid_before
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        retry = call("pay", why="In other words.", cents=1)
        stage.plays(retry, *(("Paid.", retry) if where == "left" else ()))
        async with stage.host(tools=[paying(tmp_path)], policy=STILL) as host:
            session = await host.session("ann")
            receipt = await session.prompt("Once more")
            with trio.fail_after(20):
                if where == "left":
                    assert (await session.outcome(receipt)).end == "done"
                    receipt = await session.prompt("And again")
                assert len(await parked(session)) == 1
                await session.cancel()
                assert (await session.outcome(receipt)).end == "cancelled"
            assert paid(tmp_path) == ["1"] * (where != "sent")
            turns = await session.turns().all()
            assert [turn.end for turn in turns][: len(ends)] == ends
            if where == "granted":
                assert [made.state for made in turns[1].calls] == ["unknown"]
            await check_conversation(session)
            await check_requests(session, stage.model.requests)


async def test_answered_at_the_command_line_and_then_opened(disk: Stage, tmp_path: Path) -> None:
    """R161, R223, P134: over LMDB, days later, by whoever opens the store next."""
    disk.plays(call("pay", cents=3))
    tools = [paying(tmp_path)]
    async with disk.host(tools=tools) as host:
        await asks(await host.session("ann", agent=AGENT))
    [question] = open_questions(disk.store, None)
    await answer_stored(disk.store, World(), "default", question.id, Allow("kim"))
    assert open_questions(disk.store, None) == []
    disk.plays("Paid.", call("pay", cents=4))
    async with disk.host(tools=tools) as host:
        session = await host.session("ann")
        assert (await ended(session)).end == "done"
        assert paid(tmp_path) == ["3"]
        await session.prompt("More")
        assert len(await parked(session)) == 1
        await check_requests(session, disk.model.requests)
    assert paid(tmp_path) == ["3"]
