"""Reading one session: from the store, and from what its actor has not on disk yet.

Nothing is activated and no claim is taken (R219). What is read is frozen data, made anew each time,
so changing it changes nothing (R97, R167).
"""

from collections.abc import Iterator
from typing import Final

import attrs
from msgspec import structs

from greenroom.actors.exporting import check_rests, exported
from greenroom.actors.holds import hold_on, hold_on_stored
from greenroom.actors.services import Services
from greenroom.actors.session import SessionActor
from greenroom.actors.settling import unsaved
from greenroom.protocol.account import outcome_of, turns_of
from greenroom.protocol.composition import Composition
from greenroom.protocol.encoding import decode_header, decode_records
from greenroom.protocol.errors import Missing, SaveFailed, StoreDamaged
from greenroom.protocol.header import Header
from greenroom.protocol.identity import MessageId, SessionId, TurnId
from greenroom.protocol.message import UserMessage
from greenroom.protocol.parked import questions_of
from greenroom.protocol.phase import OPEN_PHASES, Phase
from greenroom.protocol.projection import ProjectionMap
from greenroom.protocol.projector import Projector
from greenroom.protocol.prompt_checkpoint import SystemPromptCheckpoint
from greenroom.protocol.question import Question
from greenroom.protocol.rebuild import (
    SentRequest,
    checkpoints_of,
    composition_from,
    request_at,
    sent_in,
)
from greenroom.protocol.receipt import Cursor, Outcome
from greenroom.protocol.record import AnyRecord, Dispatched, Ended, LegacyContext, Opened
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.protocol.shaping import shaped
from greenroom.protocol.skill import SkillSummary
from greenroom.protocol.state import SessionState, SessionSummary
from greenroom.protocol.summarised import summary_request_at
from greenroom.protocol.titling import TitleRequest, title_request_at
from greenroom.protocol.transcript import TranscriptEntry, originals_of, transcript_of
from greenroom.protocol.turn import TurnRecord
from greenroom.protocol.usage import Usage
from greenroom.store.contract import Stored

END_OF_COMMIT = 1_000_000
"""An index behind every event of a commit: a state's cursor stands after all of it."""


