"""Room in the model's window: a turn is compacted for before its dispatch, or between its rounds.

It is done where a request does not fit, and where the conversation fills most of the room. In the
latter case nothing depends on it: if no summary comes of it, the request goes out as it is. The
turn that is prepared or runs stays whole, so where that alone does not fit no model is asked, and
the turn ends ``context_full`` with the table of what takes up the window (R109, R210, P092).
"""

from typing import TYPE_CHECKING

import msgspec
import trio
from msgspec import structs

from greenroom.actors.charging import bill_of, charges_of, reserve
from greenroom.actors.compaction_plan import Made, Plan, Wanted, planned
from greenroom.actors.conversation import Addition, Conversation
from greenroom.actors.drafting import Draft, Drafted, Refusal, draft_of
from greenroom.actors.pending import Obstacle, Sealed
from greenroom.actors.preparing import Composed
from greenroom.actors.said import pass_on, said_by
from greenroom.actors.settling import Ending
from greenroom.actors.terms import moved_terms
from greenroom.actors.unsent import not_accepted
from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import GreenroomError, SessionLost
from greenroom.protocol.phase import Step
from greenroom.protocol.record_parts import SummaryCall
from greenroom.protocol.refusal import OverQuota, QuotaFailed
from greenroom.store.contract import Known

if TYPE_CHECKING:
    from greenroom.actors.turn import Turn

_WORTH_SHARE = 0.5
"""What is before the turn has to fill this share of what makes a conversation crowded: else little
would be gained, and asked for again at the next turn."""


class NoRoom(msgspec.Struct, frozen=True, gc=False):
    """No room was made, and why."""

    why: str = "There is nothing before it that a summary would make shorter."
    code: str = ""
    """Where it was the tenant's quota that had no room to ask for a summary."""


async def drafted(turn: "Turn") -> Drafted | None:
    """Prepare a turn, with room made for it where it needs some; None: that was not saved."""
    draft = await draft_of(turn.actor, turn.entry, turn.number)
    if isinstance(draft, Refusal) or not _is_due(turn, draft, draft.addition, _ahead_of(draft)):
        return draft
    if not draft.variant.budget.fits(0):
        # The kept prompt alone is too large: no summary helps.
        return Refusal("not_sent", draft.spent(draft.addition), "over_budget")
    made = await _made(turn, draft, draft.addition)
    if isinstance(made, NoRoom):
        turn.actor.step(Step.DRAFT)
        return _as_it_is(draft, made)
    if await _landed(turn, made) is not None:
        return None
    # Anew, since picks are pinned against the new composition (R212).
    draft = await draft_of(turn.actor, turn.entry, turn.number)
    if isinstance(draft, Refusal):
        return draft
    return _as_it_is(draft, NoRoom("Behind the summary it still does not fit."))


async def relieved(turn: "Turn", draft: Draft) -> Draft | Ending | None:
    """What the next request of a running turn is sent with; None: that was not saved.

    Its results are committed already; where they do not fit, no request is (R89).
    """
    actor = turn.actor
    if not _is_due(turn, draft, actor.conversation, turn.ahead):
        return draft
    told = actor.conversation.plus(())
    made = await _made(turn, draft, told)
    if isinstance(made, Made):
        return await _continued(turn, draft, made)
    if draft.fits(told):
        actor.step(Step.GO_ON)
        return draft
    if made.code:
        return Ending("failed", made.why, made.code)
    refusal = _context_full(draft, made, told)
    return Ending(refusal.end, refusal.reason, refusal.code)


def _is_due(turn: "Turn", draft: Draft, told: Addition | Conversation, ahead: int) -> bool:
    """Whether room is to be made: a request does not fit, or the window fills and it is worth it.

    The latter once in a turn, and only where what is before the turn is much of it.
    """
    budget, tokens = draft.variant.budget, draft.tokens(told)
    crowded = min(1.0, turn.actor.services.policy.compact_at) * budget.room
    if tokens <= crowded:
        return False
    return not budget.fits(tokens) or (not turn.reliefs and ahead >= crowded * _WORTH_SHARE)


def _ahead_of(draft: Draft) -> int:
    return draft.tokens(draft.conversation)


