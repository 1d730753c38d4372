"""What a turn costs does not depend on what came before it: counted, not timed."""

from collections.abc import Callable
from typing import Any

import attrs

from greenroom.actors.models.port import Capabilities
from greenroom.actors.models.scripted import Scripted, call
from greenroom.store import Commit
from tests.actors.test_turn_steered import in_tool
from tests.actors.world import Stage, check_requests, opened

TURNS = 200
WIDE = Capabilities(context_tokens=10_000_000)


@attrs.define(eq=False)
class Counted:
    """The commits that a store is offered, with their bytes, turn by turn."""

    stage: Stage
    commits: list[int] = attrs.field(factory=list)

    def watch(self) -> None:
        offer = self.stage.memory.offer

        def counted(operation: Any, then: Callable[[Any], object]) -> None:
            if isinstance(operation, Commit):
                self.commits.append(len(operation.records))
            offer(operation, then)

        self.stage.memory.offer = counted  # type: ignore[method-assign]


async def test_a_late_turn_writes_and_encodes_what_an_early_one_does(stage: Stage) -> None:
    """P121, R83: three commits a turn, the same bytes in each, and no earlier message anew."""
    stage.model = Scripted([call("look"), "Done."] * TURNS, capabilities=WIDE)
    counted = Counted(stage)
    counted.watch()
    async with stage.session() as session:
        for _ in range(TURNS):
            assert (await session.ask("Look.")).end == "done"
    assert len(counted.commits) == 3 * TURNS
    early, late = counted.commits[15:18], counted.commits[-3:]
    # Turn numbers and ordinals have more digits; nothing else may grow.
    assert all(abs(one - other) <= 20 for one, other in zip(early, late, strict=True))
    first, last = stage.model.requests[0], stage.model.requests[-1]
    assert len(last.messages) == 4 * TURNS - 1
    for earlier in (first, stage.model.requests[100]):
        assert all(
            one is other for one, other in zip(earlier.messages, last.messages, strict=False)
        )


async def test_a_steer_in_a_reopened_session_has_its_own_place(stage: Stage) -> None:
    """P052, R51: the ordinal and the turn of a steer are those of the turn that took it."""
    stage.plays("One.")
    async with stage.session() as session:
        await session.ask("First")
    async with stage.host() as host:
        session = await opened(host)
        receipt = await in_tool(stage, session, "Two.")
        steer = await session.prompt("Also this")
        stage.gate.open.set()
        assert (await session.outcome(steer)).turn == (await session.outcome(receipt)).turn == 2
        await check_requests(session, stage.model.requests)
        ordinals = [entry.ordinal async for entry in session.transcript() if entry.id]
        assert ordinals == [0, 1, 2]
