"""The dispatch of a turn: what its first request rests on is committed, then it is sent (R79)."""

from typing import TYPE_CHECKING

from msgspec import structs

from greenroom.actors.drafting import Draft
from greenroom.actors.terms import moved_terms, showing
from greenroom.actors.unsent import not_dispatched
from greenroom.protocol.phase import Step

if TYPE_CHECKING:
    from greenroom.actors.turn import Turn


async def dispatch(turn: "Turn", draft: Draft) -> bool:
    """Commit what the first request rests on (R79); False when that failed (R205)."""
    actor = turn.actor
    actor.step(Step.DISPATCH)
    turn.began = actor.number
    header = structs.replace(
        actor.header,
        turns=turn.number,
        users=actor.header.users + 1,
        messages=actor.header.messages + 1,
        open_turn=turn.number,
        composition=draft.kept.digest,
        with_person=draft.record.with_person,
        gates=draft.record.gates,
        withdrawals=draft.withdrawals,
        indexed=actor.header.indexed or 1,
        recompositions=draft.recompositions,
        recompose=False,
    )
    if draft.record.skills:
        header = showing(header, [(use.id, use.revision) for use in draft.record.skills])
    terms = moved_terms(actor, header, draft.kept)
    saving = turn.commit_own([draft.record], header, draft.blobs, terms=terms)
    error = await saving.get_shielded()
    if error is not None:
        not_dispatched(turn, error)
        return False
    actor.conversation = draft.conversation
    turn.ahead = draft.tokens(actor.conversation)
    actor.conversation.adopt(draft.addition)
    if actor.kept is not draft.kept:
        actor.told.composed(actor.services.generation)
    actor.told.sent(draft.record.notes)
    actor.kept, actor.sent = draft.kept, draft.variant.system.sections
    actor.mapped = len(actor.conversation)
    turn.start, turn.added = draft.record, 1
    if turn.entry.stops is not None:
        actor.grants = ()  # as with a turn that is cancelled, also where that had ended by itself
    actor.step(Step.SAVED)
    if turn.accepted is not None:
        turn.accepted.put(actor.number)
    return True
