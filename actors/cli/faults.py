"""What a person typed wrong, and how any error is told: one sentence with its way out."""

import sys

from greenroom.actors.cli.words import plain
from greenroom.protocol.errors import GreenroomError, Refused


class BadOption(Refused):
    """An option of a command cannot be what it is; the command exits with 2."""

    code = "bad_option"
    way_out = "`greenroom COMMAND --help` tells every option."


def causes_of(error: BaseException) -> list[BaseException]:
    """What is inside of groups, however deep: nurseries wrap even a single error."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for inner in error.exceptions for cause in causes_of(inner)]
    return [error]


def told(error: BaseException) -> int | None:
    """Tell an error as sentences and return the exit code; None: it is not one of ours to tell."""
    causes = causes_of(error)
    ours = [cause for cause in causes if isinstance(cause, GreenroomError)]
    if len(ours) < len(causes):
        return None
    for sentence in dict.fromkeys(str(cause) for cause in ours):
        print(f"greenroom: {plain(sentence)}", file=sys.stderr)
    return 2 if all(isinstance(cause, BadOption) for cause in ours) else 1
