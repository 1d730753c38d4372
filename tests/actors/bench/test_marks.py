"""Laws of the cache that goes by marks."""

import pytest

from greenroom.actors.bench import Breakpoints, breakpoints
from greenroom.protocol.errors import InvalidInput
from tests.actors.bench.oracles import used


def blocks(*ends: int, marked: tuple[int, ...] | None = None) -> Breakpoints:
    """Ends of blocks; the last is marked unless said otherwise."""
    return Breakpoints(ends, (ends[-1],) if marked is None else marked)


def test_it_reads_where_an_earlier_request_was_marked() -> None:
    """And writes what stands between there and its own mark."""
    model = breakpoints(minimum=0)
    assert used(model, range(4), marks=blocks(2, 4)) == (0, 4)
    assert used(model, range(6), marks=blocks(2, 4, 6)) == (4, 2)


def test_a_shorter_beginning_without_a_mark_is_not_found() -> None:
    """However much is in common: nobody was marked there."""
    model = breakpoints(minimum=0)
    used(model, range(4), marks=blocks(2, 4))
    assert used(model, [0, 1, 9, 9], marks=blocks(2, 4)) == (0, 4)


def test_a_mark_behind_what_is_shared_is_found() -> None:
    """That is what marks behind each placement are for."""
    model = breakpoints(minimum=0)
    used(model, range(4), marks=blocks(2, 4, marked=(2, 4)))
    assert used(model, [0, 1, 9, 9], marks=blocks(2, 4)) == (2, 2)


def test_look_back_goes_so_many_blocks_and_no_further() -> None:
    """From each mark, block by block."""
    ends = tuple(range(1, 8))
    for back, read in ((4, 2), (5, 2), (3, 0)):
        model = breakpoints(look_back=back, minimum=0)
        used(model, range(2), marks=blocks(1, 2))
        assert used(model, range(7), marks=Breakpoints(ends, (6,))) == (
            read,
            6 - read,
        )


def test_under_the_minimum_nothing_is_written_and_nobody_says_so() -> None:
    """A beginning that is too short is silently not cached."""
    model = breakpoints(minimum=4)
    assert used(model, range(3), marks=blocks(3)) == (0, 0)
    assert used(model, range(3), marks=blocks(3)) == (0, 0)
    assert used(model, range(5), marks=blocks(3, 5, marked=(3, 5))) == (0, 5)
    assert used(model, range(5), marks=blocks(3, 5)) == (5, 0)


def test_without_a_mark_nothing_is_read_or_written() -> None:
    """The caller asks for it, or it does not happen."""
    model = breakpoints(minimum=0)
    used(model, range(4), marks=blocks(4))
    assert used(model, range(4), marks=blocks(4, marked=())) == (0, 0)


def test_more_marks_than_there_may_be_are_refused() -> None:
    """As a provider refuses them; with the figures."""
    model = breakpoints(2, minimum=0)
    with pytest.raises(InvalidInput, match="3 marks; this cache takes 2"):
        used(model, range(4), marks=blocks(1, 2, 4, marked=(1, 2, 4)))


def test_a_mark_stands_at_the_end_of_a_block() -> None:
    """Anywhere else it is a mistake of the caller's."""
    with pytest.raises(InvalidInput, match="where none of its blocks ends"):
        used(breakpoints(minimum=0), range(4), marks=blocks(2, 4, marked=(3,)))


def test_a_use_begins_its_life_anew() -> None:
    """Of the mark that was read, and of those that the request bears itself."""
    model = breakpoints(minimum=0, life=10)
    both = blocks(2, 4, marked=(2, 4))
    used(model, range(4), at=0, marks=both)
    assert used(model, range(4), at=9, marks=both) == (4, 0)
    assert used(model, [0, 1, 9, 9], at=19, marks=blocks(2, 4)) == (2, 2)
    assert used(model, range(4), at=28, marks=blocks(2, 4)) == (2, 2)
    assert used(model, range(4), at=39, marks=blocks(2, 4)) == (0, 4)


def test_requests_that_come_together_all_pay() -> None:
    """An entry can be read when the first answer begins, not before."""
    model = breakpoints(minimum=0, ready=1)
    assert used(model, range(4), at=0, marks=blocks(4)) == (0, 4)
    assert used(model, range(4), at=0.5, marks=blocks(4)) == (0, 4)
    assert used(model, range(4), at=1, marks=blocks(4)) == (4, 0)


def test_the_longest_unused_makes_room() -> None:
    """By the tokens that each mark added."""
    model = breakpoints(minimum=0, capacity=6, life=None)
    used(model, [1] * 3, marks=blocks(3))
    used(model, [2] * 3, marks=blocks(3))
    assert used(model, [1] * 3, marks=blocks(3)) == (3, 0)
    used(model, [3] * 3, marks=blocks(3))
    assert used(model, [2] * 3, marks=blocks(3)) == (0, 3)
    assert used(model, [3] * 3, marks=blocks(3)) == (3, 0)


def test_what_it_could_read_at_best_is_all_or_nothing() -> None:
    """A mark may stand anywhere, but not under the minimum."""
    model = breakpoints(minimum=4)
    assert [model.most(common) for common in (0, 3, 4, 9)] == [0, 0, 4, 9]
