"""Laws of whom a hold concerns by the index: each session once, and others get to run meanwhile."""

import trio

from greenroom.actors.concerned import concerned
from greenroom.protocol.hold import Hold
from greenroom.protocol.identity import SessionId
from greenroom.store import Create, MemoryStore, open_memory
from tests.store.offering import ask_all

HOLD = Hold(id="h", at=0, by="ann", reason="Look.", skill="skills/x")


async def filled(store: MemoryStore, count: int = 300) -> None:
    """Every third session shows the skill, every second is of the agent `odd`."""
    operations = []
    for number in range(count):
        terms = {("agent", "odd" if number % 2 else "even")}
        if number % 3 == 0:
            terms.add(("skill", "skills/x"))
        session = SessionId("default", str(number))
        operations.append(Create(session, b"", b"[]", frozenset(terms)))
    await ask_all(store, operations)


async def test_a_session_that_shows_a_skill_in_two_ways_is_counted_once() -> None:
    """R239: shown, or bound to its agent now; and all else that the hold names fits."""
    async with open_memory() as store:
        await filled(store)
        assert len(await concerned(store, HOLD)) == 100
        assert len(await concerned(store, HOLD, ["odd"])) == 200
        of_odd = Hold(id="h", at=0, by="a", reason="r", skill="skills/x", agent="odd")
        assert len(await concerned(store, of_odd, ["odd"])) == 150
        assert len(await concerned(store, of_odd)) == 50
        assert len(await concerned(store, Hold(id="h", at=0, by="a", reason="r"))) == 300


async def test_counting_many_lets_others_run() -> None:
    """R170: a hundred thousand sessions must not keep the loop from all others."""
    ran = 0

    async def other() -> None:
        nonlocal ran
        while True:
            await trio.lowlevel.checkpoint()
            ran += 1

    async with open_memory() as store:
        await filled(store)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            await concerned(store, HOLD, ["odd", "even"])
            nursery.cancel_scope.cancel()
    assert ran >= 3
