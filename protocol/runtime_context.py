"""RuntimeContextSnapshot: what was shown with one user message, pinned for good (R49)."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from greenroom.protocol.errors import BrokenMetadata
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.skill import PinnedSkill, capped, render_block
from greenroom.protocol.wording import Wording


class RuntimeContextSnapshot(msgspec.Struct, frozen=True, omit_defaults=True):
    """The skills picked with one user message, as they were when its turn was dispatched.

    A snapshot without ``placement`` is of version 2: it has no skills, and is shown as a message of
    its own right behind the message it is anchored to (R43).
    """

    user_turn: int
    """Zero-based ordinal among actual user messages (R50)."""
    content: str
    """The rendered skill blocks (version 2: the text), stored whether or not they are shown."""
    timestamp: int
    """Milliseconds since 1970, UTC."""
    skills: tuple[PinnedSkill, ...] = ()
    placement: Literal["user"] | None = None


def snapshot_of(
    ordinal: int,
    pinned: Iterable[PinnedSkill],
    timestamp: int,
    wording: Wording,
    limits: Limits = DEFAULT_LIMITS,
) -> RuntimeContextSnapshot:
    """The snapshot of a message with picks: its skills in selection order (R49).

    All read-ahead together keeps within the message's bound, also of skills that were pinned with
    the composition, where each had its own bound only (R39, R200).
    """
    skills: list[PinnedSkill] = []
    spent = 0
    for one in pinned:
        skill = capped(one, limits, spent=spent)
        if skill.reference is not None:
            spent += len(skill.reference.text.encode())
        skills.append(skill)
    content = "\n\n".join([render_block(skill, wording) for skill in skills])
    return RuntimeContextSnapshot(ordinal, content, timestamp, tuple(skills), "user")


def check_anchors(snapshots: Iterable[RuntimeContextSnapshot], users: int) -> None:
    """Refuse snapshots that do not fit a conversation of ``users`` user messages (R55).

    Ordinals rise strictly; version-2 ones may share an anchor with what stands before them.

    Raises:
        BrokenMetadata: out of order, beyond the conversation, empty, or of unknown placement.
    """
    last = last_placed = -1
    for snapshot in snapshots:
        turn, placed = snapshot.user_turn, snapshot.placement == "user"
        if not placed and snapshot.placement is not None:
            raise _broken(snapshot, f"has the unknown placement {snapshot.placement!r}")
        if not snapshot.content or (placed and not snapshot.skills):
            raise _broken(snapshot, "is empty")
        if not 0 <= turn < users:
            raise _broken(snapshot, f"lies outside the {users:,} user messages")
        if turn < last or (placed and turn <= last_placed):
            raise _broken(snapshot, f"stands behind that of message {last}")
        last = turn
        if placed:
            last_placed = turn


def _broken(snapshot: RuntimeContextSnapshot, how: str) -> BrokenMetadata:
    return BrokenMetadata(
        f"The context snapshot of user message {snapshot.user_turn} {how}.",
        user_turn=snapshot.user_turn,
    )
