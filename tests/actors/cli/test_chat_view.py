"""Laws of what is shown while a turn runs."""

import io
from typing import Any

import pytest
from rich.console import Console

from greenroom.actors.cli.chat_view import View
from greenroom.protocol.event import (
    ConversationCompacted,
    Event,
    TextDelta,
    ToolCalled,
    ToolProgress,
    ToolReturned,
    TurnEnded,
)
from greenroom.protocol.identity import SessionId
from greenroom.protocol.receipt import Cursor, Outcome
from greenroom.protocol.turn import CallState
from greenroom.protocol.usage import Usage

WHERE: dict[str, Any] = {
    "session": SessionId("default", "s"),
    "cursor": Cursor("i", 1),
    "at": 0,
}


def shown(*events: Event | TextDelta | ToolProgress) -> str:
    """What a terminal without codes gets."""
    file = io.StringIO()
    view = View(Console(file=file, markup=False, highlight=False, soft_wrap=True))
    for event in events:
        view.show(event)
    return file.getvalue()


def ended(end: str = "done", reason: str = "") -> TurnEnded:
    outcome = Outcome(1, end, reason, "", 1, Usage())  # type: ignore[arg-type]
    return TurnEnded(**WHERE, turn=1, outcome=outcome)


def called(arguments: str = "{}") -> ToolCalled:
    return ToolCalled(**WHERE, turn=1, call="c1", tool="look_up", arguments=arguments)


def test_words_come_as_they_are_and_end_with_their_line() -> None:
    """R221: deltas join to the text, also where markup or a bracket stands in them."""
    text = shown(TextDelta(1, 0, 0, "Hel"), TextDelta(1, 0, 3, "lo [b]you[/b]"), ended())
    assert text == "Hello [b]you[/b]\n"


def test_a_compaction_is_told() -> None:
    """R98: whoever talks sees from where on the model has the words themselves."""
    event = ConversationCompacted(**WHERE, turn=3, before=2, summary="S", usage=Usage())
    assert "before message 2 is summarised" in shown(event)


def test_at_a_terminal_words_are_not_broken() -> None:
    """R221: deltas cut words anywhere; lines end between them, and notes are wrapped alike."""
    file = io.StringIO()
    view = View(Console(file=file, force_terminal=True, color_system=None, width=10))
    for event in (TextDelta(1, 0, 0, "One two th"), TextDelta(1, 0, 10, "ree four")):
        view.show(event)
    view.note("five six seven")
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert lines == ["One two", "three four", "five six", "seven"]


def test_a_block_that_was_given_up_stands_on_its_own_line() -> None:
    """R179: a retry streams a new block; its words are not glued to the lost ones."""
    assert shown(TextDelta(1, 0, 0, "Hel"), TextDelta(1, 1, 0, "Hello"), ended()) == "Hel\nHello\n"


def test_calls_take_a_short_line() -> None:
    """A call is told in one line, whatever a model wrote as its arguments."""
    line = shown(called('{"a":"' + "x\\n\n" * 200 + '"}'))
    assert line.count("\n") == 1
    assert len(line) < 80


@pytest.mark.parametrize(("state", "lines"), [("done", 0), ("refused", 1), ("failed", 1)])
def test_only_a_call_that_did_not_go_well_gets_another(state: CallState, lines: int) -> None:
    """What a tool returned is the model's to read; that it was refused is the person's."""
    result = ToolReturned(**WHERE, turn=1, call="c1", state=state, content="Because.")
    assert shown(result).count("\n") == lines


def test_an_end_that_is_not_done_is_told() -> None:
    """R175: how a turn ended and why is said."""
    assert (
        shown(TextDelta(1, 0, 0, "Hel"), ended("failed", "No line.")) == "Hel\n(failed: No line.)\n"
    )


def test_how_far_a_call_is_stands_below_it() -> None:
    """R220: what a tool tells while it runs is shown while it runs."""
    told = shown(called(), ToolProgress(1, "c1", "3 of 10 files"))
    assert told.splitlines()[-1] == "  3 of 10 files"
