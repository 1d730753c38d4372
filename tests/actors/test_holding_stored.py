"""Laws of holding a store that no host holds: the next host finds it, and lifts it like its own."""

import pytest

from greenroom.actors.border import check_filter
from greenroom.actors.holding import new_hold
from greenroom.actors.holding_stored import lift_stored, place_stored
from greenroom.actors.holds import Holds
from greenroom.actors.journaling import PAGE, interventions
from greenroom.actors.world import simulated
from greenroom.protocol.errors import Missing, SaveFailed, StoreDamaged
from greenroom.protocol.hold import HOLD, Hold
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.store import Enter, Standing, open_memory
from tests.actors.held import phase
from tests.actors.stage import stage
from tests.store.offering import ask

WORLD = simulated(9)


def made(reason: str = "Look.", **which: str) -> Hold:
    asked = check_filter(DEFAULT_LIMITS, "default", **which)
    return new_hold(WORLD, DEFAULT_LIMITS, asked, running="finish", reason=reason, by="ann")


async def test_a_stored_hold_is_in_force_with_the_next_host_and_lifted_there_or_here() -> None:
    # R159, R239, R242
    async with open_memory() as store:
        async with stage("Hi.", store=store) as on:
            await (await on.session()).ask("Hi.")
        one, two = made(agent="support"), made(agent="other")
        assert await place_stored(store, one) == 1
        assert await place_stored(store, two) == 0
        async with stage("Later.", store=store) as on:
            session = await on.session()
            receipt = await session.prompt("A")
            assert await phase(session) == "held"
        with pytest.raises(Missing):
            await lift_stored(store, WORLD, "elsewhere", one.id, by="ben")
        assert (await lift_stored(store, WORLD, "default", one.id, by="ben")).agent == "support"
        with pytest.raises(Missing, match="`greenroom holds`"):
            await lift_stored(store, WORLD, "default", one.id, by="ben")
        async with stage("Later.", store=store) as on:
            assert (await (await on.session()).outcome(receipt)).end == "done"
            await on.host.lift(two, by="ben")
        assert Holds.stored(store).in_force == ()
        assert [(type(each).__name__, each.by) for each in interventions(store)] == [
            ("HoldPlaced", "ann"),
            ("HoldPlaced", "ann"),
            ("HoldLifted", "ben"),
            ("HoldLifted", "ben"),
        ]


async def test_a_skill_is_named_by_its_folder() -> None:
    """R239: as it is in an agent's file; a path is taken as it is."""
    assert made(skill="refunds").skill == made(skill="skills/refunds").skill == "skills/refunds"


async def test_what_cannot_be_written_or_read_is_told() -> None:
    """R92: a host does not open over holds that it cannot read: it would let held sessions run."""
    async with open_memory() as store:
        store.faults.fail_next(SaveFailed("full"))
        with pytest.raises(SaveFailed):
            await place_stored(store, made())
        assert list(interventions(store)) == []
        await ask(store, Enter(b"?", (Standing(HOLD, "h", b"{}"),)))
        with pytest.raises(StoreDamaged, match="hold"):
            async with stage(store=store):
                pass
        with pytest.raises(StoreDamaged, match="entry of the journal"):
            list(interventions(store))


async def test_a_long_journal_is_read_in_pages() -> None:
    # R242
    async with open_memory() as store:
        for number in range(PAGE + 1):
            hold = made(reason=f"{number}")
            await place_stored(store, hold)
            await lift_stored(store, WORLD, "default", hold.id, by="ben")
        assert len(list(interventions(store))) == 2 * (PAGE + 1)
