"""One turn: draft, dispatch, rounds, settle; each boundary one commit, and effects only after it.

::

    draft      what is sent is known, and that it fits; a refusal ends here, `not sent`
    dispatch   COMMIT message, snapshot, checkpoint, open turn, the request's digest -> the model
    round      COMMIT the response (before tools that write) -> tools -> COMMIT outcomes, steers,
               the next request's digest -> the model
    settle     COMMIT the last response, missing results, the end

A response whose tools all only read shares the commit of its outcomes: nothing outward lies
between them (R83). A turn with one reading tool is three commits.
"""

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec
import trio
from msgspec import structs

from greenroom.actors.conversation import Addition
from greenroom.actors.drafting import Draft, Refusal, draft_of
from greenroom.actors.gateway import Waiting
from greenroom.actors.models.port import ModelResponse
from greenroom.actors.response import Answer, answer_of, is_empty
from greenroom.actors.subscribers import LiveText
from greenroom.actors.surroundings import TurnSurroundings
from greenroom.actors.tool import ToolContext
from greenroom.actors.tools import Finished, Ticket, context_of
from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import (
    GreenroomError,
    ModelFailed,
    SaveFailed,
    SessionLost,
    StoreFailed,
    StoreUnavailable,
    TurnFailed,
)
from greenroom.protocol.identity import MessageId, TurnId, made_valid
from greenroom.protocol.phase import Phase, Step
from greenroom.protocol.receipt import End
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    CallResult,
    Dispatched,
    Ended,
    Header,
    NotSent,
    Responded,
    Returned,
    Steer,
)
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.telling import outcome_of_end
from greenroom.protocol.account import outcome_of_refusal
from greenroom.protocol.turn import CallState
from greenroom.protocol.usage import Usage

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

NOT_RUN: Final = "Not run: the turn ended before this call began."
UNKNOWN: Final = "Interrupted: this call was running when the turn ended; it may have happened."
_NO_USAGE: Final = Usage()


@attrs.frozen(slots=True)
class Ending:
    """How a turn is to end, decided before it is settled."""

    end: End
    reason: str = ""
    code: str = ""
    answer: Answer | None = None
    """A last answer that is not committed yet."""


