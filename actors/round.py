"""The calls of one answer: each is decided, run or not, and gets its one result (R175)."""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio
from msgspec import structs

from greenroom.actors.drafting import Draft
from greenroom.actors.response import Answer
from greenroom.actors.start import Start
from greenroom.actors.surroundings import TurnSurroundings
from greenroom.actors.tool import ToolContext
from greenroom.actors.tools import Door, Finished, Ticket
from greenroom.protocol.identity import CallId

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

NOT_RUN: Final = "Not run: the turn ended before this call began."
UNKNOWN: Final = "Interrupted: this call was running when the turn ended; it may have happened."


@attrs.define(eq=False, slots=True)
class Round:
    """An answer with calls, from when it came until its outcomes are committed."""

    answer: Answer
    tickets: Sequence[Ticket]
    answer_saved: bool = False
    """The answer is committed, because tools that write follow it (R172)."""
    _results: dict[CallId, Finished] = attrs.field(factory=dict)
    _starts: dict[CallId, Start] = attrs.field(factory=dict)
    """Of the calls that were handed to the door."""

    @property
    def intents(self) -> tuple[CallId, ...]:
        """The calls that may change something: durable before any of them starts."""
        return tuple([ticket.call.id for ticket in self.tickets if ticket.writes])

    async def run(self, actor: "SessionActor", draft: Draft, context: ToolContext[Any]) -> None:
        """Run what may run, at once where there are several; the rest is told why not."""
        # Cancelled while the answer was saved: then no tool of it starts.
        await trio.lowlevel.checkpoint_if_cancelled()
        door = actor.services.door
        running = []
        for ticket in self.tickets:
            if ticket.may_run:
                running.append(ticket)
            else:
                call = ticket.call.id
                self._results[call] = door.finished(call, ticket.reason, "refused")
        around = TurnSurroundings(actor, draft)
        if len(running) == 1:
            await self._run_one(door, running[0], context, around)
        elif running:
            async with trio.open_nursery() as nursery:
                for ticket in running:
                    nursery.start_soon(self._run_one, door, ticket, context, around)

    async def _run_one(
        self, door: Door, ticket: Ticket, context: ToolContext[Any], around: TurnSurroundings
    ) -> None:
        call = ticket.call.id
        own = context.for_call(call, around, partial(around.tell, call))
        self._starts[call] = own.start
        self._results[call] = await door.run(ticket, own)

    def finished(self, door: Door) -> list[Finished]:
        """The one result of each call, in order: what came, or what greenroom says of it (R90)."""
        return [_named(ticket, self._result_of(ticket.call.id, door)) for ticket in self.tickets]

    def _result_of(self, call: CallId, door: Door) -> Finished:
        found = self._results.get(call)
        if found is not None:
            return found
        start = self._starts.get(call)
        if start is None or start.give_up():
            return door.finished(call, NOT_RUN, "not_run")
        return door.finished(call, UNKNOWN, "unknown")


def _named(ticket: Ticket, finished: Finished) -> Finished:
    """The result names the tool that was really called, where that is another (R216)."""
    if ticket.tool is None or ticket.tool.name == ticket.call.function.name:
        return finished
    return structs.replace(finished, result=structs.replace(finished.result, tool=ticket.tool.name))


async def context_of_turn(actor: "SessionActor", draft: Draft) -> ToolContext[Any]:
    """What the tools of a turn are given; the host's ``deps`` are made once for it (R220)."""
    services = actor.services
    deps = None if services.deps is None else services.deps(draft.info)
    if deps is not None and isinstance(deps, Awaitable):
        deps = await deps
    return ToolContext(
        session=actor.id,
        person=draft.info.person,
        turn=draft.info.turn,
        call="",
        deps=deps,
        folder=services.workspace.files_root,
    )
