"""Laws of transcripts: who said what, and why something was not sent."""

from msgspec import Raw

from greenroom.protocol.encoding import encode_message
from greenroom.protocol.message import AssistantMessage, UserMessage
from greenroom.protocol.record import Accepted, Dispatched, NotSent, Responded
from greenroom.protocol.transcript import transcript_of

SAID = Raw(encode_message(UserMessage("Hi.")))
ANSWER = Raw(encode_message(AssistantMessage("Hello.")))


def test_only_what_was_sent_has_a_sender() -> None:
    """R98: an answer of the model is by nobody, whoever asked."""
    for by in ("person", "host"):
        records = (
            Accepted(0, "m", SAID, "started", 0, 1, by=by),
            Dispatched(0, 1, "m", 0, 1, "model", "read-only", "digest", "digest"),
            Responded(0, 1, 0, 0, ANSWER),
        )
        asked, answered = transcript_of(records)
        assert (asked.origin, asked.by) == (by, by)
        assert (answered.origin, answered.by) == ("model", None)


def test_a_message_that_was_not_sent_says_why() -> None:
    """R81, R98: the reason stands beside the submission, which stays."""
    records = (
        Accepted(0, "m", SAID, "started", 0, 1),
        NotSent(0, 1, "m", "not_sent", "It is too long.", "over_budget"),
    )
    (entry,) = transcript_of(records)
    assert (entry.mark, entry.reason) == ("not sent", "It is too long.")
