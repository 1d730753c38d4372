"""A tenant's quota over turns: reserved before each request, charged after, durable, never over."""

from typing import Any

import pytest

from greenroom.actors import Policy, Session
from greenroom.actors.models.port import ModelResponse, SessionInfo
from greenroom.actors.models.scripted import CutOff, Stalled, call
from greenroom.actors.world import World
from greenroom.protocol.errors import SaveFailed, StoreUnavailable
from greenroom.protocol.limits import Limits
from greenroom.protocol.quota import NOTHING, Quota, Spent
from greenroom.protocol.receipt import Outcome
from greenroom.protocol.refusal import OverQuota, QuotaFailed
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage
from tests.actors.charged import CACHED, WORST_LEAST, check_settled, costing, on_disk, stands
from tests.actors.stage import all_of
from tests.actors.world import (
    Stage,
    check_conversation,
    check_requests,
    conversation,
    opened,
    queue_of,
)

WIDE = Policy(quota=Quota(tokens=1_000_000, turns=1_000))


async def asked(session: Session, text: str = "Hi") -> Outcome | BaseException:
    """What became of a message, whatever it was."""
    try:
        return await session.ask(text)
    except (SaveFailed, StoreUnavailable, ExceptionGroup, OverQuota) as error:
        return error


# --- what counts ----------------------------------------------------------------------------------


async def test_input_that_was_read_from_a_cache_counts(stage: Stage) -> None:
    """P184, R190, R233: all five buckets, each once."""
    policy = Policy(quota=Quota(tokens=11_000))
    async with stage.host(policy=policy) as host:
        session = await opened(host)
        ends = []
        for _ in range(8):
            stage.plays(costing(CACHED))
            ends.append((await session.ask("Hi")).end)
        # From the eighth on there would not be room for the longest answer.
        assert stands(host).charged.tokens == 1_000 * ends.count("done")
        assert ends[-1] == "not_sent"
        assert len(stage.model.requests) == ends.count("done") < 8


async def test_each_request_of_a_turn_counts_and_the_turn_once(stage: Stage) -> None:
    """R233, R190: rounds too; the sum is that of the turn's record."""
    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        stage.plays(costing(CACHED, "", call("look")), costing(CACHED, "", call("pay")))
        stage.plays(costing(CACHED))
        outcome = await session.ask("Hi")
        assert check_settled(stage, host) == Spent(3_000, 1)
        assert outcome.usage.total == 3_000


async def test_an_answer_without_usage_counts_with_its_worst_case(stage: Stage) -> None:
    """R233: what is sent, by an estimate, and the longest answer."""
    limits = Limits(output_tokens_reserve=500)
    async with stage.host(policy=WIDE, limits=limits) as host:
        session = await opened(host)
        stage.plays("Fine.")
        await session.ask("x" * 3_000)
        tokens = check_settled(stage, host).tokens
        request = stage.model.requests[0]
        told = len(request.system) + len(request.tools) + len(request.messages.joined())
        assert tokens >= told / 3 + 500
        assert tokens < told / 3 * 1.06 + 520


async def test_an_attempt_that_was_cut_off_is_paid_beside_the_next(stage: Stage) -> None:
    """R233, R179: retries count, with the worst case of what was cut off."""
    async with stage.host(policy=WIDE) as host:
        session = await opened(host)
        stage.plays(CutOff("Fi", costing(CACHED)))
        assert (await session.ask("Hi")).text == "Fine."
        assert check_settled(stage, host).tokens > 1_000 + WORST_LEAST


async def test_an_attempt_that_there_is_no_room_for_is_not_made(stage: Stage) -> None:
    """R233: the turn ends, and says that it is for the quota and not for the model."""
    async with stage.host(policy=Policy(quota=Quota(tokens=7_000))) as host:
        session = await opened(host)
        stage.plays(CutOff("Fi", costing(CACHED)))
        outcome = await session.ask("Hi")
        assert outcome.end == "failed"
        assert outcome.reason.startswith("The tenant 'default' may use 7,000 tokens a day")
        assert WORST_LEAST < check_settled(stage, host).tokens < 7_000


# --- the cap --------------------------------------------------------------------------------------


async def spend_at_once(stage: Stage, **options: Any) -> None:
    """Ten sessions ask at once, and each answer costs nearly what it may."""
    cap = 4 * WORST_LEAST + 2_000
    together: list[int] = []

    def answer(_: ModelRequest, __: SessionInfo) -> ModelResponse:
        state = stands(host)
        together.append(state.charged.tokens + state.reserved.tokens)
        return costing(Usage(input=90, output=WORST_LEAST))

    async with stage.host(policy=Policy(quota=Quota(tokens=cap)), **options) as host:
        stage.plays(*[answer] * 100)
        sessions = [await opened(host, f"s{number}") for number in range(10)]
        for _ in range(3):
            outcomes = await all_of(10, lambda place: asked(sessions[place]))
        ended = [one.end for one in outcomes if isinstance(one, Outcome)]
        assert set(ended) <= {"not_sent"}
        spent = check_settled(stage, host)
        assert cap - 2 * WORST_LEAST < spent.tokens <= cap
        assert max(together) <= cap
        assert spent.turns == len(stage.model.requests) == 4


