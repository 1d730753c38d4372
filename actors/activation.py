"""From what is stored to a live actor: claimed, read back, and an interrupted turn settled.

Nothing is repaired by reading: a session whose records do not fit together is set aside with the
reason, and the others run (R92). The queue, the kept prompt and the prefix of the next request are
as they were (R169).
"""

from collections.abc import Iterator, Mapping

from msgspec import structs

from greenroom.actors.asking_first import restored
from greenroom.actors.conversation import Conversation, rebuilt
from greenroom.actors.due import Told
from greenroom.actors.gateway import INTERRUPTED, Gateway, Waiting
from greenroom.actors.interrupted import settle_interrupted
from greenroom.actors.restoring import restore_parked
from greenroom.actors.services import Services
from greenroom.actors.session import SessionActor
from greenroom.actors.terms import with_revisions
from greenroom.actors.waiting import Slot
from greenroom.protocol.encoding import (
    decode_header,
    decode_records,
)
from greenroom.protocol.errors import (
    GreenroomError,
    Missing,
    SetAside,
    StoreDamaged,
    StoreFailed,
)
from greenroom.protocol.identity import SessionId
from greenroom.protocol.parked import parked_of
from greenroom.protocol.phase import Phase
from greenroom.protocol.projector import Projector
from greenroom.protocol.prompt_checkpoint import SystemPromptCheckpoint, replay, whole
from greenroom.protocol.rebuild import submission_of
from greenroom.protocol.record import Accepted
from greenroom.protocol.runtime_context import check_anchors
from greenroom.protocol.tally import Tally
from greenroom.store.contract import Absent, Claim, Claimed, ClaimVerdict, Failed, Gone


async def activated(services: Services, session: SessionId) -> SessionActor:
    """Claim a session and read it back.

    Raises:
        Missing: there is none.
        SetAside: what is stored does not fit together; the reason is in it.
        StoreFailed: the store could not do it.
    """
    claimed = await _claim(services, session)
    try:
        actor, tally = _read_back(services, session, claimed)
    except (StoreDamaged, GreenroomError) as error:
        if isinstance(error, StoreFailed) and not isinstance(error, StoreDamaged):
            raise
        raise SetAside(
            f"The session {session} cannot be opened: {error.sentence}", session=str(session)
        ) from error
    if tally.open_turn is not None and actor.phase is not Phase.PARKED:
        await settle_interrupted(actor, tally.open_turn, tally.since)
    if actor.turn is not None and actor.gateway.interrupts(actor.turn.number):
        # Its former host stopped between the message and the end of the turn.
        actor.turn.stop("cancelled", INTERRUPTED)
    return actor


async def _claim(services: Services, session: SessionId) -> Claimed:
    slot: Slot[ClaimVerdict] = Slot()
    services.store.offer(Claim(session), slot.put)
    verdict = await slot.get_shielded()
    match verdict:
        case Claimed():
            return verdict
        case Failed(error=error):
            raise error
        case Gone() | Absent():
            raise Missing(f"There is no session {session}.", session=str(session))


def _read_back(
    services: Services, session: SessionId, claimed: Claimed
) -> tuple[SessionActor, Tally]:
    store = services.store
    records = [record for entry in store.read(session) for record in decode_records(entry.records)]
    tally = Tally(records)
    start = tally.open_turn
    parked = None if start is None else parked_of(start, tally.since)
    if tally.opened is None:
        raise StoreDamaged(f"The session {session} has no first record.")
    check_anchors(tally.snapshots, tally.users)
    header = with_revisions(decode_header(claimed.header), records)
    header = structs.replace(
        header,
        users=tally.users,
        # Of a turn that goes on, its own messages are counted with its end.
        messages=tally.messages - (parked.added - 1 if parked else 0),
        turns=max(header.turns, tally.turns),
        open_turn=None if start is None else start.turn,
    )
    kept, conversation, sent = None, Conversation(), None
    if header.composition is not None:
        kept = services.kept_prompts.stored(header.composition, store.blob)
        projector = Projector(kept.composition, kept.composition.model)
        conversation = rebuilt(projector.take(records).chunks)
        if tally.checkpoints:
            sent = replay(_checkpoints(services, tally))
    gateway = _gateway(services, session)
    gateway.asked = restored(records, header)
    actor = SessionActor(
        services,
        session,
        claimed.epoch,
        claimed.head,
        claimed.number,
        header,
        tally.opened.instructions,
        conversation,
        gateway,
        kept,
        sent,
        told=Told(tally.settled, about=tally.told),
        grants=tuple([grant for grant in tally.grants if grant.is_of(session)]),
    )
    if parked is not None:
        restore_parked(actor, parked, records)
    return actor, tally


def _checkpoints(services: Services, tally: Tally) -> Iterator[SystemPromptCheckpoint]:
    """The checkpoints whole, with the texts of the compositions that they name."""
    for digest, checkpoint in tally.checkpoints:
        texts: Mapping[str, str] = {}
        if checkpoint.kept:
            texts = services.kept_prompts.stored(digest, services.store.blob).texts
        yield whole(checkpoint, texts)


def _gateway(services: Services, session: SessionId) -> Gateway:
    """The queue as it was, in the order in which the store serves it (R93)."""
    gateway = Gateway(services.policy.behind)
    for queued in services.store.queued(session):
        for record in decode_records(queued.records):
            if isinstance(record, Accepted):
                submission = submission_of(record)
                gateway.add(
                    Waiting(submission, queued.seq, queued.number, record.waits, stops=record.stops)
                )
    return gateway
