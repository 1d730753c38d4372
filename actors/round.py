"""The calls of one answer: each is decided, run or not, and gets its one result (R175)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio
from msgspec import structs

from greenroom.actors.asking import answered, approval_of, by_grants, granted, result_of
from greenroom.actors.drafting import Draft
from greenroom.actors.response import Reply
from greenroom.actors.start import Start
from greenroom.actors.surroundings import TurnSurroundings
from greenroom.actors.tool import Later, ToolContext
from greenroom.actors.tools import Door, Finished, Ticket
from greenroom.protocol.grant import Grant, grant_of
from greenroom.protocol.identity import CallId, SessionId
from greenroom.protocol.note import approvals_note
from greenroom.protocol.question import Asking
from greenroom.protocol.record import Answered, Asked
from greenroom.protocol.record_parts import CallResult, GrantUse, PlatformNote
from greenroom.protocol.wording import Wording

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

NOT_RUN: Final = "Not run: the turn ended before this call began."
NOT_COME: Final = "Unknown outcome: the turn ended before the result of this call came."
UNKNOWN: Final = "Interrupted: this call was running when the turn ended; it may have happened."
_NOTHING: Final[Mapping[CallId, Grant]] = {}


@attrs.define(eq=False, slots=True)
class Round:
    """An answer with calls, from when it came until its outcomes are committed."""

    answer: Reply
    tickets: Sequence[Ticket]
    answer_saved: bool = False
    """The answer is committed, because tools that write follow it, or questions (R172)."""
    notes: tuple[PlatformNote, ...] = ()
    """What the platform says behind the results (R151)."""
    tools: Mapping[CallId, str] = attrs.field(factory=dict)
    """What was asked about, by its own name: ``use_tool`` hides it (R216)."""
    uses: tuple[GrantUse, ...] = ()
    """The calls that run by what the turn before left granted (P139)."""
    _allowed: Mapping[CallId, Grant] = _NOTHING
    """What was allowed when it was asked about last."""
    _told: frozenset[CallId] = frozenset()
    """The calls whose results are committed already, with what the round asked."""
    _later: dict[CallId, Later] = attrs.field(factory=dict)
    """The calls that were begun and whose results come later (R224)."""
    _results: dict[CallId, Finished] = attrs.field(factory=dict)
    _starts: dict[CallId, Start] = attrs.field(factory=dict)
    """Of the calls that were handed to the door."""

    @property
    def intents(self) -> tuple[CallId, ...]:
        """The calls that may change something: durable before any of them starts."""
        return tuple([t.call.id for t in self.tickets if t.writes and self._is_open(t.call.id)])

    def _is_open(self, call: CallId) -> bool:
        """Whether it has neither begun nor its result."""
        return not (call in self._told or call in self._results or call in self._later)

    @classmethod
    def restored(
        cls,
        answer: Reply,
        told: frozenset[CallId],
        asked: Asked,
        notes: tuple[PlatformNote, ...],
    ) -> "Round":
        """The round of a turn that was read back, as it waited."""
        awaited = [one.call for one in asked.questions if one.kind == "result"]
        tickets = [Ticket(call, None, call.function.arguments, "ask") for call in answer.calls]
        tools = {one.call: one.tool for one in asked.questions}
        this = cls(answer, tickets, answer_saved=True, notes=notes, tools=tools, told=told)
        this._later = dict.fromkeys(awaited, Later())
        return this

    @property
    def untold(self) -> int:
        """How many of its calls have no result on disk."""
        return len(self.answer.calls) - len(self._told)

    # --- running ------------------------------------------------------------------------------

    async def run(self, actor: "SessionActor", draft: Draft, context: ToolContext[Any]) -> None:
        """Run what may run, at once where there are several; the rest is told why not."""
        # Cancelled while the answer was saved: then no tool of it starts.
        await trio.lowlevel.checkpoint_if_cancelled()
        door = actor.services.door
        running = []
        for ticket in self.tickets:
            if not self._is_open(ticket.call.id):
                continue
            if ticket.may_run:
                running.append(ticket)
            elif not ticket.asks:
                refused = door.finished(ticket.call.id, ticket.reason, "refused")
                self._results[ticket.call.id] = refused
        around = TurnSurroundings(actor, draft.kept, draft.box, draft.info.turn)
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
        outcome = await door.run(ticket, own)
        if isinstance(outcome, Later):
            self._later[call] = outcome
        else:
            self._results[call] = outcome

    def finished(self, door: Door) -> list[Finished]:
        """The one result of each call, in order: what came, or what greenroom says of it (R90).

        Those that were committed with what the round asked are left out.
        """
        return [
            self._named(ticket, self._result_of(ticket.call.id, door))
            for ticket in self.tickets
            if ticket.call.id not in self._told
        ]

    def take_answers(self, session: SessionId, answers: Mapping[str, Answered], door: Door) -> None:
        """What was answered stands, and such a call is not run, whatever becomes of the turn."""
        for ticket in self.tickets if answers else ():
            call = ticket.call.id
            if call in self._told or call in self._results:
                continue
            brought = answered(door, session, call, answers)
            if brought is not None:
                self._later.pop(call, None)
                self._results[call] = brought
                if call in self._starts:
                    self._starts[call].give_up()

    # --- asking -------------------------------------------------------------------------------

    def asking(self, actor: "SessionActor", answers: Mapping[str, Answered]) -> tuple[Asking, ...]:
        """What has to be answered before the round can go on; mostly nothing.

        A result that came before its call said that it comes later is taken at once (R224).
        """
        if len(self._results) + len(self._told) == len(self.tickets):
            return ()
        self.take_answers(actor.id, answers, actor.services.door)
        asking = []
        for ticket in self.tickets:
            call = ticket.call.id
            if call in self._told or call in self._results:
                continue
            later = self._later.get(call)
            if later is None:
                asking.append(approval_of(actor.id, ticket, actor.services.approval_expires()))
            else:
                asking.append(result_of(actor.id, ticket, later))
        return tuple(asking)

    def ready(self) -> list[Finished]:
        """The results that are there, and not on disk yet."""
        return [
            self._named(ticket, self._results[ticket.call.id])
            for ticket in self.tickets
            if ticket.call.id in self._results
        ]

    def told_so_far(self, ready: Iterable[Finished]) -> None:
        """The answer and these results are committed before the others."""
        self.answer_saved = True
        calls = frozenset(one.result.call for one in ready)
        self._told |= calls
        for call in calls:
            del self._results[call]

    def running(self, session: SessionId, name: str) -> Asking | None:
        """The question that a running call will ask under that id, if it does (R224)."""
        for ticket in self.tickets:
            call = ticket.call.id
            if call in self._starts and call not in self._results and call not in self._told:
                question = result_of(session, ticket, Later())
                if question.id == name:
                    return question
        return None

    def use(self, grants: Sequence[Grant], wording: Wording) -> tuple[Grant, ...]:
        """Let calls run that the turn before left granted; returns what is left of it (P139)."""
        self.tickets, used = by_grants(self.tickets, grants)
        self.uses = tuple([GrantUse(call, grant.question) for call, grant in used.items()])
        self.notes = approvals_note([(one.tool, one.answer) for one in used.values()], wording)
        return tuple([grant for grant in grants if grant not in used.values()])

    def allow(self, given: Iterable[tuple[Asking, Answered]]) -> None:
        """What was allowed is good for its calls; see :meth:`unused`."""
        granted = {asking.call: grant_of(asking, record.answer) for asking, record in given}
        self._allowed = {call: grant for call, grant in granted.items() if grant is not None}

    def unused(self, results: Iterable[CallResult]) -> tuple[Grant, ...]:
        """What was allowed for calls that certainly never began, and is not void (P139, R157)."""
        if not self._allowed:
            return ()
        void = {ticket.call.id for ticket in self.tickets if ticket.decision == "refuse"}
        never = [one.call for one in results if one.state == "not_run" and one.call not in void]
        return tuple([self._allowed[call] for call in never if call in self._allowed])

    def go_on(self, tickets: Sequence[Ticket], given: Iterable[tuple[Asking, Answered]]) -> None:
        """The round goes on: each call is decided anew, and by its answer (R157, R160)."""
        allowed = {asking.call: (asking, record.answer) for asking, record in given}
        self.tools = {call: asking.tool for call, (asking, _) in allowed.items()}
        self.tickets = [
            (granted(ticket, *allowed[ticket.call.id]) or ticket)
            if ticket.call.id in allowed
            else ticket
            for ticket in tickets
        ]

    # --- results ------------------------------------------------------------------------------

    def _result_of(self, call: CallId, door: Door) -> Finished:
        found = self._results.get(call)
        if found is not None:
            return found
        if call in self._later:
            return door.finished(call, NOT_COME, "unknown")
        start = self._starts.get(call)
        if start is None or start.give_up():
            return door.finished(call, NOT_RUN, "not_run")
        return door.finished(call, UNKNOWN, "unknown")

    def _named(self, ticket: Ticket, finished: Finished) -> Finished:
        """The result names the tool that was really called, where that is another (R216)."""
        called = ticket.call.function.name
        tool = self.tools.get(ticket.call.id) if ticket.tool is None else ticket.tool.name
        if tool is None or tool == called:
            return finished
        return structs.replace(finished, result=structs.replace(finished.result, tool=tool))
