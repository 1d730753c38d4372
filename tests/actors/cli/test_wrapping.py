"""Laws of wrapping: lines end at word ends, and nothing of a text is lost."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from greenroom.actors.cli.wrapping import Wrapping, wrapped

WORDS = st.lists(st.text("ab\N{GREEK SMALL LETTER ALPHA}", min_size=1, max_size=10), min_size=1)


@given(WORDS, st.integers(10, 40), st.integers(1, 7))
def test_words_that_come_in_pieces_are_broken_between(
    words: list[str], width: int, size: int
) -> None:
    """However a text is cut into deltas, its words come whole, in lines that fit."""
    text = " ".join(words)
    wrapping = Wrapping(width)
    shown = "".join(wrapping.take(text[at : at + size]) for at in range(0, len(text), size))
    shown += wrapping.end()
    assert shown.split() == words
    assert all(len(line) <= width for line in shown.split("\n"))


@given(st.lists(st.text(max_size=10), max_size=10))
def test_without_a_terminal_text_comes_as_it_is(pieces: list[str]) -> None:
    """Programs get the bytes, and at once."""
    wrapping = Wrapping(None)
    assert [wrapping.take(piece) for piece in pieces] == pieces
    assert wrapping.end() == ""


def test_a_word_wider_than_a_line_is_shown_at_once() -> None:
    """It fits nowhere: nothing is held back for ever."""
    assert Wrapping(10).take("x" * 25) == "x" * 25


def test_whole_lines_are_wrapped_at_a_terminal_only() -> None:
    """A transcript in a pipe keeps its lines."""
    text = "one two three\n\nfour"
    terminal = Console(file=io.StringIO(), force_terminal=True, width=10)
    assert [x.rstrip() for x in wrapped(terminal, text, 2)] == ["one two", "three", "", "four"]
    assert wrapped(Console(file=io.StringIO()), text, 2) == text.splitlines()
