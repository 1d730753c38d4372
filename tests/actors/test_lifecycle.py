"""A host that ends: by whatever its block is left, and what those are told who come later."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Session, open_host
from greenroom.actors.drafting import Drafted, draft_of
from greenroom.actors.gateway import Waiting
from greenroom.actors.host import REVIVALS_MAX
from greenroom.actors.models.scripted import Scripted, Stalled
from greenroom.actors.session import SessionActor
from greenroom.protocol.account import outcome_of
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import HostClosed, Missing
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.store import open_memory
from tests.actors.stage import stage, workspace


async def test_a_cancelled_block_settles_its_turns_at_once(autojump_clock: MockClock) -> None:
    """R199, R208: a turn is interrupted, and not dropped, when the caller's scope is cancelled."""
    async with open_memory() as store:
        with trio.CancelScope() as scope:
            async with stage(Stalled(trio.Event(), "never"), store=store) as on:
                receipt = await (await on.session()).prompt("one")
                await wait_all_tasks_blocked()
                started = trio.current_time()
                scope.cancel()
                await trio.sleep_forever()
        assert scope.cancelled_caught
        assert trio.current_time() == started
        # Settled by the host that ended, and not by whoever opens the session next.
        stored = store.read(SessionId("default", "ann"))
        records = [record for entry in stored for record in decode_records(entry.records)]
        outcome = outcome_of(records, receipt.message)
        assert outcome is not None
        assert (outcome.end, outcome.reason) == ("interrupted", "The host stopped.")


async def test_a_host_opens_and_ends_in_a_scope_that_is_cancelled_already() -> None:
    """R208: nothing hangs, and nothing of it is left running."""
    async with open_memory() as store:
        with trio.move_on_after(5) as bound:
            with trio.CancelScope() as scope:
                scope.cancel()
                async with stage(store=store):
                    await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert not bound.cancelled_caught


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(3), ValueError("v"), ExceptionGroup("g", [OSError()])]
)
async def test_what_the_block_raises_leaves_it_as_it_is(error: BaseException) -> None:
    """R208: no group around it, also where turns were running."""

    async def block() -> None:
        async with stage(Stalled(trio.Event(), "never")) as on:
            await (await on.session()).prompt("one")
            raise error

    with pytest.raises(type(error)) as caught:
        await block()
    assert caught.value is error


async def test_an_interrupt_in_an_actors_task_ends_the_host_as_itself() -> None:
    """R208: what is no error of a session leaves the host without groups of groups."""

    async def interrupt() -> None:
        raise KeyboardInterrupt

    async def block() -> None:
        async with stage(Stalled(trio.Event(), "never")) as on:
            await (await on.session()).prompt("one")
            on.host.services.nursery.start_soon(interrupt)
            await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt), trio.fail_after(5):
        await block()


CALLS: dict[str, Callable[[Session], Awaitable[Any]]] = {
    "prompt": lambda s: s.prompt("hello"),
    "ask": lambda s: s.ask("hello"),
    "outcome": lambda s: s.outcome("nothing"),
    "recall": lambda s: s.recall("nothing"),
    "retry": lambda s: s.retry("nothing"),
    "flush": lambda s: s.flush(),
    "set_permission_preset": lambda s: s.set_permission_preset("workspace-write"),
    "set_model": lambda s: s.set_model("m"),
    "delete": lambda s: s.delete(),
}


async def test_a_host_that_has_ended_says_so_at_once() -> None:
    """R87: nobody writes over it or waits in it; what can be read without it can be read."""
    async with open_memory() as store:
        async with stage(Stalled(trio.Event(), "never"), store=store) as on:
            session = await on.session()
            receipt = await session.prompt("one")
            queued = await session.prompt("two", when="queue")
        before = store.last_number()
        with trio.fail_after(5):
            for call in CALLS.values():
                with pytest.raises(HostClosed):
                    await call(session)
            for key in ("ann", "new"):
                with pytest.raises(HostClosed):
                    await on.session(key)
            with pytest.raises(HostClosed):
                await session.outcome(queued)
            assert not await session.cancel()
            assert (await session.outcome(receipt)).end == "interrupted"
            assert [event async for event in session.events()]
            assert [event async for event in on.host.feed()]
        assert store.last_number() == before


class Closing(Scripted):
    """A model that counts how it is closed, and may do that badly."""

    def __init__(self, close: Callable[[], Awaitable[None]]) -> None:
        super().__init__([])
        self._close = close
        self.closed = 0

    async def aclose(self) -> None:
        self.closed += 1
        await self._close()


async def test_a_model_that_cannot_be_closed_keeps_nobody(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """R208: the others are closed, what failed is logged, and one that hangs is left in time."""

    async def fail() -> None:
        raise ValueError("a defect")

    models = {
        "hangs": Closing(trio.sleep_forever),
        "fails": Closing(fail),
        "closes": Closing(trio.lowlevel.checkpoint),
    }
    started = trio.current_time()
    async with (
        open_memory() as store,
        open_host(
            store,
            workspace=workspace(),
            models={**models, "again": models["closes"]},
            limits=Limits(settle_seconds_max=2),
        ),
    ):
        pass
    assert trio.current_time() - started == 2
    assert [model.closed for model in models.values()] == [1, 1, 1]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "a defect" in caplog.text


async def test_what_is_queued_goes_on_by_itself_after_a_session_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R168, R93: activated again as often as it is bounded, and then when somebody asks."""
    lasting = 1

    async def defective(actor: SessionActor, entry: Waiting, number: int) -> Drafted:
        if entry.seq is not None and len(fails) < lasting:
            fails.append(entry.submission.message)
            raise RuntimeError("a defect")
        return await draft_of(actor, entry, number)

    monkeypatch.setattr("greenroom.actors.making_room.draft_of", defective)
    fails: list[str] = []
    for lasting in (1, REVIVALS_MAX, 1_000):
        fails.clear()
        go = trio.Event()
        async with stage(Stalled(go, "One."), "Two.") as on:
            session = await on.session()
            first = await session.prompt("one")
            second = await session.prompt("two", when="queue")
            go.set()
            assert (await session.outcome(first)).text == "One."
            await wait_all_tasks_blocked()
            if lasting <= REVIVALS_MAX:
                assert (await session.state()).phase == "idle"
            else:
                assert len(fails) == REVIVALS_MAX + 1
                assert (await session.state()).queued == 1
                lasting = 0  # noqa: PLW2901
            assert (await session.outcome(second)).text == "Two."


async def test_whoever_waits_for_a_message_of_a_deleted_session_is_told_that() -> None:
    """R192: not that somebody took it over, and not for ever."""
    async with stage(Stalled(trio.Event(), "never")) as on:
        session = await on.session()
        receipts = [await session.prompt(word, when="queue") for word in ("one", "two")]
        told: list[str] = []

        async def wait(place: int) -> None:
            with pytest.raises(Missing) as caught:
                await session.outcome(receipts[place])
            told.append(caught.value.sentence)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, 0)
            nursery.start_soon(wait, 1)
            await wait_all_tasks_blocked()
            await session.delete()
        assert told == ["The session ann was deleted."] * 2
