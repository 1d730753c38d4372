"""A session at a glance: what is replaced with each commit, while records are only appended."""

import msgspec

from greenroom.protocol.identity import SkillId, TurnId
from greenroom.protocol.usage import Usage


class Header(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is replaced with each commit: all that reading a passive session's state needs (R219).

    Fields are only ever appended, since it is an array on disk.
    """

    agent: str
    person: str | None
    preset: str
    model: str | None
    created: int
    turns: int = 0
    """Turns begun, refused ones too."""
    users: int = 0
    """User messages in the conversation: the next ordinal (R50)."""
    messages: int = 0
    """Messages in the conversation (R94)."""
    open_turn: TurnId | None = None
    """A turn that was dispatched and has no end yet: interrupted, if nobody runs it."""
    composition: str | None = None
    with_person: bool = False
    labels: dict[str, str] = {}
    title: str | None = None
    usage: Usage = Usage()
    parked: int | None = None
    """Questions wait for answers: those of the open turn, or such as are asked before the first
    begins; what asks them follows the commit of this number (R215, R223)."""
    skills: tuple[SkillId, ...] = ()
    """Skills that were pinned or loaded in the conversation, besides those of the kept prompt."""
    gates: str = ""
    """What the last turn committed to: see :class:`Dispatched`."""
    withdrawals: int = 0
    """How many of the store's withdrawals of skills its last turn knew of (R159)."""
    untitled: int = 0
    """Requests for a title that came to nothing since it was last to be made (R96)."""
    revisions: tuple[str, ...] = ()
    """Revisions of skills that were pinned or loaded in the conversation."""
    indexed: int = 0
    """How far the index finds it (R239). 0: by agent, person, labels and skills only, as an earlier
    release stored it. 1: by all of a ``Filter``, since a dispatch. 2: by all of it from its
    creation on, and so is every session that was made after it."""
    recompositions: int = 0
    """The number of the newest of the store's recompositions that it was asked about (R239)."""
    recompose: bool = False
    """One of them concerned it: it is composed anew before its next dispatch."""
