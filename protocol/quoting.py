"""Somebody's text as a sentence names it: in quotes, with hidden signs spelled out, and bounded."""

from typing import Final

NAME_MAX: Final = 80
"""Signs of a name that a sentence shows; longer ones end in an ellipsis."""
PATH_MAX: Final = 200
"""Signs of a path that a sentence shows."""


def quoted(text: object, most: int = NAME_MAX) -> str:
    """The text in quotes, of at most ``most`` signs between them.

    The bound is on what is shown, not on what was said: one sign that a screen hides is spelled
    with as many as ten.
    """
    said = str(text)
    shown = repr(said[: most + 1])
    quote, inner = shown[0], shown[1:-1]
    if len(said) <= most and len(inner) <= most:
        return shown
    return f"{quote}{inner[: most - 1]}…{quote}"
