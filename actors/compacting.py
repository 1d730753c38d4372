"""Compacting on demand: an idle session, and whoever asked for it waits (R111).

The work is done in the task of the caller, so cancelling the call cancels it and leaves everything
as it was (R110). While it is done the session is busy, and what arrives is queued behind it (R212).
"""

from collections.abc import Awaitable, Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import trio
from msgspec import structs

from greenroom.actors.committing import preset_now
from greenroom.actors.compaction_plan import Made, Plan, Wanted, planned
from greenroom.actors.conversation import rebuilt
from greenroom.actors.drafting import composed_first, projected, tokens_of
from greenroom.actors.models.port import Model, SessionInfo
from greenroom.actors.opening import made_runs
from greenroom.actors.pending import Obstacle, Sealed, raised
from greenroom.actors.preparing import Composed, compose
from greenroom.actors.terms import moved_terms
from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import HostClosed, Missing, ModelFailed, SaveFailed, SessionLost
from greenroom.protocol.header import Header
from greenroom.protocol.phase import Phase, Step
from greenroom.protocol.quota import Charge
from greenroom.protocol.receipt import Compaction, Cursor
from greenroom.protocol.record import AnyRecord, Recomposed
from greenroom.protocol.record_parts import SummaryCall
from greenroom.protocol.usage import Usage

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

T = TypeVar("T")
CLOSED: Final = "The host was closed."


async def compact(actor: "SessionActor") -> Compaction:
    """Summarise all but the newest of a conversation, under a prompt that is composed anew.

    Where there is nothing to compact, only the prompt is composed anew (R111).

    Raises:
        Busy, PendingSave: the session is not idle; nothing changed (R9).
        ModelFailed, OverBudget: no summary was made that makes a request smaller (R109).
        OverQuota: the tenant's quota has no room to ask for one (R233).
        SaveFailed: it could not be written; ``flush()`` may (R110).
        HostClosed, Missing: the host stopped, or the session was deleted meanwhile.
    """
    return await _alone(actor, partial(_compact, actor))


async def recompose(actor: "SessionActor") -> bool:
    """Compose the kept prompt anew from what stands in the workspace now (R60, R111).

    Returns:
        Whether it is another prompt than before.

    Raises:
        Busy, PendingSave: the session is not idle; nothing changed (R9).
        SaveFailed: it could not be written; ``flush()`` may.
        HostClosed, Missing: the host stopped, or the session was deleted meanwhile.
    """
    return await _alone(actor, partial(_recompose, actor))


async def _alone(actor: "SessionActor", work: Callable[[], Awaitable[T]]) -> T:
    """Do the work while nothing else is done with the session."""
    actor.check_quiet()
    if actor.services.closing:
        raise HostClosed(CLOSED)
    actor.step(Step.COMPACT)
    scope = actor.compaction = trio.CancelScope()
    with scope:
        try:
            return await work()
        finally:
            if actor.compaction is scope:
                actor.compaction = None
                if actor.phase is Phase.COMPACTING:
                    _over(actor, Step.REFUSED)
    if actor.services.closing:
        raise HostClosed(CLOSED)
    raise Missing(f"The session {actor.id} was deleted.", session=str(actor.id))


def _over(actor: "SessionActor", step: Step) -> None:
    """It is done, or given up: what is queued goes on."""
    actor.step(step)
    actor.last_active = trio.current_time()
    actor.services.settled.ring()
    actor.go_on()


def _model_of(actor: "SessionActor") -> Model:
    services, header = actor.services, actor.header
    return services.model(header.model or services.agent(header.agent).model)


async def _compact(actor: "SessionActor") -> Compaction:
    header, model, calls = actor.header, _model_of(actor), list[SummaryCall]()
    info = SessionInfo(actor.id, header.agent, header.person)
    composed = None
    if actor.kept is None:
        if not header.messages:
            return _nothing(actor, model)
        # Imported and never prompted: the conversation begins here, and its runs are made (R146).
        composed = await composed_first(actor, model, info)
    wanted = Wanted("asked", model, info, header.person is not None, composed=composed)
    plan = await planned(actor, wanted)
    if not isinstance(plan, Plan):
        await _take(actor, plan)
        return _nothing(actor, model)
    made, bill = None, actor.services.quotas.bill(actor.id.tenant)
    try:
        made = await plan.made(actor, calls, bill)
    except ModelFailed as error:
        failure = copy(error)
        failure.way_out = "The conversation is as it was: compact it again when the model works."
        raise failure from error
    finally:
        charges = () if bill is None else bill.close()
        if made is None:
            await _count(actor, calls, charges)
    return await _land(actor, plan, made, charges)


