"""Words that come in pieces, broken at word ends: a terminal by itself breaks in mid-word."""

import re
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from greenroom.actors.cli.words import plain

_PIECES: Final = re.compile(r"\n|[^\S\n]+|\S+")


class Wrapping:
    """Holds back the word that may go on in the next piece, until it is known where it stands."""

    def __init__(self, width: int | None) -> None:
        """``width`` in cells; None: whoever reads is no terminal, and gets text as it is."""
        self._width = width
        self._column = 0
        self._blank = ""
        self._word = ""

    def take(self, text: str) -> str:
        """What can be shown with the next piece of the text."""
        if self._width is None:
            return text
        pieces = _PIECES.findall(self._word + text)
        self._word = ""
        # A word as wide as a line cannot stand whole anywhere: then nothing is held back.
        if pieces and not pieces[-1].isspace() and cell_len(pieces[-1]) < self._width:
            self._word = pieces.pop()
        return "".join([self._placed(piece) for piece in pieces])

    def end(self) -> str:
        """What was held back; the line that comes next is a new one."""
        shown = self._placed(self._word) if self._word else ""
        self._column, self._blank, self._word = 0, "", ""
        return shown

    def _placed(self, piece: str) -> str:
        if piece == "\n":
            self._column, self._blank = 0, ""
            return piece
        if piece.isspace():
            self._blank += piece
            return ""
        assert self._width is not None
        lead, self._blank = self._blank, ""
        wide = cell_len(piece)
        if self._column and self._column + cell_len(lead) + wide > self._width:
            lead, self._column = "\n", 0
        else:
            self._column += cell_len(lead)
        self._column += wide
        if wide > self._width:  # the terminal breaks it
            self._column %= self._width
        return lead + piece


def width_of(console: Console) -> int | None:
    """Cells of a line at a terminal; None: there is none, and lines stay whole."""
    return console.width if console.is_terminal else None


def wrapped(console: Console, text: str, indent: int = 0) -> list[str]:
    """The lines of a text as they are printed behind an indent, made plain."""
    lines, width = plain(text).splitlines(), width_of(console)
    if width is None:
        return lines
    room = max(1, width - indent)
    return [part.plain for line in lines for part in (Text(line).wrap(console, room) or [Text()])]
