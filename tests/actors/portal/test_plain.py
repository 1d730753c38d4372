"""A host in a plain program, with threads of its own or without: calls that block (R188)."""

import asyncio
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trio

from greenroom.actors import portal, tool
from greenroom.actors.models.scripted import Looping, call
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import HostClosed, Missing, StoreTaken, WrongLoop
from greenroom.protocol.event import TurnEnded
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import Ended
from greenroom.store import open_lmdb
from tests.actors.guest import run
from tests.actors.portal.stage import names, opening


def test_a_conversation_from_a_plain_program(tmp_path: Path) -> None:
    """R188: the same names, and each call returns what its coroutine would."""
    with opening("One.", "Two.", store=tmp_path / "s") as host:
        session = host.session("ann", agent="support")
        receipt = session.prompt("one", key="k")
        assert session.outcome(receipt).text == "One."
        told = []
        for event in session.events(after=receipt.cursor):
            told.append(event)
            if isinstance(event, TurnEnded):
                break
        assert names(told)[-1] == "TurnEnded"
        assert session.ask("two").text == "Two."
        assert [turn.end for turn in session.turns()] == ["done", "done"]
        assert host.sessions().count() == len(host.sessions().all()) == 1
        assert host.tenant("b").sessions().all() == []
        with pytest.raises(Missing):
            host.tenant("b").session("ann")
    with pytest.raises(HostClosed):
        session.ask("three")


def test_a_session_is_moved_by_a_plain_program(tmp_path: Path) -> None:
    """R188, R191: as lines that it keeps in a file of its own."""
    with opening("One.") as host:
        session = host.session("ann", agent="support")
        session.ask("one")
        lines = session.export().all()
    (tmp_path / "ann").write_bytes(b"".join(line + b"\n" for line in lines))
    with opening("Two.") as host, (tmp_path / "ann").open("rb") as file:
        again = host.import_session("ann", file)
        assert again.export().all() == lines
        assert again.ask("two").text == "Two."


def test_a_host_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    """R188: what is opened in vain leaves nothing behind."""
    with opening(store=tmp_path / "s"), pytest.raises(StoreTaken):
        opening(store=tmp_path / "s").__enter__()
    with opening(store=tmp_path / "s") as host:
        assert host.sessions().all() == []


def test_what_the_block_raises_leaves_it_as_it_is() -> None:
    """R208: as itself."""
    error = KeyError("k")

    def program() -> None:
        with opening("One."):
            raise error

    with pytest.raises(KeyError) as caught:
        program()
    assert caught.value is error


def test_threads_ask_at_the_same_time() -> None:
    """R188: each gets its own answer."""
    with opening(model=Looping(("Hi.",))) as host, ThreadPoolExecutor(8) as pool:

        def ask(place: int) -> str:
            return f"{host.session(f's{place}', agent='support').ask('hello').turn}"

        assert list(pool.map(ask, range(50))) == ["1"] * 50


def test_a_thread_that_reads_ends_with_the_host() -> None:
    """R188, R186: it has read what there was, and its loop is over."""
    begun = threading.Event()
    told: list[str] = []

    def read(session: portal.PlainSession) -> None:
        for event in session.events():
            told.append(type(event).__name__)
            begun.set()

    with ThreadPoolExecutor(1) as pool, opening("One.") as host:
        session = host.session("ann", agent="support")
        reading = pool.submit(read, session)
        session.ask("one")
        begun.wait()
    assert reading.result() is None
    assert told[0] == "SessionOpened"


def test_a_tool_in_a_thread_is_known_by_the_turn_that_it_runs_in() -> None:
    """P157, R188: it may ask another session, and not its own: that would wait for itself."""
    held: list[portal.PlainHost] = []

    @tool(effect="read")
    def consult(key: str) -> str:
        """Ask a session."""
        return held[0].session(key, agent="support").ask("what now?").text

    steps = ((call("consult", key="other"), call("consult", key="ann")), "Wait.", "Done.")
    with opening(*steps, tools=[consult]) as host:
        held.append(host)
        session = host.session("ann", agent="support")
        assert session.ask("go").text == "Done."
        first, second = session.state().messages[2:4]
        assert first.content == "Wait."
        assert "WouldWaitForItself" in str(second.content)


def test_where_a_loop_runs_nobody_blocks_it() -> None:
    """R188: not in asyncio, and not in the host's own loop, which would wait for itself."""
    held: list[portal.PlainSession] = []

    @tool(effect="read")
    async def stall() -> str:
        """Ask from the loop."""
        return held[0].ask("hello").text

    async def program() -> None:
        with pytest.raises(WrongLoop, match="async with"):
            held[0].state()
        with pytest.raises(WrongLoop, match="async with"):
            opening().__enter__()

    with opening(call("stall"), "Done.", tools=[stall]) as host:
        held.append(host.session("ann", agent="support"))
        run(program)
        assert held[0].ask("go").text == "Done."
        assert "WrongLoop" in str(held[0].state().messages[2].content)


def test_a_handle_for_asyncio_needs_a_task_of_asyncio() -> None:
    """R188: a coroutine that something else drives is refused, and not left hanging."""

    async def program() -> None:
        async with opening("One.") as host:
            session = await host.session("ann", agent="support")

            def drive() -> None:
                with pytest.raises(WrongLoop, match=r"open_host"):
                    session.state().send(None)

            await asyncio.to_thread(drive)

    run(program)


ASYNCIO = """
import asyncio, trio
from greenroom.actors import portal
from greenroom.actors.models.scripted import Scripted, Stalled
from tests.actors.stage import workspace

async def main():
    model = Scripted([Stalled(trio.Event(), "never")])
    async with portal.open_host("s", workspace=workspace(), models={"m": model}) as host:
        session = await host.session("ann", agent="support")
        receipt = await session.prompt("one")
        print("waits", flush=True)
        await session.outcome(receipt)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""
PLAIN = """
import trio
from greenroom.actors import portal
from greenroom.actors.models.scripted import Scripted, Stalled
from tests.actors.stage import workspace

model = Scripted([Stalled(trio.Event(), "never")])
try:
    with portal.open_host("s", workspace=workspace(), models={"m": model}) as host:
        session = host.session("ann", agent="support")
        receipt = session.prompt("one")
        print("waits", flush=True)
        session.outcome(receipt)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("program", [ASYNCIO, PLAIN], ids=["asyncio", "plain"])
def test_ctrl_c_ends_the_host_as_its_block_does(program: str, tmp_path: Path) -> None:
    """R188, R208: the program gets its KeyboardInterrupt, and the turn is settled on disk."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    process.send_signal(signal.SIGINT)
    told, errors = process.communicate(timeout=30)
    assert (told, errors, process.returncode) == ("interrupted\n", "", 0)
    assert [record.reason for record in trio.run(endings, tmp_path / "s")] == ["The host stopped."]


async def endings(path: Path) -> list[Ended]:
    async with open_lmdb(path, read_only=True) as store:
        entries = store.read(SessionId("default", "ann"))
    records = [record for entry in entries for record in decode_records(entry.records)]
    return [record for record in records if isinstance(record, Ended)]
