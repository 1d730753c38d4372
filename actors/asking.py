"""What a call asks before it runs or brings its result, and what an answer makes of it.

A question is bound to the exact call by a digest. An answer is looked at again when the turn goes
on: what is refused then is not run, whoever allowed it before (R157, R160, R224).
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import structs

from greenroom.actors.pending import Obstacle, raised
from greenroom.actors.tool_text import Later, kept_text
from greenroom.actors.tools import Door, Finished, Ticket
from greenroom.protocol.call_digest import call_digest
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import SessionLost, StoreUnavailable
from greenroom.protocol.grant import Grant
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
    is_about,
    question_id,
)
from greenroom.protocol.record import Answered
from greenroom.protocol.record_parts import CallResult


def approval_of(session: SessionId, ticket: Ticket, expires: int | None) -> Asking:
    """The question whether a call may run; with what its gate says to whoever is asked."""
    return approval_named(question_id(session, ticket.call.id, "approval"), ticket, expires)


def approval_named(name: str, ticket: Ticket, expires: int | None) -> Asking:
    """That question under a name of its own: a run is asked about for each message anew (R215)."""
    return _asking(name, ticket, "approval", ticket.reason, expires)


def result_of(session: SessionId, ticket: Ticket, later: Later) -> Asking:
    """The question what a call brings that was begun."""
    name = question_id(session, ticket.call.id, "result")
    return _asking(name, ticket, "result", later.question, later.expires)


def _asking(name: str, ticket: Ticket, kind: Kind, text: str, expires: int | None) -> Asking:
    call = ticket.call
    tool = call.function.name if ticket.tool is None else ticket.tool.name
    advisory = () if ticket.tool is None else ticket.tool.advisory
    return asking_of(name, kind, call.id, tool, ticket.arguments, text, expires, advisory=advisory)


def answer_record(
    turn: TurnId, name: str, answer: Answer, at: int, limits: Limits
) -> tuple[Answered, dict[str, bytes]]:
    """An answer as it is stored, and what of it is kept by content: a long result once (R193)."""
    if not isinstance(answer, Result):
        return Answered(at, turn, name, answer), {}
    kept = kept_text(answer.content, limits)
    stored = structs.replace(answer, content=kept.shown)
    return Answered(at, turn, name, stored, kept.object), kept.blobs


def check_kept(obstacle: Obstacle | None) -> None:
    """Raise what kept an answer from being written, if something did.

    Raises:
        SessionLost: somebody else holds the session by now.
        StoreUnavailable: it was not kept; the question is as open as before.
    """
    if isinstance(obstacle, SessionLost):
        raise obstacle
    if obstacle is not None:
        cause = raised(obstacle)
        raise StoreUnavailable(f"The answer was not kept: {cause.sentence}") from cause


def granted(ticket: Ticket, asking: Asking, answer: Answer) -> Ticket | None:
    """The call as it runs, or is refused all the same, with its approval; None: it has none."""
    if not isinstance(answer, Allow):
        return None
    if ticket.decision == "refuse" or ticket.tool is None:
        reason = f"{answer.by} had approved it; that is void now. {ticket.reason}"
        return structs.replace(ticket, decision="refuse", reason=reason)
    if not is_about(asking, ticket.tool.name, ticket.arguments, ticket.tool.advisory):
        reason = f"Not run: {answer.by} approved another call than the one that would run now."
        return structs.replace(ticket, decision="refuse", reason=reason)
    return _allowed(ticket)


def _allowed(ticket: Ticket) -> Ticket:
    return structs.replace(ticket, decision="allow", reason="")


def by_grants(
    tickets: Sequence[Ticket], grants: Sequence[Grant]
) -> tuple[list[Ticket], dict[CallId, Grant]]:
    """The calls as they run where grants of the turn before are good for some (P139).

    A grant turns only a question into a yes, and each covers one call; what is refused now stays
    refused (R157), and what needs no answer uses none up.
    """
    left, used = list(grants), dict[CallId, Grant]()
    for ticket in tickets:
        grant = _grant_for(ticket, left) if ticket.asks and left else None
        if grant is not None:
            left.remove(grant)
            used[ticket.call.id] = grant
    return [_allowed(one) if one.call.id in used else one for one in tickets], used


def _grant_for(ticket: Ticket, grants: Sequence[Grant]) -> Grant | None:
    if ticket.tool is None:
        return None
    digest = call_digest(ticket.tool.name, ticket.arguments, ticket.tool.advisory)
    return next((grant for grant in grants if grant.digest == digest), None)


def answered(
    door: Door, session: SessionId, call: CallId, answers: Mapping[str, Answered]
) -> Finished | None:
    """The result of a call that an answer decides; None: none does, or it may run (R160, R224)."""
    for kind in _KINDS if answers else ():
        record = answers.get(question_id(session, call, kind))
        if record is not None:
            return decided(door, call, record)
    return None


_KINDS: Final[tuple[Kind, ...]] = ("result", "approval")
"""What was allowed first may have been answered with its result since."""


def decided(door: Door, call: CallId, record: Answered) -> Finished | None:
    """The result that an answer gives a call; None: it was allowed."""
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