async def test_ten_sessions_at_once_never_pass_the_cap(stage: Stage) -> None:
    """P191, R233: what may be spent is reserved before anything is sent."""
    await spend_at_once(stage)


async def test_nor_do_they_on_disk(disk: Stage) -> None:
    """P191, R233: over LMDB, under the real clock."""
    await spend_at_once(disk)


async def test_turns_have_a_cap_too(stage: Stage) -> None:
    """R233: those that were dispatched; the next is not accepted, and stores nothing."""
    async with stage.host(policy=Policy(quota=Quota(turns=2))) as host:
        session = await opened(host)
        for _ in range(2):
            stage.plays("Fine.")
            await session.ask("Hi")
        before = stage.store.last_number()
        for ask in (session.ask, session.prompt):
            with pytest.raises(OverQuota, match="2 turns a day: 2 are charged") as caught:
                await ask("Hi")
        assert caught.value.facts["renews"] == stands(host).renews
        assert stage.store.last_number() == before


async def test_what_is_not_accepted_uses_up_no_key(stage: Stage) -> None:
    """R177, R233: the same key is taken when there is room; one that was used is answered still."""
    caps = [Quota(turns=1)]
    async with stage.host(policy=Policy(quota=lambda _: caps[-1])) as host:
        session = await opened(host)
        stage.plays("One.", "Two.")
        first = await session.prompt("one", key="k1")
        await session.outcome(first)
        assert (await session.prompt("one", key="k1")).repeated
        with pytest.raises(OverQuota):
            await session.prompt("two", key="k2")
        caps.append(Quota(turns=2))
        receipt = await session.prompt("two", key="k2")
        assert not receipt.repeated
        assert (await session.outcome(receipt)).text == "Two."


async def test_a_message_that_there_is_no_room_for_is_kept_and_can_be_sent_again(
    stage: Stage,
) -> None:
    """R81, R233: not sent, with figures and when it renews; nothing was sent to any model."""
    caps = [Quota(tokens=100)]
    async with stage.host(policy=Policy(quota=lambda _: caps[-1])) as host:
        session = await opened(host)
        receipt = await session.prompt("Hi")
        outcome = await session.outcome(receipt)
        assert outcome.end == "not_sent"
        assert "may use 100 tokens a day: 0 are charged" in outcome.reason
        assert "It renews at 2023-11-15T00:00:00Z" in outcome.reason
        assert check_settled(stage, host) == NOTHING
        caps.append(Quota(tokens=100_000))
        stage.plays("Fine.")
        assert (await session.outcome(await session.retry(receipt))).text == "Fine."
        await check_requests(session, stage.model.requests)


async def test_a_queued_message_meets_the_quota_when_its_turn_comes(stage: Stage) -> None:
    """R233: it was accepted while there was room."""
    async with stage.host(policy=Policy(quota=Quota(turns=1))) as host:
        session = await opened(host)
        stage.plays(Stalled(stage.gate.open, "One."))
        first = await session.prompt("one")
        second = await session.prompt("two", when="queue")
        stage.gate.open.set()
        assert (await session.outcome(first)).end == "done"
        assert (await session.outcome(second)).end == "not_sent"
        check_settled(stage, host)


async def test_in_the_middle_of_a_turn_its_results_are_told(stage: Stage) -> None:
    """R233, R175: it ends behind the results of what was begun; a steer waits for its own turn."""
    async with stage.host(policy=Policy(quota=Quota(tokens=9_000))) as host:
        session = await opened(host)
        stage.plays(costing(Usage(output=4_500), "", call("pay", cents=7), call("watch")))
        receipt = await session.prompt("Hi")
        await stage.gate.reached.wait()
        steer = await session.prompt("And then?")
        stage.gate.open.set()
        outcome = await session.outcome(receipt)
        assert outcome.end == "failed"
        assert "may use 9,000 tokens" in outcome.reason
        assert sorted(stage.effects) == ["pay 7", "watch"]
        assert (await conversation(session))[-2:] == ["[paid 7]", "[watched]"]
        assert (await session.outcome(steer)).end == "not_sent"
        assert await queue_of(session) == []
        assert check_settled(stage, host) == Spent(4_500, 1)
        await check_conversation(session)
        await check_requests(session, stage.model.requests)
        assert len(stage.model.requests) == 1


