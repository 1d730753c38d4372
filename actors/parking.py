"""A turn that waits for answers: it asks, parks, and goes on behind them (R160, R161, R224).

What is asked is committed before anybody is told of it, and a parked turn has no task and needs no
place in memory: it is read back from its records like one that never left. It goes on when every
question has its answer, and commits anew to what is in force then; a call that was allowed before
and is refused now is not run (R157).
"""

from typing import TYPE_CHECKING

import trio
from msgspec import structs

from greenroom.actors.asking import answer_record, check_kept
from greenroom.actors.asking_first import settle_first
from greenroom.actors.drafting import draft_again, parting
from greenroom.actors.marks import with_loaded
from greenroom.actors.pending import Obstacle, Sealed
from greenroom.actors.questions import no_answer
from greenroom.actors.round import Round
from greenroom.actors.settling import Ending
from greenroom.actors.terms import terms_with
from greenroom.actors.tools import blobs_of
from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import GreenroomError, SessionLost
from greenroom.protocol.journal import entry_of
from greenroom.protocol.note import approvals_note
from greenroom.protocol.phase import Phase, Step
from greenroom.protocol.question import (
    Answer,
    Asking,
    Question,
    fits,
    in_time,
    settled,
    shown,
)
from greenroom.protocol.record import Answered, AnyRecord, Asked, Resumed
from greenroom.protocol.wording import wording_of

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor
    from greenroom.actors.turn import Turn


async def ask(turn: "Turn", this: Round, asking: tuple[Asking, ...]) -> None:
    """Commit what a round asks, with the results that it has; then the turn parks."""
    actor = turn.actor
    actor.step(Step.ASK)
    ready = this.ready()
    record = Asked(
        actor.services.world.now(),
        turn.number,
        turn.round,
        asking,
        tuple([one.result for one in ready]),
    )
    records: list[AnyRecord] = [record] if this.answer_saved else [this.answer.record, record]
    chunks = [] if this.answer_saved else [this.answer.body]
    chunks += [bytes(one.result.body) for one in ready]
    header = with_loaded(actor, actor.header, record.results)
    header = structs.replace(header, parked=turn.began)
    # All of this stands in the commit, whatever becomes of it: nothing of it is stored twice.
    this.told_so_far(ready)
    turn.asked = record
    await turn.save(
        records,
        actor.conversation.plus(chunks),
        messages=len(chunks),
        header=header,
        blobs=blobs_of(ready),
        terms=terms_with(actor, header, turn.waits_for),
    )


async def go_on(turn: "Turn") -> Ending | None:
    """Go on behind the answers: the grants are used up in the commit before the calls (P133)."""
    actor, this = turn.actor, turn.open
    assert this is not None
    assert turn.asked is not None
    assert turn.start is not None
    given = [(one, turn.answers[one.id]) for one in turn.asked.questions]
    this.allow(given)
    try:
        draft = draft_again(actor, turn.start)
    except GreenroomError as error:
        return Ending("failed", error.sentence, error.code)
    door, now = actor.services.door, actor.services.world.now()
    this.go_on(draft.tickets(this.answer.calls, door), given)
    this.take_answers(actor.id, turn.answers, door)
    wording = wording_of(draft.kept.composition.wording)
    this.notes = (*this.notes, *approvals_note([(q.tool, r.answer) for q, r in given], wording))
    sections = draft.variant.system.sections
    count = actor.header.messages + turn.added - 1 + this.untold
    actor.step(Step.GO_ON)
    header = structs.replace(actor.header, parked=None, gates=draft.in_force.digest)
    record = Resumed(
        now,
        turn.number,
        draft.preset.id,
        this.intents,
        draft.kept.checkpoint(actor.sent, sections, count, now),
        draft.in_force.digest,
    )
    if record.checkpoint is not None:
        told = list(actor.conversation.messages())
        record = structs.replace(record, common=parting(actor, draft.kept, draft.variant, told))
    # Not asked any more, and the checkpoint counts, whatever becomes of the commit: what is not
    # saved is kept, and written before anything else.
    turn.asked, actor.sent = None, sections
    if not await turn.save(
        [record],
        actor.conversation.plus(()),
        messages=0,
        header=header,
        blobs=draft.blobs,
        terms=terms_with(actor, header),
    ):
        return None
    ending = await turn.calls(draft, this)
    if ending is not None or actor.phase is not Phase.MODEL:
        return ending
    return await turn.rounds(draft)


async def settle_question(actor: "SessionActor", name: str, answer: Answer) -> Question | None:
    """Commit the answer of a question, or find the one that it has; None: nothing asks it here.

    It counts from the commit on, and the turn goes on with the last one (R161). One that expired
    is settled by policy, whoever answers it (R223).

    Raises:
        InvalidInput: it is no answer to a question of that kind.
        StoreUnavailable: it was not kept; the question is as open as before.
        SessionLost: somebody else holds the session by now.
    """
    await _nothing_on_its_way(actor)
    turn = actor.turn
    asking = None if turn is None or actor.phase is Phase.CLOSED else expected(turn, name)
    if turn is None or asking is None:
        return await settle_first(actor, name, answer)
    record = turn.answers.get(name)
    if record is None:
        if not fits(asking.kind, answer):
            raise no_answer(asking)
        record = await _answer(turn, asking, answer)
    at = record.at if turn.asked is None else turn.asked.at
    (question,) = shown(actor.id, turn.number, at, [asking])
    return settled(question, record.answer, record.at)


async def _nothing_on_its_way(actor: "SessionActor") -> None:
    """Wait for whatever decides by now what is asked: an answer, or the end of the turn."""
    while True:
        await actor.until_heard()
        if actor.answering is not None:
            await actor.answering.wait()
        elif actor.phase is Phase.SETTLING:
            await actor.services.settled.wait()
        else:
            return


def expected(turn: "Turn", name: str) -> Asking | None:
    """The question of that id that an answer may come for; also before it is asked (R224)."""
    for question in () if turn.asked is None else turn.asked.questions:
        if question.id == name:
            return question
    return None if turn.open is None else turn.open.running(turn.actor.id, name)


async def _answer(turn: "Turn", asking: Asking, answer: Answer) -> Answered:
    services = turn.actor.services
    now = services.world.now()
    record, blobs = answer_record(
        turn.number, asking.id, in_time(asking, answer, now), now, services.limits
    )
    check_kept(await _committed(turn, record, blobs).get_shielded())
    return record


def _committed(turn: "Turn", record: Answered, blobs: dict[str, bytes]) -> Slot[Obstacle | None]:
    """Offer an answer; what it means is true before anybody wakes."""
    actor, slot = turn.actor, Slot[Obstacle | None]()
    coming = trio.Event()
    left = [one for one in turn.waits_for if one.id != record.question]

    def judged(_: Sealed, obstacle: Obstacle | None) -> None:
        actor.answering = None
        coming.set()
        slot.put(obstacle)
        if isinstance(obstacle, SessionLost):
            if not turn.runs:  # else its own next commit finds that out
                actor.lose(obstacle)
            return
        if obstacle is None:
            turn.answers[record.question] = record
            actor.last_active = trio.current_time()
        turn.heard()

    terms = None if turn.asked is None else terms_with(actor, actor.header, left)
    entry = entry_of(actor.id, record)
    actor.commit([record], blobs=blobs, terms=terms, entry=entry, then=judged)
    actor.answering = coming
    return slot
