"""What records are made of: the base of all, and what they hold besides plain values."""

from typing import Literal, TypeAlias

import msgspec

from greenroom.protocol.identity import CallId, MessageId, SkillId
from greenroom.protocol.turn import CallState
from greenroom.protocol.usage import Usage


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="is"):
    """The base of all records."""


NoteKind: TypeAlias = Literal["approvals", "declared"]
"""Why a note was made: what was answered about calls (R160); a declared condition holds (R151)."""


class PlatformNote(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the platform said, as it is stored and sent; no message of the conversation (R152)."""

    kind: NoteKind
    body: msgspec.Raw
    """The user message as encoded JSON, label and all."""
    contributor: str = ""
    """``id@version`` of what declared it; empty: it is the platform's own."""
    about: str = ""
    """What had moved when it was told: it is not told again about the same (R152)."""


class CallResult(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The one result of one call (R175)."""

    call: CallId
    body: msgspec.Raw
    """The tool message as encoded JSON: what the model is sent."""
    state: CallState = "done"
    object: str | None = None
    """Digest of the whole result where the model got only its head (R193)."""
    mended: bool = False
    tool: str | None = None
    """The tool that was really called, where the model named another: ``use_tool`` (R216)."""
    skill: SkillId | None = None
    """The skill that the result brought into the conversation, if it did (R155)."""
    revision: str = ""
    """The revision of that skill; empty where it is not known."""


class ProviderId(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What the provider called a call of ours (R181)."""

    call: CallId
    provider: str


class GrantUse(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A call that runs by the answer of a question that the turn before had asked (P139)."""

    call: CallId
    question: str


class Steer(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message handed over to a running turn, and the ordinal that it got then (R51, R122)."""

    message: MessageId
    ordinal: int


class SummaryCall(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One call of a model for a summary, as it was made (R190, R196)."""

    request: str
    """The request's digest."""
    until: int
    """How many messages of the part to be summarised were told of with it; see ``piece_of``."""
    usage: Usage = Usage()
    summary: str = ""
    """What was taken of it; empty: nothing, and it was asked again."""
