"""What a person typed wrong, and how any error is told: one sentence with its way out."""

import sys
import traceback
from collections.abc import Mapping
from copy import copy
from typing import Final

from greenroom.actors.cli.exits import FAILED, READER_LEFT, USAGE
from greenroom.actors.cli.streams import OutputLost
from greenroom.actors.cli.words import plain
from greenroom.protocol.errors import (
    EngineFailed,
    GreenroomError,
    HostClosed,
    HostFull,
    InvalidInput,
    Mismatch,
    Missing,
    PendingSave,
    QueueFull,
    Refused,
    SaveFailed,
    SetAside,
    StoreFailed,
    StoreFull,
    StoreTaken,
    StoreUnavailable,
    TooLarge,
    UnknownModel,
    UnknownTool,
)

WAYS_OUT: Final[Mapping[type[GreenroomError], str]] = {
    InvalidInput: "Give it as UTF-8 text without NUL.",
    TooLarge: "Give less: no option of a command raises a bound.",
    UnknownModel: "Choose one of those named in the message.",
    UnknownTool: "Take it out of the agent's file: the commands have the built-in tools only.",
    Missing: "Check the name or number: `greenroom sessions` lists the sessions, `greenroom show"
    " SESSION` the turns of one.",
    Mismatch: "Leave --agent and --person out to go on with it, or give another --session.",
    PendingSave: "Type /flush: it writes what is kept in memory and runs nothing again.",
    QueueFull: "Wait for an answer, then send it again.",
    HostFull: "Try again later.",
    HostClosed: "Give the command again.",
    EngineFailed: "Mend what is named; or give --model the path of a gguf file that you have.",
    StoreFailed: "Look at the disk and the cause that is named, then try again.",
    StoreUnavailable: "Look at the cause that is named, then try again.",
    SaveFailed: "Type /flush when the disk works; nothing is run again by it.",
    StoreFull: "Free space on the disk, then type /flush or give the command again.",
    StoreTaken: "End that process, or give another folder with --store; `greenroom sessions`,"
    " `show`, `request` and `questions` read beside it.",
    SetAside: "Read the reason; restore a backup, or begin another conversation with --session.",
}
"""What to do about errors whose own way out is a program's and not that of a person at a prompt."""


class BadOption(Refused):
    """An option of a command cannot be what it is; the command exits with 2."""

    code = "bad_option"
    way_out = "`greenroom COMMAND --help` tells every option."


def causes_of(error: BaseException) -> list[BaseException]:
    """What is inside of groups, however deep: nurseries wrap even a single error."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for inner in error.exceptions for cause in causes_of(inner)]
    return [error]


def said(error: GreenroomError) -> str:
    """An error's sentence, and what to do now for whoever types commands."""
    kind, here = type(error), copy(error)
    if error.way_out == kind.way_out:  # else whoever raised it knew better
        here.way_out = WAYS_OUT.get(kind, kind.way_out)
    return str(here)


def told(error: BaseException, *, debug: bool = False) -> int:
    """Tell an error as sentences and return the exit code; one that is not ours is shown whole."""
    answers = [_answer(cause) for cause in causes_of(error)]
    known = [answer for answer in answers if answer is not None]
    if len(known) < len(answers):
        traceback.print_exception(error)
        return FAILED
    sentences = list(dict.fromkeys(sentence for sentence, _ in known if sentence))
    if debug and sentences:
        traceback.print_exception(error)
    else:
        for sentence in sentences:
            print(f"greenroom: {plain(sentence)}", file=sys.stderr)
    codes = {code for _, code in known}
    return codes.pop() if len(codes) == 1 else FAILED


def _answer(cause: BaseException) -> tuple[str, int] | None:
    """The sentence of one error, and its exit code."""
    match cause:
        case OutputLost(reader_left=True):
            return "", READER_LEFT  # that is no error to tell
        case OutputLost():
            return f"{cause} Send it elsewhere.", FAILED
        case BadOption():
            return said(cause), USAGE
        case GreenroomError():
            return said(cause), FAILED
        case OSError(filename=str(place), strerror=str(reason)):
            # The machine's own refusal of a path; --debug shows who asked for it.
            return f"{place!r} cannot be used: {reason}. Mend that, or give another path.", FAILED
        case _:
            return None
