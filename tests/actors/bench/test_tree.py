"""Laws of the caches that find a request by its beginning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.bench import (
    Breakpoints,
    CacheModel,
    block_chain,
    breakpoints,
    ideal,
    radix_tree,
    whole_units,
)
from greenroom.protocol.errors import InvalidInput
from tests.actors.bench.oracles import NO_MARKS, PlainBlocks, PlainIdeal, used

# Few tokens and short requests, so that beginnings are often shared.
requests = st.lists(st.lists(st.integers(0, 2), max_size=14), max_size=25)
steps = st.lists(st.sampled_from([0.0, 1.0, 4.0]), min_size=25, max_size=25)


def test_a_block_chain_reads_whole_blocks_only() -> None:
    """Of what two requests have in common the last, partial block is not found."""
    model = block_chain(4)
    assert used(model, range(10)) == (0, 8)
    assert used(model, [*range(7), 99, 100]) == (4, 4)
    assert used(model, range(11)) == (8, 0)


def test_a_block_is_found_only_behind_the_same_blocks() -> None:
    """Its name is the chain of all before it: the same tokens elsewhere are another block."""
    model = block_chain(2)
    used(model, [1, 1, 5, 5])
    assert used(model, [2, 2, 5, 5]) == (0, 4)
    assert used(model, [5, 5]) == (0, 2)
    assert used(model, [1, 1, 5, 5]) == (4, 0)


def test_a_block_that_begins_like_another_is_not_it() -> None:
    """All tokens of a block count, not the first alone."""
    model = block_chain(3)
    used(model, [1, 2, 3, 4, 5, 6])
    assert used(model, [1, 2, 9, 4, 5, 6]) == (0, 6)
    assert used(model, [1, 2, 3, 4, 5, 9]) == (3, 3)


def test_whole_units_begin_at_a_minimum() -> None:
    """Under the minimum nothing is read or kept; beyond it whole units are."""
    model = whole_units(2, minimum=6)
    assert used(model, range(5)) == (0, 0)
    assert used(model, range(9)) == (0, 8)
    assert used(model, [*range(5), 99]) == (0, 6)
    assert used(model, [*range(7), 99, 99]) == (6, 2)
    assert used(model, range(9)) == (8, 0)
    assert [model.most(common) for common in (5, 6, 7, 9, 10)] == [0, 6, 6, 8, 10]


def test_a_radix_tree_reads_to_the_token() -> None:
    """The longest beginning of any request before, and everything else is written."""
    model = radix_tree()
    assert used(model, [1, 2, 3, 4]) == (0, 4)
    assert used(model, [1, 2, 9]) == (2, 1)
    assert used(model, [1, 2, 3, 4, 5]) == (4, 1)
    assert used(model, [1]) == (1, 0)
    assert used(model, []) == (0, 0)
    assert used(model, [8]) == (0, 1)


def test_the_longest_unused_makes_room() -> None:
    """What is used stays, also if it was written first."""
    model = radix_tree(capacity=6)
    used(model, [1, 1, 1])
    used(model, [2, 2, 2])
    assert used(model, [1, 1, 1]) == (3, 0)
    assert used(model, [3, 3, 3]) == (0, 3)
    assert used(model, [1, 1, 1]) == (3, 0)
    assert used(model, [2, 2, 2]) == (0, 3)


def test_a_chain_makes_room_from_its_end_on() -> None:
    """Blocks go one by one, those at the end of a request before those in front of them."""
    model = block_chain(2, capacity=6)
    used(model, [1, 1, 2, 2, 3, 3])
    assert used(model, [9, 9]) == (0, 2)
    assert used(model, [1, 1, 2, 2, 3, 3]) == (4, 2)


def test_what_is_shared_outlives_what_is_not() -> None:
    """A beginning is used whenever one of its ends is."""
    model = radix_tree(capacity=5)
    used(model, [1, 1, 5, 5])
    used(model, [1, 1, 6])
    assert used(model, [1, 1, 7, 7]) == (2, 2)
    assert used(model, [1, 1, 6]) == (3, 0)


def test_a_request_over_the_capacity_keeps_what_fits() -> None:
    """No more is held than may be."""
    model = block_chain(1, capacity=3)
    used(model, range(9))
    assert used(model, range(9)) == (3, 6)


def test_life_ends_so_long_after_the_last_use() -> None:
    """A use begins it anew."""
    for model in (block_chain(1, life=10), radix_tree(life=10), whole_units(1, 1, life=10)):
        assert used(model, [1, 2], at=0) == (0, 2)
        assert used(model, [1, 2], at=10) == (2, 0)
        assert used(model, [1, 2], at=20) == (2, 0)
        assert used(model, [1, 2], at=30.5) == (0, 2)
        assert used(model, [1, 2], at=31) == (2, 0)


def test_a_shared_beginning_lives_though_an_end_is_over() -> None:
    """Each part has a life of its own."""
    model = radix_tree(life=10)
    used(model, [1, 2, 3], at=0)
    used(model, [1, 2, 4], at=8)
    assert used(model, [1, 2, 3], at=12) == (2, 1)


def test_requests_that_come_together_all_pay() -> None:
    """What is being written cannot be read yet."""
    for model in (block_chain(1, ready=2), radix_tree(ready=2), whole_units(1, 1, ready=2)):
        assert used(model, [1, 2], at=0) == (0, 2)
        assert used(model, [1, 2], at=1) == (0, 2)
        assert used(model, [1, 2], at=2) == (2, 0)


def test_what_is_written_again_is_being_written_again() -> None:
    """A life that is over begins with the wait that every writing has."""
    model = radix_tree(life=10, ready=2)
    used(model, [1, 2, 3], at=0)
    assert used(model, [1, 2, 3], at=20) == (0, 3)
    assert used(model, [1, 2, 3], at=21) == (0, 3)
    assert used(model, [1, 2, 3], at=22) == (3, 0)


@given(requests, steps, st.integers(1, 3), st.integers(0, 4), st.integers(4, 20))
def test_the_tree_is_what_a_plain_list_of_blocks_is(
    sent: list[list[int]], later: list[float], step: int, more: int, capacity: int
) -> None:
    """Whatever is sent: the same reads and writes, also when room is made and life ends."""
    first, at = step + more, 0.0
    model = whole_units(step, first, capacity=capacity, life=6)
    plain = PlainBlocks(first, step, capacity, life=6)
    for tokens, seconds in zip(sent, later, strict=False):
        at += seconds
        assert used(model, tokens, at) == used(plain, tokens, at)


@given(requests)
def test_the_ideal_cache_reads_the_longest_common_beginning(sent: list[list[int]]) -> None:
    """Held against every request that ever came."""
    model, plain = ideal(), PlainIdeal()
    for tokens in sent:
        assert used(model, tokens)[0] == plain.read(tokens)


@given(requests, steps)
def test_no_cache_reads_more_than_the_ideal_one(sent: list[list[int]], later: list[float]) -> None:
    """Nor more than it says itself that it could of what is common."""
    best = ideal()
    models: list[CacheModel] = [
        block_chain(2),
        block_chain(3, capacity=9, life=5),
        radix_tree(capacity=8, ready=1),
        whole_units(2, 4, life=3),
        breakpoints(2, look_back=2, minimum=2, life=4, capacity=20),
    ]
    at = 0.0
    for tokens, seconds in zip(sent, later, strict=False):
        at += seconds
        ends = tuple(range(1, len(tokens) + 1))
        marks = Breakpoints(ends, ends[-2:])
        common = used(best, tokens, at)[0]
        for model in models:
            use = model.request(tokens, at=at, breakpoints=marks)
            assert use.read <= model.most(common) <= common  # type: ignore[attr-defined]
            assert use.read + use.written <= len(tokens)


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_that_cannot_be_is_refused(size: int) -> None:
    """With the figure, before anything runs."""
    for make in (block_chain, whole_units):
        with pytest.raises(InvalidInput, match=str(size)):
            make(size)
    with pytest.raises(InvalidInput):
        radix_tree(capacity=size)
    with pytest.raises(InvalidInput):
        ideal(life=size)


def test_tokens_may_be_any_sequence_of_numbers() -> None:
    """A list and our own packed form are the same request."""
    model = radix_tree()
    used(model, [7, 8, 9])
    assert used(model, range(7, 10)) == (3, 0)
    for wrong in ([-1], [2**32], ["a"]):
        with pytest.raises(InvalidInput):
            model.request(wrong, at=0, breakpoints=NO_MARKS)  # type: ignore[arg-type]
