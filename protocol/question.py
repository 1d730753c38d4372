"""Approvals and awaited results: one kind of question, parked durably until it is answered.

A question belongs to exactly one call of one turn, and its answer covers nothing else: ``digest``
is over the tool and the exact arguments (R161, P137, P138). It is read from records, so what was
asked, who answered and why stand there for good (R223).
"""

from collections.abc import Collection, Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import structs

from greenroom.protocol.call_digest import call_digest
from greenroom.protocol.identity import CallId, SessionId, TurnId, call_key

Kind: TypeAlias = Literal["approval", "result"]
"""Whether a call may run; or what a call that was begun brings in the end (R224)."""


class Allow(msgspec.Struct, frozen=True, tag="allow", gc=False):
    """Run exactly that call, once; or the same one in the next turn, if it never began (P139)."""

    by: str


class Deny(msgspec.Struct, frozen=True, tag="deny", gc=False):
    """Do not run it; the model is told why."""

    by: str
    reason: str = ""


class Result(msgspec.Struct, frozen=True, tag="result", gc=False):
    """The awaited result has come."""

    content: str
    by: str


class Failure(msgspec.Struct, frozen=True, tag="failure", gc=False):
    """The awaited result will not come."""

    message: str
    by: str


class Withdrawn(msgspec.Struct, frozen=True, tag="withdrawn", gc=False):
    """Nobody answers any more: the turn that asked has ended (R160)."""

    reason: str = ""


Answer: TypeAlias = Allow | Deny | Result | Failure
Settlement: TypeAlias = Answer | Withdrawn
"""How a question ended."""


class Asking(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A question as it is stored, in the record of the turn that asks."""

    id: str
    kind: Kind
    call: CallId
    tool: str
    arguments: str
    digest: str
    text: str = ""
    expires: int | None = None


class Question(msgspec.Struct, frozen=True):
    """A question of a session, and its answer if it has one."""

    id: str
    """Unique among all sessions. Of an awaited result: the key that the tool was given (R220)."""
    kind: Kind
    session: SessionId
    turn: TurnId
    call: CallId
    tool: str
    """The tool that is really called, behind ``use_tool`` too (R216)."""
    arguments: str
    """The exact arguments, as they would run, advisory ones too."""
    digest: str
    """Over tool and arguments, but for advisory ones; an answer covers nothing else (P139)."""
    asked: int
    """Milliseconds since 1970, UTC."""
    expires: int | None = None
    """Milliseconds since 1970, UTC: settled by policy after this. None: it waits for ever."""
    text: str = ""
    """What is waited for, in the tool's own words; or what the gate that asks says."""
    answer: Settlement | None = None
    """None while it is open; once set it stays, and a later answer gets this one (R223)."""
    answered: int | None = None
    """Milliseconds since 1970, UTC."""

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.answer is None


def question_id(session: SessionId, call: CallId, kind: Kind) -> str:
    """The name of a call's question: the same after a crash, and no other question's."""
    return call_key(session, call if kind == "result" else f"{call}?")


def asking_of(
    name: str,
    kind: Kind,
    call: CallId,
    tool: str,
    arguments: str,
    text: str = "",
    expires: int | None = None,
    *,
    advisory: Collection[str] = (),
) -> Asking:
    """A question of a call, bound to exactly that call, whatever its advisory arguments say."""
    digest = call_digest(tool, arguments, advisory)
    return Asking(name, kind, call, tool, arguments, digest, text, expires)


def is_about(asking: Asking, tool: str, arguments: str, advisory: Collection[str] = ()) -> bool:
    """Whether what was asked is what that call would do (R161, P137).

    The very call that was shown is, whichever release made the digest of it.
    """
    if (asking.tool, asking.arguments) == (tool, arguments):
        return True
    return asking.digest == call_digest(tool, arguments, advisory)


def fits(kind: Kind, answer: Answer) -> bool:
    """Whether a question of that kind can be answered so."""
    return isinstance(answer, Allow | Deny if kind == "approval" else Result | Failure)


def overdue(kind: Kind) -> Answer:
    """How a question of that kind is settled that nobody answered in its time (R223, R224)."""
    if kind == "approval":
        return Deny(POLICY, "Nobody answered in time.")
    return Failure("The result did not come in time.", POLICY)


def in_time(asking: Asking, answer: Answer, now: int) -> Answer:
    """The answer that counts: nobody's, once the question has expired (P131)."""
    if asking.expires is not None and asking.expires <= now:
        return overdue(asking.kind)
    return answer


POLICY = "greenroom"
"""Who answered where nobody did."""
MOMENT_MAX = 253_402_300_799_999
"""The last millisecond of the year 9999: a later one no calendar can show."""


def shown(
    session: SessionId, turn: TurnId, at: int, asking: Iterable[Asking]
) -> tuple[Question, ...]:
    """Stored questions as they are told."""
    return tuple(
        [
            Question(
                one.id,
                one.kind,
                session,
                turn,
                one.call,
                one.tool,
                one.arguments,
                one.digest,
                at,
                one.expires,
                one.text,
            )
            for one in asking
        ]
    )


def settled(question: Question, answer: Settlement, at: int) -> Question:
    """The question with its answer."""
    return structs.replace(question, answer=answer, answered=at)
