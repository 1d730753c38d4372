"""The records that end a turn, whatever ended it."""

import pytest

from greenroom.actors.models.port import ModelResponse, RequestedCall
from greenroom.actors.response import Reply, answer_of
from greenroom.actors.round import Round
from greenroom.actors.settling import Ending, Settlement, settled_header, settlement, unsaved
from greenroom.actors.tools import Door, Ticket
from greenroom.protocol.errors import SaveFailed, TurnFailed
from greenroom.protocol.header import Header
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.receipt import End
from greenroom.protocol.record import Ended, Responded
from greenroom.protocol.usage import Usage

DOOR = Door((), DEFAULT_LIMITS, lambda: 0, with_files=False)
USED = Usage(input=3)


def answer(calls: int = 0, text: str = "So.") -> Reply:
    requested = tuple(RequestedCall("", "look", "{}") for _ in range(calls))
    return answer_of(ModelResponse(text, requested), 1, 0, 0, 0, DEFAULT_LIMITS)


def opened(*, saved: bool) -> Round:
    made = answer(2)
    tickets = [Ticket(one, None, "{}", "refuse", "no") for one in made.calls]
    return Round(made, tickets, answer_saved=saved)


def settled(ending: Ending, round_: Round | None) -> Settlement:
    return settlement(ending, round_, DOOR, 0, 1, 1, USED)


def test_the_last_answer_stands_before_the_end() -> None:
    """R83, R175: both in the commit that settles."""
    made = settled(Ending("done", answer=answer()), None)
    assert [type(record) for record in made.records] == [Responded, Ended]
    assert (made.ended.text, made.ended.messages, made.ended.results) == ("So.", 2, ())
    assert made.ended.usage == USED


@pytest.mark.parametrize("saved", [False, True])
def test_every_open_call_gets_a_result(saved: bool) -> None:
    """R90, R175: also those that never began; a committed answer is not committed again."""
    made = settled(Ending("cancelled", "By the caller."), opened(saved=saved))
    assert [type(record) for record in made.records] == [Responded, Ended][saved:]
    assert [result.state for result in made.ended.results] == ["not_run", "not_run"]
    assert len(made.chunks) == 2 + (not saved)
    assert made.ended.messages == 1 + len(made.chunks)


@pytest.mark.parametrize("end", ["failed", "cancelled", "empty"])
def test_an_end_without_an_answer(end: End) -> None:
    """R175, R182: one end record, and no message."""
    made = settled(Ending(end, "why", "code"), None)
    assert list(made.records) == [made.ended]
    assert (made.ended.end, made.ended.reason, made.ended.code) == (end, "why", "code")
    assert list(made.chunks) == []


def test_the_header_counts_what_was_added() -> None:
    """R94: messages and use of the session grow by those of the turn; no turn is open."""
    header = Header("a", None, "p", None, 0, messages=4, open_turn=2, usage=USED)
    after = settled_header(header, 3, USED)
    assert (after.messages, after.open_turn, after.usage.input) == (7, None, 6)


@pytest.mark.parametrize("end", ["done", "empty"])
def test_a_good_end_that_is_not_saved(end: End) -> None:
    """R88: only the save failed."""
    error = unsaved(SaveFailed("full"), settled(Ending(end), None).ended)
    assert isinstance(error, SaveFailed)


def test_a_bad_end_that_is_not_saved() -> None:
    """R88: both are told, together."""
    error = unsaved(SaveFailed("full"), settled(Ending("failed", "429"), None).ended)
    assert isinstance(error, ExceptionGroup)
    assert [type(one) for one in error.exceptions] == [TurnFailed, SaveFailed]
    assert "429" in str(error.exceptions[0])
