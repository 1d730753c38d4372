"""A parked turn and the questions of a session follow from records alone."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.identity import SessionId, call_id
from greenroom.protocol.message import AssistantMessage, Function, ToolCall, ToolMessage
from greenroom.protocol.parked import added_by, open_in, parked_of, questions_of, usage_of
from greenroom.protocol.question import (
    Allow,
    Asking,
    Deny,
    Result,
    Withdrawn,
    asking_of,
    question_id,
)
from greenroom.protocol.record import (
    Answered,
    AnyRecord,
    Asked,
    Dispatched,
    Ended,
    Responded,
    Resumed,
    Returned,
)
from greenroom.protocol.record_parts import CallResult, Steer
from greenroom.protocol.tally import Tally
from greenroom.protocol.usage import Usage

ANN = SessionId("t", "ann")
START = Dispatched(1, 1, "m", 0, 1, "m", "p", "c", "r")


def responded(calls: int, turn: int = 1, round_: int = 0) -> Responded:
    made = [ToolCall(call_id(turn, round_, n), Function("pay", f"{n}")) for n in range(calls)]
    body = msgspec.Raw(encode_message(AssistantMessage("", tuple(made))))
    return Responded(2, turn, round_, 0, body, Usage(input=1, output=2))


def asking(place: int, kind: Any = "approval", turn: int = 1, round_: int = 0) -> Asking:
    call = call_id(turn, round_, place)
    return asking_of(question_id(ANN, call, kind), kind, call, "pay", f"{place}")


def result(place: int, turn: int = 1, round_: int = 0) -> CallResult:
    call = call_id(turn, round_, place)
    return CallResult(call, msgspec.Raw(encode_message(ToolMessage(call, "x"))))


def answered(question: Asking, answer: Any = Allow("kim"), turn: int = 1, at: int = 5) -> Answered:  # noqa: B008
    return Answered(at, turn, question.id, answer)


def test_a_turn_is_parked_that_asked_last() -> None:
    """R161, R174: answers do not change that; what it went on with does."""
    one, two = asking(0), asking(1)
    asked = Asked(3, 1, 0, (one, two), (result(2),))
    since: list[Any] = [responded(3), asked]
    for record in (None, answered(one), answered(two, Deny("kim"))):
        since += [record] if record else []
        parked = parked_of(START, since)
        assert parked is not None
        assert (parked.asked, parked.before, parked.answer) == (asked, (), since[0])
        assert parked.told == {"c1-0-2"}
        assert open_in(parked.asked, parked.answers) == (one, two)[len(since) - 2 :]
        assert (parked.added, parked.usage) == (3, Usage(input=1, output=2))
    for further in (Resumed(6, 1, "p"), Returned(7, 1, 0, (), "r"), responded(1, 1, 1)):
        assert parked_of(START, [*since, further]) is None
    assert parked_of(START, []) is None
    assert parked_of(START, [responded(3)]) is None
    assert parked_of(START, [answered(one)]) is None


def test_a_round_that_parked_before() -> None:
    """R160, R224: what it asked first is not lost; what earlier rounds asked is theirs."""
    old, one, two = asking(0), asking(0, round_=1), asking(0, "result", round_=1)
    since: list[Any] = [
        responded(1), Asked(3, 1, 0, (old,)), answered(old), Resumed(4, 1, "p"),
        Returned(5, 1, 0, (result(0),), "r", (Steer("s", 1),)), responded(2, 1, 1),
        Asked(6, 1, 1, (one,), (result(1, round_=1),)), answered(one), Resumed(7, 1, "p"),
        Asked(8, 1, 1, (two,)),
    ]  # fmt: skip
    parked = parked_of(START, since)
    assert parked is not None
    assert [each.questions for each in parked.before] == [(one,)]
    assert parked.told == {"c1-1-1"}
    assert parked.absorbed == ("s",)
    assert parked.added == added_by(since) == 6
    assert usage_of(since) == Usage(input=2, output=4)
    assert set(parked.answers) == {old.id, one.id}


def test_the_first_answer_stands_in_the_records_too() -> None:
    """R223: whatever a store may hold behind it."""
    one = asking(0)
    asked = Asked(3, 1, 0, (one,))
    later = [answered(one), answered(one, Deny("lee"), at=9)]
    parked = parked_of(START, [responded(1), asked, *later])
    assert parked is not None
    assert parked.answers == {one.id: later[0]}
    [question] = questions_of(ANN, [START, responded(1), asked, *later])
    assert (question.answer, question.answered) == (Allow("kim"), 5)


def test_a_question_without_an_answer_to_ask_about_is_damage() -> None:
    """R92: nothing is guessed."""
    with pytest.raises(StoreDamaged):
        parked_of(START, [Asked(3, 1, 0, (asking(0),))])


def test_a_question_ends_with_its_turn() -> None:
    """R223, R160: also one that the end does not name; an answer behind it counts no more."""
    one, two = asking(0), asking(1)
    records: list[AnyRecord] = [
        START,
        responded(2),
        Asked(3, 1, 0, (one, two)),
        answered(one),
        Ended(8, 1, "cancelled", "No more.", withdrawn=(two.id,)),
        answered(two, at=9),
    ]
    for end in (records[4], Ended(8, 1, "cancelled", "No more.")):
        told = questions_of(ANN, [*records[:4], end, records[5]])
        assert [(q.id, q.answer, q.answered) for q in told] == [
            (one.id, Allow("kim"), 5),
            (two.id, Withdrawn("No more."), 8),
        ]
        assert not any(question.is_open for question in told)


def test_an_answer_may_come_before_its_question() -> None:
    """R224: it stands when the question is asked, and is known when it never is."""
    one = asking(0, "result")
    early = answered(one, Result("It came.", "shop"), at=2)
    asked = Asked(3, 1, 0, (one,))
    orders: list[list[AnyRecord]] = [[responded(1), early], [early, responded(1)]]
    for records in ([*order, asked] for order in orders):
        [question] = questions_of(ANN, [START, *records])
        assert (question.answer, question.answered, question.asked) == (early.answer, 2, 3)
    ends: list[AnyRecord | None] = [None, Returned(4, 1, 0, (result(0),), "r"), Ended(4, 1, "done")]
    for end in ends:
        for order in orders:
            told = questions_of(ANN, [START, *order, *([end] if end else [])])
            [question] = told
            assert (question.call, question.kind, question.answer) == (
                "c1-0-0", "result", early.answer,
            )  # fmt: skip
    assert questions_of(ANN, [START, early]) == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(1, 3), st.booleans()),
        st.tuples(st.just("answer"), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("end"), st.just(0), st.booleans()),
    ),
    max_size=20,
)


@given(STEPS)
def test_open_questions_are_those_of_a_turn_that_waits(steps: list[tuple[str, int, bool]]) -> None:
    """R223: by whichever way they are read, and of no turn that is over."""
    records: list[AnyRecord] = []
    turn, waits = 0, dict[str, Asking]()
    for what, number, flag in steps:
        if what == "ask" and not waits:
            turn += 1
            asked = [asking(n, "result" if flag else "approval", turn) for n in range(number)]
            start = msgspec.structs.replace(START, turn=turn)
            records += [start, responded(number, turn), Asked(3, turn, 0, tuple(asked))]
            waits = {each.id: each for each in asked}
        elif what == "answer" and waits:
            name = sorted(waits)[number % len(waits)]
            records.append(answered(waits.pop(name), turn=turn))
        elif what == "end" and turn and waits:
            withdrawn = tuple(waits) if flag else ()
            records.append(Ended(9, turn, "cancelled", withdrawn=withdrawn))
            waits = {}
    told = questions_of(ANN, records)
    assert {question.id for question in told if question.is_open} == set(waits)
    assert [question.turn for question in told] == sorted(question.turn for question in told)
    tally = Tally(records)
    parked = None if tally.open_turn is None else parked_of(tally.open_turn, tally.since)
    left = () if parked is None else open_in(parked.asked, parked.answers)
    assert {each.id for each in left} == set(waits)
