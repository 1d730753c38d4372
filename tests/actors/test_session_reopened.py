"""What is there after a process died: everything that was acknowledged, and nothing twice."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import Busy
from greenroom.store import open_lmdb
from tests.actors.submitting import OPTIONS, SUBMITTED
from tests.actors.world import (
    STILL,
    Stage,
    check_conversation,
    check_requests,
    conversation,
    opened,
    queue_of,
    sent,
)
from tests.house.tree import ROOT


async def killed(path: Path, where: str, program: str = "submitting") -> None:
    """A process that did what it was to do, killed where it stands."""
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", f"tests.actors.{program}", str(path), where],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    told: bytes | bytearray = b""
    async with process.stdout:
        with trio.move_on_after(30):
            told = await process.stdout.receive_some()
        process.send_signal(signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL
    assert told.startswith(b"submitted")


@pytest.mark.parametrize(("where", "states"), [("model", []), ("tool", ["unknown"])])
async def test_killed_with_messages_queued(tmp_path: Path, where: str, states: list[str]) -> None:
    """R93, R87, R173, R175, R177, P031: nine queued and one interrupted; no tool is run again."""
    path = tmp_path / "store"
    await killed(path, where)
    async with open_lmdb(path, options=OPTIONS) as store:
        stage = Stage(store)
        async with stage.host(policy=STILL) as host:
            session = await host.session("ann")
            state = await session.state()
            assert (state.phase, state.queued) == ("interrupted", SUBMITTED - 1)
            assert await queue_of(session) == [f"message {n}" for n in range(1, SUBMITTED)]
        stage.plays(*[f"answer {n}" for n in range(1, SUBMITTED)])
        async with stage.host() as host:
            session = await host.session("ann")
            receipts = [
                await session.prompt(f"message {n}", when="queue", key=f"key {n}")
                for n in range(SUBMITTED)
            ]
            assert all(receipt.repeated for receipt in receipts)
            outcomes = [await session.outcome(receipt) for receipt in receipts]
            assert [o.end for o in outcomes] == ["interrupted"] + ["done"] * (SUBMITTED - 1)
            assert [o.text for o in outcomes[1:]] == [f"answer {n}" for n in range(1, SUBMITTED)]
            turns = [turn async for turn in session.turns()]
            assert [made.state for made in turns[0].calls] == states
            await check_conversation(session)
            await check_requests(session, stage.model.requests)
    assert stage.effects == []


async def test_a_graceful_stop_keeps_the_queue(disk: Stage) -> None:
    """R199, R93, P032: five queued are five queued, in their order, and run when it is opened."""
    disk.plays(call("watch"))
    async with disk.session() as session:
        first = await session.prompt("Hi")
        await disk.gate.reached.wait()
        queued = [await session.prompt(f"q{n}", when="queue") for n in range(5)]
    disk.plays(*[f"a{n}" for n in range(5)])
    async with disk.session(policy=STILL) as session:
        assert (await session.state()).queued == 5
        assert (await session.outcome(first)).end == "interrupted"
        assert [(await session.outcome(q)).text for q in queued] == [f"a{n}" for n in range(5)]
        await check_requests(session, disk.model.requests)


async def test_turns_over_a_disk(disk: Stage) -> None:
    """R61, R196, R34: over a restart the next request begins with the bytes of the one before."""
    disk.skills.publish("refunds", "Give it back.")
    disk.plays(call("pay"), "One.", "Two.", "Three.")
    async with disk.session() as session:
        await session.ask("Hi")
        await session.ask("Now", skills=["refunds"])
    async with disk.session() as session:
        await session.ask("Again")
        await check_requests(session, disk.model.requests)
        assert (await conversation(session))[-2:] == ["Again", "Three."]
    assert len({request.system for request in disk.model.requests}) == 1


async def test_a_turn_that_nobody_runs_is_settled_at_activation(stage: Stage) -> None:
    """R16, R174, R175: before that, a preset chosen at opening is refused as busy."""
    stage.plays((call("send"), call("look")))
    async with stage.session() as session:
        await session.prompt("Hi")
        await stage.gate.reached.wait()
        async with stage.host(policy=STILL) as host:
            other = await host.session("ann")
            assert (await other.state()).phase == "interrupted"
            with pytest.raises(Busy):
                await host.session("ann", preset="read-only")
            stage.plays("Next.")
            assert (await other.ask("Next")).end == "done"
            [turn, _] = [turn async for turn in other.turns()]
            assert turn.end == "interrupted"
            assert [made.state for made in turn.calls] == ["unknown", "not_run"]
            await check_conversation(other)
            assert [role for role, _ in sent(stage.model.requests[-1])] == [
                "user", "assistant", "tool", "tool", "user",
            ]  # fmt: skip
            await host.session("ann", preset="read-only")


async def test_a_message_that_waited_is_one_turn_after_a_restart(stage: Stage) -> None:
    """R22, R54, P054, P059: a pick that was queued is projected as it would have been."""
    stage.skills.publish("refunds", "Give it back.")
    stage.plays(call("watch"))
    async with stage.session() as session:
        await session.prompt("Hi")
        await stage.gate.reached.wait()
        picked = await session.prompt("Now", skills=["refunds"])
    stage.plays("Given.", "Direct.")
    async with stage.host() as host:
        session = await opened(host)
        assert (await session.outcome(picked)).text == "Given."
        direct = await opened(host, "ben")
        await direct.ask("Now", skills=["refunds"])
    _, given, other = stage.model.requests
    assert given.messages[-1] == other.messages[-1]
