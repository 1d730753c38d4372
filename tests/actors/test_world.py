"""Clock, ids and chance, injected once."""

from random import Random

import trio

from greenroom.actors.models.scripted import Looping
from greenroom.actors.world import World, simulated
from greenroom.store import open_memory
from tests.actors.stage import stage


def test_one_seed_is_one_run() -> None:
    """P190: the same ids in the same order, and a clock that stands still."""
    first, second, other = simulated(1), simulated(1), simulated(2)
    ids = [first.new_id() for _ in range(3)]
    assert ids == [second.new_id() for _ in range(3)]
    assert ids != [other.new_id() for _ in range(3)]
    assert all(len(each) == 32 and int(each, 16) >= 0 for each in ids)
    assert first.now() == second.now() == other.now()


def test_time_is_told_in_whole_milliseconds() -> None:
    """P042: for people to read."""
    assert World(wall=lambda: 12.3456, random=Random(0)).now() == 12_345


async def test_a_host_of_one_seed_writes_the_same_bytes() -> None:
    """P190: nothing but the world is asked, so two runs leave equal stores."""
    stores = []
    for _ in range(2):
        async with open_memory() as store:
            async with stage(model=Looping(("Hi.",)), store=store, world=simulated(7)) as on:
                session = await on.session()
                await session.ask("one")
                await session.ask("two")
            stores.append([entry.records for entry in store.feed()])
    assert stores[0] == stores[1]


async def test_a_wall_clock_that_goes_back_orders_nothing() -> None:
    """P042: events stay in the store's order, and nothing waits for the clock."""
    times = iter(range(10_000, 0, -1))
    world = World(wall=lambda: float(next(times)), random=Random(0))
    async with stage(model=Looping(("Hi.",)), world=world) as on:
        session = await on.session()
        with trio.fail_after(5):
            for turn in range(3):
                await session.ask(f"{turn}")
        said = [m.content for m in (await session.state()).messages]
    assert said == ["0", "Hi.", "1", "Hi.", "2", "Hi."]
