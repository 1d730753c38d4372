"""Laws of counting: one counter, and what stands behind a section is its own."""

from greenroom.protocol.tokens import TokenEstimate, section_tokens


def test_an_estimate_counts_bytes() -> None:
    """R100: of UTF-8, rounded up, of texts and bytes alike."""
    counter = TokenEstimate(3.0)
    assert [counter.tokens(each) for each in ("", "abc", "abcd", "ää", b"abcd")] == [0, 1, 2, 2, 2]


def test_the_blank_line_behind_a_section_is_its_own() -> None:
    """R100, R103: so sections together cost what their string does."""
    counter = TokenEstimate(1.0)
    assert section_tokens("abc", counter) == 5
