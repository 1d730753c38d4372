"""Laws of a request as it is cut into tokens."""

from greenroom.actors.bench import four_bytes
from tests.actors.bench.scenes import MINUTE, played, prompt


def test_a_token_is_four_bytes_and_the_last_is_filled_up() -> None:
    """So a piece has the same tokens wherever it stands."""
    assert four_bytes(b"").data == b""
    assert four_bytes(b"abcd").data == b"abcd"
    assert four_bytes(b"abcde").data == b"abcde\0\0\0"
    assert len(four_bytes(b"abcde")) == 2
    assert four_bytes(b"abcd")[0] == four_bytes(b"abcdefgh")[0]
    assert list(four_bytes(b"abcdefgh")[1:]) == [four_bytes(b"abcdefgh")[1]]


def test_every_token_of_a_request_belongs_to_one_placement() -> None:
    """The stretches follow one another and end where the request does."""
    requests, _ = played(prompt(results=(3,)), prompt(MINUTE))
    for *_, sent in requests.sent:
        ends = [end for _, end in sent.spans]
        assert ends == sorted(set(ends))
        assert ends[-1] == len(sent.tokens) == sent.breakpoints.ends[-1]


def test_marks_stand_behind_what_is_shared_and_at_the_end() -> None:
    """At most four: behind platform, agent and person, and at the newest message."""
    requests, _ = played(prompt(results=(3,)))
    for *_, sent in requests.sent:
        behind = {
            level: end for level, end in sent.spans if level in {"platform", "agent", "person"}
        }
        assert sent.breakpoints.marked == (*sorted(behind.values()), len(sent.tokens))
        assert set(sent.breakpoints.marked) <= set(sent.breakpoints.ends)
        assert len(sent.breakpoints.ends) == len(sent.head.parts) + len(sent.pieces) - 2
