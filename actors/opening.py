"""Eager runs: what contributors call once, when a conversation begins.

A run passes the same door as a model's call. Its outcome is committed at once, whatever becomes of
the first prompt, and is sent as it was from then on (R146, R147, R148). One that a person has to
approve is asked about before any is made; the message that began the conversation waits in the
queue, and can be recalled with the question (R215).
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec
import trio
from msgspec import structs

from greenroom.actors.asking import approval_named, decided, granted
from greenroom.actors.committing import commit
from greenroom.actors.context import context_of
from greenroom.actors.kept_prompt import Kept
from greenroom.actors.models.port import SessionInfo
from greenroom.actors.pending import Obstacle, Sealed, raised
from greenroom.actors.surroundings import TurnSurroundings
from greenroom.actors.terms import terms_with
from greenroom.actors.tool import ToolContext
from greenroom.actors.tools import Finished, Ticket, Toolbox, blobs_of
from greenroom.actors.waiting import Slot
from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.encoding import decode_records, encode_message, encode_sorted
from greenroom.protocol.errors import Busy
from greenroom.protocol.gate import Commitment
from greenroom.protocol.identity import CallId, MessageId, SessionId
from greenroom.protocol.message import AssistantMessage, ToolCall
from greenroom.protocol.opening import called, runs_of
from greenroom.protocol.question import Asking, question_id
from greenroom.protocol.record import Answered, AnyRecord, EagerAsked, EagerBegun, EagerRan
from greenroom.protocol.tokens import TokenCounter
from greenroom.store.contract import Store

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

UNKNOWN: Final = "Unknown outcome: the host stopped while this call ran; it may have happened."
NOT_YET: Final = "It brings its result later, which is too late for an opening."


@attrs.frozen
class Opening:
    """Where the runs of one conversation are made."""

    actor: "SessionActor"
    kept: Kept
    box: Toolbox
    info: SessionInfo
    counter: TokenCounter
    """The model's own, by which a run keeps to its budget."""
    message: MessageId | None
    """The message that begins it, where that stands in the queue: it waits while it is asked about
    a run. None: nobody can be asked."""


def made_runs(store: Store, session: SessionId) -> frozenset[str]:
    """The contributors whose runs have an outcome in a session, by id."""
    found = (record for record in _records(store, session) if isinstance(record, EagerRan))
    return frozenset([record.contributor.rpartition("@")[0] for record in found])


def begins_with_runs(actor: "SessionActor") -> bool:
    """Whether the session's next turn is the first, and contributors run something for it."""
    if actor.kept is not None:
        return False
    workspace, header = actor.services.workspace, actor.header
    agent = workspace.agents.get(header.agent)
    extra = () if agent is None else workspace.contributors_for(agent, header.person)
    return any(isinstance(each, EagerRun) for each in extra)


class _Due(msgspec.Struct, frozen=True):
    """A run that has no outcome yet, as it was decided."""

    run: EagerRun
    ticket: Ticket
    begun: bool
    """It was begun before and nothing is known of it: it is not begun again."""
    asked: Asking | None
    """Its question as it was put, and so what an approval of it is good for (R161)."""
    answer: Answered | None
    """What was said to that."""

    @property
    def waits(self) -> bool:
        """Whether a person is to be asked about it first."""
        return self.ticket.asks and self.answer is None and not self.begun


async def run_once(opening: Opening) -> bool:
    """Make the runs of a conversation that have no outcome yet, in their order (R146).

    Nothing is run while one of them waits for a person: what is asked for is read when the
    conversation begins, and not days before.

    Returns:
        False: some wait for their approval, which was asked for (R215).

    Raises:
        Busy: some need an approval, and no message stands in the queue for which it is asked.
        StoreFailed: an outcome, or a question, could not be kept.
    """
    runs = runs_of(opening.kept.composition)
    if not runs:
        return True
    due = _due(opening, runs)
    # Of a turn that was cancelled while it was composed nothing is asked and nothing begun.
    await trio.lowlevel.checkpoint_if_cancelled()
    if waiting := [one for one in due if one.waits]:
        await _ask(opening, waiting)
        return False
    for one in due:
        await _run(opening, one)
        await trio.lowlevel.checkpoint_if_cancelled()
    return True


def _due(opening: Opening, runs: Sequence[EagerRun]) -> list[_Due]:
    records = _records(opening.actor.services.store, opening.actor.id)
    made = {r.contributor.rpartition("@")[0] for r in records if isinstance(r, EagerRan)}
    begun = {r.contributor for r in records if isinstance(r, EagerBegun)}
    asked = {r.question.id: r.question for r in records if isinstance(r, EagerAsked)}
    answers = {r.question: r for r in reversed(records) if isinstance(r, Answered)}
    commitment = commit(opening.actor, opening.kept).commitment
    due = []
    for run in runs:
        if run.id not in made:
            ticket = _ticket(opening, run, commitment)
            name = _question(opening, ticket)
            due.append(_Due(run, ticket, run.key in begun, asked.get(name), answers.get(name)))
    return due


