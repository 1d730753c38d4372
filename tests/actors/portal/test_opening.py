"""Opening and stopping the host's thread, and a portal of a host that is a guest (P181)."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from greenroom.actors import Session, portal
from greenroom.actors.models.scripted import Stalled
from greenroom.protocol.errors import HostClosed, WrongLoop
from greenroom.store import MemoryStore, open_memory
from tests.actors.guest import run, run_guest
from tests.actors.portal.stage import opening
from tests.actors.stage import stage


def host_threads() -> int:
    return sum(thread.name == "greenroom-host" for thread in threading.enumerate())


@asynccontextmanager
async def never(reached: threading.Event) -> AsyncIterator[MemoryStore]:
    """A store that never opens."""
    async with open_memory() as store:
        reached.set()
        await trio.sleep_forever()
        yield store


def test_who_runs_trio_loads_no_portal() -> None:
    """R188: the door of the actors stays as light as it was."""
    program = "import sys, greenroom.actors; print('greenroom.actors.portal' in sys.modules)"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    told = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert told == "False\n"


def test_opening_can_be_cancelled() -> None:
    """R188: whenever it is, no thread is left."""
    reached = threading.Event()

    async def program() -> None:
        task = asyncio.create_task(opening(store=never(reached)).__aenter__())
        await asyncio.to_thread(reached.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for steps in range(30):
            block = asyncio.create_task(_opened())
            for _ in range(steps):
                await asyncio.sleep(0)
            block.cancel()
            with pytest.raises(asyncio.CancelledError):
                await block

    run(program)
    assert host_threads() == 0


async def _opened() -> None:
    async with opening():
        await asyncio.Event().wait()


def test_a_cancelled_block_settles_its_turns() -> None:
    """R199, R208: the host is stopped whole before the cancellation goes on."""

    async def block(prompted: asyncio.Future[portal.Session]) -> None:
        async with opening(Stalled(trio.Event(), "never")) as host:
            session = await host.session("ann", agent="support")
            await session.prompt("one")
            prompted.set_result(session)
            await asyncio.Event().wait()

    async def program() -> None:
        prompted: asyncio.Future[portal.Session] = asyncio.Future()
        task = asyncio.create_task(block(prompted))
        session = await prompted
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert host_threads() == 0
        with pytest.raises(HostClosed):
            await session.state()

    run(program)


def test_a_host_that_is_a_guest_is_asked_through_its_portal() -> None:
    """P181: asyncio asks what ``beside`` gives; the host itself refuses it and goes on."""

    async def program() -> None:
        opened: asyncio.Future[tuple[portal.Host, Session]] = asyncio.Future()
        left = trio.Event()

        async def guest() -> None:
            async with stage("One.", "Two.") as on, portal.beside(on.host) as host:
                opened.set_result((host, await on.session()))
                await left.wait()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_guest(guest))
            host, inside = await opened
            with pytest.raises(WrongLoop):
                await inside.prompt("zero")
            session = await host.session("ann", agent="support")
            assert (await session.ask("one")).text == "One."
            asking = asyncio.create_task(session.ask("two"))
            told = [type(event).__name__ async for event in _of_two_turns(session)]
            assert (told[0], told.count("TurnEnded")) == ("SessionOpened", 2)
            assert (await asking).text == "Two."
            assert (await session.state()).user_messages == 2
            left.set()
        with pytest.raises(HostClosed):
            await session.state()

    run(program)


async def _of_two_turns(session: portal.Session) -> AsyncIterator[object]:
    ended = 0
    async for event in session.events():
        yield event
        ended += type(event).__name__ == "TurnEnded"
        if ended == 2:
            return


def test_calls_of_a_guest_are_cancelled_where_its_portal_ends() -> None:
    """P181: nobody waits for ever, and what the trio block raises leaves it as it is."""

    async def program() -> None:
        opened: asyncio.Future[portal.Host] = asyncio.Future()
        error = KeyError("k")

        async def guest() -> None:
            async with stage(Stalled(trio.Event(), "never")) as on, portal.beside(on.host) as host:
                opened.set_result(host)
                await trio.lowlevel.checkpoint()
                async for _ in on.host.feed():
                    raise error

        running = asyncio.create_task(run_guest(guest))
        session = await (await opened).session("ann", agent="support")
        with pytest.raises(HostClosed):
            await session.ask("one")
        with pytest.raises(KeyError) as caught:
            await running
        assert caught.value is error

    run(program)