@attrs.define(eq=False, slots=True)
class Turn:
    """A turn in progress; it belongs to its actor and changes nothing of any other."""

    actor: "SessionActor"
    entry: Waiting
    number: TurnId = 0
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    accepted: Slot[Any] | None = None
    """Filled when the message is durable, for a message that its own turn accepts."""
    draft: Draft | None = None
    """Set once the turn is dispatched."""
    round: int = 0
    block: int = -1
    absorbed: list[Waiting] = attrs.field(factory=list)
    usage: Usage = _NO_USAGE
    added: int = 0
    """Conversation messages of this turn, committed or about to be."""
    _stop: Ending | None = None
    _answer: Answer | None = None
    """The answer whose calls have no committed results yet."""
    _answer_saved: bool = False
    _results: dict[str, Finished] = attrs.field(factory=dict)
    _started: set[str] = attrs.field(factory=set)
    _live: LiveText | None = None
    _context: ToolContext[Any] | None = None

    # --- what others may ask ------------------------------------------------------------------

    def has(self, message: MessageId) -> bool:
        """Whether the message began this turn or steered into it."""
        return self.entry.submission.message == message or any(
            entry.submission.message == message for entry in self.absorbed
        )

    def stop(self, end: End, reason: str) -> bool:
        """Cancel the turn; False when it is settling already. A later cause changes nothing."""
        if self._stop is not None or self.actor.phase in (Phase.SETTLING, Phase.UNSAVED):
            return False
        self._stop = Ending(end, reason, end)
        self.scope.cancel()
        return True

    def failed(self, error: GreenroomError) -> None:
        """The actor failed: whoever waits for the receipt is told."""
        if self.accepted is not None and not self.accepted.filled:
            self.accepted.fail(error)

    # --- the way of a turn -------------------------------------------------------------------

    async def run(self) -> None:
        """Run the turn to its end; what ends it is in its records."""
        actor = self.actor
        self.number = actor.header.turns + 1
        turns = actor.services.turns
        ending: Ending | None = None
        with self.scope:
            await turns.enter()
            try:
                ending = await self._go()
            finally:
                turns.leave()
        if self.scope.cancelled_caught:
            ending = self._stop or Ending("interrupted", "The host stopped.", "interrupted")
        self._drop_live()
        if ending is not None:
            await self._settle(ending)

    async def _go(self) -> Ending | None:
        """Draft, dispatch and rounds. None: a save failed, and the actor keeps what there is."""
        draft = await draft_of(self.actor, self.entry, self.number)
        if isinstance(draft, Refusal):
            return Ending(draft.end, draft.reason, draft.code)
        if not await self._dispatch(draft):
            return None
        while True:
            try:
                response = await self._ask(draft)
                self.usage += response.usage
                if is_empty(response):
                    return Ending("empty", "The model answered nothing.", "empty")
                answer = self._answered(response)
            except ModelFailed as error:
                return Ending("failed", error.sentence, error.code)
            if not answer.calls:
                return self._final(answer, response)
            ending = await self._round(draft, answer)
            if ending is not None or self.actor.phase is not Phase.MODEL:
                return ending

    # --- dispatch ----------------------------------------------------------------------------

    async def _dispatch(self, draft: Draft) -> bool:
        """Commit what the first request rests on (R79); False when that failed (R205)."""
        actor, entry = self.actor, self.entry
        actor.step(Step.DISPATCH)
        header = actor.header
        renewed = structs.replace(
            header,
            turns=self.number,
            users=header.users + 1,
            messages=header.messages + 1,
            open_turn=self.number,
            composition=draft.kept.digest,
            with_person=draft.record.with_person,
        )
        records: list[AnyRecord] = [draft.record]
        if entry.seq is None:
            records.insert(0, self._acceptance())
        _, error = await actor.commit(
            records,
            renewed,
            consumed=() if entry.seq is None else (entry.seq,),
            keys=entry.keys,
            blobs=draft.blobs,
        )
        if error is not None:
            self._not_dispatched(error)
            return False
        actor.conversation = draft.conversation
        actor.conversation.adopt(draft.addition)
        actor.kept, actor.sent = draft.kept, draft.variant.system.sections
        actor.mapped = len(actor.conversation)
        self.draft, self.added = draft, 1
        actor.step(Step.SAVED)
        self._fill_accepted()
        return True

    def _acceptance(self) -> Accepted:
        submission = self.entry.submission
        return Accepted(
            self.actor.services.world.now(),
            submission.message,
            msgspec.Raw(submission.body),
            "started",
            0,
            self.number,
            submission.picks,
            submission.by,
            submission.person,
            submission.key,
            submission.waits,
        )

    def _fill_accepted(self) -> None:
        if self.accepted is not None and not self.accepted.filled:
            self.accepted.put(self.number)

    def _not_dispatched(self, error: StoreFailed | SessionLost) -> None:
        """Nothing was accepted and no model called: a queued message stays first (R205)."""
        actor, entry = self.actor, self.entry
        if isinstance(error, SessionLost):
            self.failed(error)
            actor.lose(error)
            return
        if entry.seq is None:
            refusal = StoreUnavailable(f"The message was not kept: {error.sentence}")
            self.failed(refusal)
            actor.reject(entry.submission.message, refusal)
        else:
            actor.gateway.put_back([entry])
        actor.keep_unsaved()

    # --- the model ---------------------------------------------------------------------------

    async def _ask(self, draft: Draft) -> ModelResponse:
        """Hand the committed request to the model port; its text goes to the readers as it comes."""
        actor = self.actor
        kept = draft.kept.composition
        request = ModelRequest(
            kept.model,
            draft.variant.system.text,
            kept.tools,
            actor.conversation.messages(),
            kept.parameters,
        )
        self.restart()
        try:
            return await draft.model.respond(request, draft.info, self)
        except ModelFailed:
            raise
        except Exception as error:
            said = made_valid(f"{type(error).__name__}: {error}"[:2_000])[0]
            raise ModelFailed(f"The model {kept.model} failed: {said}.") from error

    def text(self, piece: str) -> None:
        """The model port's sink: words of the answer as they come (R221)."""
        live = self._live
        if live is not None:
            live.add(piece if piece.isascii() else made_valid(piece)[0])

    def restart(self) -> None:
        """The model port's sink: the answer starts anew, as another block."""
        self.block += 1
        shared = self.actor.services.subscribers.get(self.actor.id)
        live = self._live = LiveText(self.number, self.block, None if shared is None else shared.bell)
        if shared is not None:
            shared.live = live

    @property
    def live(self) -> LiveText | None:
        """The text in progress, for a reader who joins."""
        return self._live

    def _drop_live(self) -> None:
        self._live = None
        shared = self.actor.services.subscribers.get(self.actor.id)
        if shared is not None:
            shared.live = None

    def _answered(self, response: ModelResponse) -> Answer:
        services = self.actor.services
        return answer_of(
            response,
            self.number,
            self.round,
            self.block,
            services.world.now(),
            services.limits,
        )

    def _final(self, answer: Answer, response: ModelResponse) -> Ending:
        if response.finish == "filter":
            return Ending("refused", "The provider withheld the answer.", "filtered", answer)
        reason = "The answer was cut at its longest length." if response.finish == "length" else ""
        return Ending("done", reason, "", answer)

    # --- a round of tools --------------------------------------------------------------------

    async def _round(self, draft: Draft, answer: Answer) -> Ending | None:
        """Run the calls of an answer; None when the next request is committed (or a save failed)."""
        actor = self.actor
        self._answer, self._answer_saved = answer, False
        self._results.clear()
        self._started.clear()
        tickets = [
            actor.services.door.decide(call, draft.box, draft.preset) for call in answer.calls
        ]
        intents = tuple(ticket.call.id for ticket in tickets if ticket.writes)
        if intents:
            actor.step(Step.WRITE)
            record = structs.replace(answer.record, intents=intents)
            if not await self._save([record], adopt=(answer.body,)):
                return None
            self._answer_saved = True
        else:
            actor.step(Step.READ)
        await self._run_tools(tickets)
        return await self._outcomes(draft, answer)

    async def _run_tools(self, tickets: Sequence[Ticket]) -> None:
        """Run what may run, at once where there are several; each call gets its one result."""
        running = []
        door = self.actor.services.door
        for ticket in tickets:
            if ticket.may_run:
                running.append(ticket)
            else:
                call = ticket.call.id
                self._results[call] = door.finished(call, ticket.reason, "refused")
        if len(running) == 1:
            await self._run_tool(running[0])
        elif running:
            async with trio.open_nursery() as nursery:
                for ticket in running:
                    nursery.start_soon(self._run_tool, ticket)

    async def _run_tool(self, ticket: Ticket) -> None:
        assert self.draft is not None
        context = self._context
        if context is None:
            context = self._context = await self._made_context(self.draft)
        call = ticket.call.id
        self._started.add(call)
        around = TurnSurroundings(self.actor, self.draft)
        self._results[call] = await self.actor.services.door.run(
            ticket, context_of(call, context, around)
        )

    async def _made_context(self, draft: Draft) -> ToolContext[Any]:
        services, actor = self.actor.services, self.actor
        deps = None if services.deps is None else services.deps(draft.info)
        if isinstance(deps, Awaitable):
            deps = await deps
        return ToolContext(
            session=actor.id,
            person=self.entry.submission.person,
            turn=self.number,
            call="",
            deps=deps,
            folder=services.workspace.files_root,
        )

    async def _outcomes(self, draft: Draft, answer: Answer) -> Ending | None:
        """Commit results, steers and the next request's digest; or end where that is due."""
        actor, limits = self.actor, self.actor.services.limits
        if self.round + 1 >= limits.rounds_max:
            reason = f"The turn called the model {self.round + 1} times, its bound."
            return Ending("failed", reason, "rounds")
        finished = [self._results[call.id] for call in answer.calls]
        steers = actor.gateway.take_steers(limits.steers_max - len(self.absorbed))
        chunks = [bytes(one.result.body) for one in finished]
        chunks += [entry.submission.body for entry in steers]
        if not self._answer_saved:
            chunks.insert(0, answer.body)
        addition = actor.conversation.plus(chunks)
        if not draft.fits(addition):
            actor.gateway.put_back(steers)
            return Ending("context_full", draft.spent(actor, addition), "over_budget")
        actor.step(Step.OUTCOMES)
        users = actor.header.users
        record = Returned(
            actor.services.world.now(),
            self.number,
            self.round,
            tuple([one.result for one in finished]),
            addition.digest.of(draft.variant.frame),
            tuple(
                [
                    Steer(entry.submission.message, users + place)
                    for place, entry in enumerate(steers)
                ]
            ),
        )
        self.absorbed += steers
        if not await self._save_outcomes(record, answer, steers, addition, finished):
            return None
        self._answer = None
        self.round += 1
        actor.mapped = len(actor.conversation)
        return None

    async def _save_outcomes(
        self,
        record: Returned,
        answer: Answer,
        steers: Sequence[Waiting],
        addition: Addition,
        finished: Sequence[Finished],
    ) -> bool:
        actor = self.actor
        records: list[AnyRecord] = [record] if self._answer_saved else [answer.record, record]
        header = None
        if steers:
            counted = len(addition.chunks)
            header = structs.replace(
                actor.header,
                users=actor.header.users + len(steers),
                messages=actor.header.messages + counted,
            )
            records[0:0] = [
                _acceptance_of(entry, self.number, record.at)
                for entry in steers
                if entry.seq is None
            ]
        blobs = {
            one.result.object: one.blob
            for one in finished
            if one.blob is not None and one.result.object is not None
        }
        self._answer_saved = True
        return await self._save(
            records,
            adopt=addition.chunks,
            header=header,
            consumed=tuple([entry.seq for entry in steers if entry.seq is not None]),
            blobs=blobs,
            answered=True,
        )

    async def _save(
        self,
        records: Sequence[AnyRecord],
        *,
        adopt: Sequence[bytes],
        header: Header | None = None,
        consumed: tuple[int, ...] = (),
        blobs: dict[str, bytes] | None = None,
        answered: bool = False,
    ) -> bool:
        """Commit a boundary inside the turn; on failure the turn is settled in memory (R206)."""
        actor = self.actor
        sealed, error = await actor.commit(records, header, consumed=consumed, blobs=blobs)
        actor.conversation.adopt(actor.conversation.plus(adopt))
        self.added += len(adopt)
        if error is None:
            actor.step(Step.SAVED)
            return True
        if isinstance(error, SessionLost):
            actor.lose(error)
            return False
        if answered:
            self._answer = None
        failure = SaveFailed(
            f"Round {self.round} of turn {self.number} cannot be saved: {error.sentence}",
            turn=self.number,
        )
        failure.__cause__ = error
        ended, chunks = self._end_records(Ending("save_failed", failure.sentence, failure.code))
        base = sealed.header
        header = self._settled_header(base, len(chunks))
        behind = actor.seal(ended, header, behind=1)
        actor.conversation.adopt(actor.conversation.plus(chunks))
        actor.keep_unsaved(sealed, behind)
        self._reject(failure)
        return False

    # --- settling ----------------------------------------------------------------------------

    async def _settle(self, ending: Ending) -> None:
        """Commit the end; whatever it says, every call has a result and the session goes on."""
        actor = self.actor
        actor.step(Step.STOP)
        if self.draft is None:
            await self._settle_unsent(ending)
            return
        records, chunks = self._end_records(ending)
        header = self._settled_header(actor.header, len(chunks))
        sealed, error = await actor.commit(records, header)
        actor.conversation.adopt(actor.conversation.plus(chunks))
        ended = records[-1]
        assert isinstance(ended, Ended)
        if error is None:
            actor.step(Step.SAVED)
            self._tell(ended)
        elif isinstance(error, SessionLost):
            actor.lose(error)
        else:
            actor.keep_unsaved(sealed)
            self._reject(_unsaved(error, ended))

    def _end_records(self, ending: Ending) -> tuple[list[AnyRecord], list[bytes]]:
        """The records that end a dispatched turn, and the messages that they add."""
        records: list[AnyRecord] = []
        chunks: list[bytes] = []
        results: tuple[CallResult, ...] = ()
        answer = ending.answer
        if self._answer is not None:
            answer = self._answer
            results = tuple([self._result_of(call.id) for call in answer.calls])
        if answer is not None and not (answer is self._answer and self._answer_saved):
            records.append(answer.record)
            chunks.append(answer.body)
        chunks += [bytes(result.body) for result in results]
        text = answer.text if answer is not None and not answer.calls else ""
        records.append(
            Ended(
                self.actor.services.world.now(),
                self.number,
                ending.end,
                ending.reason,
                ending.code,
                results,
                text,
                self.added + len(chunks),
                self.usage,
            )
        )
        return records, chunks

    def _result_of(self, call: str) -> CallResult:
        """The result a call has, or the one that greenroom writes for it (R90, R175)."""
        finished = self._results.get(call)
        if finished is not None:
            return finished.result
        unknown = call in self._started
        text, state = (UNKNOWN, "unknown") if unknown else (NOT_RUN, "not_run")
        typed: CallState = "unknown" if state == "unknown" else "not_run"
        return self.actor.services.door.finished(call, text, typed).result

    def _settled_header(self, header: Header, messages: int) -> Header:
        return structs.replace(
            header,
            open_turn=None,
            messages=header.messages + messages,
            usage=header.usage + self.usage,
        )

    async def _settle_unsent(self, ending: Ending) -> None:
        """The turn ends before its dispatch: only the submission is kept, marked so (R80, R81)."""
        actor, entry = self.actor, self.entry
        end: End = "cancelled" if ending.end == "cancelled" else "not_sent"
        record = NotSent(
            actor.services.world.now(),
            self.number,
            entry.submission.message,
            end,
            ending.reason,
            ending.code,
        )
        records: list[AnyRecord] = (
            [record] if entry.seq is not None else [self._acceptance(), record]
        )
        header = structs.replace(actor.header, turns=self.number)
        _, error = await actor.commit(
            records,
            header,
            consumed=() if entry.seq is None else (entry.seq,),
            keys=entry.keys,
        )
        if error is not None:
            self._not_dispatched(error)
            return
        actor.step(Step.SAVED)
        self._fill_accepted()
        actor.resolve(entry.submission.message, outcome_of_refusal(record))

    def _tell(self, ended: Ended) -> None:
        """Everybody who waits for a message of this turn gets its outcome."""
        self.actor.resolve(self.entry.submission.message, outcome_of_end(ended))
        for entry in self.absorbed:
            self.actor.resolve(entry.submission.message, outcome_of_end(ended, absorbed=True))

    def _reject(self, error: GreenroomError | BaseExceptionGroup) -> None:
        for entry in (self.entry, *self.absorbed):
            self.actor.reject(entry.submission.message, error)


def _acceptance_of(entry: Waiting, turn: TurnId, at: int) -> Accepted:
    """A steer of a memory-only queue becomes durable with the round that takes it (R93)."""
    submission = entry.submission
    return Accepted(
        at,
        submission.message,
        msgspec.Raw(submission.body),
        "steered",
        0,
        turn,
        submission.picks,
        submission.by,
        submission.person,
        submission.key,
    )


def _unsaved(error: StoreFailed, ended: Ended) -> GreenroomError | BaseExceptionGroup:
    """A turn that failed and could not be saved raises both (R88)."""
    failure = SaveFailed(
        f"The end of turn {ended.turn} cannot be saved: {error.sentence}", turn=ended.turn
    )
    failure.__cause__ = error
    if ended.end in ("done", "empty"):
        return failure
    both = [TurnFailed(f"Turn {ended.turn} ended {ended.end}: {ended.reason}", end=ended.end)]
    return ExceptionGroup("The turn failed and could not be saved.", [*both, failure])
