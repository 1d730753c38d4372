"""What is set of a session, taken back or let go: a commit, and nothing else is kept by it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio
from trio._core import _run
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import Busy, PendingSave, SaveFailed, SessionFailed
from tests.actors.asked import asking
from tests.actors.world import STILL, Stage, conversation, is_commit


@pytest.mark.parametrize("order", range(6))
async def test_a_message_behind_a_setting_that_fails_goes_on(stage: Stage, order: int) -> None:
    """R10, R125: the former setting stays in force, and the queue waits for nobody."""
    async with asking(stage, "Hello.") as session:
        await session._host.activate(session.id)
        stage.fails(where=lambda one: is_commit(one) and b'"is":"preset"' in one.records)

        async def setting() -> None:
            with pytest.raises((SaveFailed, Busy)):
                await session.set_permission_preset("workspace-write")

        # Offered in one tick, so that the store tells of both at once, in whichever order.
        _run._r.seed(order)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(setting)
            nursery.start_soon(partial(session.prompt, "Hi", when="queue"))
        await wait_all_tasks_blocked()
        assert await conversation(session) == ["Hi", "Hello."]
        assert (await session.state()).preset == "read-only"


async def test_a_session_is_let_go_and_comes_back(stage: Stage) -> None:
    """R208, R169: of what runs it is not; what is on disk is found by whoever asks next."""
    async with asking(stage, call("watch"), "One.", "Two.") as session:
        receipt = await session.prompt("Hi")
        await stage.gate.reached.wait()
        with pytest.raises(Busy):
            await session.dispose()
        stage.gate.open.set()
        await session.outcome(receipt)
        await session.dispose()
        assert session._host.live(session.id) is None
        await session.dispose()
        assert (await session.ask("Now")).text == "Two."


@pytest.mark.parametrize("discard", [False, True])
async def test_what_cannot_be_written_is_given_up_only_if_asked(
    stage: Stage, discard: bool
) -> None:
    """R208, R87: else it is kept; given up, the last commit is seen, and waiters are told."""
    async with asking(stage, "One.", "Next.") as session, trio.open_nursery() as nursery:
        stage.fails(skip=1)
        with pytest.raises(SaveFailed):
            await session.ask("Hi")
        queued = await session.prompt("two")
        told: list[Any] = []

        @nursery.start_soon
        async def waiting() -> None:
            try:
                told.append((await session.outcome(queued)).end)
            except SessionFailed as error:
                told.append(error.sentence)

        await wait_all_tasks_blocked()
        stage.fails()
        if not discard:
            with pytest.raises(PendingSave):
                await session.dispose()
            assert (await session.state()).has_pending_save
            await session.flush()
        else:
            await session.dispose(discard=True)
            assert session._host.live(session.id) is None
            await wait_all_tasks_blocked()
            assert "let go" in told[0]
            assert (await session.state()).phase == "interrupted"
        assert (await session.outcome(queued)).end == "done"
    assert len(told) == 1


CHANGES: dict[str, Callable[[Any], Any]] = {
    "message": lambda session: session.prompt("Hi"),
    "setting": lambda session: session.set_permission_preset("workspace-write"),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_nothing_is_let_go_that_is_on_its_way(stage: Stage, what: str) -> None:
    """R208, R91: what is being saved is waited for by its own caller."""
    policy = Policy() if what == "setting" else STILL
    async with (
        asking(stage, "Hello.", policy=policy) as session,
        trio.open_nursery() as nursery,
    ):
        await session._host.activate(session.id)
        stage.memory.faults.hold()
        nursery.start_soon(CHANGES[what], session)
        await wait_all_tasks_blocked()
        with pytest.raises(Busy):
            await session.dispose()
        stage.memory.faults.release()
