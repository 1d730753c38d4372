"""Every refusal and failure that a caller can meet, in families by whose fault it is.

Each error carries a stable ``code`` (for programs), an HTTP ``status`` (for servers), a ``way_out``
(one sentence: what to do now; its kind's, unless the raiser gives one that fits better) and
``facts`` (what a person is shown). Its text names the thing, is no secret and is never parsed.
:class:`Refused` is the caller's to change and nothing was stored; :class:`ModelFailed` is the
provider's; :class:`StoreFailed` the machine's; :class:`SessionFailed` ours or a tool's (R232).
"""

from functools import partial
from typing import Any, ClassVar


class GreenroomError(Exception):
    """The root of all errors that greenroom raises on purpose."""

    code: ClassVar[str] = "greenroom"
    status: ClassVar[int] = 500
    way_out: str = "Read the message: it names what failed."

    def __init__(self, sentence: str, /, *, way_out: str | None = None, **facts: object) -> None:
        super().__init__(sentence)
        self.sentence, self.facts = sentence, facts
        self.way_out = self.way_out if way_out is None else way_out

    def __str__(self) -> str:
        between = "" if self.sentence.endswith("\n") else " "  # behind a list or a table
        return f"{self.sentence}{between}{self.way_out}"

    def __reduce__(self) -> tuple[object, ...]:
        # By itself a pickle or a copy would pass on the sentence alone.
        return partial(type(self), self.sentence, way_out=self.way_out, **self.facts), ()


class Refused(GreenroomError):
    """The request cannot be taken as it is; nothing was stored and no key was used up."""

    code = "refused"
    status = 400
    way_out = "Change the request and send it again."


class InvalidInput(Refused):
    """A text, name or value that cannot be stored: surrogates, NUL, wrong shape (R194)."""

    code = "invalid_input"
    way_out = "Give what the call documents, with every text valid Unicode without NUL."


class TooLarge(InvalidInput):
    """A value is over its bound in bytes, depth or count; ``facts`` has the bound (R194)."""

    code = "too_large"
    status = 413
    way_out = "Send less, or raise the bound in Limits when the host is opened."


class EmptyMessage(Refused):
    """Nothing was typed and no skill was picked (R24)."""

    code = "empty_message"
    way_out = "Type something, or pick a skill."


class AmbiguousSkill(Refused):
    """A name in the text fits several skills; ``facts['ids']`` lists them (R19)."""

    code = "ambiguous_skill"
    way_out = "Pick one of them by its id."


class SkillNotGiven(Refused):
    """The session's agent was not given this skill (R20)."""

    code = "skill_not_given"
    status = 404
    way_out = "Pick a skill that is bound to the agent or stands in its catalog."


class SkillUnavailable(Refused):
    """A picked skill cannot be read any more when its turn is prepared (R27)."""

    code = "skill_unavailable"
    status = 409
    way_out = "Put the skill back into the workspace, or send the message without it."


class UnknownPreset(Refused):
    """No permission preset of this name is in the host's table (R10)."""

    code = "unknown_preset"
    way_out = "Choose one of the presets named in the message."


class UnknownAgent(Refused):
    """No agent of this name is in the workspace."""

    code = "unknown_agent"
    status = 404
    way_out = "Choose one of the agents named in the message, or add its file to the workspace."


class UnknownModel(Refused):
    """No model of this name was given to the host."""

    code = "unknown_model"
    way_out = "Give the host a model of that name, or choose one of those named in the message."


class UnknownTool(Refused):
    """No tool of this name is in the host or workspace."""

    code = "unknown_tool"
    way_out = "Give the host a tool of that name, or take it out of the declaration."


class Missing(Refused):
    """No such session, message or turn in this scope; another tenant's answers alike (R218)."""

    code = "missing"
    status = 404
    way_out = "Check the name or number; to make a session, say which agent it is for."


class Mismatch(Refused):
    """The session exists with another agent or person than asked for (R219)."""

    code = "mismatch"
    status = 409
    way_out = "Open it with what is stored, or use another key."


class Busy(Refused):
    """The session is not idle; ``facts['reason']`` says which of the reasons of R9 holds."""

    code = "busy"
    status = 409
    way_out = "Wait until the session is idle, or cancel what runs."


class PendingSave(Busy):
    """Something of this session is not on disk yet (R86)."""

    code = "pending_save"
    way_out = "Call flush(); it writes what is kept in memory and runs nothing again."


class Held(Busy):
    """A hold keeps the session from this; ``facts`` say which, who placed it and why (R159)."""

    code = "held"
    way_out = "Wait until the hold is lifted; a message that is sent is kept until then."


class QueueFull(Refused):
    """The session's queue holds as many messages as its bound allows (R128)."""

    code = "queue_full"
    status = 429
    way_out = "Wait for a turn to end, recall a message, or raise Limits.queued_messages_max."


class HostFull(Refused):
    """The host holds as much as its bound allows; ``facts`` has the bound."""

    code = "host_full"
    status = 503
    way_out = "Try again later, or raise the bound in Limits."


class HostClosed(Refused):
    """The host's block was left: nothing is sent, changed or waited for any more."""

    code = "host_closed"
    status = 503
    way_out = "Open a host over the store and ask there."


class WrongLoop(Refused):
    """A host is asked from outside of the loop that it lives in (P181)."""

    code = "wrong_loop"
    way_out = "From asyncio or a thread, hold it through greenroom.actors.portal."


class KeyReused(Refused):
    """An idempotency key came again with other content (R177)."""

    code = "key_reused"
    status = 409
    way_out = "Use a new key for a new message."


