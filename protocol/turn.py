"""A turn as it is told afterwards: what shaped it, what it called, how it ended."""

from typing import Literal, TypeAlias

import msgspec

from greenroom.protocol.identity import CallId, MessageId, SessionId, SkillId, Slug, TurnId
from greenroom.protocol.left_out import LeftOut
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


class KeptPromptUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """A kept prompt, and the round from which a turn's requests were sent with it (R77)."""

    round: int
    """0: the turn began with it."""
    composition: str
    """Its digest."""
    contributors: tuple[str, ...] = ()
    """``id@version`` of what of it reached the turn, in the order of sharing."""
    left_out: tuple[LeftOut, ...] = ()
    """What was installed and did not come into it, or was due and not told, with the figures
    (R103)."""
    summarised_before: int = 0
    """Ordinal of the first user message behind a summary; what was told before it is sent no more.
    0: there is no summary."""


class NoteUse(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A note that a turn was told, and the round whose request was the first to hold it (R77)."""

    round: int
    kind: str
    contributor: str = ""
    """``id@version`` of what declared it; empty: it is the platform's own."""
    body: msgspec.Raw = msgspec.Raw(b"null")
    """The user message as encoded JSON, which is sent from then on."""


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
    granted: str | None = None
    """The question of the turn before by whose answer it ran (P139)."""


class TurnRecord(msgspec.Struct, frozen=True):
    """Everything that shaped one turn, and its end; ``end`` is None while it runs."""

    turn: TurnId
    message: MessageId
    ordinal: int | None
    attempt: int
    agent: str
    model: str
    preset: str
    prompts: tuple[KeptPromptUse, ...]
    """The kept prompt that it began with, and each that it was composed to inside."""
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
    with_person: bool = False
    """Whether the person's part of the kept prompt was sent."""
    notes: tuple[NoteUse, ...] = ()

    @property
    def composition(self) -> str:
        """Digest of the kept composition that the turn began with."""
        return self.prompts[0].composition

    @property
    def contributors(self) -> tuple[str, ...]:
        """``id@version`` of all that shaped it: by its kept prompts, and by what it was told."""
        kept = [each for prompt in self.prompts for each in prompt.contributors]
        told = [note.contributor for note in self.notes if note.contributor]
        return tuple(dict.fromkeys([*kept, *told]))

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What was installed and did not reach it."""
        return tuple(dict.fromkeys(each for prompt in self.prompts for each in prompt.left_out))


class SessionTurn(msgspec.Struct, frozen=True, gc=False):
    """A turn in a listing over many sessions."""

    session: SessionId
    turn: TurnRecord
