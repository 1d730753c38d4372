"""What callers hold: a handle to one session, without state; reading wakes nothing (R219)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from greenroom.actors.admission import (
    Admitted,
    accept,
    accept_and_wait,
    admitted,
    checked,
    stored_first,
)
from greenroom.actors.answering import answer_in
from greenroom.actors.border import check_names, check_number, check_title
from greenroom.actors.compacting import compact, recompose
from greenroom.actors.content import Sent
from greenroom.actors.flushing import flush
from greenroom.actors.kept_status import KeptPromptStatus, status_of
from greenroom.actors.listing import Listing
from greenroom.actors.loop import check_loop, checkpoint
from greenroom.actors.own_turn import check_feeds_another, waiting_for
from greenroom.actors.reading import SessionReader
from greenroom.actors.selecting import check_selection
from greenroom.actors.session import SessionActor
from greenroom.actors.settings import dispose, recall, set_model, set_preset, set_title
from greenroom.actors.subscribers import Events
from greenroom.protocol.account import outcome_of, unsent_in
from greenroom.protocol.errors import Missing, Refused
from greenroom.protocol.identity import MessageId, SessionId, TurnId, check_name
from greenroom.protocol.phase import OPEN_PHASES
from greenroom.protocol.projection import ProjectionMap
from greenroom.protocol.prompt_checkpoint import SystemPromptCheckpoint
from greenroom.protocol.question import Answer, Question
from greenroom.protocol.rebuild import SentRequest, submission_of
from greenroom.protocol.receipt import Compaction, Cursor, Outcome, Receipt, When
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.protocol.skill import SkillSummary
from greenroom.protocol.state import SessionState
from greenroom.protocol.titling import TitleRequest
from greenroom.protocol.transcript import TranscriptEntry
from greenroom.protocol.turn import TurnRecord

if TYPE_CHECKING:
    from greenroom.actors.host import Host


class Session:
    """One session of a host, by name. Cheap to make, safe to keep, equal to no other object."""

    __slots__ = ("_host", "_reader", "id")

    def __init__(self, host: "Host", session: SessionId) -> None:
        self._host = host
        self.id = session
        self._reader = SessionReader(host.services, session)

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    # --- saying something ---------------------------------------------------------------------

    async def prompt(
        self,
        content: Sent = "",
        /,
        *,
        skills: Sequence[str] = (),
        when: When = "steer",
        key: str | None = None,
    ) -> Receipt:
        """Send a message; when this returns it is durable, and the receipt says where it stands.

        Args:
            content: what the person typed: a text, or blocks of text and images.
            skills: ids or slugs of skills to invoke with it; ``$slug`` in the text does the same.
            when: in mid-turn, ``steer`` hands plain words to the running turn at its next
                boundary, ``queue`` waits for a turn of its own, ``interrupt`` cancels the running
                turn and is next, ``reject`` refuses unless the session is idle (R178).
            key: an idempotency key: the same key again gives the first receipt (R177).

        Raises:
            Refused: the message cannot be taken; nothing was stored and no key was used up.
            WouldWaitForItself: a tool sends it to the session whose turn it runs in (P157).
            StoreUnavailable: it could not be made durable and was not kept.
        """
        words = checked(content, skills, when, key, self._host.services.limits)
        check_feeds_another(self._host, self.id)
        actor = await self._actor()
        try:
            return await accept(actor, admitted(actor, words))
        except Refused:
            first = stored_first(actor, words)
            if first is None:
                raise
            return first

    async def ask(
        self,
        content: Sent = "",
        /,
        *,
        skills: Sequence[str] = (),
        when: When = "steer",
        key: str | None = None,
    ) -> Outcome:
        """:meth:`prompt` and :meth:`outcome` in one call (R213)."""
        words = checked(content, skills, when, key, self._host.services.limits)
        with waiting_for(self._host, self.id):
            actor = await self._actor()
            try:
                answer = await accept_and_wait(actor, admitted(actor, words))
            except Refused:
                first = stored_first(actor, words)
                if first is None:
                    raise
                answer = first
            return answer if isinstance(answer, Outcome) else await self._outcome(answer.message)

    async def outcome(self, of: Receipt | MessageId, /) -> Outcome:
        """Wait for what becomes of a message: the same answer before and after a restart (R213).

        Raises:
            Missing: the session has no such message.
            SaveFailed: its turn ended and could not be saved; ``flush()`` may. Where the turn had
                failed, a group of that and ``TurnFailed`` (R88).
            HostClosed: the host was closed before it came.
            WouldWaitForItself: a tool asks for an outcome of the session whose turn it runs in,
                or of one that waits for that turn (P157).
        """
        message = _name_of(of)
        found = self._settled(message)
        if found is not None:
            await checkpoint()
            return found
        with waiting_for(self._host, self.id):
            return await self._outcome(message)

    def _settled(self, message: MessageId) -> Outcome | None:
        """The outcome of a message that has one on disk; None while it may come."""
        actor = self._live()
        if actor is not None and actor.expects(message):
            return None
        return outcome_of(self._reader.committed(), message)

    async def _outcome(self, message: MessageId) -> Outcome:
        found = self._settled(message)
        if found is not None:
            return found
        actor = await self._actor()
        if not actor.expects(message):
            return self._reader.outcome_now(actor, message)
        slot = actor.outcomes.wait_for(message)
        try:
            outcome = await slot.get()
        finally:
            if not slot.filled:
                actor.outcomes.forget(message, slot)
        # A key that was used before leads to the message that used it, which has an outcome.
        return outcome if isinstance(outcome, Outcome) else await self._outcome(message)

    async def recall(self, message: Receipt | MessageId, /) -> bool:
        """Take back a message that is still queued; False when it is not (R127)."""
        name = _name_of(message)
        return await recall(await self._actor(), name)

    async def retry(self, message: Receipt | MessageId, /) -> Receipt:
        """Send a message again whose turn ended before its dispatch, under the same id (R81).

        Raises:
            Missing: there is no message of that name that was not sent.
        """
        name = _name_of(message)
        check_feeds_another(self._host, self.id)
        accepted = unsent_in(self._reader.committed(), name)
        actor = await self._actor()
        if accepted is None or actor.expects(name) or actor.gateway.is_coming(name):
            raise Missing(f"The session {self.id} has no message {name!r} that was not sent.")
        submission = structs.replace(submission_of(accepted), key=None)
        return await accept(actor, Admitted(submission, ()))

    async def cancel(self, turn: TurnId | None = None, /) -> bool:
        """End the running turn (or only that one); False when there is none to end (R180)."""
        actor = self._live()
        if actor is None and self._reader.header().parked is not None:
            actor = await self._actor()
        await checkpoint()
        if actor is None or actor.turn is None or actor.phase not in OPEN_PHASES:
            return False
        if turn is not None and actor.turn.number != turn:
            return False
        return actor.turn.stop("cancelled", "Cancelled by the caller.")

    async def answer(self, question: str, answer: Answer, /) -> Question:
        """Answer a question of this session by its id; see ``Scope.answer``.

        A tool whose result comes later may be answered by its ``ToolContext.key``, also before it
        has said so (R224).
        """
        return await answer_in(self._host, self.id, question, answer)

    async def dispose(self, *, discard: bool = False) -> None:
        """Let the session go from memory; what is not on disk is written first (R208).

        Args:
            discard: give up what cannot be written; what it was is logged.

        Raises:
            Busy: a turn runs, a message waits, or somebody waits for a parked turn.
            PendingSave: something could not be written, and was not to be discarded.
        """
        actor = self._live()
        if actor is not None:
            await dispose(actor, discard=discard)
            self._host.passivate(actor)

    async def flush(self) -> None:
        """Write what could not be written; no tool and no model is called again (R85)."""
        self._host.check_open()
        actor = self._live()
        if actor is not None:
            await flush(actor)

    # --- settings ----------------------------------------------------------------------------

    async def set_permission_preset(self, preset: str, /, *, by: str | None = None) -> None:
        """Put another preset in force, from the next turn on: committed first (R8).

        Raises:
            UnknownPreset: there is none of that name; the message names the choices.
            Busy, PendingSave: the session is not idle; nothing changed (R9).
        """
        services = self._host.services
        check_names(services.limits, preset=preset, name_of_who_sets_it=by)
        services.workspace.presets.get(preset)
        await set_preset(await self._actor(), preset, by)

    async def set_model(self, model: str, /, *, by: str | None = None) -> None:
        """Choose another model of the host; the next turn composes for it (R59).

        Raises:
            UnknownModel: there is none of that name; the message names the choices.
            Busy, PendingSave: the session is not idle; nothing changed (R9).
        """
        services = self._host.services
        check_names(services.limits, model=model, name_of_who_sets_it=by)
        services.model(model)
        await set_model(await self._actor(), model, by)

    async def set_title(self, title: str | None, /, *, by: str | None = None) -> None:
        """Give the session a title; None gives it back: the host makes one, if it makes any.

        A person's title is never overwritten by one that is made. It may be given while a turn
        runs; with a save pending it becomes durable with that (R91, R96).

        Raises:
            InvalidInput, TooLarge: it is no title: one line of text that is not blank.
            Held: a hold keeps the session still.
            StoreFailed: it could not be written; the former title stays.
        """
        limits = self._host.services.limits
        check_names(limits, name_of_who_sets_it=by)
        check_title(title, limits)
        await set_title(await self._actor(), title, by)

    async def compact(self) -> Compaction:
        """Put a summary in place of all but the newest turns, under a prompt composed anew (R108).

        What is stored stays as it is; only what is sent from now on is shorter. A conversation too
        short for it is composed anew, and the answer says so (R111). It is done before a turn by
        itself where the window fills; see ``Policy.compact_at``.

        Raises:
            Busy, PendingSave: the session is not idle; nothing changed (R9).
            ModelFailed, OverBudget, OverQuota: no summary came that serves; nothing changed.
            SaveFailed: it could not be written; ``flush()`` writes it (R110).
        """
        return await compact(await self._actor())

    async def recompose(self) -> bool:
        """Compose the kept prompt anew now, from what the workspace holds (R60, R111).

        Returns:
            Whether that made another prompt.

        Raises:
            Busy, PendingSave: the session is not idle; nothing changed (R9).
            SaveFailed: it could not be written; ``flush()`` writes it.
        """
        return await recompose(await self._actor())

    async def validate_skill_selection(self, skills: Sequence[str], /) -> None:
        """Check a selection: sources are read, no model is called and nothing is written (R28).

        Raises:
            InvalidInput, SkillNotGiven, SkillUnavailable, TooLarge: what sending it would say.
        """
        await check_selection(self._host.services, self._reader.header(), skills)

    async def kept_prompt_status(self) -> KeptPromptStatus:
        """Whether the kept prompt is current or behind, and what moved since (R67)."""
        reader = self._reader
        services, instructions = self._host.services, reader.instructions()
        return await status_of(services, self.id, reader.header(), instructions)

    # --- reading ------------------------------------------------------------------------------

    def events(self, *, after: Cursor | None = None) -> Events:
        """Everything the session tells after ``after`` (None: from its beginning), and on.

        Numbered events come once, in order, each after its commit; the words of a running answer
        come as ``TextDelta`` from where the reader stands (R186, R221). Ends when the host closes.

        Raises:
            Rewound: the cursor is of another incarnation of the store.
        """
        return self._host.events(self.id, after)

    async def state(self) -> SessionState:
        """The conversation and how the session stands."""
        await checkpoint()
        return self._reader.state()

    def transcript(self) -> Listing[TranscriptEntry]:
        """Everything that was said, by origin, with picks and marks (R98)."""
        return Listing(self._reader.transcript)

    def turns(self) -> Listing[TurnRecord]:
        """What shaped each turn, at its versions, and how it ended (R76, R77)."""
        return Listing(self._reader.turns)

    def skills(self) -> Listing[SkillSummary]:
        """What may be picked in it now, the bound ones first: for a picker (R20, R99)."""
        return Listing(self._reader.skills)

    async def request(self, turn: TurnId, /, *, round: int = -1) -> SentRequest:  # noqa: A002
        """A request that was sent, rebuilt from the store to the byte (R196)."""
        check_number(turn, "turn")
        check_number(round, "round")
        await checkpoint()
        return self._reader.request(turn, round)

    async def summary_request(self, compaction: int = -1, /, *, call: int = -1) -> SentRequest:
        """A request for a summary, rebuilt to the byte (R196); -1: of the last compaction.

        Its ``round`` is the number of the call: one a piece, and more where it was asked again.
        """
        await checkpoint()
        return self._reader.summary_request(compaction, call)

    async def title_request(self, number: int = -1, /) -> TitleRequest:
        """A request for a title, rebuilt to the byte (R196); -1: the last."""
        check_number(number, "number of the request")
        await checkpoint()
        return self._reader.title_request(number)

    async def get_runtime_contexts(self) -> tuple[RuntimeContextSnapshot, ...]:
        """The snapshots, those that are not on disk yet among them (R53)."""
        await checkpoint()
        return self._reader.contexts()

    async def get_system_prompt_checkpoints(self) -> tuple[SystemPromptCheckpoint, ...]:
        """The prompt checkpoints, those that are not on disk yet among them (R75)."""
        await checkpoint()
        return self._reader.checkpoints()

    async def model_input_projection(self) -> ProjectionMap | None:
        """Where each message of the last dispatched request came from (R45); None before one."""
        await checkpoint()
        return self._reader.projection()

    def export(self) -> Listing[bytes]:
        """All of the session as lines of JSON, for ``Scope.import_session`` (R191).

        ``greenroom.protocol.requests_in`` rebuilds from them alone what was sent (P145).

        Raises, when they are read:
            Busy, PendingSave: it is not between two turns, or a message is queued.
        """
        return Listing(self._reader.exported)

    # --- inside -------------------------------------------------------------------------------

    def _live(self) -> SessionActor | None:
        check_loop()
        return self._host.live(self.id)

    async def _actor(self) -> SessionActor:
        return self._live() or await self._host.activate(self.id)

    async def delete(self) -> None:
        """Remove the session and all that only it holds (R192)."""
        await self._host.delete(self.id)


def _name_of(message: Receipt | MessageId) -> MessageId:
    return check_name(message.message if isinstance(message, Receipt) else message, "message id")