class OverBudget(Refused):
    """The request does not fit the model's window; the message has the spend as a table (R102)."""

    code = "over_budget"
    status = 413
    way_out = "Shorten the largest part named in the table, or use a model with a larger window."


class WouldWaitForItself(Refused):
    """A tool would feed or wait for the turn that it runs in (P157)."""

    code = "would_wait_for_itself"
    status = 409
    way_out = "Return from the tool what the model is to know; ask after the turn has ended."


class IllegalStep(Refused):
    """The phase table has no such step from here; nothing was changed."""

    code = "illegal_step"
    status = 409
    way_out = "This is a defect of greenroom: report it with the two names in the message."


class Rewound(Refused):
    """The cursor belongs to another incarnation of the store (R222, R237)."""

    code = "rewound"
    status = 410
    way_out = "Read the state again and follow from its cursor."


class BrokenWorkspace(Refused):
    """A workspace has faults; ``facts['faults']`` lists every one with its file."""

    code = "broken_workspace"
    way_out = "Mend what is named and open it again."


class BadTool(Refused):
    """A function or description cannot serve as a tool; the message says what to change."""

    code = "bad_tool"
    way_out = "Change the declaration of the tool as the message says."


class ExtraMissing(Refused):
    """A command or part needs an optional dependency that is not installed."""

    code = "extra_missing"
    status = 501
    way_out = "Install it with the command in the message."


class SameName(Refused):
    """Two things have one name where a name must be one thing's own (R203)."""

    code = "same_name"
    status = 409
    way_out = "Rename one of them, or leave one out."


class BrokenMetadata(Refused):
    """Snapshots or checkpoints of a session do not fit its conversation (R55)."""

    code = "broken_metadata"
    status = 409
    way_out = "Nothing was sent or stored; restore a backup, or fork at a turn before it."


class ModelFailed(GreenroomError):
    """A model call failed; ``temporary`` says whether the same request may succeed later (R179)."""

    code = "model_failed"
    status = 502
    way_out = (
        "The turn ended and the session takes the next message; retry when the provider works."
    )

    def __init__(
        self,
        sentence: str,
        /,
        *,
        temporary: bool = False,
        retry_after: float | None = None,
        **more: Any,
    ) -> None:
        super().__init__(sentence, **more, temporary=temporary, retry_after=retry_after)
        self.temporary, self.retry_after = temporary, retry_after


class EngineFailed(ModelFailed):
    """A model on this machine cannot run: its weights cannot be had, or its engine ended."""

    code = "engine_failed"
    status = 503
    way_out = "Mend what is named; or give local() the path of a gguf file that you have."


class StoreFailed(GreenroomError):
    """The store could not do it; what was acknowledged before is untouched."""

    code = "store_failed"
    status = 503
    way_out = "Look at the disk and the cause that is named; then flush() or open again."


class StoreUnavailable(StoreFailed):
    """The store takes no writes now; the message was not kept (R86)."""

    code = "store_unavailable"
    way_out = "Send the message again when the store works."


class SaveFailed(StoreFailed):
    """A commit failed; what it held is kept in memory (R84, R206)."""

    code = "save_failed"
    way_out = "Call flush() when the disk works; nothing is run again by it."


class StoreFull(StoreFailed):
    """The disk or the map of the store is full."""

    code = "store_full"
    status = 507
    way_out = "Free space on the disk or delete sessions; then flush()."


class StoreTaken(StoreFailed):
    """Another process holds the store for writing; ``facts`` has its pid and version (R187)."""

    code = "store_taken"
    status = 409
    way_out = "Stop that process, use its host, or open the store read-only."


class StoreTooNew(StoreFailed):
    """The store was written by a newer format than this program knows."""

    code = "store_too_new"
    way_out = "Use a newer greenroom."


class StoreDamaged(StoreFailed):
    """A file or record of the store is not what was written; nothing was repaired (R92)."""

    code = "store_damaged"
    way_out = "Restore a backup; other sessions of the store can still be read."


class NotAStore(StoreFailed):
    """There is something at this path, and it is not a greenroom store."""

    code = "not_a_store"
    status = 400
    way_out = "Give the path of a store."


class StoreClosed(StoreFailed):
    """The store was closed, or belongs to another process (after a fork)."""

    code = "store_closed"
    way_out = "Open the store in this process."


class SessionFailed(GreenroomError):
    """The session's actor failed; what was committed is untouched (R168)."""

    code = "session_failed"
    way_out = "Send the message again: the session is activated from what was committed."


class SessionLost(SessionFailed):
    """Unsaved state of the session was given up; ``facts`` name what was lost (R207)."""

    code = "session_lost"
    way_out = "Open the session again; it stands as it was last committed."


class SetAside(SessionFailed):
    """The session cannot be opened (damaged, or it fails each time); others run on (R92, R174)."""

    code = "set_aside"
    way_out = "Read the reason; delete the session or restore a backup."


class TurnFailed(SessionFailed):
    """The turn ended otherwise than done; ``facts['end']`` says how."""

    code = "turn_failed"
    way_out = "Read the reason; the session takes the next message."


class ToolFailed(SessionFailed):
    """A tool could not do it; the sentence is for the model, which gets it as the result."""

    code = "tool_failed"
    way_out = "Read the sentence; another call, or other arguments, may work."


class BadArguments(ToolFailed):
    """The arguments that a model wrote are not what the tool declares; it was not run."""

    code = "bad_arguments"
    way_out = "Call it again with arguments as the tool declares them."
