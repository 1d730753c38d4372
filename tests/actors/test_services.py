"""What a host leaves to choose: intake, what stands behind a waiting message, going on."""

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.models.scripted import Looping, Stalled, call
from greenroom.protocol.errors import InvalidInput, QueueFull, UnknownModel
from greenroom.protocol.event import MessageAbsorbed
from greenroom.protocol.limits import Limits
from greenroom.store import open_memory
from tests.actors.stage import package, stage, until_ended


@pytest.mark.parametrize("durable", [True, False])
async def test_intake_is_durable_unless_the_host_wants_it_otherwise(durable: bool) -> None:
    """R93: on, a queued message is in the store before its receipt; off, it is in memory only."""
    policy = Policy(durable_intake=durable)
    go = trio.Event()
    async with stage(Stalled(go, "One."), "Two.", policy=policy) as on:
        session = await on.session()
        await session.prompt("one")
        receipt = await session.prompt("two", when="queue")
        assert on.stored(session).queued == (1 if durable else 0)
        assert (await session.state()).queued == 1
        go.set()
        assert (await session.outcome(receipt)).text == "Two."


@pytest.mark.parametrize("durable", [True, False])
async def test_a_queue_has_its_bound_however_it_is_kept(durable: bool) -> None:
    """R128: one more is refused, and nothing of it is kept."""
    policy = Policy(durable_intake=durable)
    limits = Limits(queued_messages_max=2)
    async with stage(Stalled(trio.Event(), ""), policy=policy, limits=limits) as on:
        session = await on.session()
        await session.prompt("zero")
        for number in range(2):
            await session.prompt(f"{number}", when="queue")
        with pytest.raises(QueueFull) as caught:
            await session.prompt("more", when="queue", key="k")
        assert caught.value.facts["bound"] == 2
        assert (await session.state()).queued == 2


@pytest.mark.parametrize(("behind", "turns"), [("steer", 2), ("own_turn", 4)])
async def test_plain_words_behind_a_waiting_message(behind: str, turns: int) -> None:
    """R121, R122: they steer into its turn, with one event each; or each has its own."""
    go = trio.Event()
    policy = Policy(behind=behind)  # type: ignore[arg-type]
    model = [Stalled(go, "One."), *([call("get_current_time"), "Two."] * 4)]
    async with stage(*model, policy=policy, skills=[package("plan")]) as on:
        session = await on.session()
        await session.prompt("one")
        receipts = [await session.prompt("two", skills=["plan"])]
        receipts += [await session.prompt(words) for words in ("three", "four")]
        go.set()
        outcomes = [await session.outcome(receipt) for receipt in receipts]
        assert {outcome.end for outcome in outcomes} == {"done"}
        assert await session.turns().count() == turns
        told = await until_ended(session, turns)
        absorbed = [event.message for event in told if isinstance(event, MessageAbsorbed)]
        steered = [r.message for r in receipts[1:]] if behind == "steer" else []
        assert absorbed == steered
        assert [o.absorbed for o in outcomes] == [False] + [bool(steered)] * 2


@pytest.mark.parametrize("revive", [True, False])
async def test_whether_queued_messages_go_on_when_the_host_opens(revive: bool) -> None:
    """R93: by themselves, or when the session is used again."""
    async with open_memory() as store:
        async with stage(Stalled(trio.Event(), ""), store=store) as on:
            session = await on.session()
            await session.prompt("one")
            waiting = await session.prompt("two", when="queue")
        async with stage(model=Looping(("Hi.",)), store=store, policy=Policy(revive=revive)) as on:
            await wait_all_tasks_blocked()
            assert bool(on.host.services.actors) is revive
            assert (await (await on.session()).outcome(waiting)).text == "Hi."


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 2**41, "20", b"1"])
def test_the_time_for_an_approval_is_a_time(seconds: Any) -> None:
    """R223, R194: what no moment can be made of is refused when it is said, not when one asks."""
    with pytest.raises(InvalidInput, match="approval_seconds"):
        Policy(approval_seconds=seconds)
    assert Policy(approval_seconds=0.5).approval_seconds == 0.5


async def test_a_model_that_the_host_lacks_is_named_with_the_choices() -> None:
    """R59: before anything is written."""
    async with stage() as on:
        session = await on.session()
        before = on.store.last_number()
        with pytest.raises(UnknownModel) as caught:
            await session.set_model("other")
        assert caught.value.facts["choices"] == ("m",)
        assert on.store.last_number() == before
