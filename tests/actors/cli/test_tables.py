"""Laws of tables: what is computed of their width is what they take."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from greenroom.actors.cli.tables import cells_of, open_table
from greenroom.actors.cli.words import named

CELL = st.text("ab\N{HIRAGANA LETTER A}-", min_size=1, max_size=12)


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*[CELL] * n), min_size=2)))
def test_a_table_with_that_width_shows_every_cell_whole(rows: list[tuple[str, ...]]) -> None:
    """Rich drops what has no room, the first column before all: here it has."""
    table = open_table()
    for name in rows[0]:
        table.add_column(name, no_wrap=True)
    for row in rows[1:]:
        table.add_row(*row)
    file = io.StringIO()
    Console(file=file, width=cells_of(rows), markup=False).print(table)
    lines = file.getvalue().splitlines()
    assert "…" not in file.getvalue()
    for row, line in zip(rows, [lines[0], *lines[2:]], strict=True):
        assert line.split() == list(row)


@given(st.text(max_size=50))
def test_a_key_is_named_on_one_line_as_it_is(key: str) -> None:
    """R194: every printable character stays, also two blanks; nothing breaks the line."""
    line = named(key)
    assert len(line.splitlines()) <= 1
    assert len(line) == len(key.replace("\r\n", "\n"))
    for given_, shown in zip(key.replace("\r\n", "\n"), line, strict=True):
        assert shown == given_ or not given_.isprintable()
