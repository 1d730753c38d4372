"""What is kept until it is on disk."""

import pytest

from greenroom.actors.pending import Pending, Sealed
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import Ended, Recalled
from greenroom.store.contract import Commit

HEADER = Header("support", None, "read-only", None, 0)
ANN = SessionId("default", "ann")


def sealed(head: int) -> Sealed:
    records = (Recalled(0, f"m{head}"), Ended(0, head, "done"))
    return Sealed(Commit(ANN, 1, head, b""), records, HEADER)


def test_what_is_kept_is_written_in_order_and_unchanged() -> None:
    """R84, R85: what was sealed is written as it was sealed, the oldest first."""
    pending, first, second = Pending(), sealed(1), sealed(2)
    assert not pending
    pending.keep(first)
    pending.keep(second)
    assert (len(pending), pending.first, pending.last) == (2, first, second)
    assert pending.written() is first
    assert pending.first is second
    assert pending.written() is second
    assert (len(pending), bool(pending)) == (0, False)


def test_what_is_kept_can_be_read() -> None:
    """R53, R84: as it would be read back if all of it were written."""
    pending = Pending()
    pending.keep(sealed(1))
    pending.keep(sealed(2))
    assert list(pending.records()) == [*sealed(1).records, *sealed(2).records]


def test_what_is_given_up_is_named() -> None:
    """R207: giving up says what is lost, and keeps nothing."""
    pending, one = Pending(), sealed(1)
    pending.keep(one)
    assert pending.drop() == (one,)
    assert not pending
    assert pending.drop() == ()


def test_nothing_is_first_where_nothing_is() -> None:
    """R85: asking an empty line for its first is our own mistake, and loud."""
    with pytest.raises(AssertionError):
        _ = Pending().first
