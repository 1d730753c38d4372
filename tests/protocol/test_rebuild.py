"""Laws of rebuilding: a request that never was is told from one that was."""

import pytest
from msgspec import Raw

from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import Missing
from greenroom.protocol.message import UserMessage
from greenroom.protocol.rebuild import request_at
from greenroom.protocol.record import Accepted, AnyRecord, Dispatched, NotSent

SAID = Raw(encode_message(UserMessage("Hi.")))
UNSENT = (
    Accepted(0, "m", SAID, "started", 0, 1),
    NotSent(0, 1, "m", "not_sent", "It is too long.", "over_budget"),
)
SENT = (
    Accepted(0, "n", SAID, "started", 0, 2),
    Dispatched(0, 2, "n", 0, 1, "model", "read-only", "digest", "digest"),
)


@pytest.mark.parametrize(
    ("records", "turn", "told"),
    [
        ((), 1, "There is no turn 1 in this session; there is none yet."),
        (UNSENT, 1, "Turn 1 ended before it sent a request."),
        (UNSENT, 2, "There is no turn 2 in this session; there is 1."),
        ((*UNSENT, *SENT), 3, "There is no turn 3 in this session; there are 2."),
        ((*UNSENT, *SENT), 1, "Turn 1 ended before it sent a request."),
    ],
)
def test_a_request_that_never_was_is_told(
    records: tuple[AnyRecord, ...], turn: int, told: str
) -> None:
    """R196: no such turn is another thing than a turn that sent nothing."""
    with pytest.raises(Missing) as error:
        request_at(records, turn, -1, lambda _: None)
    assert error.value.sentence == told
