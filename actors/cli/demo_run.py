"""The demo's run: every session plays its plan at once, and what happens is counted."""

import time
from collections import Counter

import attrs
import trio

from greenroom.actors import Host, Session
from greenroom.actors.cli.demo_plan import Plan, Step
from greenroom.actors.cli.measuring import Measured, Stalls
from greenroom.protocol.event import QuestionAsked, TextDelta
from greenroom.protocol.question import Allow


@attrs.define(eq=False)
class Demo:
    """One run and what it counts."""

    plans: list[Plan]
    model: Measured
    stalls: Stalls = attrs.field(factory=Stalls)
    latencies: list[float] = attrs.field(factory=list)
    """Seconds from a message to the end of its turn."""
    beyond: list[float] = attrs.field(factory=list)
    """The same of messages that began their turn at once, without the model's own time."""
    ends: Counter[str] = attrs.field(factory=Counter)
    """Turns, by how they ended."""
    first_reason: str = ""
    """Why the first turn that did not end as done ended."""
    happened: Counter[str] = attrs.field(factory=Counter)
    answered: int = 0
    wall: float = 0.0

    @property
    def messages(self) -> int:
        """How many messages there are to answer."""
        return sum(plan.messages for plan in self.plans)

    @property
    def turns(self) -> int:
        """How many turns ended so far."""
        return self.ends.total()

    async def run(self, host: Host) -> None:
        """Play every session's plan at once."""
        began = time.perf_counter()
        async with trio.open_nursery() as watching:
            watching.start_soon(self.stalls.watch)
            async with trio.open_nursery() as nursery:
                for plan in self.plans:
                    nursery.start_soon(self._play, host, plan)
            self.wall = time.perf_counter() - began
            watching.cancel_scope.cancel()

    async def _play(self, host: Host, plan: Plan) -> None:
        session = await host.session(plan.key, agent=plan.agent, person=plan.person)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, session)
            for step in plan.steps:
                await trio.sleep(step.before)
                await self._take(session, step)
            nursery.cancel_scope.cancel()

    async def _read(self, session: Session) -> None:
        """Every session has somebody who reads it, and allows what is asked, as in earnest."""
        async for event in session.events():
            self.happened["deltas" if isinstance(event, TextDelta) else "events"] += 1
            if isinstance(event, QuestionAsked):
                await session.answer(event.question.id, Allow("the reviewer"))
                self.happened["approvals"] += 1

    async def _take(self, session: Session, step: Step) -> None:
        if step.preset is not None:
            await session.set_permission_preset(step.preset)
            self.happened["switches"] += 1
        skills = () if step.skill is None else (step.skill,)
        async with trio.open_nursery() as nursery:
            await self._say(nursery, session, step.text, skills)
            if step.steer is None and step.pick is None:
                return
            await trio.sleep(step.pause)
            if step.steer is not None:
                await self._say(nursery, session, step.steer)
            if step.pick is not None:
                await self._say(nursery, session, step.pick[0], (step.pick[1],))

    async def _say(
        self, nursery: trio.Nursery, session: Session, text: str, skills: tuple[str, ...] = ()
    ) -> None:
        began = time.perf_counter()
        receipt = await session.prompt(text, skills=skills)
        if skills and receipt.status == "queued":
            self.happened["picks"] += 1
        at_once = receipt.status == "started"
        nursery.start_soon(self._wait, session, receipt.message, began, at_once)

    async def _wait(self, session: Session, message: str, began: float, at_once: bool) -> None:  # noqa: FBT001
        outcome = await session.outcome(message)
        took = time.perf_counter() - began
        self.answered += 1
        if outcome.absorbed:
            self.happened["steers"] += 1
            return
        self.ends[outcome.end] += 1
        if outcome.end != "done":
            self.first_reason = self.first_reason or outcome.reason
        self.latencies.append(took)
        model = self.model.seconds(session.id, outcome.turn or 0)
        if at_once:
            self.beyond.append(took - model)
