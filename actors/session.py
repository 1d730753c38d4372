"""The session actor: it alone owns kept prompt, pending saves and gateway; one turn at a time.

Other tasks reach it only through its methods, and none of those awaits between reading and changing
(R167). A task exists while a turn runs; an idle session has none. What a verdict of the store means
is applied in the store's own callback, before anybody who waits for it wakes.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Unpack

import attrs
import trio

from greenroom.actors.charging import close_bill
from greenroom.actors.conversation import Conversation
from greenroom.actors.due import Told
from greenroom.actors.gateway import Gateway, Waiting
from greenroom.actors.holds import held_error, keeps_still, may_rest_still
from greenroom.actors.kept_prompt import Kept
from greenroom.actors.outcomes import Outcomes
from greenroom.actors.pending import (
    Behind,
    Change,
    Held,
    Obstacle,
    Pending,
    Saving,
    Sealed,
    read_back,
)
from greenroom.actors.said import said_by
from greenroom.actors.services import Services
from greenroom.actors.turn import Turn
from greenroom.actors.waits import RUNNING, Running
from greenroom.protocol.encoding import encode_header, encode_records
from greenroom.protocol.errors import (
    Busy,
    PendingSave,
    SessionFailed,
    SessionLost,
    StoreUnavailable,
)
from greenroom.protocol.grant import Grant
from greenroom.protocol.header import Header
from greenroom.protocol.identity import MessageId, SessionId
from greenroom.protocol.phase import BUSY, SAVING_PHASES, TABLE, Phase, Step, after
from greenroom.protocol.prompt_checkpoint import NamedSections
from greenroom.protocol.quota import Charge
from greenroom.protocol.record import AnyRecord
from greenroom.store.contract import Commit, Committed, CommitVerdict, Failed, Gone, Known


@attrs.define(eq=False, slots=True)
class SessionActor:
    """One live session. Everything here is changed by its own methods and its turn only."""

    services: Services
    id: SessionId
    epoch: int
    head: int
    number: int
    """The session's last commit; what a cursor stands at."""
    header: Header
    instructions: str
    conversation: Conversation
    gateway: Gateway
    kept: Kept | None = None
    sent: NamedSections | None = None
    """The sections of the last dispatched system string (R70)."""
    pending: Pending = attrs.field(factory=Pending)
    phase: Phase = Phase.IDLE
    turn: Turn | None = None
    outcomes: Outcomes = attrs.field(factory=Outcomes)
    mapped: int | None = None
    """How many messages the last dispatched request had; None while the map is undefined (R47)."""
    told: Told = attrs.field(factory=Told)
    grants: tuple[Grant, ...] = ()
    """What the last turn left granted, as far as the one that runs has not used it (P139)."""
    last_active: float = attrs.field(factory=trio.current_time)
    compaction: trio.CancelScope | None = None
    """What an idle session is compacted in; cancelled when the host stops or it is deleted."""
    answering: trio.Event | None = None
    """Set when the answer of a question that is on its way has arrived: one at a time."""
    flushing: trio.Event | None = None
    """Set when what is being written of what is kept has been written, or could not be."""
    _saving: bool = False
    """A commit is on its way: at most one of a session is."""
    _behind: list[Behind] = attrs.field(factory=list)

    # --- phase -------------------------------------------------------------------------------

    def step(self, step: Step) -> None:
        """Take a step of the phase table."""
        try:
            self.phase = TABLE[self.phase][step]
        except KeyError:
            after(self.phase, step)

    @property
    def is_quiet(self) -> bool:
        """C8's idle: no turn, nothing queued or on its way, nothing unsaved."""
        return self.phase is Phase.IDLE and self.gateway.is_empty and not self.pending

    @property
    def may_rest(self) -> bool:
        """Whether it can be read back as it is: nothing runs or is on its way (R184).

        A parked turn, and what is queued behind it, are in the store; who waits for its outcome
        does so here.
        """
        if self.phase in (Phase.HELD, Phase.ASKING):
            return may_rest_still(self)
        if self.phase is not Phase.PARKED:
            return self.is_quiet
        if self.turn is None or self.turn.runs or self._saving or self.answering is not None:
            return False
        return self.gateway.is_stored and not self.outcomes.are_awaited

    def why_busy(self) -> str:
        """What keeps the session from being quiet, in words (R9)."""
        return BUSY.get(self.phase, "a message is queued")

    # --- sealing and saving ------------------------------------------------------------------

    def seal(
        self,
        records: Sequence[AnyRecord],
        header: Header | None = None,
        *,
        behind: int = 0,
        **held: Unpack[Held],
    ) -> Sealed:
        """One boundary as one commit; ``behind`` counts sealed commits that come before it."""
        commit = Commit(
            self.id,
            self.epoch,
            self.head + behind,
            encode_records(records),
            None if header is None else encode_header(header),
            **held,
        )
        before = self.pending.last.header if behind and self.pending else self.header
        return Sealed(commit, tuple(records), header or before)

    def commit(
        self,
        records: Sequence[AnyRecord],
        header: Header | None = None,
        *,
        then: Callable[[Sealed, Obstacle | None], None] | None = None,
        **held: Unpack[Held],
    ) -> Saving:
        """Seal one boundary and offer it, behind whatever of this session is on its way (R91).

        Wait for it with ``get_shielded``, since once offered the verdict decides what is true; or
        give ``then``, which is called in the store's callback, where waiting costs a turn.
        """
        saving = Saving(then)
        if self._saving:
            self._behind.append(Behind(saving, partial(self.seal, records, **held), header))
        else:
            saving.sealed = self.seal(records, header, **held)
            self._offer(saving)
        return saving

    def commit_beside(self, change: Change, charges: tuple[Charge, ...] = ()) -> Saving:
        """Commit what is of no turn, and may come between two commits of one (R91).

        What waits behind it is written with the change, though it was made without; and if it
        cannot be written, nothing is lost by going on without it.
        """
        boundary = Behind(Saving(None, change), partial(self._changed, change, charges), None)
        if self._saving:
            self._behind.append(boundary)
        else:
            self._offer(boundary.seal())
        return boundary.saving

    def _changed(self, change: Change, charges: tuple[Charge, ...], _: Header | None) -> Sealed:
        record, header = change(self.header)
        return self.seal([record], header, charges=charges)

    def join(
        self,
        records: Sequence[AnyRecord],
        header: Header | None = None,
        **held: Unpack[Held],
    ) -> None:
        """Keep it behind what is not on disk yet, to be written with that (R91)."""
        # The first of that may be on disk by now, while its flush has not heard of it.
        behind = self.pending.last.commit.expect_head + 1 - self.head
        self.keep_unsaved(self.seal(records, header, behind=behind, **held))

    def save(self, sealed: Sealed) -> Saving:
        """Offer a commit that was sealed before: again, and unchanged."""
        saving = Saving(None)
        saving.sealed = sealed
        self._offer(saving)
        return saving

    def _offer(self, saving: Saving) -> None:
        self._saving = True
        self.services.store.offer(saving.sealed.commit, partial(self._judged, saving))

    def _judged(self, saving: Saving, verdict: CommitVerdict) -> None:
        """The store's callback: what the verdict means is true before anybody wakes."""
        if type(verdict) is Committed:
            self._written(saving.sealed, verdict)
            obstacle = None
        else:
            obstacle = self._obstacle(saving.sealed, verdict)
        if obstacle is None and saving.change is not None:
            for boundary in self._behind:
                boundary.changed(saving.change)
        try:
            saving.fill(obstacle)
        except Exception as error:  # noqa: BLE001 - it must not end the host's loop
            self.fail(error)
        # Until here it counts as on its way: what the verdict leads to stands behind what waits.
        self._saving = False
        if self._behind:
            self._pass_on(None if saving.change is not None else obstacle)

    def _pass_on(self, obstacle: Obstacle | None) -> None:
        """Offer what waited; but nothing is committed before what could not be written (R91)."""
        if obstacle is None or isinstance(obstacle, Known):
            self._offer(self._behind.pop(0).seal())
            return
        behind, self._behind = self._behind, []
        for boundary in behind:
            # Sealed all the same: a turn's boundary is kept, and flushed at this head.
            boundary.seal().fill(StoreUnavailable("What came before it could not be saved."))

    def _obstacle(self, sealed: Sealed, verdict: CommitVerdict) -> Obstacle | None:
        """What kept a commit from being written; None if it turns out that it was."""
        if isinstance(verdict, Failed):
            verdict = read_back(self.services.store, sealed, verdict, self.number)
        if isinstance(verdict, Committed):
            self._written(sealed, verdict)
            return None
        if isinstance(verdict, Failed):
            return verdict.error
        if isinstance(verdict, Known):
            return verdict
        how = "was deleted" if isinstance(verdict, Gone) else "is held by somebody else now"
        return SessionLost(f"The session {self.id} {how}.", session=str(self.id))

    def _written(self, sealed: Sealed, verdict: Committed) -> None:
        self.head = verdict.head
        self.number = max(self.number, verdict.number)
        self.header = sealed.header
        if self.turn is not None and self.turn.stream is not None:
            self.turn.stream.committed(sealed.records)
        self.services.published(self.id, verdict.number, sealed.records)

    def lose(self, error: SessionLost, *sealed: Sealed) -> None:
        """Give up: the session belongs to somebody else now, or is gone (R207).

        What is lost is what was pending, and ``sealed``, which was just refused.
        """
        pending = self.pending.drop()
        lost = (*pending, *(one for one in sealed if all(one is not kept for kept in pending)))
        error.facts["lost"] = [type(r).__name__ for one in lost for r in one.records]
        self._close()
        self.outcomes.reject_all(error)

    def _close(self) -> None:
        """Nothing leads on from here; the next message activates the session anew."""
        if self.phase is not Phase.CLOSED:
            self.step(Step.CLOSE)
        if self.services.actors.get(self.id) is self:
            del self.services.actors[self.id]

    def keep_unsaved(self, *sealed: Sealed) -> None:
        """Commits that could not be written are kept, in order, and only flush leads on (R84)."""
        for one in sealed:
            self.pending.keep(one)
        self.step(Step.SAVE_FAILED)

    # --- turns -------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Start the next turn if a message waits and none is open; or the one that is answered."""
        if self.services.closing or keeps_still(self):
            return
        if self.phase is Phase.PARKED:
            self._resume()
        elif self.phase is Phase.IDLE and (entry := self.gateway.take_prompt()):
            self.begin(entry)

    def _resume(self) -> None:
        turn = self.turn
        assert turn is not None, "a parked turn is not there"
        if turn.runs or turn.waits_for:
            return
        turn.resume(has_place=self.services.turns.enter_nowait())
        self.services.nursery.start_soon(self._run, turn)

    def begin(self, entry: Waiting) -> Turn:
        """Start a turn for a message that was taken: the one path of every start."""
        self.step(Step.TAKE)
        may_run = self.services.turns.enter_nowait()
        turn = self.turn = Turn(self, entry, self.header.turns + 1, may_run)
        self.services.nursery.start_soon(self._run, turn)
        return turn

    async def _run(self, turn: Turn) -> None:
        """Run a turn until its end is offered; whatever fails is this session's alone (R168)."""
        RUNNING.set(Running(self.services.waits, self.id, turn.number))
        try:
            await turn.run()
        except Exception as error:  # noqa: BLE001 - it is this session's, and nobody else's
            self.fail(error)
        finally:
            close_bill(turn)

    def turn_over(self) -> None:
        """The turn is settled, or kept unsaved: the next may begin."""
        turn, self.turn = self.turn, None
        self.last_active = trio.current_time()
        self.services.settled.ring()
        self.go_on()
        if turn is not None:
            self.services.titles.turn_over(self, turn)

    def turn_parked(self) -> None:
        """The turn waits for answers, and nothing of it runs (R161)."""
        self.last_active = trio.current_time()
        self.services.settled.ring()
        self.go_on()

    def fail(self, error: Exception) -> None:
        """A defect of ours ended the actor: its waiters are told, what was committed stands."""
        self.pending.drop()
        self._close()
        failure = SessionFailed(
            f"The session {self.id} failed: {said_by(error)}", session=str(self.id)
        )
        failure.__cause__ = error
        self._give_up(failure)
        if self.services.failed is not None:
            self.services.failed(self.id)

    def leave(self, what: str = "The host stopped") -> None:
        """The host ended, or lets the session go: whoever still waits is told so (R87)."""
        sentence = f"{what} before this message of {self.id} had its outcome."
        self._give_up(SessionFailed(sentence, session=str(self.id)))

    def _give_up(self, failure: SessionFailed) -> None:
        if self.turn is not None:
            self.turn.failed(failure)
            self.turn = None
        self.outcomes.reject_all(failure)
        self.services.settled.ring()

    # --- what is asked of it ------------------------------------------------------------------

    def check_quiet(self) -> None:
        """Raise what R9 and R86 say unless the session is idle."""
        if self.phase is Phase.UNSAVED:
            raise PendingSave(f"The session {self.id} has something that is not on disk yet.")
        if self.phase is Phase.HELD:
            raise held_error(self)
        if not self.is_quiet:
            raise Busy(f"The session {self.id} is busy: {self.why_busy()}.", reason=self.why_busy())

    @property
    def is_saving(self) -> bool:
        """A commit of it is on its way to disk."""
        return self._saving

    async def until_heard(self) -> None:
        """Wait where the turn has not heard yet of its commit: if it failed, it is kept (R91)."""
        while self.phase in SAVING_PHASES and not self._saving:
            await trio.lowlevel.checkpoint()

    def expects(self, message: MessageId) -> bool:
        """Whether the message waits or is in the running turn, so that its outcome will come."""
        if self.gateway.holds(message):
            return True
        return self.turn is not None and self.turn.has(message)

    def records(self) -> list[AnyRecord]:
        """What is not on disk yet, as it would be read back (R53, R84)."""
        return list(self.pending.records())