async def _land(
    actor: "SessionActor", plan: Plan, made: Made, charges: tuple[Charge, ...]
) -> Compaction:
    """Commit summary, composition and what it names, all in one (R108)."""
    record = made.record(actor, messages=actor.header.messages)
    header = made.header(actor.header, record)
    adopt = partial(made.adopt, actor)
    await _save(actor, record, header, plan.composed, adopt, charges)
    return Compaction(
        "compacted",
        record.before,
        record.summary,
        record.composition,
        plan.measured,
        plan.after(made.summary),
        record.usage,
        _cursor(actor),
    )


def _nothing(actor: "SessionActor", model: Model) -> Compaction:
    kept, cursor = actor.kept, _cursor(actor)
    if kept is None:
        return Compaction("nothing to compact", None, "", "", 0, 0, Usage(), cursor)
    variant = kept.under(preset_now(actor), with_person=actor.header.person is not None)
    tokens = variant.budget.fixed + tokens_of(actor.conversation, model.capabilities)
    return Compaction("nothing to compact", None, "", kept.digest, tokens, tokens, Usage(), cursor)


def _cursor(actor: "SessionActor") -> Cursor:
    return Cursor(actor.services.store.incarnation, actor.number)


async def _recompose(actor: "SessionActor") -> bool:
    if actor.kept is None:
        return False  # the first turn composes it, with what stands there then
    services, model = actor.services, _model_of(actor).name
    ran = made_runs(services.store, actor.id)
    composed = await compose(
        services, actor.id.tenant, actor.header, actor.instructions, model, ran=ran
    )
    return await _take(actor, composed)


async def _take(actor: "SessionActor", composed: Composed) -> bool:
    """Commit a composition, if it is another one; False: it is the one that there was."""
    kept = composed.kept
    if actor.kept is not None and kept.digest == actor.kept.digest:
        return False
    record = Recomposed(actor.services.world.now(), kept.digest, kept.composition.model)
    header = structs.replace(
        actor.header,
        composition=kept.digest,
        recompositions=composed.recompositions,
        recompose=False,
    )
    conversation = rebuilt(projected(actor, kept).chunks)

    def adopt() -> None:
        actor.kept, actor.conversation = kept, conversation
        actor.told.composed(actor.services.generation)

    await _save(actor, record, header, composed, adopt)
    return True


# --- saving ---------------------------------------------------------------------------------------


async def _save(
    actor: "SessionActor",
    record: AnyRecord,
    header: Header,
    composed: Composed,
    adopt: Callable[[], None],
    charges: tuple[Charge, ...] = (),
) -> None:
    """Commit it; what the verdict means is true before anybody wakes (R110).

    Raises:
        SaveFailed: it is kept, and in force, and ``flush()`` writes it.
        SessionLost: somebody else holds the session by now.
    """
    slot: Slot[Obstacle | None] = Slot()

    def judged(sealed: Sealed, obstacle: Obstacle | None) -> None:
        actor.compaction = None
        if isinstance(obstacle, SessionLost):
            actor.lose(obstacle, sealed)
        elif obstacle is None:
            adopt()
            _over(actor, Step.SAVED)
        else:
            adopt()
            actor.keep_unsaved(sealed)
        actor.services.settled.ring()
        slot.put(obstacle)

    terms, blobs = moved_terms(actor, header, composed.kept), composed.blobs
    actor.commit([record], header, blobs=blobs, terms=terms, charges=charges, then=judged)
    error = await slot.get_shielded()
    if isinstance(error, SessionLost):
        raise error
    if error is not None:
        cause = raised(error)
        sentence = f"The composition of {actor.id} is not on disk yet: {cause.sentence}"
        raise SaveFailed(sentence, session=str(actor.id)) from cause


async def _count(
    actor: "SessionActor", calls: list[SummaryCall], charges: tuple[Charge, ...]
) -> None:
    """What was asked in vain is paid all the same: it is counted in the session (R190)."""
    usage = sum([call.usage for call in calls], Usage())
    if usage == Usage() and not charges:
        return
    header = structs.replace(actor.header, usage=actor.header.usage + usage)
    error = await actor.commit([], header, charges=charges).get_shielded()
    if isinstance(error, SessionLost):
        actor.lose(error)
