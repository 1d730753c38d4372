"""The law of how far two requests are alike."""

from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.protocol.common_bytes import common_bytes


def slowly(one: bytes, other: bytes) -> int:
    """The common beginning, counted byte by byte."""
    both = list(zip(one, other, strict=False))
    return next((i for i, (a, b) in enumerate(both) if a != b), len(both))


@given(st.binary(max_size=20), st.binary(max_size=20), st.binary(max_size=20))
@example(b"", b"", b"a")
@example(b"abc", b"", b"d")
def test_the_common_beginning_is_exact(shared: bytes, one: bytes, other: bytes) -> None:
    """R217: the search by halves finds what counting finds."""
    assert common_bytes(shared + one, shared + other) == slowly(shared + one, shared + other)
