"""Questions: bound to one call of one session, answered by their kind."""

from hashlib import sha256
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.call_digest import call_digest
from greenroom.protocol.identity import SessionId, call_key, session_mark
from greenroom.protocol.question import (
    POLICY,
    Allow,
    Answer,
    Asking,
    Deny,
    Failure,
    Kind,
    Question,
    Result,
    Withdrawn,
    asking_of,
    fits,
    in_time,
    is_about,
    overdue,
    question_id,
    settled,
    shown,
)

ANN, BEN = SessionId("t", "ann"), SessionId("t", "ben")
KINDS: tuple[Kind, ...] = get_args(Kind)
ANSWERS: list[Any] = [Allow("k"), Deny("k"), Result("x", "k"), Failure("x", "k")]
TEXTS = st.text(max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS, st.sampled_from(KINDS)), max_size=6, unique=True))
def test_a_question_has_a_name_of_its_own(calls: list[tuple[str, str, str, Kind]]) -> None:
    """R223, R218, P125: of whatever session and call; equal when it is made again."""
    names = [question_id(SessionId(t, k), call.rstrip("?"), kind) for t, k, call, kind in calls]
    again = [question_id(SessionId(t, k), call.rstrip("?"), kind) for t, k, call, kind in calls]
    distinct = {(t, k, call.rstrip("?"), kind) for t, k, call, kind in calls}
    assert names == again
    assert len(set(names)) == len(distinct)


def test_a_question_is_found_by_its_session() -> None:
    """R223: its name begins with the session's mark; an awaited result is the call's key (R220)."""
    for session in (ANN, BEN):
        for kind in KINDS:
            assert question_id(session, "c1-0-0", kind).startswith(session_mark(session))
        assert question_id(session, "c1-0-0", "result") == call_key(session, "c1-0-0")
    assert session_mark(ANN) != session_mark(BEN)
    assert session_mark(SessionId("a", "bc")) != session_mark(SessionId("ab", "c"))
    assert len(call_key(ANN, "c1-0-0")) == 64


def test_a_question_is_about_the_call_that_was_shown() -> None:
    """R161, P137, P138, P139: and about the same one in other words; about no other."""
    text = '{"cents":1,"why":"rent"}'
    asked = asking_of("q", "approval", "c", "pay", text, advisory=("why",))
    assert is_about(asked, "pay", text, ("why",))
    assert is_about(asked, "pay", '{ "why": "Rent.", "cents": 1 }', ("why",))
    assert not is_about(asked, "pay", '{"cents":2,"why":"rent"}', ("why",))
    assert not is_about(asked, "refund", text, ("why",))
    assert not is_about(asked, "pay", '{"cents":1}')


def test_a_question_of_an_older_release_is_about_its_call() -> None:
    """P139, R240: its digest is over the exact text, and it was stored with that."""
    text = '{ "why":"rent", "cents":1 }'
    old = sha256(msgspec.json.encode(("pay", text))).hexdigest()
    asked = Asking("q", "approval", "c", "pay", text, old)
    assert is_about(asked, "pay", text, ("why",))
    assert not is_about(asked, "pay", '{ "why":"food", "cents":1 }', ("why",))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_answers(kind: Kind) -> None:
    """R223: an approval is allowed or denied, a result comes or does not; policy answers alike."""
    fitting = [fits(kind, answer) for answer in ANSWERS]
    assert fitting == [kind == "approval"] * 2 + [kind == "result"] * 2
    assert fits(kind, overdue(kind))
    assert overdue(kind).by == POLICY
    assert not isinstance(overdue(kind), Allow | Result)


def test_nobody_answers_what_has_expired() -> None:
    """P131, R223: from that very moment on it is policy's."""
    answer: Answer = Allow("kim")
    asking = asking_of("q", "approval", "c", "pay", "{}", expires=1_000)
    assert in_time(asking, answer, 999) is answer
    assert in_time(asking, answer, 1_000) == overdue("approval")
    assert in_time(asking_of("q", "approval", "c", "pay", "{}"), answer, 1 << 52) is answer


def test_a_question_is_shown_as_it_is_stored() -> None:
    """R223: exact arguments, digest, text and time; settled once it is open no more."""
    asking = asking_of("q", "result", "c1-0-0", "pay", '{ "a":1}', "When?", 7)
    [question] = shown(ANN, 3, 5, [asking])
    assert question == Question(
        "q", "result", ANN, 3, "c1-0-0", "pay", '{ "a":1}', call_digest("pay", '{ "a":1}'), 5, 7,
        "When?",
    )  # fmt: skip
    assert question.is_open
    for answer in (*ANSWERS, Withdrawn("x")):
        told = settled(question, answer, 9)
        assert (told.answer, told.answered, told.is_open, told.id) == (answer, 9, False, "q")
