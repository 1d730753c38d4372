"""A session as it is shown: to one who opens it, and in a listing."""

from typing import Literal, TypeAlias

import msgspec

from greenroom.protocol.identity import SessionId, TurnId
from greenroom.protocol.message import Message
from greenroom.protocol.receipt import Cursor
from greenroom.protocol.usage import Usage

Place: TypeAlias = Literal["kept_prompt", "message"]
"""The prompt that is kept, and sent with every request; or a message that was pinned or loaded."""


class SessionSummary(msgspec.Struct, frozen=True):
    """One session in a listing: read from its header, nothing is activated (R219)."""

    session: SessionId
    agent: str
    person: str | None
    preset: str
    model: str | None
    """The model chosen for it; None: its agent's."""
    phase: str
    """A live session's phase; of a passive one ``idle``, ``queued``, ``held``, ``parked`` or
    ``interrupted``.

    ``set_aside``: its header cannot be read, and all but its name is unknown (R92).
    """
    queued: int
    turns: int
    messages: int
    """Conversation messages: originals only (R94)."""
    created: int
    """Milliseconds since 1970, UTC."""
    usage: Usage
    labels: dict[str, str] = {}
    title: str | None = None
    """What a person called it, or a model made of what was typed (R95)."""
    shown_in: tuple[Place, ...] = ()
    """Where what a listing asked for stands: a revision, else a skill, else a contributor. Nothing,
    where none of them was asked for, or where the skill is bound now and shown nowhere yet."""


class SessionState(msgspec.Struct, frozen=True):
    """A session's conversation and how it stands, true at ``cursor`` (R221)."""

    session: SessionId
    agent: str
    person: str | None
    preset: str
    model: str | None
    phase: str
    messages: tuple[Message, ...]
    """Originals only: what was typed and received, in order (R1)."""
    written_by_us: tuple[int, ...]
    """Which of them are results that greenroom wrote for calls without one (R1, R90)."""
    user_messages: int
    queued: int
    running: TurnId | None
    """The turn that runs, or is parked until its questions are answered."""
    has_pending_save: bool
    """Something is not on disk yet; ``flush()`` writes it (R84)."""
    cursor: Cursor
    """``events(after=cursor)`` goes on from here without gap or repeat."""
    hold: str | None = None
    """The id of the hold that keeps it from starting turns (R159)."""
    title: str | None = None
    """As in :class:`SessionSummary`."""
