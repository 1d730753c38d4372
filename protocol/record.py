"""What is stored: one tagged union. Records are appended, never changed.

A commit holds a run of records of one session. Conversation messages stand in them as the bytes
that were sent (``msgspec.Raw``), so a message is encoded once in its life. Events, transcript,
turn records and the conversation itself are all read from these; nothing is stored twice.

Times are milliseconds since 1970 (UTC) and order nothing: order is the store's (P042).
"""

from typing import TypeAlias

import msgspec

from greenroom.protocol.command import By, Pick
from greenroom.protocol.identity import CallId, MessageId, TurnId
from greenroom.protocol.left_out import LeftOut
from greenroom.protocol.prompt_checkpoint import KeptCheckpoint
from greenroom.protocol.question import Answer, Asking
from greenroom.protocol.receipt import End, ReceiptStatus
from greenroom.protocol.record_parts import (
    CallResult,
    GrantUse,
    PlatformNote,
    ProviderId,
    Record,
    Steer,
    SummaryCall,
)
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.protocol.turn import Cause, SkillUse
from greenroom.protocol.usage import Usage

FORMAT_VERSION = 1
"""In every envelope; a store with a higher one is refused by name, never as damage (R240)."""

PROJECT_INSTRUCTIONS = "project-instructions"


class Opened(Record, tag="opened", frozen=True):
    """The first record of a session: whose it is, and what was read once for it (R68)."""

    at: int
    agent: str
    person: str | None
    preset: str
    instructions: str = ""
    """Project instruction files, as they were read when the session was created (R68)."""


class Accepted(Record, tag="accepted", frozen=True):
    """A message became durable: exactly what was typed, with its picks beside it (R22, R177)."""

    at: int
    message: MessageId
    body: msgspec.Raw
    """The user message as encoded JSON; unexpanded, it is sent as it stands here."""
    status: ReceiptStatus
    position: int
    turn: TurnId | None
    picks: tuple[Pick, ...] = ()
    by: By = "person"
    person: str | None = None
    key: str | None = None
    waits: bool = False
    """It is to have a turn of its own (R119)."""
    stops: TurnId | None = None
    """The turn that it interrupts: that one ends, whatever becomes of the host meanwhile (R178)."""


class Recalled(Record, tag="recalled", frozen=True):
    """A queued message was taken back (R127)."""

    at: int
    message: MessageId
    by: str | None = None
    withdrawn: tuple[str, ...] = ()
    """Questions that nobody answers any more: it waited for them (R215)."""


class Dispatched(Record, tag="dispatched", frozen=True):
    """A turn began: its message got its ordinal, and the first request may be sent (R79, R83)."""

    at: int
    turn: TurnId
    message: MessageId
    ordinal: int
    attempt: int
    model: str
    preset: str
    composition: str
    """Digest of the kept composition, a blob of the store."""
    request: str
    """Digest of the request that follows this commit (R196)."""
    snapshot: RuntimeContextSnapshot | None = None
    checkpoint: KeptCheckpoint | None = None
    skills: tuple[SkillUse, ...] = ()
    with_person: bool = False
    """Whether the person's part of the kept prompt is sent (R57, R137)."""
    notes: tuple[PlatformNote, ...] = ()
    """What the platform says before the message (R151)."""
    gates: str = ""
    """Digest of what the turn committed to, a blob of the store; empty where the preset alone
    decides (R77, R155)."""
    withdrawn: tuple[str, ...] = ()
    """Revisions of skills that are shown as withdrawn from this request on (R159)."""
    left_out: tuple[LeftOut, ...] = ()
    """Notes that were due and are not told, since they came to more than their budget (R103)."""
    common: int | None = None
    """Bytes that the request has in common with the session's last one, where it does not begin
    with all of that, and a compaction is not why (P083)."""


class EagerAsked(Record, tag="eager_asked", frozen=True):
    """An eager run waits for its approval; what began the conversation is queued still (R215)."""

    at: int
    turn: TurnId
    """The one that the message is to have."""
    message: MessageId
    """The message that began the conversation: recalling it withdraws the question."""
    contributor: str
    """``id@version``."""
    question: Asking