@attrs.frozen(slots=True)
class SessionReader:
    """Reads one session."""

    services: Services
    id: SessionId

    def stored(self) -> Stored:
        """The session as it is stored. Raises :class:`Missing` if there is none."""
        stored = self.services.store.look(self.id)
        if not isinstance(stored, Stored):
            raise Missing(f"There is no session {self.id}.", session=str(self.id))
        return stored

    def header(self) -> Header:
        """The header, as a live actor has it or as it is stored."""
        actor = self._live()
        return actor.header if actor is not None else decode_header(self.stored().header)

    def committed(self) -> list[AnyRecord]:
        """What is on disk."""
        self.stored()
        return self._records_after(0)

    def _records_after(self, number: int) -> list[AnyRecord]:
        entries = self.services.store.read(self.id, after=number)
        return [record for entry in entries for record in decode_records(entry.records)]

    def records(self) -> list[AnyRecord]:
        """What is on disk, and behind it what is not yet (R53, R84)."""
        actor = self._live()
        return [*self.committed(), *(actor.records() if actor is not None else ())]

    def state(self) -> SessionState:
        """The conversation and how the session stands."""
        stored, actor = self.stored(), self._live()
        header = actor.header if actor is not None else decode_header(stored.header)
        entries = originals_of(self.records(), self._blob)
        return SessionState(
            session=self.id,
            agent=header.agent,
            person=header.person,
            preset=header.preset,
            model=header.model,
            phase=_phase(stored, header, actor, self.services),
            messages=tuple([entry.message for entry in entries]),
            written_by_us=tuple([n for n, e in enumerate(entries) if e.origin == "greenroom"]),
            user_messages=sum(isinstance(entry.message, UserMessage) for entry in entries),
            queued=actor.gateway.length if actor is not None else stored.queued,
            running=_running(header, actor),
            has_pending_save=actor is not None and actor.phase is Phase.UNSAVED,
            cursor=Cursor(self.services.store.incarnation, stored.number, END_OF_COMMIT),
            hold=self._hold(header, actor),
            title=header.title,
        )

    def _hold(self, header: Header, actor: SessionActor | None) -> str | None:
        if actor is not None:
            hold = hold_on(actor)
        else:
            hold = hold_on_stored(self.services, self.id, header)
        return None if hold is None else hold.id

    def transcript(self) -> list[TranscriptEntry]:
        """Everything that was said, by origin."""
        return transcript_of(self.records())

    def turns(self) -> Iterator[TurnRecord]:
        """The turns, each with the skills and contributors of its kept prompts (R76, R77)."""
        for turn in turns_of(self.records(), self.header().agent):
            yield shaped(turn, self._composition)

    def _composition(self, digest: str) -> Composition:
        return self.services.kept_prompts.stored(digest, self._blob).composition

    def skills(self) -> Iterator[SkillSummary]:
        """The skills that its agent has and those that its person has, by id."""
        header, workspace = self.header(), self.services.workspace
        for given in workspace.skills_for(self.services.agent(header.agent), header.person):
            yield from given

    def instructions(self) -> str:
        """The project instructions, as they were read when the session was created (R68)."""
        first = self.committed()[0]
        return first.instructions if isinstance(first, Opened) else ""

    def question(self, name: str) -> Question | None:
        """A question of that id, with its answer if it has one (R223)."""
        parked = decode_header(self.stored().header).parked
        # Mostly it is one of the turn that waits: then nothing older has to be read.
        for after in (0,) if parked is None else (parked, 0):
            for each in questions_of(self.id, self._records_after(after)):
                if each.id == name:
                    return each
        return None

    def outcome_now(self, actor: SessionActor, message: MessageId) -> Outcome:
        """The outcome of a message that no turn has and no queue holds.

        Raises:
            SaveFailed: it has one that is not on disk yet (R88).
            Missing: there is no such message.
        """
        committed, pending = self.committed(), actor.records()
        found = outcome_of(committed, message)
        if found is not None:
            return found
        found = outcome_of([*committed, *pending], message)
        for record in pending:
            if isinstance(record, Ended) and found is not None and record.turn == found.turn:
                raise unsaved(SaveFailed("It is kept in memory."), record)
        if actor.phase is Phase.UNSAVED:
            raise SaveFailed(f"What became of the message is not saved yet in {self.id}.")
        raise Missing(f"The session {self.id} has no message {message!r}.", message=message)

    def exported(self) -> Iterator[bytes]:
        """The lines of its export; what is on its way to disk would be missing in it (R191)."""
        actor = self._live()
        if actor is not None:
            check_rests(actor)
        return exported(self.services.store, self.id)

    def request(self, turn: TurnId, round_: int) -> SentRequest:
        """A request, rebuilt (R196)."""
        return request_at(self.committed(), turn, round_, self.services.store.blob, self.id)

    def summary_request(self, compaction: int, call: int) -> SentRequest:
        """A request for a summary, rebuilt (R196)."""
        return summary_request_at(self.committed(), compaction, call, self.services.store.blob)

    def title_request(self, number: int) -> TitleRequest:
        """A request for a title, rebuilt (R196)."""
        return title_request_at(self.committed(), number)

    def contexts(self) -> tuple[RuntimeContextSnapshot, ...]:
        """The runtime context snapshots, version-2 ones among them."""
        found = [
            record.snapshot
            for record in self.records()
            if isinstance(record, Dispatched | LegacyContext)
        ]
        return tuple(snapshot for snapshot in found if snapshot is not None)

    def checkpoints(self) -> tuple[SystemPromptCheckpoint, ...]:
        """The prompt checkpoints."""
        return tuple(checkpoints_of(self.records(), self._blob))

    def projection(self) -> ProjectionMap | None:
        """The map of the last dispatched request, while there is one (R47)."""
        actor = self._live()
        if actor is None or actor.mapped is None:
            return None
        # What could not be written was followed by no request, so it is in no map.
        records = self.committed()
        last = sent_in(records)[-1]
        composition = composition_from(last.composition, self.services.store.blob)
        projector = Projector(composition, composition.model, mapped=True)
        return ProjectionMap(tuple(projector.take(records[: last.index + 1]).sources or ()))

    def _blob(self, digest: str) -> bytes | None:
        """Content by its hash, from the store or from what is not on disk yet."""
        data = self.services.store.blob(digest)
        actor = self._live()
        return actor.pending.blob(digest) if data is None and actor is not None else data

    def _live(self) -> SessionActor | None:
        return self.services.actors.get(self.id)


_UNREADABLE: Final = SessionSummary(
    session=SessionId("", ""),
    agent="",
    person=None,
    preset="",
    model=None,
    phase=Phase.SET_ASIDE.value,
    queued=0,
    turns=0,
    messages=0,
    created=0,
    usage=Usage(),
)


def summary_of(
    stored: Stored, actor: SessionActor | None, services: Services | None = None
) -> SessionSummary:
    """A session in a listing; a header that cannot be read hides no other session (R92).

    Without ``services`` it is not told of a passive session whether it is held.
    """
    try:
        header = actor.header if actor is not None else decode_header(stored.header)
    except StoreDamaged:
        return structs.replace(_UNREADABLE, session=stored.session, queued=stored.queued)
    return SessionSummary(
        session=stored.session,
        agent=header.agent,
        person=header.person,
        preset=header.preset,
        model=header.model,
        phase=_phase(stored, header, actor, services),
        queued=actor.gateway.length if actor is not None else stored.queued,
        turns=header.turns,
        messages=header.messages,
        created=header.created,
        usage=header.usage,
        labels=dict(header.labels),
        title=header.title,
    )


def _running(header: Header, actor: SessionActor | None) -> TurnId | None:
    """The turn that has begun and not ended: that runs, or waits for answers without a task."""
    if actor is not None:
        is_open = actor.phase in OPEN_PHASES and actor.turn is not None
        return actor.turn.number if is_open and actor.turn else None
    return None if header.parked is None else header.open_turn


def _phase(
    stored: Stored, header: Header, actor: SessionActor | None, services: Services | None
) -> str:
    if actor is not None:
        return actor.phase.value
    if header.parked is not None:
        return (Phase.ASKING if header.open_turn is None else Phase.PARKED).value
    if header.open_turn is not None:
        return "interrupted"
    if services is not None and hold_on_stored(services, stored.session, header) is not None:
        return Phase.HELD.value
    return "queued" if stored.queued else "idle"
