"""A tenant's quota over titles: what is asked for one is reserved and charged, and is no turn."""

import pytest
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.models.port import ModelResponse
from greenroom.actors.models.scripted import CutOff
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.quota import NOTHING, Quota, Spent
from greenroom.protocol.usage import Usage
from tests.actors.charged import CACHED, WORST_LEAST, check_settled, costing, stands
from tests.actors.titled import title_of
from tests.actors.world import Stage, opened

DEAR = Usage(input=900, output=100)


async def named(stage: Stage, policy: Policy, *steps: object) -> Spent:
    """What is charged behind one turn, and the titles that may be made of it."""
    stage.other._steps.extend(steps)  # type: ignore[arg-type]
    async with stage.host(policy=policy) as host:
        session = await opened(host)
        stage.plays(costing(CACHED))
        assert (await session.ask("Where is my order?")).end == "done"
        await wait_all_tasks_blocked()
        assert stands(host).reserved == NOTHING
        return check_settled(stage, host)


def capped(tokens: int) -> Policy:
    """A policy whose host makes titles."""
    return Policy(titles="other", quota=Quota(tokens=tokens))


async def test_a_title_is_charged_and_is_no_turn(stage: Stage) -> None:
    """R233, R190: with the commit that has it; a request that fails too."""
    assert await named(stage, capped(100_000), costing(DEAR, "An order")) == Spent(2_000, 1)
    async with stage.session() as session:
        assert await title_of(session) == "An order"


@pytest.mark.parametrize(
    ("step", "least", "most"),
    [
        (costing(DEAR, " "), 1_000, 1_000),
        (ModelFailed("It broke."), WORST_LEAST, 2 * WORST_LEAST),
        (ModelFailed("Busy.", begun=False), 0, 0),
        (CutOff("An", costing(DEAR, "An order")), WORST_LEAST + 1_000, 2 * WORST_LEAST),
    ],
)
async def test_a_title_that_was_asked_in_vain_is_charged(
    stage: Stage, step: object, least: int, most: int
) -> None:
    """R233, R179: as any other request."""
    spent = await named(stage, capped(100_000), step)
    assert 1_000 + least <= spent.tokens <= 1_000 + most


async def test_a_title_that_there_is_no_room_for_is_not_asked_for(stage: Stage) -> None:
    """R233, R96: the turn has ended as it would have; a later one may find room for it."""
    caps = [Quota(tokens=100_000)]
    stage.other._steps.append(costing(DEAR, "An order"))

    def last(*_: object) -> ModelResponse:
        caps.append(Quota(tokens=WORST_LEAST))
        return costing(CACHED)

    async with stage.host(policy=Policy(titles="other", quota=lambda _: caps[-1])) as host:
        session = await opened(host)
        stage.plays(last, costing(CACHED))
        assert (await session.ask("Where is my order?")).end == "done"
        await wait_all_tasks_blocked()
        assert check_settled(stage, host) == Spent(1_000, 1)
        assert (stage.other.requests, await title_of(session)) == ([], None)
        caps.append(Quota(tokens=100_000))
        await session.ask("And now?")
        await wait_all_tasks_blocked()
        assert await title_of(session) == "An order"
        assert check_settled(stage, host) == Spent(3_000, 2)
