"""A turn as it is told afterwards: what shaped it, what it called, how it ended."""

from typing import Literal, TypeAlias

import msgspec

from greenroom.protocol.identity import CallId, MessageId, SkillId, Slug, TurnId
from greenroom.protocol.receipt import End
from greenroom.protocol.usage import Usage

Effect: TypeAlias = Literal["read", "write", "idempotent"]
"""What a tool does to the world: nothing; something; something that may be done twice (R172)."""
Cause: TypeAlias = Literal["turn", "retry", "compaction", "title"]
"""Why a model was called: each call of a turn is recorded with it (R190)."""
CallState: TypeAlias = Literal["not_run", "unknown", "done", "failed", "refused", "declined"]
"""What became of a call; the first two carry a result that greenroom wrote (R173, R175)."""


class SkillUse(msgspec.Struct, frozen=True, gc=False):
    """A skill at the version that shaped a turn (R76, P058)."""

    id: SkillId
    slug: Slug
    revision: str
    source: Literal["composition", "person"]


class ModelCall(msgspec.Struct, frozen=True, gc=False):
    """One call of a model, as recorded: each has its cause (R190)."""

    round: int
    cause: Cause
    request: str
    """The request's digest (R196)."""
    usage: Usage


class CallRecord(msgspec.Struct, frozen=True, gc=False):
    """One tool call and what became of it."""

    id: CallId
    tool: str
    state: CallState


class TurnRecord(msgspec.Struct, frozen=True):
    """Everything that shaped one turn, and its end; ``end`` is None while it runs."""

    turn: TurnId
    message: MessageId
    ordinal: int | None
    attempt: int
    agent: str
    model: str
    preset: str
    composition: str
    """Digest of the kept composition."""
    skills: tuple[SkillUse, ...]
    calls: tuple[CallRecord, ...]
    model_calls: tuple[ModelCall, ...]
    absorbed: tuple[MessageId, ...]
    started: int
    """Milliseconds since 1970, UTC."""
    ended: int | None
    end: End | None
    reason: str
    usage: Usage
    gates: tuple[str, ...] = ()
    """Digests of what it committed to, when it began and each time it went on; each names a blob
    of the store. An empty one: there the preset alone decided (R77, R155)."""
