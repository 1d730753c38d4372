"""Approvals and awaited results: one kind of question, parked durably until it is answered."""

from typing import Literal, TypeAlias

import msgspec

from greenroom.protocol.identity import CallId, SessionId, TurnId


class Question(msgspec.Struct, frozen=True):
    """One open question of a session; it is bound to exactly one call by ``digest``."""

    id: str
    kind: Literal["approval", "result"]
    session: SessionId
    turn: TurnId
    call: CallId
    tool: str
    arguments: str
    """The exact arguments, as they would run."""
    digest: str
    """Over tool and arguments; an answer covers nothing else."""
    asked: int
    """Milliseconds since 1970, UTC."""
    expires: int | None = None


class Allow(msgspec.Struct, frozen=True, tag="allow"):
    """Run exactly that call, once."""

    by: str


class Deny(msgspec.Struct, frozen=True, tag="deny"):
    """Do not run it; the model is told why."""

    by: str
    reason: str = ""


class Result(msgspec.Struct, frozen=True, tag="result"):
    """The awaited result has come."""

    content: str
    by: str


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    """The awaited result will not come."""

    message: str
    by: str


Answer: TypeAlias = Allow | Deny | Result | Failure
