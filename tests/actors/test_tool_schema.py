"""Laws of what a model is shown of a function."""

import pytest

from greenroom.actors.tool_schema import described


def plain() -> None:
    """One line."""


def sections() -> None:
    """First
    paragraph.

    Second.

    Args:
        one (int): the first,
            and more: of it
        two: the second

    Returns:
        three: no parameter
    """


def silent() -> None: ...


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (plain, ("One line.", {})),
        (
            sections,
            ("First paragraph.", {"one": "the first, and more: of it", "two": "the second"}),
        ),
        (silent, ("", {})),
    ],
)
def test_a_docstring_is_read_as_it_is_written(
    function: object, told: tuple[str, dict[str, str]]
) -> None:
    """The first paragraph describes the tool, the section Args its parameters."""
    assert described(function) == told  # type: ignore[arg-type]
