"""One turn: draft, dispatch, rounds, settle; each boundary one commit, and effects only after it.

::

    draft      what is sent is known, that it fits, and that it is paid for, behind a COMMIT of its
               own where room had to be made; a refusal ends here, `not sent`
    dispatch   COMMIT message, snapshot, checkpoint, open turn, the request's digest -> the model
    round      COMMIT the response (before tools that write) -> tools -> COMMIT outcomes, steers,
               the next request's digest -> the model
    park       COMMIT what is asked, instead of the outcomes; with the answers the round goes on
    settle     COMMIT the last response, missing results, the end

A response whose tools only read shares the commit of its outcomes, since nothing outward lies
between them (R83): a turn with one reading tool is three commits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

import attrs
import trio
from msgspec import structs

from greenroom.actors.charging import charges_of, reserve
from greenroom.actors.context import context_of
from greenroom.actors.conversation import Addition
from greenroom.actors.dispatching import dispatch
from greenroom.actors.drafting import Draft, Refusal
from greenroom.actors.ended import save_failed, settle
from greenroom.actors.following import following
from greenroom.actors.gateway import Waiting
from greenroom.actors.holds import hold_on
from greenroom.actors.making_room import drafted, relieved
from greenroom.actors.model_call import Stream
from greenroom.actors.models.port import ModelResponse
from greenroom.actors.parking import ask, go_on
from greenroom.actors.pending import Held, Obstacle, Sealed
from greenroom.actors.quotas import Bill, Reservation
from greenroom.actors.response import Reply, answer_of, is_empty
from greenroom.actors.round import Round
from greenroom.actors.said import pass_on, said_by, sentence_of
from greenroom.actors.settling import Ending, ending_without_answer, last_of
from greenroom.actors.tool import ToolContext
from greenroom.actors.unsent import settle_unsent
from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import GreenroomError, ModelFailed, SessionLost
from greenroom.protocol.header import Header
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.phase import Phase, Step
from greenroom.protocol.question import Asking
from greenroom.protocol.receipt import End
from greenroom.protocol.record import Answered, AnyRecord, Asked, Dispatched
from greenroom.protocol.record_parts import SummaryCall
from greenroom.protocol.refusal import OverQuota, QuotaFailed
from greenroom.protocol.usage import Usage
from greenroom.protocol.wording import wording_of
from greenroom.store.contract import Known

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

_NO_USAGE = Usage()
_NO_BLOBS: Final[Mapping[str, bytes]] = {}


@attrs.define(eq=False, slots=True)
class Turn:
    """A turn in progress; it belongs to its actor and changes nothing of any other."""

    actor: "SessionActor"
    entry: Waiting
    number: TurnId
    has_place: bool
    """It may run at once; else it waits for a place among the running turns (R185)."""
    accepted: Slot[int | Known] | None = None
    """Gets the commit that made the message durable, if its own turn accepts it; or the one by
    which its key was used before."""
    round: int = 0
    stream: Stream | None = None
    """Set once the turn is dispatched."""
    absorbed: list[Waiting] = attrs.field(factory=list)
    start: Dispatched | None = None
    """Its dispatch, once that is committed."""
    began: int = 0
    """The session's last commit before the dispatch: what a parked turn is read back from."""
    open: Round | None = None
    """The answer whose outcomes are not committed yet."""
    asked: Asked | None = None
    """What the round asked when it parked."""
    answers: dict[str, Answered] = attrs.field(factory=dict)
    """What was answered, by question; also before it was asked (R224)."""
    added: int = 0
    """Conversation messages of this turn that are committed."""
    usage: Usage = _NO_USAGE
    """Of its model calls, but for what ``relief`` has."""
    relief: Usage = _NO_USAGE
    """Of its compactions: the header counts it with each of them (R190)."""
    reliefs: int = 0
    """How often it was tried to make room for it."""
    summaries: tuple[SummaryCall, ...] = ()
    """What was asked for that in vain."""
    ahead: int = 0
    """Tokens of the conversation before it; 0 once that was compacted."""
    context: ToolContext[Any] | None = None
    """What its tools are given, once one of them was called."""
    bill: Bill | None = None
    """What it is charged with, while it runs; None: its tenant has no quota."""
    reserved: Reservation | None = None
    """The worst case of its next request, or of the one that is out."""
    _scope: trio.CancelScope | None = attrs.field(factory=trio.CancelScope)
    """None while the turn is parked: nothing of it runs."""
    _stop: Ending | None = None
    """Why it was stopped from outside."""

    # --- what others may ask ------------------------------------------------------------------

    def has(self, message: MessageId) -> bool:
        """Whether the message began this turn or steered into it."""
        return self.entry.submission.message == message or any(
            entry.submission.message == message for entry in self.absorbed
        )

    @property
    def runs(self) -> bool:
        """Whether a task runs for it, or is about to."""
        return self._scope is not None

    @property
    def waits_for(self) -> tuple[Asking, ...]:
        """The questions that are open; none once the turn may go on."""
        asked = () if self.asked is None else self.asked.questions
        return tuple([one for one in asked if one.id not in self.answers])

    def stop(self, end: End, reason: str) -> bool:
        """End the turn; False when it is settling already. A later cause changes nothing."""
        if self._stop is not None or self.actor.phase in (Phase.SETTLING, Phase.UNSAVED):
            return False
        if self._scope is None and end == "interrupted":
            return False  # a parked turn outlives its host (R174)
        self._stop = Ending(end, reason, end)
        if self._scope is None:
            self._end_parked()
        else:
            self._scope.cancel()
        return True

    def _end_parked(self) -> None:
        """End a parked turn that was stopped; an answer that is on its way comes first (R160)."""
        if self._stop is not None and self.actor.answering is None:
            settle(self, self._stop)

    def heard(self) -> None:
        """The answer of a question was committed, or could not be."""
        if self._scope is None and self._stop is not None:
            self._end_parked()
        else:
            self.actor.go_on()

    def failed(self, error: GreenroomError) -> None:
        """Nothing was accepted: whoever waits for the receipt is told."""
        if self.accepted is not None and not self.accepted.filled:
            self.accepted.fail(error)

    # --- the way of a turn -------------------------------------------------------------------

    def park(self) -> None:
        """Nothing of it runs until its questions are answered."""
        self._scope = self.context = self._stop = None

    def resume(self, *, has_place: bool) -> None:
        """A parked turn has its answers: a task may run it again."""
        self.has_place = has_place
        self._scope = trio.CancelScope()

    async def run(self) -> None:
        """Run the turn until it ends or parks; what ended it is in its records."""
        actor, scope = self.actor, self._scope
        assert scope is not None
        ending: Ending | None = None
        try:
            with scope:
                ending = await self._in_its_place()
        except Exception:
            # What fails while it is being cut off does not matter any more.
            if self._stop is None:
                raise
            ending = self._stop
        if scope.cancelled_caught:
            ending = self._stop
        if self.stream is not None:
            self.stream.end()
        while actor.answering is not None:
            # What is answered by then stands, whatever ends the turn.
            await actor.answering.wait()
        if actor.phase is Phase.PARKED:
            self._rest(ending or self._stop)
        elif ending is None:
            actor.turn_over()
        elif self.stream is None:
            actor.step(Step.STOP)
            settle_unsent(self, ending)
        else:
            settle(self, ending)

    async def _in_its_place(self) -> Ending | None:
        turns = self.actor.services.turns
        if not self.has_place:
            await turns.enter()
        try:
            return await (self._go() if self.asked is None else go_on(self))
        finally:
            self.actor.services.waits.over(self.actor.id)
            turns.leave()

    def _rest(self, ending: Ending | None) -> None:
        """Park; or end, where that was asked for while the questions were on their way to disk."""
        if ending is not None and ending.end != "interrupted":
            settle(self, ending)
        else:
            self.park()
            self.actor.turn_parked()

    async def _go(self) -> Ending | None:
        """Draft, dispatch and rounds. None: a save failed, and the actor keeps what there is."""
        actor = self.actor
        if self.entry.seq is not None and hold_on(actor, self.entry.submission.picks):
            # It waited for its place and nothing of it has begun: it waits on, in the queue.
            return Ending("interrupted", "The session is held.", "held")
        draft = await drafted(self)
        if draft is None:
            return None
        if isinstance(draft, Refusal):
            if draft.end == "interrupted":
                # Who cancelled it while it asked something takes back what was asked.
                await trio.lowlevel.checkpoint_if_cancelled()
            return Ending(draft.end, draft.reason, draft.code)
        await trio.lowlevel.checkpoint_if_cancelled()
        if refused := reserve(self, draft, draft.addition, turns=1):
            return Ending("not_sent", refused.sentence, refused.code)
        if not await dispatch(self, draft):
            return None
        self.stream = Stream(actor.services, actor.id, self.number)
        return await self.rounds(draft)

    async def rounds(self, draft: Draft) -> Ending | None:
        """Ask the model and run what it calls, until it calls nothing; None: see :meth:`_go`."""
        actor, stream = self.actor, self.stream
        assert stream is not None
        while True:
            if self.round:
                with_room = await relieved(self, draft)
                if not isinstance(with_room, Draft):
                    return with_room
                draft = with_room
            try:
                response = await stream.ask(draft, actor.conversation, self.reserved)
                self.usage += response.usage
                if is_empty(response):
                    return ending_without_answer(response)
                answer = self._answered(response, stream)
            except (ModelFailed, OverQuota, QuotaFailed) as error:
                return Ending("failed", sentence_of(error), error.code)
            if not answer.calls:
                return last_of(answer, response)
            ending = await self._round(draft, answer)
            if ending is not None or actor.phase is not Phase.MODEL:
                return ending

    def _answered(self, response: ModelResponse, stream: Stream) -> Reply:
        now, limits = self.actor.services.world.now(), self.actor.services.limits
        return answer_of(response, self.number, self.round, stream.block, now, limits)

    def commit_own(
        self,
        records: list[AnyRecord],
        header: Header,
        blobs: Mapping[str, bytes] = _NO_BLOBS,
        then: Callable[[Sealed, Obstacle | None], None] | None = None,
        terms: frozenset[tuple[str, str]] | None = None,
    ) -> Slot[Obstacle | None]:
        """Commit with the turn's own message: out of the queue, or accepted right here."""
        entry = self.entry
        consumed: tuple[int, ...] = ()
        if entry.seq is None:
            now = self.actor.services.world.now()
            records.insert(0, entry.acceptance("started", self.number, now))
            if entry.blobs:
                blobs = {**entry.blobs, **blobs}
        else:
            consumed = (entry.seq,)
        return self.actor.commit(
            records,
            header,
            consumed=consumed,
            keys=entry.keys,
            blobs=blobs,
            terms=terms,
            charges=charges_of(self),
            then=then,
        )

    # --- a round of tools --------------------------------------------------------------------

    async def _round(self, draft: Draft, answer: Reply) -> Ending | None:
        """Run the calls of an answer; None when the next request is committed, or a save failed."""
        actor = self.actor
        this = self.open = Round(answer, draft.tickets(answer.calls, actor.services.door))
        if actor.grants:
            wording = wording_of(draft.kept.composition.wording)
            actor.grants = this.use(actor.grants, wording)
        intents = this.intents
        if intents or this.uses:
            actor.step(Step.WRITE)
            record = structs.replace(answer.record, intents=intents, granted=this.uses)
            this.answer_saved = True
            if not await self.save([record], actor.conversation.plus((answer.body,)), messages=1):
                return None
        else:
            actor.step(Step.READ)
        return await self.calls(draft, this)

    async def calls(self, draft: Draft, this: Round) -> Ending | None:
        """Run the calls of a round that may run; then ask about the others, or commit it all."""
        try:
            context = self.context or await context_of(self.actor, draft.info)
        except BaseException as error:  # noqa: BLE001 - the host's own code, whatever it raises
            await pass_on(error)
            return Ending("failed", f"The host's deps failed: {said_by(error)}", "deps_failed")
        await this.run(self.actor, draft, context)
        # A tool may have shielded itself from a cancellation; what waits is not taken after one.
        await trio.lowlevel.checkpoint_if_cancelled()
        while self.actor.answering is not None:
            # Nothing is asked that is being answered already (R224).
            await self.actor.answering.wait()
        if asking := this.asking(self.actor, self.answers):
            await ask(self, this, asking)
            return None
        return await self._outcomes(draft, this)

    async def _outcomes(self, draft: Draft, this: Round) -> Ending | None:
        """Commit results, steers and the next request's digest; or end where that is due."""
        actor = self.actor
        most = actor.services.limits.steers_max - len(self.absorbed)
        next_ = following(actor, draft, this, self.number, self.round, most)
        if isinstance(next_, Ending):
            return next_
        if next_.is_asked and (refused := reserve(self, draft, next_.addition)):
            actor.gateway.put_back(next_.steers)
            return Ending("failed", refused.sentence, refused.code)
        actor.step(Step.OUTCOMES)
        self.absorbed += next_.steers
        self.open = None
        if await self.save(
            next_.records,
            next_.addition,
            messages=next_.messages,
            header=next_.header,
            consumed=next_.consumed,
            keys=next_.keys,
            blobs=next_.blobs,
            terms=next_.terms,
        ):
            self.round += 1
            actor.mapped = len(actor.conversation)
        return None

    async def save(
        self,
        records: Sequence[AnyRecord],
        addition: Addition,
        *,
        messages: int,
        header: Header | None = None,
        **held: Unpack[Held],
    ) -> bool:
        """Commit a boundary inside the turn; on failure the turn is settled in memory (R206).

        ``messages`` counts those of the conversation in ``addition``: notes are none.
        """
        actor = self.actor
        held["charges"] = charges_of(self)
        saving = actor.commit(records, header, **held)
        error = await saving.get_shielded()
        if isinstance(error, SessionLost):
            actor.lose(error, saving.sealed)
            return False
        actor.conversation.adopt(addition)
        self.added += messages
        if error is None:
            actor.step(Step.SAVED)
            return True
        assert not isinstance(error, Known), "a boundary inside a turn registers no key"
        save_failed(self, saving.sealed, error)
        return False
