"""Placements: how widely a contribution is shared, and so where it stands.

A provider caches the prefix of a request, so what most conversations share stands first. The order
of this vocabulary is the order of sharing: each placement is the same for fewer than the one before
it (R63, R133).
"""

from typing import Final, Literal, TypeAlias

Placement: TypeAlias = Literal["platform", "agent", "person", "conversation", "message"]

PLACEMENTS: Final[tuple[Placement, ...]] = (
    "platform",  # every agent: first in the system string
    "agent",  # every conversation with this agent
    "person",  # one person's conversations with it: last in the kept prompt
    "conversation",  # one conversation: its opening
    "message",  # one turn: before its prompt
)

_RANK: Final = {placement: rank for rank, placement in enumerate(PLACEMENTS)}


def rank_of(placement: Placement) -> int:
    """The place of ``placement`` in the order of sharing: 0 is shared most widely."""
    return _RANK[placement]


def is_wider(placement: Placement, than: Placement) -> bool:
    """Whether what stands at ``placement`` is shared more widely than what stands at ``than``."""
    return _RANK[placement] < _RANK[than]