def _wanted(turn: "Turn", draft: Draft, told: Addition) -> Wanted:
    # What was composed for this very request need not be composed again.
    is_new = draft.kept is not turn.actor.kept
    return Wanted(
        "pressure" if draft.fits(told) else "no_room",
        draft.model,
        draft.info,
        draft.record.with_person,
        draft.record.ordinal,
        told.chunks,
        draft.variant.budget.fixed + draft.tokens(told),
        Composed(draft.kept, draft.blobs, draft.recompositions) if is_new else None,
        draft.withdrawals if is_new else None,
    )


async def _made(turn: "Turn", draft: Draft, told: Addition) -> Made | NoRoom:
    """Plan and summarise; whatever fails of it, the turn is told why there is no room."""
    actor, calls = turn.actor, list[SummaryCall]()
    wanted = _wanted(turn, draft, told)
    await trio.lowlevel.checkpoint_if_cancelled()
    turn.reliefs += 1
    actor.step(Step.COMPACT)
    made: Made | NoRoom = NoRoom()
    try:
        plan = await planned(actor, wanted)
        if isinstance(plan, Plan):
            made = await plan.made(actor, calls, bill_of(turn))
    except (OverQuota, QuotaFailed) as error:
        made = NoRoom(error.sentence, error.code)
    except GreenroomError as error:
        made = NoRoom(error.sentence)
    except BaseException as error:  # noqa: BLE001 - the host's own composer or skill source
        await pass_on(error)
        made = NoRoom(f"It could not be composed anew: {said_by(error)}")
    finally:
        if isinstance(made, NoRoom):
            turn.summaries = (*turn.summaries, *calls)
            turn.usage = sum([call.usage for call in calls], turn.usage)
    return made


def _as_it_is(draft: Draft, made: NoRoom) -> Drafted:
    if draft.fits(draft.addition):
        return draft
    if made.code:
        return Refusal("not_sent", made.why, made.code)
    return _context_full(draft, made, draft.addition)


def _context_full(draft: Draft, made: NoRoom, told: Addition) -> Refusal:
    """The turn does not fit, whatever is summarised: what takes up the window (R102, P091)."""
    return Refusal("context_full", draft.spent(told, made.why), "over_budget")


async def _landed(turn: "Turn", made: Made) -> Obstacle | None:
    """Commit a compaction before the turn's dispatch, by itself (R108)."""
    actor = turn.actor
    record = made.record(actor, messages=actor.header.messages, turn=turn.number)
    slot: Slot[Obstacle | None] = Slot()

    def judged(sealed: Sealed, obstacle: Obstacle | None) -> None:
        if isinstance(obstacle, SessionLost):
            turn.failed(obstacle)
            actor.lose(obstacle, sealed)
        else:
            assert not isinstance(obstacle, Known), "a compaction registers no key"
            made.adopt(actor)
            turn.relief += record.usage
            if obstacle is None:
                actor.step(Step.DRAFT)
            else:
                not_accepted(turn, obstacle)
                actor.keep_unsaved(sealed)
        slot.put(obstacle)

    header = structs.replace(made.header(actor.header, record), turns=turn.number)
    composed, charges = made.plan.composed, charges_of(turn)
    actor.commit(
        [record],
        header,
        blobs=composed.blobs,
        terms=moved_terms(actor, header, composed.kept),
        charges=charges,
        then=judged,
    )
    return await slot.get_shielded()


async def _continued(turn: "Turn", draft: Draft, made: Made) -> Draft | Ending | None:
    """Commit a compaction with the request that follows it in the turn (R70, R210).

    Where the tenant's quota has no room for that, the summary is kept all the same.
    """
    actor, part = turn.actor, made.plan.part
    messages = actor.header.messages + turn.added - 1
    nothing = made.conversation.plus(())
    after = structs.replace(
        draft, kept=part.kept, variant=part.variant, conversation=made.conversation
    )
    refused = reserve(turn, after, nothing)
    request = "" if refused else nothing.digest.of(part.variant.frame)
    record = made.record(actor, messages=messages, turn=turn.number, request=request)
    header = made.header(actor.header, record)
    terms = moved_terms(actor, header, part.kept)
    actor.step(Step.OUTCOMES)
    made.adopt(actor)
    turn.relief += record.usage
    turn.ahead = 0
    if not refused:
        actor.sent = part.variant.system.sections
    blobs = made.plan.composed.blobs
    if not await turn.save([record], nothing, messages=0, header=header, blobs=blobs, terms=terms):
        return None
    if refused:
        return Ending("failed", refused.sentence, refused.code)
    actor.mapped = len(actor.conversation)
    return after
