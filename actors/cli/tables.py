"""Tables that lose nothing: where one has no room, each of its rows is told in words instead."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.table import Table

GAP: Final = 3
"""Cells between two columns."""


def open_table() -> Table:
    """A table as the commands print them; its columns are still to be added."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)


def cells_of(rows: Iterable[Sequence[str]]) -> int:
    """The width of a table whose columns are as wide as their widest cell.

    With less than that rich cuts or drops what has no room, the first column before all.
    """
    widest = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return sum(widest) + GAP * (len(widest) - 1)
