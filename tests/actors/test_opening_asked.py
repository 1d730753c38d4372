"""Laws of a run that was approved: what was asked about is run, and nothing else."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from greenroom.actors import Host, Policy, tool
from greenroom.protocol.composition import Composition, Ingredients, compose
from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.question import Allow
from greenroom.protocol.record import EagerRan
from tests.actors.asked import records_of
from tests.actors.test_opening import declared, space
from tests.actors.unopened import BY, CLOCK, PAY, asked, paying, question_of, told_of, until
from tests.actors.world import AGENT, Stage, conversation


def billing(stage: Stage, **arguments: Any) -> AbstractAsyncContextManager[Host]:
    """A host whose conversations begin with a bill, of the same version whatever it says."""

    @tool(effect="write")
    async def bill(cents: int = 1) -> str:
        """Send a bill."""
        stage.effects.append(f"bill {cents}")
        return "sent"

    @tool(effect="read")
    async def tell(what: str = "it") -> str:
        """Tell."""
        return what

    run = declared(EagerRun, "fee", tool="bill", arguments=arguments)
    return stage.host(workspace=space(run, approved=("fee@1",)), tools=[bill, tell])


async def test_an_approval_is_good_for_the_arguments_that_were_shown(stage: Stage) -> None:
    """R161, R215, R157: the workspace has others by the time of the answer, under one version."""
    stage.plays("Hello.")
    async with billing(stage, cents=1) as host:
        question = await question_of(await asked(host))
    async with billing(stage, cents=100_000) as host:
        await host.answer(question, Allow("kim"))
        session = await host.session("ann")
        await until(session, "idle")
        assert stage.effects == []
        (ran,) = [one for one in records_of(stage, session) if isinstance(one, EagerRan)]
        assert ran.result.state == "refused"
        assert b"kim approved another call" in bytes(ran.result.body)


async def test_a_new_version_is_asked_about_anew(stage: Stage) -> None:
    """R149, R161: an approval is good for the run that was shown, and for no other."""
    seen: list[str] = []
    async with paying(stage, seen) as host:
        first = await question_of(await asked(host))
    newer: EagerRun = declared(EagerRun, "fee", tool="pay", version="2")
    async with paying(stage, seen, "Hello.", runs=(newer,)) as host:
        session = await host.session("ann")
        await host.answer(first, BY)
        await until(session, "asking")
        second = await question_of(session)
        assert (second.id != first.id, seen) == (True, [])
        await host.answer(second, BY)
        await until(session, "idle")
    assert seen == ["pay"]


async def test_what_waits_is_stored_also_where_the_queue_is_not(stage: Stage) -> None:
    """R93, R215: a person is asked for days, so the message is as durable as the question."""
    seen: list[str] = []
    async with paying(stage, seen, policy=Policy(durable_intake=False)) as host:
        session = await asked(host)
        question = await question_of(session)
    async with paying(stage, seen, "Hello.", policy=Policy(durable_intake=False)) as host:
        session = await host.session("ann")
        await host.answer(question, BY)
        await until(session, "idle")
        assert await conversation(session) == ["Hi", "Hello."]


@pytest.mark.parametrize("run", [PAY, CLOCK])
async def test_of_a_turn_that_was_cancelled_while_it_was_composed_nothing_begins(
    stage: Stage, run: EagerRun
) -> None:
    """R160, R146: nothing is asked, and no run is made."""
    seen: list[str] = []
    cancelled: list[bool] = []

    def composing(ingredients: Ingredients) -> Composition:
        actor = session._host.live(session.id)
        assert actor is not None
        assert actor.turn is not None
        cancelled.append(actor.turn.stop("cancelled", "Never mind."))
        return compose(ingredients)

    async with paying(stage, seen, runs=(run,), composer=composing) as host:
        session = await host.session("ann", agent=AGENT)
        receipt = await session.prompt("Hi")
        assert (await session.outcome(receipt)).end == "cancelled"
        assert (cancelled, seen, told_of(stage, session)) == ([True], [], [])
