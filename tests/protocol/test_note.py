"""Platform notes: rendered once, under the label, as the bytes that are sent."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.encoding import decode_message
from greenroom.protocol.message import UserMessage
from greenroom.protocol.note import approvals_note, note
from greenroom.protocol.question import Allow, Deny, Failure, Result
from greenroom.protocol.wording import CURRENT


def words(notes: Any) -> str:
    [one] = notes
    message = decode_message(one.body)
    assert isinstance(message, UserMessage)
    assert isinstance(message.content, str)
    return message.content


def test_what_a_person_answered_is_one_note() -> None:
    """R160, R154, R6: by tool, in the order of the calls, under the platform's label."""
    notes = approvals_note([("pay", Allow("kim")), ("send", Deny("lee", "no"))], CURRENT)
    assert words(notes) == (
        "[platform note] The call of pay was put to a person, and kim approved it, once. "
        "The call of send was put to a person, and lee declined it."
    )
    assert notes[0].kind == "approvals"


def test_results_that_came_are_no_note() -> None:
    """R224, R160: they stand at their calls; nobody was asked whether they may run."""
    assert (
        approvals_note([("pay", Result("x", "kim")), ("pay", Failure("x", "kim"))], CURRENT) == ()
    )
    assert approvals_note([], CURRENT) == ()


@given(st.text(max_size=20).filter(lambda text: "\0" not in text))
def test_whoever_answers_cannot_break_a_note(by: str) -> None:
    """R4, R152: a name is on one line, braces are plain text, and the bytes are the same again."""
    if any("\ud800" <= sign <= "\udfff" for sign in by):
        return
    made = approvals_note([("pay", Allow(by))], CURRENT)
    assert made == approvals_note([("pay", Allow(by))], CURRENT)
    assert len(words(made).splitlines()) == 1


def test_a_note_is_a_user_message() -> None:
    """R6: in user position, and never of the role system."""
    made = note("approvals", "[platform note] Hear, hear.")
    assert bytes(made.body) == b'{"role":"user","content":"[platform note] Hear, hear."}'