async def test_tenants_have_quotas_of_their_own(stage: Stage) -> None:
    """R218, R233: what one spent is not taken from another, nor told to it."""
    quotas = {"a": Quota(turns=1), "b": Quota(turns=2)}
    async with stage.host(policy=Policy(quota=quotas.get)) as host:
        for tenant in ("a", "b", "c"):
            stage.plays("Fine.")
            await (await host.tenant(tenant).session("s", agent="support")).ask("Hi")
        a, b = await host.tenant("a").quota(), await host.tenant("b").quota()
        assert a is not None
        assert b is not None
        assert (a.tenant, a.quota, a.charged.turns) == ("a", Quota(turns=1), 1)
        assert (b.tenant, b.charged.turns) == ("b", 1)
        assert (await host.tenant("c").quota(), await host.quota()) == (None, None)
        assert on_disk(stage, "c") == NOTHING


# --- time -----------------------------------------------------------------------------------------


async def test_a_restart_knows_what_was_charged(disk: Stage) -> None:
    """R233: before anything else is spent."""
    policy = Policy(quota=Quota(tokens=6_000))
    async with disk.host(policy=policy) as host:
        disk.plays(costing(CACHED))
        await (await opened(host)).ask("Hi")
    async with disk.host(policy=policy) as host:
        assert stands(host).charged == Spent(1_000, 1)
        outcome = await (await opened(host)).ask("Hi")
        assert (outcome.end, "1,000 are charged" in outcome.reason) == ("not_sent", True)
        check_settled(disk, host)


@pytest.mark.parametrize(("per", "days"), [("day", 1), ("month", 16)])
async def test_it_renews_with_the_next_period(stage: Stage, per: Any, days: int) -> None:
    """R233: of UTC, by the host's clock; a turn of the former counts there."""
    now = [1_700_000_000.0]
    quota = Quota(turns=1, per=per)
    async with stage.host(policy=Policy(quota=quota), world=World(wall=lambda: now[0])) as host:
        session = await opened(host)
        stage.plays("One.", "Two.")
        await session.ask("Hi")
        with pytest.raises(OverQuota) as caught:
            await session.ask("Hi")
        now[0] = caught.value.facts["renews"] / 1_000 - 0.001  # type: ignore[operator]
        with pytest.raises(OverQuota):
            await session.ask("Hi")
        now[0] += 0.001
        assert stands(host).charged == NOTHING
        assert (await session.ask("Hi")).text == "Two."
        assert stands(host).charged.turns == 1
        assert len(stage.store.charged("default")) == (2 if per == "day" else 1)
        assert stands(host).renews / 1_000 - now[0] == (86_400 if per == "day" else 31 * 86_400)


# --- whose code -----------------------------------------------------------------------------------


async def test_the_hosts_own_quota_may_fail(stage: Stage) -> None:
    """R233, R168: nothing is sent uncounted, and the message says whose code it was."""
    rule: list[Any] = [lambda _: 7]

    def quota(tenant: str) -> Any:
        return rule[-1](tenant)

    async with stage.host(policy=Policy(quota=quota)) as host:
        session = await opened(host)
        before = stage.store.last_number()
        with pytest.raises(QuotaFailed, match="The host's quota gave a int"):
            await session.prompt("Hi")
        assert stage.store.last_number() == before
        rule.append(lambda _: Quota(turns=9))
        stage.plays(call("watch"), "Done.")
        receipt = await session.prompt("Hi")
        await stage.gate.reached.wait()
        rule.append(lambda _: 1 / 0)
        stage.gate.open.set()
        outcome = await session.outcome(receipt)
        assert outcome.end == "failed"
        assert (
            "The host's quota failed for the tenant 'default': ZeroDivisionError" in outcome.reason
        )
        rule.append(lambda _: Quota(turns=9))
        check_settled(stage, host)
        stage.model._steps[:] = [*stage.model._steps[:1], "Fine."]
        assert (await session.ask("Hi")).end == "done"


@pytest.mark.parametrize("policy", [Policy(), Policy(quota=lambda _: None)])
async def test_without_a_quota_nothing_is_counted(stage: Stage, policy: Policy) -> None:
    """R233: no commit says anything of it."""
    charged: list[object] = []

    def looked(operation: object) -> bool:
        charged.append(getattr(operation, "charges", ()))
        return False

    stage.fails(looked)
    async with stage.host(policy=policy) as host:
        session = await opened(host)
        stage.plays(costing(CACHED, "", call("pay")), costing(CACHED))
        assert (await session.ask("Hi")).end == "done"
        assert await host.quota() is None
    assert set(charged) == {()}
    assert on_disk(stage) == NOTHING
