"""Laws of the order of sharing."""

from itertools import pairwise

from greenroom.protocol.placement import PLACEMENTS, is_wider, rank_of


def test_the_placements_stand_in_order_of_sharing() -> None:
    """R133: platform, agent, person, conversation, message, in that order."""
    assert PLACEMENTS == ("platform", "agent", "person", "conversation", "message")
    assert [rank_of(placement) for placement in PLACEMENTS] == [0, 1, 2, 3, 4]


def test_each_is_wider_than_those_behind_it() -> None:
    """R133: the order is strict; nothing is wider than itself."""
    assert all(is_wider(one, than=other) for one, other in pairwise(PLACEMENTS))
    assert not any(is_wider(other, than=one) for one, other in pairwise(PLACEMENTS))
    assert not any(is_wider(placement, than=placement) for placement in PLACEMENTS)
