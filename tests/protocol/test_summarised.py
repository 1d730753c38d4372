"""A request for a summary, rebuilt; the laws with a host are those of ``compacting``."""

import pytest

from greenroom.protocol.compaction import framed_summary, piece_of, summary_request
from greenroom.protocol.composition import composition_digest, encode_composition
from greenroom.protocol.errors import Missing
from greenroom.protocol.prompt_checkpoint import checkpoint_between, lean
from greenroom.protocol.record import Compacted
from greenroom.protocol.record_parts import SummaryCall
from greenroom.protocol.request import request_digest
from greenroom.protocol.summarised import summary_request_at
from greenroom.protocol.wording import CURRENT
from tests.protocol.histories import KEPT, MODEL, Writing

ENCODED = encode_composition(KEPT)
BLOBS = {composition_digest(ENCODED): ENCODED}
PLAIN = {"rounds": [], "pick": False, "note": False, "ended": True, "size": 40}


def test_each_call_of_a_compaction_is_rebuilt() -> None:
    """R196, R210: its piece, behind the summary that was taken before it; a second try as well."""
    writing = Writing()
    for _ in range(3):
        writing.turn(PLAIN)
    part = writing.projected().chunks[:4]
    first = summary_request(KEPT, "SYS", CURRENT, part[:2], changed=["agent"])
    second = summary_request(KEPT, "SYS", CURRENT, part[2:], so_far="One.", changed=["agent"])
    digests = [request_digest(first), request_digest(first), request_digest(second)]
    calls = (
        SummaryCall(digests[0], 2),
        SummaryCall(digests[1], 2, summary="One."),
        SummaryCall(digests[2], 4, summary="Both."),
    )
    whole_one = checkpoint_between(None, [("all", "SYS")], 6, 0)
    assert whole_one is not None
    checkpoint = lean(whole_one, {})
    (name,) = BLOBS
    record = Compacted(0, 2, name, MODEL, calls, ("agent",), checkpoint=checkpoint)
    records = [*writing.records, record]
    for number, request in enumerate((first, first, second)):
        sent = summary_request_at(records, 0, number, BLOBS.get)
        assert sent.is_exact
        assert (sent.turn, sent.round) == (0, number)
        assert sent.request.canonical() == request.canonical()
    assert summary_request_at(records, -1, -1, BLOBS.get).request.messages[0] == framed_summary(
        "One.", CURRENT
    )
    assert piece_of(part, 2, 4) == list(second.messages)[1:-1]


@pytest.mark.parametrize(("compaction", "call"), [(1, 0), (0, 1), (-2, 0)])
def test_a_call_that_never_was_is_missing(compaction: int, call: int) -> None:
    """R196: no such compaction, or no such call of it."""
    writing = Writing()
    writing.turn(PLAIN)
    writing.compacted(1)
    with pytest.raises(Missing, match="the session has 1"):
        summary_request_at(writing.records, compaction, call, BLOBS.get)