class EagerBegun(Record, tag="eager_begun", frozen=True):
    """An eager run that writes, or that was approved, is about to start (R146, R161).

    After a crash it may have happened.
    """

    at: int
    contributor: str
    call: CallId


class EagerRan(Record, tag="eager_ran", frozen=True):
    """An eager run has its outcome, once for the conversation, whatever comes of its prompt."""

    at: int
    contributor: str
    """``id@version``."""
    tool: str
    body: msgspec.Raw
    """The call, as the assistant message that stands in the opening."""
    result: CallResult
    left_out: str = ""
    """Why it is not sent: its result is over its budget; with the figures (R103)."""


class NotSent(Record, tag="not_sent", frozen=True):
    """A message's turn ended before dispatch; the submission stays, marked so (R81)."""

    at: int
    turn: TurnId
    message: MessageId
    end: End
    reason: str
    code: str
    withdrawn: tuple[str, ...] = ()
    """As in :class:`Recalled`: its turn was cancelled while they were put."""


class Responded(Record, tag="responded", frozen=True):
    """A model's whole answer, before any tool of it starts (R83, R172)."""

    at: int
    turn: TurnId
    round: int
    block: int
    """The number under which its text was streamed (R221)."""
    body: msgspec.Raw
    """The assistant message as encoded JSON."""
    usage: Usage = Usage()
    intents: tuple[CallId, ...] = ()
    """Calls of tools that write: after a crash these may have happened (R172)."""
    provider_ids: tuple[ProviderId, ...] = ()
    mended: bool = False
    """The text held what cannot be stored, and was made valid (R194)."""
    cause: Cause = "turn"
    granted: tuple[GrantUse, ...] = ()
    """Grants that are used up with this, before any of these calls starts (R161, P139)."""


class Returned(Record, tag="returned", frozen=True):
    """The outcomes of a round, the steers it took, and the digest of the request that follows."""

    at: int
    turn: TurnId
    round: int
    results: tuple[CallResult, ...]
    request: str
    """Empty where it does not fit: a compaction follows, or the turn ends (R105)."""
    steers: tuple[Steer, ...] = ()
    notes: tuple[PlatformNote, ...] = ()
    """What the platform says behind the results, in front of the steers (R151)."""


class Asked(Record, tag="asked", frozen=True):
    """A round waits: its turn is parked until every question has an answer (R160, R224).

    A round may park more than once: a call that was approved may bring its result later.
    """

    at: int
    turn: TurnId
    round: int
    questions: tuple[Asking, ...]
    results: tuple[CallResult, ...] = ()
    """Of the calls of the round that needed no answer."""


class Answered(Record, tag="answered", frozen=True):
    """A question has its one answer, with who gave it and why (R161, R223)."""

    at: int
    turn: TurnId
    question: str
    answer: Answer
    object: str | None = None
    """Digest of the whole of a result of which the answer has only the head (R193)."""


class Resumed(Record, tag="resumed", frozen=True):
    """A parked turn goes on: its grants are used up, and it committed anew (R157, R161).

    Only its end may say that a call certainly never began, and leave what it was granted (P139).
    """

    at: int
    turn: TurnId
    preset: str
    intents: tuple[CallId, ...] = ()
    """Approved calls of tools that write: after a crash these may have happened (P133)."""
    checkpoint: KeptCheckpoint | None = None
    gates: str = ""
    """As in :class:`Dispatched`: what it committed to anew."""
    common: int | None = None
    """As in :class:`Dispatched`: of the request that follows."""


