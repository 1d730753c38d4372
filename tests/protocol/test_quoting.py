"""Laws of naming somebody's text in a sentence."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.protocol.quoting import NAME_MAX, quoted


@pytest.mark.parametrize("text", ["", "refund", "it's", 'a "b"', "a" * NAME_MAX, "Zoë"])
def test_a_name_of_common_length_is_shown_whole(text: str) -> None:
    """A reader finds the very name that was said."""
    assert quoted(text) == repr(text)


@given(st.text(), st.integers(min_value=1, max_value=300))
@example("\U0010ffff" * NAME_MAX, NAME_MAX)
@example("\0" * NAME_MAX, NAME_MAX)
@example("a" * 5_000, NAME_MAX)
def test_what_is_shown_is_bounded_and_printable(text: str, most: int) -> None:
    """Whatever the text is, spelled-out signs too: a sentence stays a sentence (R194)."""
    shown = quoted(text, most)
    assert len(shown) <= most + 2
    assert shown.isprintable()


def test_what_is_cut_says_so() -> None:
    """A name that ends in an ellipsis is not taken for the whole."""
    assert quoted("a" * 10, 4) == "'aaa…'"
    assert quoted("\0" * 4, 8) == "'\\x00\\x0…'"
