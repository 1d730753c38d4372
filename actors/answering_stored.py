"""Answering a question of a store that no host holds: committed now, and the turn goes on later.

The answer is as durable as any other; the turn goes on with the next host that opens the store
(R161).
"""

from msgspec import structs

from greenroom.actors.asking import answer_record
from greenroom.actors.asking_first import restored
from greenroom.actors.questions import check_answer, no_answer, no_question, session_of
from greenroom.actors.terms import terms_of
from greenroom.actors.waiting import Slot
from greenroom.actors.world import World
from greenroom.protocol.encoding import (
    decode_header,
    decode_records,
    encode_header,
    encode_records,
)
from greenroom.protocol.errors import Missing, SessionLost
from greenroom.protocol.filter import Term, composition_terms
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId, TurnId
from greenroom.protocol.journal import entry_of
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.parked import open_in, parked_of, questions_of
from greenroom.protocol.question import Answer, Asking, Question, fits, in_time
from greenroom.protocol.rebuild import composition_from
from greenroom.protocol.record import Answered, AnyRecord
from greenroom.protocol.tally import Tally
from greenroom.store.contract import (
    Claim,
    Claimed,
    ClaimVerdict,
    Commit,
    Committed,
    CommitVerdict,
    Failed,
    Release,
    Store,
)


async def answer_stored(
    store: Store, world: World, tenant: str | None, question: Question | str, answer: Answer
) -> Question:
    """Commit the answer of an open question; the question with the answer that it has.

    Raises:
        Missing: no question has that id.
        InvalidInput, TooLarge: it is no answer to a question of that kind, or cannot be stored.
        StoreFailed: it was not kept.
        SessionLost: another process took the session meanwhile.
    """
    answer = check_answer(answer, DEFAULT_LIMITS)
    session = session_of(store, tenant, question)
    name = question.id if isinstance(question, Question) else question
    claimed = await _claimed(store, session)
    try:
        records = [r for entry in store.read(session) for r in decode_records(entry.records)]
        kept = _kept_terms(store, decode_header(claimed.header))
        answering = _answering(session, claimed, records, name, answer, world.now(), kept)
        if answering is not None:
            commit, record = answering
            await _committed(store, commit)
            records.append(record)
    finally:
        store.offer(Release(session, claimed.epoch), _nobody_waits)
    found = next((each for each in questions_of(session, records) if each.id == name), None)
    if found is None:
        raise no_question(name)
    return found


def _answering(
    session: SessionId,
    claimed: Claimed,
    records: list[AnyRecord],
    name: str,
    answer: Answer,
    now: int,
    kept: frozenset[Term],
) -> tuple[Commit, Answered] | None:
    """The commit of an answer and its record; None where nobody waits for it."""
    header = decode_header(claimed.header)
    asking = _waiting(records, header)
    mine = asking.get(name)
    if mine is None:
        return None
    turn, question = mine
    if not fits(question.kind, answer):
        raise no_answer(question)
    counts = in_time(question, answer, now)
    record, blobs = answer_record(turn, name, counts, now, DEFAULT_LIMITS)
    left = [one for _, one in asking.values() if one is not question]
    if not left and header.open_turn is None:
        # No turn waits: the message whose turn is next does not wait either any more (R215).
        header = structs.replace(header, parked=None)
    commit = Commit(
        session,
        claimed.epoch,
        claimed.head,
        encode_records([record]),
        encode_header(header),
        blobs=blobs,
        terms=terms_of(session, header, kept, left),
        entry=entry_of(session, record),
    )
    return commit, record


def _waiting(records: list[AnyRecord], header: Header) -> dict[str, tuple[TurnId, Asking]]:
    """What waits for an answer, each with its turn: of the open one, or before the first begins."""
    tally = Tally(records)
    start = tally.open_turn
    if start is None:
        return {one.question.id: (one.turn, one.question) for one in restored(records, header)}
    parked = parked_of(start, tally.since)
    asking = () if parked is None else open_in(parked.asked, parked.answers)
    return {one.id: (start.turn, one) for one in asking}


def _kept_terms(store: Store, header: Header) -> frozenset[Term]:
    """What the session's kept prompt shows, which the index goes on to name."""
    if header.composition is None:
        return frozenset()
    return composition_terms(composition_from(header.composition, store.blob))


async def _claimed(store: Store, session: SessionId) -> Claimed:
    slot: Slot[ClaimVerdict] = Slot()
    store.offer(Claim(session), slot.put)
    verdict = await slot.get_shielded()
    if isinstance(verdict, Failed):
        raise verdict.error
    if not isinstance(verdict, Claimed):
        raise Missing(f"There is no session {session}.", session=str(session))
    return verdict


async def _committed(store: Store, commit: Commit) -> None:
    slot: Slot[CommitVerdict] = Slot()
    store.offer(commit, slot.put)
    verdict = await slot.get_shielded()
    if isinstance(verdict, Failed):
        raise verdict.error
    if not isinstance(verdict, Committed):
        raise SessionLost(f"The session {commit.session} is held by somebody else now.")


def _nobody_waits(verdict: object) -> None:
    """The verdict of a release changes nothing."""
