"""Laws of typed lines."""

import pytest

from greenroom.actors.cli.chat_lines import Line, Order, Say, read_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("  \n", None),
        ("Hello", Say("Hello")),
        (" Hello  \r\n", Say(" Hello  ")),
        ("//etc", Say("/etc")),
        ("/skill refunds my money ", Say("my money", ("refunds",))),
        ("/skill $refunds", Say("", ("refunds",))),
        ("/skill", Order("skills")),
        ("/preset", Order("preset")),
        ("/preset read-only", Order("preset", "read-only")),
        ("/quit", Order("quit")),
        ("/nix x", Order("unknown", "nix")),
    ],
)
def test_what_a_line_asks_for(text: str, line: Line) -> None:
    """R18, R24: words go as they were typed; a pick alone is enough; the rest is for the chat."""
    assert read_line(text) == line
