"""Cursors: places in the store's order, as values and as text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.protocol.errors import Rewound
from greenroom.protocol.receipt import Cursor

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(NAMES, st.integers(0, 2**63), st.integers(0, 2**31))
def test_a_cursor_reads_back_from_its_text(incarnation: str, number: int, index: int) -> None:
    """P151, R222: what a browser sends back is the place that it was given."""
    cursor = Cursor(incarnation, number, index)
    assert Cursor.parse(str(cursor)) == cursor


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "i",
        "i.1",
        "i.x.0",
        "i.1.x",
        ".1.0",
        "i.-1.0",
        "i.1.-1",
        "i.²",
        "i.1.²",
        "i.1.",
        f"i.{'9' * 5_000}.0",
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    """P151: by the error that tells a reader to begin anew, whatever the text is."""
    with pytest.raises(Rewound):
        Cursor.parse(text)


@given(st.text())
@example("\U0010ffff" * 80)
def test_any_text_at_all_is_a_cursor_or_refused(text: str) -> None:
    """P151: nothing else is raised."""
    try:
        assert isinstance(Cursor.parse(text), Cursor)
    except Rewound as error:
        assert len(error.sentence) < 200  # noqa: PT017 - either is lawful


def test_cursors_are_in_the_stores_order() -> None:
    """R186: commits first, then the events within one."""
    places = [Cursor("i", 1), Cursor("i", 1, 1), Cursor("i", 2), Cursor("i", 10)]
    assert sorted([*places[2:], *places[:2]]) == places