class Compacted(Record, tag="compacted", frozen=True):
    """A summary stands for the conversation before a user message, under a new composition (R108).

    Nothing that it stands for is changed or moved: ordinals, anchors and counts stay.
    """

    at: int
    before: int
    """Ordinal of the user message that stands first behind the summary; it may be one to come."""
    composition: str
    """Digest of the composition that was made with it, a blob of the store."""
    model: str
    calls: tuple[SummaryCall, ...]
    """Piece by piece, where the part did not fit one request (R210); the last has the summary."""
    changed: tuple[str, ...] = ()
    """The sections that the composition says otherwise than the one before it (R107)."""
    removed: tuple[str, ...] = ()
    turn: TurnId | None = None
    """The turn inside of which it was made, or for whose dispatch."""
    request: str = ""
    """Digest of the turn's request that follows at once, in place of the one that did not fit."""
    checkpoint: KeptCheckpoint | None = None
    """From the last dispatched system string to that of ``calls``, and of ``request`` (R70)."""
    withdrawn: tuple[str, ...] = ()
    """As in :class:`Dispatched`: what is summarised does not show them either (R159)."""

    @property
    def summary(self) -> str:
        """What stands for the part, without its frame (R106)."""
        return self.calls[-1].summary

    @property
    def usage(self) -> Usage:
        """Of all its calls."""
        return sum([call.usage for call in self.calls], Usage())


class Recomposed(Record, tag="recomposed", frozen=True):
    """The kept prompt was composed anew, and nothing else (R111)."""

    at: int
    composition: str
    """Digest of it, a blob of the store."""
    model: str


class Ended(Record, tag="ended", frozen=True):
    """How a turn ended, and the results that greenroom wrote for calls without one (R175)."""

    at: int
    turn: TurnId
    end: End
    reason: str = ""
    code: str = ""
    results: tuple[CallResult, ...] = ()
    text: str = ""
    messages: int = 0
    usage: Usage = Usage()
    withdrawn: tuple[str, ...] = ()
    """Questions that nobody answers any more (R160)."""
    summaries: tuple[SummaryCall, ...] = ()
    """Calls for a summary that came to nothing: they are in ``usage`` (R190)."""
    unused: tuple[str, ...] = ()
    """Questions that were answered with yes and whose calls never began: what they grant is good
    in the next turn (P139)."""


class PresetChanged(Record, tag="preset", frozen=True):
    """A permission preset became effective (R8)."""

    at: int
    preset: str
    before: str
    by: str | None = None


class ModelChanged(Record, tag="model", frozen=True):
    """Another model was chosen; the next turn composes for it (R59)."""

    at: int
    model: str
    before: str
    by: str | None = None


class TitleMade(Record, tag="title_made", frozen=True):
    """A model was asked for a title of what was typed, and answered or failed to (R95, R190)."""

    at: int
    model: str
    wording: str
    request: str
    """The request's digest (R196)."""
    messages: int
    """Of how many it was made, the first with words; ``size`` is the bound on those in bytes."""
    size: int
    usage: Usage = Usage()
    title: str = ""
    """What was taken of it, and is the title from here on; empty: nothing."""


class TitleSet(Record, tag="title_set", frozen=True):
    """A person's title; or none, so that one is made (R96)."""

    at: int
    title: str | None
    by: str | None = None


class Imported(Record, tag="imported", frozen=True):
    """A message of a history that came from elsewhere: carried as it is (R48)."""

    at: int
    body: msgspec.Raw
    ordinal: int | None = None


class LegacyContext(Record, tag="legacy_context", frozen=True):
    """A version-2 snapshot: never rewritten (R44)."""

    snapshot: RuntimeContextSnapshot


class Deleted(Record, tag="deleted", frozen=True):
    """The session is gone; only this stays, so that readers of the feed learn of it (R192)."""

    at: int
    by: str | None = None


AnyRecord: TypeAlias = (
    Opened
    | Accepted
    | Recalled
    | EagerAsked
    | EagerBegun
    | EagerRan
    | Dispatched
    | NotSent
    | Responded
    | Returned
    | Asked
    | Answered
    | Resumed
    | Compacted
    | Recomposed
    | Ended
    | PresetChanged
    | ModelChanged
    | TitleMade
    | TitleSet
    | Imported
    | LegacyContext
    | Deleted
)
