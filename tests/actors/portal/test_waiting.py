"""Calls on their way, and those who wait for them: no wake-up is lost, and no cancellation."""

import asyncio
from contextvars import ContextVar
from typing import Any

import anyio
import pytest
import trio

from greenroom.actors.portal.waiting import InLoop, awaited, blocking
from greenroom.protocol.errors import HostClosed
from tests.actors.guest import run
from tests.actors.portal.stage import opening, settled

WORD: ContextVar[str] = ContextVar("word", default="none")


class Sleeper:
    """A coroutine of the host that sleeps until it is cancelled, and tells how it ended."""

    def __init__(self, then: BaseException | None = None) -> None:
        self.ended: list[str] = []
        self._then = then

    async def sleep(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            self.ended.append("cancelled")
            with trio.CancelScope(shield=True):
                await trio.sleep(0.001)
            self.ended.append("gone")
            if self._then is not None:
                raise self._then


async def by_task(waiting: Any) -> None:
    task = asyncio.create_task(waiting)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_timeout(waiting: Any) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await waiting


async def by_anyio(waiting: Any) -> None:
    with anyio.move_on_after(0.01) as scope:
        await waiting
    assert scope.cancelled_caught


@pytest.mark.parametrize("cancelling", [by_task, by_timeout, by_anyio])
def test_a_cancelled_task_goes_on_when_its_call_has_ended(cancelling: Any) -> None:
    """R188: trio's cancellation in the host, and all of its clean-up, before asyncio's goes on."""

    async def program() -> None:
        async with opening() as host:
            sleeper = Sleeper()
            await cancelling(awaited(host.line, sleeper.sleep))
            assert sleeper.ended == ["cancelled", "gone"]

    run(program)


def test_a_scope_of_anyio_does_not_spin_while_the_call_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R188: it cancels again and again, and is heard once."""
    waits: list[InLoop] = []
    wait = InLoop.wait

    async def counted(self: InLoop) -> None:
        waits.append(self)
        await wait(self)

    async def program() -> None:
        async with opening() as host:
            monkeypatch.setattr(InLoop, "wait", counted)
            await by_anyio(awaited(host.line, Sleeper().sleep))
            monkeypatch.undo()

    run(program)
    assert len(waits) == 2


def test_what_fails_while_it_is_cancelled_is_the_cause() -> None:
    """R188, R232: never lost, and the cancellation stays one."""
    error = ValueError("a defect")

    async def program() -> None:
        async with opening() as host:
            task = asyncio.create_task(awaited(host.line, Sleeper(error).sleep))
            await settled(host)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            assert caught.value.__cause__ is error

    run(program)


def test_a_call_that_was_cancelled_before_it_was_sent_is_not_made() -> None:
    """R188: as in trio, where the first checkpoint would say so."""
    made: list[int] = []

    async def make() -> None:
        made.append(1)

    async def program() -> None:
        async with opening() as host:
            task = asyncio.create_task(awaited(host.line, make))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await settled(host)
        assert not made

    run(program)


@pytest.mark.parametrize("error", [ValueError("v"), KeyboardInterrupt(), SystemExit(3)])
def test_whatever_a_call_raises_is_its_callers(error: BaseException) -> None:
    """R188: as itself, and neither the host nor another call knows of it."""

    async def fail() -> None:
        raise error

    with opening() as host:
        with pytest.raises(type(error)) as caught:
            blocking(host.line, fail)
        assert caught.value is error
        assert host.sessions().all() == []


def test_a_call_knows_the_context_of_its_caller() -> None:
    """R188: what a program follows its calls by goes with them."""

    async def word() -> str:
        await trio.lowlevel.checkpoint()
        return WORD.get()

    async def program() -> None:
        async with opening() as host:
            WORD.set("beside")
            assert await awaited(host.line, word) == "beside"

    run(program)


def test_a_call_that_comes_while_the_host_ends_is_told() -> None:
    """R188: whenever it comes, it is answered or refused: nobody waits for ever."""

    async def program() -> None:
        for _ in range(20):
            async with opening() as host:
                calls = [
                    asyncio.create_task(asyncio.to_thread(_until_closed, host.line))
                    for _ in range(4)
                ]
                await settled(host)
            await asyncio.gather(*calls)

    def _until_closed(line: Any) -> None:
        with pytest.raises(HostClosed):
            _ask_for_ever(line)

    def _ask_for_ever(line: Any) -> None:
        while True:
            blocking(line, trio.lowlevel.checkpoint)

    run(program)
