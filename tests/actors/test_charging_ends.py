"""Whatever ends a request, nothing of a quota stays reserved, and the store has what memory has."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy, Session
from greenroom.actors.models.port import ModelResponse
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.errors import ModelFailed, SaveFailed, SessionFailed, StoreUnavailable
from greenroom.protocol.question import Allow
from greenroom.protocol.quota import NOTHING, Quota, Spent
from tests.actors.charged import CACHED, WORST_LEAST, check_settled, costing, on_disk, stands
from tests.actors.test_turn_cancelled import TURN, cancelled_at
from tests.actors.world import Stage, opened

WIDE = Policy(quota=Quota(tokens=1_000_000, turns=1_000))


async def _cancelled(stage: Stage, session: Session) -> None:
    reached = trio.Event()
    stage.plays(Stalled(trio.Event(), "never", reached))
    receipt = await session.prompt("Hi")
    await reached.wait()
    assert stands(session._host).reserved.turns == 1
    assert await session.cancel()
    await session.outcome(receipt)


async def _deleted(stage: Stage, session: Session) -> None:
    reached = trio.Event()
    stage.plays(Stalled(trio.Event(), "never", reached))
    await session.prompt("Hi")
    await reached.wait()
    await session.delete()
    await wait_all_tasks_blocked()


async def _failed(stage: Stage, session: Session) -> None:
    stage.plays(ModelFailed("It broke."))
    await session.ask("Hi")


async def _refused(stage: Stage, session: Session) -> None:
    stage.plays(ModelFailed("Too many.", begun=False))
    await session.ask("Hi")


async def _no_answer(stage: Stage, session: Session) -> None:
    stage.plays(ModelResponse(""))
    assert (await session.ask("Hi")).end == "empty"


async def _malformed(stage: Stage, session: Session) -> None:
    stage.plays(ModelResponse(7))  # type: ignore[arg-type]
    assert (await session.ask("Hi")).end == "failed"


WAYS: dict[str, Callable[[Stage, Session], Any]] = {
    "cancelled": _cancelled,
    "deleted": _deleted,
    "failed": _failed,
    "refused": _refused,
    "empty": _no_answer,
    "malformed": _malformed,
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_turn_that_ends_otherwise_leaves_nothing_reserved(stage: Stage, way: str) -> None:
    """R233: what was sent counts with its worst case, unless the provider began nothing."""
    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        await WAYS[way](stage, session)
        spent = check_settled(stage, host)
        assert spent.turns == 1
        assert (spent.tokens == 0) if way == "refused" else (spent.tokens > WORST_LEAST)


@pytest.mark.parametrize("step", range(1, 16))
async def test_cancelled_at_every_step_it_leaves_nothing_reserved(stage: Stage, step: int) -> None:
    """R233, R180: a request that was out counts with its worst case, one that was not with none."""
    stage.model.usage = CACHED
    stage.plays(*TURN)
    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        _, outcome = await cancelled_at(stage, session, step)
        spent, asked = check_settled(stage, host), len(stage.model.requests)
        assert spent.turns == (outcome.messages > 0)
        assert spent.tokens >= outcome.usage.total
        assert (spent.tokens > 0) == (asked > 0)
        assert spent.tokens < 1_000 * asked + 2 * WORST_LEAST


@pytest.mark.parametrize("how", [{}, {"unknown": True, "applied": True}, {"unknown": True}])
@pytest.mark.parametrize("place", range(5))
async def test_a_fault_at_every_commit_leaves_nothing_reserved(
    stage: Stage, place: int, how: dict[str, Any]
) -> None:
    """R84, R206, R233: what is kept unsaved is charged when it is flushed, and once."""
    stage.plays(costing(CACHED, "", call("pay", cents=7)), costing(CACHED, "", call("look")))
    stage.plays(costing(CACHED))
    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        stage.fails(skip=place, **how)
        try:
            await session.ask("Hi")
        except (SaveFailed, StoreUnavailable, ExceptionGroup):
            assert how != {"unknown": True, "applied": True}
        assert stands(host).reserved == NOTHING
        await session.flush()
        spent = check_settled(stage, host)
        assert spent == Spent(1_000 * len(stage.model.requests), min(1, len(stage.model.requests)))
    async with stage.host(policy=WIDE) as host:
        assert stands(host).charged == spent


async def test_a_defect_of_ours_leaves_nothing_reserved(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R168, R233: an actor that fails between its reservation and the request."""

    async def broken(*_: object) -> None:
        raise RuntimeError("a defect")

    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        with monkeypatch.context() as patched:
            patched.setattr("greenroom.actors.turn.dispatch", broken)
            with pytest.raises(SessionFailed):
                await session.ask("Hi")
        assert check_settled(stage, host) == NOTHING


async def test_a_host_that_stops_leaves_the_worst_case_charged(stage: Stage) -> None:
    """R233, R87: whoever opens the store again finds what may have been spent."""
    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        reached = trio.Event()
        stage.plays(Stalled(trio.Event(), "never", reached))
        await session.prompt("Hi")
        await reached.wait()
        reserved = stands(host).reserved
        # It is on disk before the answer comes: a kill does not lose it.
        assert on_disk(stage) == reserved
    async with stage.host(policy=WIDE) as host:
        assert stands(host).charged == reserved
        assert (await (await opened(host)).state()).phase == "idle"
        assert check_settled(stage, host) == reserved


async def test_a_parked_turn_goes_on_with_its_quota(stage: Stage) -> None:
    """R233, R161: nothing is reserved while it waits; each request counts, in another host too."""
    stage.plays(costing(CACHED, "", call("pay")), costing(CACHED, "", call("look")))
    stage.plays(costing(CACHED))
    async with stage.host(policy=WIDE) as host:
        session = await host.session("ann", agent="support", preset="workspace-write")
        receipt = await session.prompt("Pay")
        await wait_all_tasks_blocked()
        assert (await session.state()).phase == "parked"
        assert check_settled(stage, host) == Spent(1_000, 1)
    async with stage.host(policy=WIDE) as host:
        (question,) = await host.questions().all()
        await host.answer(question, Allow("ann"))
        assert (await (await host.session("ann")).outcome(receipt)).end == "done"
        assert check_settled(stage, host) == Spent(3_000, 1)