def _ticket(opening: Opening, run: EagerRun, commitment: Commitment) -> Ticket:
    """The run as a call, decided like a model's."""
    wanted = (run.tool, _json(run.arguments))
    if run.tool in opening.box.on_demand:
        wanted = ("use_tool", _json({"name": run.tool, "arguments": run.arguments}))
    (call,) = called(run.key, [wanted])
    door = opening.actor.services.door
    return door.decide(call, opening.box, commitment, opening.kept.declared)


def _question(opening: Opening, ticket: Ticket) -> str:
    """The name of its question: one of its own for each message for which it is asked."""
    call = CallId(f"{ticket.call.id}@{opening.message}")
    return question_id(opening.actor.id, call, "approval")


async def _ask(opening: Opening, waiting: Sequence[_Due]) -> None:
    """Commit what is asked; the message stays in the queue, and its turn has not begun (R215)."""
    actor, message = opening.actor, opening.message
    if message is None:
        what = ", ".join(one.run.key for one in waiting)
        raise Busy(
            f"What the conversation opens with has to be approved first: {what}.",
            way_out="Send it a message: that waits while a person is asked, then all goes on.",
            reason="what it opens with waits for approval",
        )
    now, turn = actor.services.world.now(), actor.header.turns + 1
    expires = actor.services.approval_expires()
    asked = tuple(
        [
            EagerAsked(now, turn, message, one.run.key, _asking(opening, one.ticket, expires))
            for one in waiting
        ]
    )
    header = structs.replace(actor.header, parked=actor.number)
    terms = terms_with(actor, header, [one.question for one in asked])
    slot: Slot[Obstacle | None] = Slot()

    def judged(_: Sealed, obstacle: Obstacle | None) -> None:
        # Whoever reads of a question may answer it, also before its message is back in the queue.
        if obstacle is None:
            actor.gateway.asked = asked
        slot.put(obstacle)

    actor.commit(asked, header, terms=terms, then=judged)
    if (obstacle := await slot.get_shielded()) is not None:
        raise raised(obstacle)


def _asking(opening: Opening, ticket: Ticket, expires: int | None) -> Asking:
    assert ticket.tool is not None
    name = _question(opening, ticket)
    return approval_named(name, ticket, expires)


async def _run(opening: Opening, due: _Due) -> None:
    """Make one run, through the door, and commit what came of it."""
    actor, run, call = opening.actor, due.run, due.ticket.call
    door, now = actor.services.door, actor.services.world.now
    ticket = _answered(opening, due)
    if due.begun:
        finished = door.finished(call.id, UNKNOWN, "unknown")
    elif isinstance(ticket, Finished):
        finished = ticket
    elif ticket.may_run:
        if ticket.writes or due.answer is not None:
            # An approval is good for one call, also where nobody knows whether that happened.
            await _commit(actor, EagerBegun(now(), run.key, call.id), ())
        finished = await _called(opening, ticket)
    else:
        finished = door.finished(call.id, ticket.reason, "refused")
    await _commit(actor, _record(opening, run, call, finished), (finished,))


def _answered(opening: Opening, due: _Due) -> Ticket | Finished:
    """What an answer makes of a run: it is looked at again now, like a model's call (R157).

    Also whether it is the call that was asked about: a version of a contributor may have come with
    other arguments since.
    """
    ticket, answer = due.ticket, due.answer
    if answer is None or due.asked is None:
        return ticket
    allowed = granted(ticket, due.asked, answer.answer)
    if allowed is not None:
        return allowed
    return decided(opening.actor.services.door, ticket.call.id, answer) or ticket


async def _called(opening: Opening, ticket: Ticket) -> Finished:
    """Run it as a model's call is run; what would come later does not come into an opening."""
    actor, info, call = opening.actor, opening.info, ticket.call.id
    context: ToolContext[Any] = await context_of(actor, info)
    around = TurnSurroundings(actor, opening.kept, opening.box, info.turn)
    own = context.for_call(call, around, partial(around.tell, call))
    outcome = await actor.services.door.run(ticket, own)
    if isinstance(outcome, Finished):
        return outcome
    return actor.services.door.finished(call, NOT_YET, "failed")


def _record(opening: Opening, run: EagerRun, call: ToolCall, finished: Finished) -> EagerRan:
    """The outcome; one over its budget is kept and not sent, and says so with figures (R103)."""
    body = encode_message(AssistantMessage("", (call,)))
    tokens = sum(map(opening.counter.tokens, (body, bytes(finished.result.body))))
    left_out = ""
    if tokens > run.budget:
        left_out = f"Its exchange has {tokens:,} tokens; its budget is {run.budget:,}."
    now = opening.actor.services.world.now()
    return EagerRan(now, run.key, run.tool, msgspec.Raw(body), finished.result, left_out)


async def _commit(
    actor: "SessionActor", record: EagerBegun | EagerRan, finished: Sequence[Finished]
) -> None:
    saving = actor.commit([record], blobs=blobs_of(finished))
    obstacle: Obstacle | None = await saving.get_shielded()
    if obstacle is not None:
        raise raised(obstacle)


def _json(value: object) -> str:
    return encode_sorted(value).decode()


def _records(store: Store, session: SessionId) -> list[AnyRecord]:
    entries = store.read(session)
    return [record for entry in entries for record in decode_records(entry.records)]
