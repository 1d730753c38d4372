"""Laws of listings: read step by step, and others get to run meanwhile."""

import trio

from greenroom.actors import Listing
from greenroom.actors.listing import PAUSE


async def test_looking_long_lets_others_run() -> None:
    """R78: what skips much still gives way each time it says so, and lists none of its pauses."""
    steps: list[str] = []

    async def beside() -> None:
        for _ in range(9):
            steps.append("beside")
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(beside)
        found = await Listing(lambda: [PAUSE, PAUSE, 1, PAUSE]).all()
        steps.append("listed")
    assert found == [1]
    assert steps.index("listed") >= 2
