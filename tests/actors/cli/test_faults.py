"""Laws of how errors are told at a command line: one sentence, and a way out that is one there."""

import re

import pytest

from greenroom.actors.cli.exits import FAILED, READER_LEFT, USAGE
from greenroom.actors.cli.faults import WAYS_OUT, BadOption, said, told
from greenroom.actors.cli.schema import error_kinds
from greenroom.actors.cli.streams import OutputLost
from greenroom.protocol.errors import GreenroomError, Missing, StoreDamaged, TooLarge

OF_A_PROGRAM = re.compile(r"\w\(\)|\bLimits\b|\b[Tt]he host\b|\bits host\b|\ba host\b|\bthe call\b")
"""What only a program can do: call something, set a bound, open a host."""


@pytest.mark.parametrize("kind", list(error_kinds()), ids=lambda kind: kind.__name__)
def test_no_way_out_is_one_of_a_program(kind: type[GreenroomError]) -> None:
    """R232: whoever types commands is never told to call something."""
    sentence = said(kind("It failed."))
    assert sentence.startswith("It failed. ")
    assert not OF_A_PROGRAM.search(sentence)
    assert sentence.endswith(".")


def test_such_words_would_be_found() -> None:
    """The law above sees them where they stand."""
    assert OF_A_PROGRAM.search(TooLarge.way_out)
    assert len([kind for kind in error_kinds() if OF_A_PROGRAM.search(kind.way_out)]) > 5


def test_only_kinds_that_are_raised_are_told_otherwise() -> None:
    """A kind that is gone leaves no sentence behind."""
    assert set(WAYS_OUT) <= set(error_kinds())
    assert all(kind.way_out != way_out for kind, way_out in WAYS_OUT.items())


def test_whoever_raises_it_knows_best() -> None:
    """R232: a way out of the raiser's stands also where the kind is told otherwise."""
    error = Missing("There is none.", way_out="Make one.")
    assert said(error) == "There is none. Make one."
    assert str(error) == "There is none. Make one."


def test_a_list_keeps_its_lines() -> None:
    """R231: the way out of many faults stands below them."""
    assert said(StoreDamaged("Two:\n- a\n- b\n")).startswith("Two:\n- a\n- b\nRestore")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (BadOption("No."), USAGE, "greenroom: No. `greenroom"),
        (OutputLost(OSError(28, "Full")), FAILED, "greenroom: Standard output cannot be written: "),
        (OutputLost(BrokenPipeError(32, "Gone")), READER_LEFT, ""),
        (PermissionError(13, "Forbidden", "/x/y"), FAILED, "greenroom: '/x/y' cannot be used: For"),
        (ExceptionGroup("", [BadOption("No."), Missing("No.")]), FAILED, "greenroom: No. `greenro"),
    ],
)
def test_what_is_told_is_no_traceback(
    error: Exception, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """R232: also what the machine refuses, if it names what."""
    assert told(error) == code
    shown = capsys.readouterr().err
    assert shown.startswith(words)
    assert type(error).__name__ not in shown
    assert told(error, debug=True) == code
    assert (type(error).__name__ in capsys.readouterr().err) is bool(words)


@pytest.mark.parametrize("error", [OSError(5, "Broken"), ExceptionGroup("", [KeyError("a")])])
def test_what_nobody_expected_is_shown_whole(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    """A defect is never hidden behind a sentence."""
    assert told(error) == FAILED
    assert type(error).__name__ in capsys.readouterr().err
