"""Holds: sessions that start no turn until somebody lifts what holds them (R159, R239).

A hold is a filter and a reason. It is kept in the store as a whole and marks no session: whether a
session is held follows from what it is and shows when a turn would begin there, so a session that
is made later, or is read back after a restart, is held like any other.
"""

from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import structs

from greenroom.protocol.encoding import decode_stored, encode
from greenroom.protocol.identity import SessionId, SkillId

HOLD: Final = "hold"
"""The kind under which holds stand in a store."""
WITHDRAWAL: Final = "withdrawal"
"""The kind under which a skill stands that was withdrawn with the lift of a hold, by its id."""

Running: TypeAlias = Literal["finish", "stop"]
"""What becomes of turns that run: they go on to their end, or end at their next boundary."""


class Hold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which sessions are held, who holds them, and why."""

    id: str
    at: int
    """Milliseconds since 1970, UTC."""
    by: str
    reason: str
    running: Running = "finish"
    tenant: str | None = None
    """Whose sessions; None: every tenant's."""
    skill: SkillId | None = None
    """Only sessions that show this skill: bound now, in their kept prompt, or in a message."""
    agent: str | None = None
    """Only sessions of this agent."""
    labels: dict[str, str] = {}
    """Only sessions with all of these labels."""
    sessions: int | None = None
    """How many sessions were held when it was counted; None where it was not. Never stored."""
    stopped: int | None = None
    """How many turns it was to stop when it was placed; None where it was not counted."""


_holds: Final = msgspec.json.Decoder(Hold)


def is_concerned(
    hold: Hold,
    session: SessionId,
    agent: str,
    labels: Mapping[str, str],
    shown: Collection[SkillId],
) -> bool:
    """Whether a hold keeps a session still; ``shown`` are the skills that its next turn would show.

    All that the hold names has to fit; one that names nothing holds every session.
    """
    if hold.tenant is not None and hold.tenant != session.tenant:
        return False
    if hold.agent is not None and hold.agent != agent:
        return False
    if hold.skill is not None and hold.skill not in shown:
        return False
    return all(labels.get(name) == value for name, value in hold.labels.items())


def about(hold: Hold) -> str:
    """What a hold holds, in words."""
    parts = [
        *([] if hold.skill is None else [f"showing the skill {hold.skill}"]),
        *([] if hold.agent is None else [f"of the agent {hold.agent}"]),
        *([] if hold.tenant is None else [f"of the tenant {hold.tenant}"]),
        *(f"labelled {name}={value}" for name, value in sorted(hold.labels.items())),
    ]
    return " ".join(["sessions", *parts]) if parts else "all sessions"


def encode_hold(hold: Hold) -> bytes:
    """A hold as it is stored: what was counted of it is left out."""
    return encode(structs.replace(hold, sessions=None, stopped=None))


def decode_hold(data: bytes) -> Hold:
    """Read a stored hold. Raises :class:`StoreDamaged` if it is none."""
    return decode_stored(data, _holds, "hold")
