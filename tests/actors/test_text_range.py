"""Laws of ranges: whole characters, each of them once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.text_range import range_of, shown_range
from greenroom.protocol.errors import ToolFailed

FAMILY = "a👩‍👩‍👧‍👦b"


@pytest.mark.parametrize("start", range(len(FAMILY.encode()) + 1))
@pytest.mark.parametrize("length", [1, 2, 3, 5, 100])
def test_a_cut_is_never_in_a_character(start: int, length: int) -> None:
    """P126: at every offset the range is valid UTF-8, and part of the text."""
    part = range_of(FAMILY.encode(), start, length, "x")
    assert part.text in FAMILY
    assert not part.mended
    assert part.text.encode() == FAMILY.encode()[part.start : part.end]


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8")), st.integers(1, 9))
def test_reading_on_gives_the_whole_text_once(text: str, length: int) -> None:
    """R193: the ranges that follow each other are the text, and there is an end."""
    data, parts, place = text.encode(), [], 0
    while place < len(data):
        part = range_of(data, place, length, "x")
        assert part.start == place < part.end
        parts.append(part.text)
        place = part.end
    assert "".join(parts) == text


@given(st.binary().filter(lambda data: b"\0" not in data), st.integers(1, 9))
def test_bytes_that_are_no_text_come_to_an_end_too(data: bytes, length: int) -> None:
    """R194: what is not UTF-8 is mended, and reading on still ends."""
    place = 0
    while place < len(data):
        part = range_of(data, place, length, "x")
        part.text.encode()
        assert part.end > place
        place = part.end


def test_a_start_behind_the_end_and_binary_data_are_refused() -> None:
    """R193: with the size, so that the model can ask again."""
    with pytest.raises(ToolFailed, match="3 bytes"):
        range_of(b"abc", 4, 1, "x")
    with pytest.raises(ToolFailed, match="not text"):
        range_of(b"\x89PNG\0", 0, 9, "x")


def test_a_range_says_how_to_go_on() -> None:
    """R193: the place and the next start stand before the text."""
    data = b"abcdef"
    assert shown_range(range_of(data, 0, 9, "x"), "x") == "[x: whole]\nabcdef"
    assert (
        shown_range(range_of(data, 1, 2, "x"), "x")
        == "[x: bytes 1 to 3 of 6; go on with start=3]\nbc"
    )
