"""What a session tells: numbered events, each from a committed record, and live text apart.

Events are never stored: they are read from records, so an event exists exactly when its commit
does, in the store's order, for any reader from any cursor on (R186). ``TextDelta`` is live and has
no number; a reader always gets a delta that begins where he stands (R221).
"""

from typing import TypeAlias

import msgspec

from greenroom.protocol.command import By, Pick
from greenroom.protocol.identity import CallId, MessageId, SessionId, TurnId
from greenroom.protocol.message import Content
from greenroom.protocol.question import Question, Settlement
from greenroom.protocol.receipt import Cursor, Outcome
from greenroom.protocol.turn import CallState, SkillUse
from greenroom.protocol.usage import Usage


class NumberedEvent(msgspec.Struct, frozen=True, gc=False, tag_field="event"):
    """The base of all numbered events."""

    session: SessionId
    cursor: Cursor
    at: int
    """Milliseconds since 1970, UTC; orders nothing."""


class SessionOpened(NumberedEvent, tag="session_opened", frozen=True, gc=False):
    """The session was created."""

    agent: str
    person: str | None
    preset: str


class MessageAccepted(NumberedEvent, tag="message_accepted", frozen=True, gc=False):
    """A message is durable; ``content`` equals what was typed (R23)."""

    message: MessageId
    content: Content
    picks: tuple[Pick, ...]
    by: By
    person: str | None


class MessageRecalled(NumberedEvent, tag="message_recalled", frozen=True, gc=False):
    """A queued message was taken back."""

    message: MessageId


class MessageAbsorbed(NumberedEvent, tag="message_absorbed", frozen=True, gc=False):
    """A message was handed over to a running turn and gets none of its own (R122)."""

    message: MessageId
    turn: TurnId


class MessageNotSent(NumberedEvent, tag="message_not_sent", frozen=True, gc=False):
    """A message's turn ended before its request was dispatched (R81)."""

    message: MessageId
    turn: TurnId
    reason: str
    code: str


class TurnStarted(NumberedEvent, tag="turn_started", frozen=True, gc=False):
    """A turn's first request was committed and is handed to the model next (R79)."""

    turn: TurnId
    message: MessageId
    ordinal: int
    model: str
    preset: str


class PrefixMoved(NumberedEvent, tag="prefix_moved", frozen=True, gc=False):
    """A request does not begin with the session's last one: a cache reads less of it (P083).

    A preset, model or prompt was changed, or a skill withdrawn; ``explain`` of the two says why.
    Where a compaction is why, its own event tells it.
    """

    turn: TurnId
    common: int
    """Bytes that both begin with, of the canonical form."""


class SkillsLoaded(NumberedEvent, tag="skills_loaded", frozen=True, gc=False):
    """Picked skills were pinned with a dispatched turn (R29)."""

    turn: TurnId
    ordinal: int
    skills: tuple[SkillUse, ...]


class Replied(NumberedEvent, tag="replied", frozen=True, gc=False):
    """A model's whole answer of one round; its text was streamed as ``block``."""

    turn: TurnId
    round: int
    block: int
    text: str
    usage: Usage


class ToolCalled(NumberedEvent, tag="tool_called", frozen=True, gc=False):
    """A model asked for a call; whether it may run is decided next."""

    turn: TurnId
    call: CallId
    tool: str
    arguments: str


class ToolReturned(NumberedEvent, tag="tool_returned", frozen=True, gc=False):
    """A call has its one result."""

    turn: TurnId
    call: CallId
    state: CallState
    content: str


class EagerRunMade(NumberedEvent, tag="eager_run_made", frozen=True, gc=False):
    """A contributor's tool was run when the conversation began; its result is in the opening."""

    contributor: str
    call: CallId
    tool: str
    state: CallState
    content: str


class QuestionAsked(NumberedEvent, tag="question_asked", frozen=True, gc=False):
    """A call waits for an answer, and its turn with it (R161, R224)."""

    question: Question


class QuestionSettled(NumberedEvent, tag="question_settled", frozen=True, gc=False):
    """A question has its answer, or is withdrawn with its turn or message (R160, R215, R223)."""

    turn: TurnId
    """0: its message was recalled before it had one."""
    question: str
    answer: Settlement


class TurnEnded(NumberedEvent, tag="turn_ended", frozen=True, gc=False):
    """A turn is settled; the same outcome that ``outcome(receipt)`` gives."""

    turn: TurnId
    outcome: Outcome


class PermissionChanged(NumberedEvent, tag="permission_changed", frozen=True, gc=False):
    """Another permission preset is in force (R8)."""

    preset: str
    before: str


class ModelSwitched(NumberedEvent, tag="model_switched", frozen=True, gc=False):
    """Another model was chosen."""

    model: str
    before: str


class TitleChanged(NumberedEvent, tag="title_changed", frozen=True, gc=False):
    """The session has another title; None: none, until one is made (R96)."""

    title: str | None
    made: bool
    """By a model, of what was typed; else a person gave it."""


class ConversationCompacted(NumberedEvent, tag="conversation_compacted", frozen=True, gc=False):
    """A summary stands for the conversation before a user message (R108)."""

    turn: TurnId | None
    """The turn that it was made for; None: it was asked for."""
    before: int
    """Ordinal of the user message that stands first behind the summary."""
    summary: str
    usage: Usage


class PromptRecomposed(NumberedEvent, tag="prompt_recomposed", frozen=True, gc=False):
    """The kept prompt was composed anew (R111)."""

    composition: str
    model: str


class SessionDeleted(NumberedEvent, tag="session_deleted", frozen=True, gc=False):
    """The session is gone."""


Event: TypeAlias = (
    SessionOpened
    | MessageAccepted
    | MessageRecalled
    | MessageAbsorbed
    | MessageNotSent
    | TurnStarted
    | PrefixMoved
    | SkillsLoaded
    | Replied
    | ToolCalled
    | ToolReturned
    | EagerRunMade
    | QuestionAsked
    | QuestionSettled
    | TurnEnded
    | PermissionChanged
    | ModelSwitched
    | TitleChanged
    | ConversationCompacted
    | PromptRecomposed
    | SessionDeleted
)


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    """Words of an answer as they come: live, without a number, never stored (R221).

    A block that is not followed by its ``Replied`` was given up (a retry streams a new block).
    """

    turn: TurnId
    block: int
    start: int
    """Where in the block's text this begins, in characters."""
    text: str


class ToolProgress(msgspec.Struct, frozen=True, gc=False):
    """What a running tool says of how far it is: live, without a number, never stored (R220).

    It is for those who read now; who comes later gets the result.
    """

    turn: TurnId
    call: CallId
    text: str
