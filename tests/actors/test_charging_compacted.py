"""A tenant's quota over compactions: what is asked for a summary is reserved and charged too."""

from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import GreenroomError, ModelFailed, OverBudget, StoreUnavailable
from greenroom.protocol.prompt_checkpoint import replay_text
from greenroom.protocol.quota import NOTHING, Quota, Spent
from greenroom.protocol.refusal import OverQuota
from greenroom.protocol.usage import Usage
from tests.actors.charged import CACHED, WORST_LEAST, check_settled, costing, on_disk, stands
from tests.actors.compacted import (
    answering,
    begins_with_summary,
    check_all,
    compactions,
    long,
    narrow,
    summaries,
    talked,
    text,
)
from tests.actors.world import Stage, conversation, opened

DEAR = Usage(input=900, output=100)
"""What a summary costs, beside an answer that costs nothing to speak of."""
CHEAP = Usage(input=1)
WIDE = Policy(quota=Quota(tokens=10_000_000))


def capped(caps: list[Quota | None], **options: Any) -> Policy:
    """A policy whose quota is the last of these."""
    return Policy(quota=lambda _: caps[-1], **options)


async def test_a_compaction_that_is_asked_for_is_charged(stage: Stage) -> None:
    """R233, R190: in the commit that has its summary; it is no turn."""
    async with long(stage, policy=WIDE) as session:
        host = session._host
        before = check_settled(stage, host)
        stage.plays(costing(DEAR, "A summary."))
        assert (await session.compact()).status == "compacted"
        assert check_settled(stage, host) == before + Spent(1_000)
        await check_all(stage, session)


@pytest.mark.parametrize(
    ("answer", "error", "spent"),
    [
        (costing(DEAR, " "), ModelFailed, 2_000),
        (costing(DEAR, text("longer", 90_000)), OverBudget, 2_000),
        (ModelFailed("Busy.", begun=False), ModelFailed, 0),
    ],
)
async def test_what_is_asked_in_vain_is_charged(
    stage: Stage, answer: Any, error: type[GreenroomError], spent: int
) -> None:
    """R233, P091: each time that it was asked."""
    async with long(stage, policy=WIDE) as session:
        before = check_settled(stage, session._host)
        stage.plays(answer, answer)
        with pytest.raises(error):
            await session.compact()
        await wait_all_tasks_blocked()
        assert check_settled(stage, session._host) == before + Spent(spent)


async def test_a_compaction_that_there_is_no_room_for_changes_nothing(stage: Stage) -> None:
    """R233, R110: no model is asked, and the session goes on."""
    caps: list[Quota | None] = [None]
    async with long(stage, policy=capped(caps)) as session:
        before = await conversation(session)
        caps.append(Quota(tokens=WORST_LEAST))
        with pytest.raises(OverQuota, match="may use 4,096 tokens"):
            await session.compact()
        assert summaries(stage.model) == []
        assert await conversation(session) == before
        assert stands(session._host).reserved == on_disk(stage) == NOTHING
        caps.append(Quota(tokens=100_000))
        stage.plays("Fine.")
        assert (await session.ask("Hi")).end == "done"


@pytest.mark.parametrize("fits", [True, False])
async def test_room_that_is_made_before_a_turn_is_charged(stage: Stage, fits: bool) -> None:
    """R233, R210: the summary and the turn behind it."""
    narrow(stage)
    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        await talked(stage, session, 5)
        before = check_settled(stage, host)
        step = answering(lambda: costing(DEAR, "A summary."), lambda: costing(CACHED))
        stage.plays(step, step)
        assert (await session.ask(text("And now?", 1_500 if fits else 9_000))).end == "done"
        assert len(compactions(stage, session)) == 1
        assert check_settled(stage, host) == before + Spent(2_000, 1)


async def test_room_is_charged_whatever_becomes_of_the_turn_behind_it(stage: Stage) -> None:
    """R233, R205: its summary stands, though the dispatch was not written and is not charged."""
    narrow(stage)
    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        await talked(stage, session, 5)
        before = check_settled(stage, host)
        stage.plays(costing(DEAR, "A summary."))
        stage.fails(skip=1)
        with pytest.raises(StoreUnavailable):
            await session.ask(text("And now?", 9_000))
        assert len(compactions(stage, session)) == 1
        assert check_settled(stage, host) == before + Spent(1_000)


async def test_room_that_there_is_no_quota_for_ends_a_turn_that_needs_it(stage: Stage) -> None:
    """R233: not sent for the quota, which renews, and not for a window that is full."""
    narrow(stage)
    caps: list[Quota | None] = [None]
    async with stage.host(policy=capped(caps)) as host:
        session = await opened(host)
        await talked(stage, session, 5)
        caps.append(Quota(tokens=3_000))
        stage.plays("never")
        receipt = await session.prompt(text("And now?", 9_000))
        outcome = await session.outcome(receipt)
        assert (outcome.end, summaries(stage.model)) == ("not_sent", [])
        assert "may use 3,000 tokens" in outcome.reason
        assert stands(host).reserved == on_disk(stage) == NOTHING


async def test_room_that_is_made_in_the_middle_of_a_turn_is_charged(stage: Stage) -> None:
    """R233, P097: what was reserved for a request that is made anew is given back."""
    narrow(stage)
    async with stage.host(policy=Policy(quota=WIDE.quota, compact_at=1)) as host:
        session = await opened(host)
        await talked(stage, session, 4)
        before = check_settled(stage, host)
        stage.plays(costing(CHEAP, "", call("look", what="x" * 4_500)))
        stage.plays(costing(DEAR, "A summary."), costing(CHEAP, "Done."))
        assert (await session.ask("Look at much")).text == "Done."
        assert check_settled(stage, host) == before + Spent(1_002, 1)
        await check_all(stage, session)


async def test_a_request_behind_a_summary_may_find_no_room(stage: Stage) -> None:
    """R233, R89: the summary is kept, the results are told, and the turn ends."""
    narrow(stage)
    caps: list[Quota | None] = [Quota(tokens=10_000_000)]
    stage.skills.publish("refunds", "Version 1.")
    stage.bound = ("skills/refunds",)
    async with stage.host(policy=capped(caps, compact_at=1)) as host:
        session = await opened(host)
        await talked(stage, session, 4)
        stage.skills.publish("refunds", "Version 2.")

        def last(*_: object) -> Any:
            caps.append(Quota(tokens=stands(host).charged.tokens + 9_000))
            return costing(Usage(input=8_999), "A summary.")

        stage.plays(costing(CHEAP, "", call("look", what="x" * 4_500)), last)
        outcome = await session.ask("Look at much")
        assert (outcome.end, "It renews at" in outcome.reason) == ("failed", True)
        (landed,) = compactions(stage, session)
        assert (landed.turn, landed.request) == (5, "")
        assert (await conversation(session))[-1].startswith("[saw x")
        check_settled(stage, host)
        caps.append(Quota(tokens=10_000_000))
        stage.plays("Fine.")
        assert (await session.ask("Hi")).end == "done"
        request = stage.model.requests[-1]
        assert begins_with_summary(request)
        # The sections that the request behind the summary would have moved are told with this one.
        assert "Version 2." in request.system
        assert replay_text(await session.get_system_prompt_checkpoints()) == request.system
        await check_all(stage, session)
