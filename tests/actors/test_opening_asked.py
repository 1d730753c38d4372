"""Laws of a run that was approved: what was asked about is run, and nothing else."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from greenroom.actors import Host, tool
from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.question import Allow
from greenroom.protocol.record import EagerRan
from tests.actors.asked import records_of
from tests.actors.test_opening import declared, space
from tests.actors.unopened import asked, question_of, until
from tests.actors.world import Stage


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
