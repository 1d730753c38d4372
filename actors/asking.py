"""What a call asks before it runs or brings its result, and what an answer makes of it.

A question is bound to the exact call by a digest. An answer is looked at again when the turn goes
on: what is refused then is not run, whoever allowed it before (R157, R160, R224).
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import structs

from greenroom.actors.tool_text import Later, kept_text
from greenroom.actors.tools import Door, Finished, Ticket
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.identity import CallId, SessionId, TurnId
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import ToolMessage
from greenroom.protocol.question import (
    Allow,
    Answer,
    Asking,
    Deny,
    Failure,
    Kind,
    Result,
    asking_of,
    call_digest,
    question_id,
)
from greenroom.protocol.record import Answered, CallResult


def approval_of(session: SessionId, ticket: Ticket, expires: int | None) -> Asking:
    """The question whether a call may run; with what its gate says to whoever is asked."""
    return _asking(session, ticket, "approval", ticket.reason, expires)


def result_of(session: SessionId, ticket: Ticket, later: Later) -> Asking:
    """The question what a call brings that was begun."""
    return _asking(session, ticket, "result", later.question, later.expires)


def _asking(
    session: SessionId, ticket: Ticket, kind: Kind, text: str, expires: int | None
) -> Asking:
    call = ticket.call
    tool = call.function.name if ticket.tool is None else ticket.tool.name
    name = question_id(session, call.id, kind)
    return asking_of(name, kind, call.id, tool, ticket.arguments, text, expires)


def answer_record(
    turn: TurnId, name: str, answer: Answer, at: int, limits: Limits
) -> tuple[Answered, dict[str, bytes]]:
    """An answer as it is stored, and what of it is kept by content: a long result once (R193)."""
    if not isinstance(answer, Result):
        return Answered(at, turn, name, answer), {}
    kept = kept_text(answer.content, limits)
    stored = structs.replace(answer, content=kept.shown)
    return Answered(at, turn, name, stored, kept.object), kept.blobs


def granted(ticket: Ticket, asking: Asking, answer: Answer) -> Ticket | None:
    """The call as it runs, or is refused all the same, with its approval; None: it has none."""
    if not isinstance(answer, Allow):
        return None
    if ticket.decision == "refuse" or ticket.tool is None:
        reason = f"{answer.by} had approved it; that is void now. {ticket.reason}"
        return structs.replace(ticket, decision="refuse", reason=reason)
    if call_digest(ticket.tool.name, ticket.arguments) != asking.digest:
        reason = f"Not run: {answer.by} approved another call than the one that would run now."
        return structs.replace(ticket, decision="refuse", reason=reason)
    return structs.replace(ticket, decision="allow", reason="")


def answered(
    door: Door, session: SessionId, call: CallId, answers: Mapping[str, Answered]
) -> Finished | None:
    """The result of a call that an answer decides; None: none does, or it may run (R160, R224)."""
    for kind in _KINDS if answers else ():
        record = answers.get(question_id(session, call, kind))
        if record is not None:
            return _decided(door, call, record)
    return None


_KINDS: Final[tuple[Kind, ...]] = ("result", "approval")
"""What was allowed first may have been answered with its result since."""


def _decided(door: Door, call: CallId, record: Answered) -> Finished | None:
    match record.answer:
        case Result(content=content) if record.object is not None:
            body = encode_message(ToolMessage(call, content))
            return Finished(CallResult(call, msgspec.Raw(body), "done", record.object))
        case Result(content=content):
            return door.finished(call, content, "done")
        case Failure(message=message):
            return door.finished(call, message, "failed")
        case Deny(by=by, reason=reason):
            told = f" and said: {reason}" if reason else "."
            return door.finished(call, f"Not run: {by} declined it{told}", "declined")
        case Allow():
            return None
