"""What a call asks before it runs or brings its result, and what an answer makes of it.

A question is bound to the exact call by a digest. An answer is looked at again when the turn goes
on: what is refused then is not run, whoever allowed it before (R157, R160, R224).
"""

from msgspec import structs

from greenroom.actors.tool_text import Later
from greenroom.actors.tools import Door, Finished, Ticket
from greenroom.protocol.identity import SessionId
from greenroom.protocol.question import (
    Allow,
    Answer,
    Asking,
    Deny,
    Failure,
    Kind,
    Result,
    call_digest,
    question_id,
)


def approval_of(session: SessionId, ticket: Ticket, expires: int | None) -> Asking:
    """The question whether a call may run; with what its gate says to whoever is asked."""
    return _asking(session, ticket, "approval", ticket.reason, expires)


def result_of(session: SessionId, ticket: Ticket, later: Later) -> Asking:
    """The question what a call brings that was begun."""
    return _asking(session, ticket, "result", later.question, later.expires)


def _asking(
    session: SessionId, ticket: Ticket, kind: Kind, text: str, expires: int | None
) -> Asking:
    called = ticket.call.function
    tool = called.name if ticket.tool is None else ticket.tool.name
    return Asking(
        question_id(session, ticket.call.id, kind),
        kind,
        ticket.call.id,
        tool,
        ticket.arguments,
        call_digest(tool, ticket.arguments),
        text,
        expires,
    )


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


def answered(door: Door, ticket: Ticket, answer: Answer) -> Finished:
    """The result of a call that its answer decides."""
    call = ticket.call.id
    match answer:
        case Result(content=content):
            return door.finished(call, content, "done")
        case Failure(message=message):
            return door.finished(call, message, "failed")
        case Deny(by=by, reason=reason):
            told = f" and said: {reason}" if reason else "."
            return door.finished(call, f"Not run: {by} declined it{told}", "declined")
        case Allow():
            raise AssertionError("A call that is allowed brings its own result.")
