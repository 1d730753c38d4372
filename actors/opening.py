"""Eager runs: what contributors call once, when a conversation begins.

A run passes the same door as a model's call. Its outcome is committed at once, whatever becomes of
the first prompt, and is sent as it was from then on (R146, R147, R148).
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec

from greenroom.actors.committing import commit
from greenroom.actors.context import context_of
from greenroom.actors.kept_prompt import Kept
from greenroom.actors.models.port import SessionInfo
from greenroom.actors.pending import Obstacle, raised
from greenroom.actors.surroundings import TurnSurroundings
from greenroom.actors.tool import ToolContext
from greenroom.actors.tools import Finished, Ticket, Toolbox, blobs_of
from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.encoding import decode_records, encode_message, encode_sorted
from greenroom.protocol.message import AssistantMessage, ToolCall
from greenroom.protocol.opening import called, runs_of
from greenroom.protocol.record import AnyRecord, EagerBegun, EagerRan
from greenroom.protocol.tokens import TokenCounter

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

UNKNOWN: Final = "Unknown outcome: the host stopped while this call ran; it may have happened."
NOT_YET: Final = "It brings its result later, which is too late for an opening."
NOBODY_ASKED: Final = (
    "Not run: it needs a person's approval, and nobody is asked before a conversation has begun."
)


@attrs.frozen
class Opening:
    """Where the runs of one conversation are made."""

    actor: "SessionActor"
    kept: Kept
    box: Toolbox
    info: SessionInfo
    counter: TokenCounter
    """The model's own, by which a run keeps to its budget."""


def made_runs(actor: "SessionActor") -> frozenset[str]:
    """The contributors whose runs have an outcome in the session, by id."""
    found = (record for record in _records(actor) if isinstance(record, EagerRan))
    return frozenset([record.contributor.rpartition("@")[0] for record in found])


async def run_once(opening: Opening) -> None:
    """Make the runs of a conversation that have no outcome yet, in their order (R146).

    Raises:
        StoreFailed: an outcome could not be kept.
    """
    runs = runs_of(opening.kept.composition)
    if not runs:
        return
    records = _records(opening.actor)
    made = {r.contributor.rpartition("@")[0] for r in records if isinstance(r, EagerRan)}
    begun = {r.contributor for r in records if isinstance(r, EagerBegun)}
    for run in runs:
        if run.id not in made:
            await _run(opening, run, begun=run.key in begun)


async def _run(opening: Opening, run: EagerRun, *, begun: bool) -> None:
    """Make one run, through the door, and commit what came of it."""
    actor, box = opening.actor, opening.box
    door, now = actor.services.door, actor.services.world.now
    wanted = (run.tool, _json(run.arguments))
    if run.tool in box.on_demand:
        wanted = ("use_tool", _json({"name": run.tool, "arguments": run.arguments}))
    (call,) = called(run.key, [wanted])
    commitment = commit(actor, opening.kept).commitment
    ticket = door.decide(call, box, commitment, opening.kept.declared)
    if begun:
        finished = door.finished(call.id, UNKNOWN, "unknown")
    elif ticket.may_run:
        if ticket.writes:
            await _commit(actor, EagerBegun(now(), run.key, call.id), ())
        finished = await _called(opening, ticket)
    else:
        reason = NOBODY_ASKED if ticket.asks else ticket.reason
        finished = door.finished(call.id, reason, "refused")
    await _commit(actor, _record(opening, run, call, finished), (finished,))


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


def _records(actor: "SessionActor") -> list[AnyRecord]:
    entries = actor.services.store.read(actor.id)
    return [record for entry in entries for record in decode_records(entry.records)]
