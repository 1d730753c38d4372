"""What is granted follows from the records alone."""

from typing import Any

import msgspec
import pytest
from msgspec import structs

from greenroom.protocol.account import turns_of
from greenroom.protocol.encoding import decode_records, encode_records
from greenroom.protocol.grant import Grant, grant_of, grants_of
from greenroom.protocol.identity import SessionId
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Result
from greenroom.protocol.record import Accepted, AnyRecord, Asked, Ended, NotSent, Returned
from greenroom.protocol.record_parts import GrantUse
from greenroom.protocol.tally import Tally
from tests.protocol.test_parked import ANN, START, answered, asking, responded, result

FIRST, SECOND = asking(0), asking(1)
KIM, LEE = Allow("kim"), Allow("lee")
TURN = (
    START,
    responded(2),
    Asked(3, 1, 0, (FIRST, SECOND)),
    answered(FIRST, KIM),
    answered(SECOND, LEE),
)


def ended(*unused: str, turn: int = 1) -> Ended:
    return Ended(9, turn, "interrupted", unused=unused)


def left_by(*records: AnyRecord) -> list[str]:
    """The questions whose grants are left, as the records are read back."""
    tally = Tally(decode_records(encode_records(records)))
    return [grant.question for grant in tally.grants]


def started(turn: int) -> Any:
    return type(START)(1, turn, f"m{turn}", turn, 1, "m", "p", "c", "r")


def used(*questions: str, turn: int = 2) -> Any:
    uses = tuple([GrantUse(f"c{turn}-0-{n}", name) for n, name in enumerate(questions)])
    return structs.replace(responded(len(questions), turn), granted=uses)


def test_the_end_of_a_turn_says_what_is_left() -> None:
    """P139: until it is used, or the next turn ends; a turn that was not sent is none."""
    end = ended(FIRST.id, SECOND.id)
    both = [FIRST.id, SECOND.id]
    assert left_by(*TURN) == []
    assert left_by(*TURN, ended()) == []
    assert left_by(*TURN, end) == both
    assert left_by(*TURN, end, started(2)) == both
    assert left_by(*TURN, end, started(2), used(SECOND.id)) == [FIRST.id]
    assert left_by(*TURN, end, started(2), used(SECOND.id), ended(turn=2)) == []
    refused = NotSent(9, 2, "m2", "not_sent", "", "")
    assert left_by(*TURN, end, refused) == both
    assert left_by(*TURN, end, NotSent(9, 2, "m2", "cancelled", "", "")) == []
    stop = Accepted(9, "m2", msgspec.Raw(b"{}"), "queued", 0, None, stops=1)
    assert left_by(*TURN, stop, end) == both
    assert left_by(*TURN, stop, end, started(2)) == left_by(*TURN, stop, end, refused) == []
    plain = structs.replace(stop, stops=None)
    assert left_by(*TURN, plain, end, started(2)) == both


def test_what_is_granted_is_what_was_asked_and_answered() -> None:
    """P139, R223: the first answer stands, and it is of that session only."""
    late = answered(FIRST, Allow("late"))
    [grant] = grants_of([*TURN, late], [FIRST.id])
    assert grant == Grant(FIRST.id, "pay", FIRST.digest, KIM)
    assert grants_of(TURN, [SECOND.id, FIRST.id, "none"]) == (grant_of(SECOND, LEE), grant)
    assert grants_of(TURN[:3], [FIRST.id]) == ()
    assert grant.is_of(ANN)
    assert not grant.is_of(SessionId("t", "ben"))


@pytest.mark.parametrize("answer", [Deny("k"), Result("x", "k"), Failure("x", "k")])
def test_only_a_yes_grants(answer: Answer) -> None:
    """R160: a no creates no grant."""
    assert grant_of(FIRST, answer) is None
    assert grants_of([*TURN[:3], answered(FIRST, answer)], [FIRST.id]) == ()


def test_a_turn_tells_by_which_answer_a_call_ran() -> None:
    """P139, R161: and a store of an older release, which has none of it, is read as before."""
    back = Returned(5, 2, 0, (result(0, 2), result(1, 2)), "r")
    records = [*TURN, ended(FIRST.id), started(2), used(FIRST.id), back]
    (_, turn) = turns_of(records, "a")
    assert [made.granted for made in turn.calls] == [FIRST.id, None]
    assert b"granted" not in encode_records([responded(1)])
    assert b"unused" not in encode_records([ended()])
