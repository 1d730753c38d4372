"""What code that greenroom did not write raised: whose fault it is, and in words that can be kept.

A tool, a model port or a host's ``deps`` may raise anything. None of it ends a host: it is told as
a failure. Only two things are nobody's failure and go on: Ctrl-C, and our own cancellation.
"""

from typing import Final

import trio

from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.identity import made_valid

SAID_MAX: Final = 2_000
"""Characters of a failure's own words that are kept."""


def said_by(error: BaseException) -> str:
    """The kind of an exception and what it says, as text that can be stored (R194).

    Never raises, though ``str(error)`` may; at most :data:`SAID_MAX` characters.
    """
    kind = type(error).__name__
    words = words_of(error)
    return made_valid(f"{kind}: {words}"[:SAID_MAX] if words else kind[:SAID_MAX])[0]


def words_of(error: BaseException, most: int = SAID_MAX) -> str:
    """What an exception says, as text that can be stored: at most so many characters (R194)."""
    try:
        words = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the words of an exception are code of others too
        words = "it cannot be told why"
    return made_valid(plain(words)[:most])[0]


def sentence_of(error: GreenroomError) -> str:
    """The sentence of one of our errors that others made: text that can be stored, whatever it is.

    An author of tools or models may have given it no text, or have left out its ``__init__``.
    """
    sentence = getattr(error, "sentence", None)
    if not isinstance(sentence, str):
        return said_by(error)
    return made_valid(plain(sentence))[0]


def plain(text: str) -> str:
    """The text itself; of a subclass, as the plain ``str`` that can be encoded."""
    return text if type(text) is str else str.__str__(text)


async def pass_on(error: BaseException) -> None:
    """Raise what is no failure of the code that raised ``error``; return if it is one.

    Ctrl-C stays Ctrl-C, in a group too. While the scope around us is being cancelled, that wins
    over whatever else was raised on the way out; a ``Cancelled`` of anybody else is a failure.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    if holds(error, KeyboardInterrupt):
        raise KeyboardInterrupt from error
    await trio.lowlevel.checkpoint_if_cancelled()


def holds(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether the exception is of that kind, or a group with one of them in it."""
    left = [error]
    while left:
        one = left.pop()
        if isinstance(one, kind):
            return True
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions
    return False
