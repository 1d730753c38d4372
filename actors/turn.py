"""One turn: draft, dispatch, rounds, settle; each boundary one commit, and effects only after it.

::

    draft      what is sent is known, and that it fits; a refusal ends here, `not sent`
    dispatch   COMMIT message, snapshot, checkpoint, open turn, the request's digest -> the model
    round      COMMIT the response (before tools that write) -> tools -> COMMIT outcomes, steers,
               the next request's digest -> the model
    settle     COMMIT the last response, missing results, the end

A response whose tools only read shares the commit of its outcomes, since nothing outward lies
between them (R83): a turn with one reading tool is three commits.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import trio
from msgspec import structs

from greenroom.actors.conversation import Addition
from greenroom.actors.drafting import Draft, Refusal, draft_of
from greenroom.actors.following import following
from greenroom.actors.gateway import Waiting
from greenroom.actors.model_call import Stream
from greenroom.actors.models.port import ModelResponse
from greenroom.actors.pending import Obstacle, Sealed
from greenroom.actors.response import Answer, answer_of, is_empty
from greenroom.actors.round import Round, context_of_turn
from greenroom.actors.said import pass_on, said_by, sentence_of
from greenroom.actors.settling import (
    Ending,
    Settlement,
    ending_without_answer,
    last_of,
    settled_header,
    settlement,
    unsaved,
)
from greenroom.actors.tool import ToolContext
from greenroom.actors.unsent import not_dispatched, settle_unsent
from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import (
    GreenroomError,
    ModelFailed,
    SaveFailed,
    SessionLost,
)
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.phase import Phase, Step
from greenroom.protocol.receipt import End
from greenroom.protocol.record import (
    AnyRecord,
    Ended,
    Header,
)
from greenroom.protocol.telling import outcome_of_end
from greenroom.protocol.usage import Usage
from greenroom.store.contract import KeyEntry, Known

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

_NO_USAGE = Usage()


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
    _scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    _stop: Ending | None = None
    """Why it was stopped from outside."""
    _open: Round | None = None
    """The answer whose outcomes are not committed yet."""
    _context: ToolContext[Any] | None = None
    _added: int = 0  # conversation messages of this turn that are committed
    _usage: Usage = _NO_USAGE

    # --- what others may ask ------------------------------------------------------------------

    def has(self, message: MessageId) -> bool:
        """Whether the message began this turn or steered into it."""
        return self.entry.submission.message == message or any(
            entry.submission.message == message for entry in self.absorbed
        )

    def stop(self, end: End, reason: str) -> bool:
        """End the turn; False when it is settling already. A later cause changes nothing."""
        if self._stop is not None or self.actor.phase in (Phase.SETTLING, Phase.UNSAVED):
            return False
        self._stop = Ending(end, reason, end)
        self._scope.cancel()
        return True

    def failed(self, error: GreenroomError) -> None:
        """Nothing was accepted: whoever waits for the receipt is told."""
        if self.accepted is not None and not self.accepted.filled:
            self.accepted.fail(error)

    # --- the way of a turn -------------------------------------------------------------------

    async def run(self) -> None:
        """Run the turn to its end; what ended it is in its records."""
        actor, turns = self.actor, self.actor.services.turns
        ending: Ending | None = None
        try:
            with self._scope:
                if not self.has_place:
                    await turns.enter()
                try:
                    ending = await self._go()
                finally:
                    actor.services.waits.over(actor.id)
                    turns.leave()
        except Exception:
            # What fails while it is being cut off does not matter any more.
            if self._stop is None:
                raise
            ending = self._stop
        if self._scope.cancelled_caught:
            ending = self._stop
        if self.stream is not None:
            self.stream.end()
        if ending is None:
            actor.turn_over()
        else:
            self._settle(ending)

    async def _go(self) -> Ending | None:
        """Draft, dispatch and rounds. None: a save failed, and the actor keeps what there is."""
        actor = self.actor
        draft = await draft_of(actor, self.entry, self.number)
        if isinstance(draft, Refusal):
            return Ending(draft.end, draft.reason, draft.code)
        await trio.lowlevel.checkpoint_if_cancelled()
        if not await self._dispatch(draft):
            return None
        stream = self.stream = Stream(actor.services, draft, self.number)
        while True:
            try:
                response = await stream.ask(actor.conversation)
                self._usage += response.usage
                if is_empty(response):
                    return ending_without_answer(response)
                answer = self._answered(response, stream)
            except ModelFailed as error:
                return Ending("failed", sentence_of(error), error.code)
            if not answer.calls:
                return last_of(answer, response)
            ending = await self._round(draft, answer)
            if ending is not None or actor.phase is not Phase.MODEL:
                return ending

    def _answered(self, response: ModelResponse, stream: Stream) -> Answer:
        now, limits = self.actor.services.world.now(), self.actor.services.limits
        return answer_of(response, self.number, self.round, stream.block, now, limits)

    # --- dispatch ----------------------------------------------------------------------------

    async def _dispatch(self, draft: Draft) -> bool:
        """Commit what the first request rests on (R79); False when that failed (R205)."""
        actor = self.actor
        actor.step(Step.DISPATCH)
        header = structs.replace(
            actor.header,
            turns=self.number,
            users=actor.header.users + 1,
            messages=actor.header.messages + 1,
            open_turn=self.number,
            composition=draft.kept.digest,
            with_person=draft.record.with_person,
        )
        error = await self.commit_own([draft.record], header, draft.blobs).get_shielded()
        if error is not None:
            not_dispatched(self, error)
            return False
        actor.conversation = draft.conversation
        actor.conversation.adopt(draft.addition)
        actor.kept, actor.sent = draft.kept, draft.variant.system.sections
        actor.mapped = len(actor.conversation)
        self._added = 1
        actor.step(Step.SAVED)
        if self.accepted is not None:
            self.accepted.put(actor.number)
        return True

    def commit_own(
        self,
        records: list[AnyRecord],
        header: Header,
        blobs: dict[str, bytes] | None = None,
        then: Callable[[Sealed, Obstacle | None], None] | None = None,
    ) -> Slot[Obstacle | None]:
        """Commit with the turn's own message: out of the queue, or accepted right here."""
        entry = self.entry
        consumed: tuple[int, ...] = ()
        if entry.seq is None:
            now = self.actor.services.world.now()
            records.insert(0, entry.acceptance("started", self.number, now))
            if entry.blobs:
                blobs = {**entry.blobs, **(blobs or {})}
        else:
            consumed = (entry.seq,)
        return self.actor.commit(
            records, header, consumed=consumed, keys=entry.keys, blobs=blobs, then=then
        )

    # --- a round of tools --------------------------------------------------------------------

    async def _round(self, draft: Draft, answer: Answer) -> Ending | None:
        """Run the calls of an answer; None when the next request is committed, or a save failed."""
        actor = self.actor
        this = self._open = Round(answer, draft.tickets(answer.calls, actor.services.door))
        intents = this.intents
        if intents:
            actor.step(Step.WRITE)
            record = structs.replace(answer.record, intents=intents)
            this.answer_saved = True
            if not await self._save([record], actor.conversation.plus((answer.body,))):
                return None
        else:
            actor.step(Step.READ)
        try:
            self._context = self._context or await context_of_turn(actor, draft)
        except BaseException as error:  # noqa: BLE001 - the host's own code, whatever it raises
            await pass_on(error)
            return Ending("failed", f"The host's deps failed: {said_by(error)}", "deps_failed")
        await this.run(actor, draft, self._context)
        # A tool may have shielded itself from a cancellation; what waits is not taken after one.
        await trio.lowlevel.checkpoint_if_cancelled()
        return await self._outcomes(draft, this)

    async def _outcomes(self, draft: Draft, this: Round) -> Ending | None:
        """Commit results, steers and the next request's digest; or end where that is due."""
        actor = self.actor
        most = actor.services.limits.steers_max - len(self.absorbed)
        next_ = following(actor, draft, this, self.number, self.round, most)
        if isinstance(next_, Ending):
            return next_
        actor.step(Step.OUTCOMES)
        self.absorbed += next_.steers
        self._open = None
        if await self._save(
            next_.records,
            next_.addition,
            header=next_.header,
            consumed=next_.consumed,
            keys=next_.keys,
            blobs=next_.blobs,
        ):
            self.round += 1
            actor.mapped = len(actor.conversation)
        return None

    async def _save(
        self,
        records: Sequence[AnyRecord],
        addition: Addition,
        *,
        header: Header | None = None,
        consumed: tuple[int, ...] = (),
        keys: tuple[KeyEntry, ...] = (),
        blobs: dict[str, bytes] | None = None,
    ) -> bool:
        """Commit a boundary inside the turn; on failure the turn is settled in memory (R206)."""
        actor = self.actor
        saving = actor.commit(records, header, consumed=consumed, keys=keys, blobs=blobs)
        error = await saving.get_shielded()
        if isinstance(error, SessionLost):
            actor.lose(error, saving.sealed)
            return False
        actor.conversation.adopt(addition)
        self._added += len(addition.chunks)
        if error is None:
            actor.step(Step.SAVED)
            return True
        assert not isinstance(error, Known), "a boundary inside a turn registers no key"
        failure = SaveFailed(
            f"Round {self.round} of turn {self.number} cannot be saved: {error.sentence}",
            turn=self.number,
        )
        failure.__cause__ = error
        end = self._settlement(Ending("save_failed", failure.sentence, failure.code))
        settled = settled_header(saving.sealed.header, end.ended.messages - 1, self._usage)
        behind = actor.seal(end.records, settled, blobs=end.blobs, behind=1)
        actor.conversation.adopt(actor.conversation.plus(end.chunks))
        actor.keep_unsaved(saving.sealed, behind)
        self._reject(failure)
        return False

    # --- settling ----------------------------------------------------------------------------

    def _settle(self, ending: Ending) -> None:
        """Commit the end; whatever it says, every call has a result and the session goes on.

        Nothing of the turn is left to do after this but to tell, so its task ends here, and the
        rest happens where the verdict arrives.
        """
        actor = self.actor
        actor.step(Step.STOP)
        if self.stream is None:
            settle_unsent(self, ending)
            return
        end = self._settlement(ending)
        header = settled_header(actor.header, end.ended.messages - 1, self._usage)
        actor.commit(end.records, header, blobs=end.blobs, then=partial(self._settled, end))

    def _settled(self, end: Settlement, sealed: Sealed, obstacle: Obstacle | None) -> None:
        actor = self.actor
        if isinstance(obstacle, SessionLost):
            actor.lose(obstacle, sealed)
        else:
            actor.conversation.adopt(actor.conversation.plus(end.chunks))
            if obstacle is None:
                actor.step(Step.SAVED)
                self._tell(end.ended)
            else:
                assert not isinstance(obstacle, Known), "the end of a turn registers no key"
                actor.keep_unsaved(sealed)
                self._reject(unsaved(obstacle, end.ended))
        actor.turn_over()

    def _settlement(self, ending: Ending) -> Settlement:
        services = self.actor.services
        return settlement(
            ending,
            self._open,
            services.door,
            services.world.now(),
            self.number,
            self._added,
            self._usage,
        )

    def _tell(self, ended: Ended) -> None:
        """Everybody who waits for a message of this turn gets its outcome."""
        self.actor.outcomes.resolve(self.entry.submission.message, outcome_of_end(ended))
        for entry in self.absorbed:
            self.actor.outcomes.resolve(
                entry.submission.message, outcome_of_end(ended, absorbed=True)
            )

    def _reject(self, error: GreenroomError | ExceptionGroup[GreenroomError]) -> None:
        for entry in (self.entry, *self.absorbed):
            self.actor.outcomes.reject(entry.submission.message, error)
