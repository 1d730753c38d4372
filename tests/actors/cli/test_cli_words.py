"""Laws of how values are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.cli.words import counted, moment, plain, short, size


@given(st.text())
def test_nothing_plain_commands_a_terminal(text: str) -> None:
    """P128: no control character but a line's end and a tab is left."""
    assert all(sign in "\n\t" or sign.isprintable() or ord(sign) >= 0xA0 for sign in plain(text))


@given(st.text(), st.integers(min_value=1, max_value=20))
def test_short_is_short_and_one_line(text: str, characters: int) -> None:
    """A cut is marked."""
    line = short(text, characters)
    assert len(line) <= characters
    assert "\n" not in line


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (10_300_000, "10.3 MB")]
)
def test_sizes(count: int, told: str) -> None:
    """Three digits and a unit."""
    assert size(count) == told


def test_counts_and_moments() -> None:
    """One turn, two turns; times are UTC."""
    assert (counted(1, "turn"), counted(2_000, "turn")) == ("1 turn", "2,000 turns")
    assert moment(1_700_000_000_000) == "2023-11-14 22:13:20"
