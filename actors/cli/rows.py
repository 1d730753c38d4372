"""How contributors and their figures are printed: as a table, or where it has no room in lines."""

from collections.abc import Collection, Sequence
from typing import Final

from rich.console import Console

from greenroom.actors.cli.tables import cells_of, open_table
from greenroom.actors.cli.words import named
from greenroom.actors.cli.wrapping import wrapped

INDENT: Final = "  "
VERSION_SHOWN: Final = 12
"""Of a version, which may be a digest."""


def key_shown(contributor: str) -> str:
    """``id@version`` on one line; of a version that is a digest its beginning."""
    id_, _, version = contributor.rpartition("@")
    return named(f"{id_}@{version[:VERSION_SHOWN]}")


def told(console: Console, text: str, lead: str = "", style: str | None = None) -> None:
    """Print a text behind what leads to it, on as many lines as that takes."""
    for line in wrapped(console, text, len(lead)):
        console.print(f"{lead}{line}", style=style)


def print_rows(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
) -> None:
    """Print rows under their columns; of a row in lines the first cell is the head (R219).

    Args:
        console: where to.
        columns: their names; the first one says what a row is.
        rows: a cell for each column; in lines an empty one is left out.
        right: columns of figures.
    """
    if cells_of([columns, *rows]) <= console.width:
        table = open_table()
        for name in columns:
            table.add_column(name, justify="right" if name in right else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    for head, *cells in rows:
        console.print(head, style="bold")
        cell_of = zip(columns[1:], cells, strict=True)
        told(
            console, " · ".join(f"{name} {cell}".strip() for name, cell in cell_of if cell), INDENT
        )
