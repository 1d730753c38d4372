"""Laws of rows: a table where there is room, lines where there is none, and nothing is cut."""

import io

import pytest
from rich.console import Console

from greenroom.actors.cli.rows import key_shown, print_rows

ROWS = [("money@1", "workspace", "7"), ("a-long-name-of-a-contributor@1", "", "12,000")]


@pytest.mark.parametrize("width", [20, 60])
def test_every_cell_is_there_however_narrow_it_is(width: int) -> None:
    """R219: folded at word ends, and never cut."""
    file = io.StringIO()
    console = Console(file=file, width=width, soft_wrap=True)
    print_rows(console, ("contributor", "owner", "tokens"), ROWS, right=("tokens",))
    shown = file.getvalue()
    assert all(cell in shown for row in ROWS for cell in row)
    lines = shown.splitlines()
    if width == 20:
        assert lines[:2] == ["money@1", "  owner workspace · tokens 7"]
        assert lines[3] == "  tokens 12,000"
    else:
        assert lines[0].split() == ["contributor", "owner", "tokens"]


def test_a_version_that_is_a_digest_is_shown_by_its_beginning() -> None:
    """R219: a key on one line; the id is whole."""
    assert key_shown("skills/plan@" + "ab" * 32) == "skills/plan@abababababab"
    assert key_shown("a@b@1") == "a@b@1"
    assert key_shown("odd\n@1") == "odd\N{REPLACEMENT CHARACTER}@1"
