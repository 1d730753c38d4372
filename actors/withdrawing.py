"""Skills that were withdrawn: what a session shows of them, for its next turn to show no more.

A withdrawal is of the store, and says a skill. Which revisions of it a conversation shows, and has
to show no more, is told once by the conversation itself: with its first turn after the lift, whose
record names them, or with a compaction that comes before it (R159).
"""

from typing import TYPE_CHECKING

from greenroom.actors.terms import kept_skills
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.record import AnyRecord, Compacted, Dispatched

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor


def withdrawn_from(actor: "SessionActor", withdrawals: int) -> tuple[str, ...]:
    """The revisions that the session's next request is the first not to show; mostly none.

    ``withdrawals`` are the store's that it is to know of.
    """
    header, kept = actor.header, actor.kept
    if header.withdrawals == withdrawals:
        return ()
    skills = frozenset(actor.services.holds.withdrawn[header.withdrawals : withdrawals])
    if not skills.intersection((*header.skills, *kept_skills(kept))):
        return ()
    shown = [] if kept is None else [*kept.composition.skills]
    for record in _records(actor):
        if isinstance(record, Dispatched) and record.snapshot is not None:
            shown += record.snapshot.skills
    revisions = dict.fromkeys(each.revision for each in shown if each.id in skills)
    before = withdrawn_in(actor)
    return tuple([revision for revision in revisions if revision not in before])


def withdrawn_in(actor: "SessionActor") -> tuple[str, ...]:
    """The revisions that the conversation shows no more already."""
    return withdrawn_by(_records(actor))


def withdrawn_by(records: list[AnyRecord]) -> tuple[str, ...]:
    """The revisions that records of a session withdrew from its conversation."""
    return tuple(
        [
            revision
            for record in records
            if isinstance(record, Dispatched | Compacted)
            for revision in record.withdrawn
        ]
    )


def _records(actor: "SessionActor") -> list[AnyRecord]:
    entries = actor.services.store.read(actor.id)
    return [record for entry in entries for record in decode_records(entry.records)]
