"""What can go wrong between here and a provider is one typed failure that says if it may pass."""

from itertools import pairwise

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.models.transport import Events, Secret, retry_after
from greenroom.protocol.errors import ModelFailed

STREAM = (
    ': hello\r\n\r\nevent: message\ndata: {"a":"\u00e9"}\n\ndata:one\ndata: two\n\nid: 7\n\n'
    "data: [DONE]\n\ndata: after\n\n"
).encode()


@given(st.lists(st.integers(0, len(STREAM))))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    """P025: nothing depends on how the network cuts a stream, or comes after its end."""
    taken: list[str] = []

    def take(data: str) -> bool:
        taken.append(data)
        return data == "[DONE]"

    events = Events(take, 1_000)
    places = [0, *sorted(cuts), len(STREAM)]
    for start, end in pairwise(places):
        events.feed(STREAM[start:end])
    assert taken == ['{"a":"é"}', "one\ntwo", "[DONE]"]
    assert events.ended


def test_a_stream_is_bounded_while_it_comes() -> None:
    """R194: a line without an end too."""
    events = Events(lambda data: False, 100)
    events.feed(b"data: " + b"x" * 90)
    with pytest.raises(ModelFailed, match="bound of 100 bytes"):
        events.feed(b"x" * 10)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        (
            {
                "retry-after": "Mon, 30 Nov 2026 10:00:07 GMT",
                "date": "Mon, 30 Nov 2026 10:00:00 GMT",
            },
            7.0,
        ),
        (
            {
                "retry-after": "Mon, 30 Nov 2026 09:00:00 GMT",
                "date": "Mon, 30 Nov 2026 10:00:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:07 GMT"}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    """R179: a date is measured by the provider's own clock."""
    assert retry_after(httpx2.Headers(headers)) == seconds


def test_a_secret_shows_itself_to_nobody() -> None:
    """R229: not in its repr, not in the headers', not in what is told of a fault."""
    secret = Secret("sk-hidden")
    assert secret.headers()["authorization"] == "Bearer sk-hidden"
    assert "hidden" not in repr(secret) + repr(secret.headers()) + secret.hide("no: sk-hidden!")


def test_no_key_is_no_header() -> None:
    assert "authorization" not in Secret().headers()
    assert Secret().hide("text") == "text"
