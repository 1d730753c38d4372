"""Who waits for what becomes of a message."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors.outcomes import Outcomes
from greenroom.protocol.errors import SaveFailed, SessionFailed, TurnFailed
from greenroom.protocol.receipt import Outcome
from greenroom.protocol.usage import Usage

DONE = Outcome(1, "done", "", "Hello.", 2, Usage())


async def caught(outcomes: Outcomes, message: str, found: list[object]) -> None:
    slot = outcomes.wait_for(message)
    try:
        found.append(await slot.get())
    except (SessionFailed, SaveFailed, ExceptionGroup) as error:
        found.append(error)


async def test_all_that_wait_get_the_same_outcome() -> None:
    """R213: and who left before is not in the way."""
    outcomes, found = Outcomes(), list[object]()
    left = outcomes.wait_for("m")
    outcomes.forget("m", left)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(caught, outcomes, "m", found)
        nursery.start_soon(caught, outcomes, "m", found)
        await wait_all_tasks_blocked()
        outcomes.resolve("other", DONE)
        outcomes.resolve("m", DONE)
    assert found == [DONE, DONE]
    assert not left.filled


@pytest.mark.parametrize("grouped", [False, True])
async def test_each_waiter_gets_an_error_of_its_own(grouped: bool) -> None:
    """R87, R88: a shared exception would collect the tracebacks of all who raise it."""
    outcomes, found = Outcomes(), list[object]()
    error: SaveFailed | ExceptionGroup[SaveFailed | TurnFailed] = SaveFailed(
        "Not saved.", way_out="Mend the disk.", turn=1
    )
    if grouped:
        error = ExceptionGroup("Both.", [TurnFailed("Failed."), SaveFailed("Not saved.", turn=1)])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(caught, outcomes, "m", found)
        nursery.start_soon(caught, outcomes, "m", found)
        await wait_all_tasks_blocked()
        outcomes.reject("m", error)
    assert len({id(one) for one in (*found, error)}) == 3
    assert {type(one) for one in found} == {type(error)}
    assert {str(one) for one in found} == {str(error)}


async def test_nobody_waits_for_ever() -> None:
    """R87: when the actor ends, all waiters of all messages are told."""
    outcomes, found = Outcomes(), list[object]()
    async with trio.open_nursery() as nursery:
        for message in "ab":
            nursery.start_soon(caught, outcomes, message, found)
        await wait_all_tasks_blocked()
        outcomes.reject_all(SessionFailed("It ended."))
    assert [str(one) for one in found] == [str(SessionFailed("It ended."))] * 2
