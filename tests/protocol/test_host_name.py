"""Which host is named: the plain form is read, and nothing that programs read differently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.host_name import check_host, host_named, is_among


@pytest.mark.parametrize(
    ("value", "host"),
    [
        ("https://api.shop.example/orders?x=1", "api.shop.example"),
        ("HTTPS://API.Shop.Example.", "api.shop.example"),
        ("api.shop.example:8443/x", "api.shop.example"),
        ("api.shop.example", "api.shop.example"),
        ("ftp://a_b.example#evil.example", "a_b.example"),
        ("http://[::1]:80/", "[::1]"),
        ("http://127.0.0.1", "127.0.0.1"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("https://a.example/https://evil.example", "a.example"),
        ("https://a.example/\n", "a.example"),
    ],
)
def test_the_plain_form_names_its_host(value: str, host: str) -> None:
    # R158
    assert host_named(value) == host


@pytest.mark.parametrize(
    "value",
    [
        "https://a.example@evil.example/",
        "https://a.example:80@evil.example",
        "https://evil.example\\@a.example",
        "https://a.example\\.evil.example",
        "https:/evil.example",
        "https:evil.example",
        "https:///evil.example",
        "//evil.example",
        " https://a.example",
        "https://a\t.example",
        "https://a.example\n.evil.example",
        "https://bücher.example",
        "https://a..example",
        "https://a.example:port",
        "https://-a.example",
        "https://[::1",
        "javascript:alert(1)",
        "/etc/passwd",
        "*.example",
        "https://%61.example",
        ".",
    ],
)
def test_what_programs_read_differently_names_none(value: str) -> None:
    """R158: a list that is asked about another host than the one that is reached bounds nothing."""
    assert host_named(value) is None


@pytest.mark.parametrize("value", [7, 1.5, True, {}, {"host": "a.example"}])
def test_what_is_no_text_names_none(value: object) -> None:
    assert host_named(value) is None


def test_a_list_holds_names_and_whole_domains() -> None:
    """R158: `*.domain` is all below it, at any depth, and not itself."""
    hosts = ("a.example", "*.b.example")
    assert [
        is_among(host, hosts)
        for host in ("a.example", "x.a.example", "b.example", "x.b.example", "y.x.b.example")
    ] == [True, False, False, True, True]
    assert not is_among("xb.example", hosts)
    assert not is_among("evil.example", ())


@pytest.mark.parametrize("pattern", ["A.Example", "*.A.example.", "localhost", "[::1]"])
def test_a_host_of_a_list_is_kept_in_small_letters(pattern: str) -> None:
    assert check_host(pattern) == pattern.lower().removesuffix(".")


@pytest.mark.parametrize(
    "pattern",
    [
        *("", "*", "*.", "a.*", "*a.example", "*.*.example", "https://a.example", "a.example:80"),
        *("a/b", "ü.de", 7, " a.example", "a" * 64, ".".join(["a" * 60] * 5)),
    ],
)
def test_what_cannot_be_a_host_is_refused_with_the_way_to_write_it(pattern: object) -> None:
    with pytest.raises(InvalidInput, match="write a name in ASCII"):
        check_host(pattern)


@given(st.text(max_size=60))
def test_whatever_is_named_stands_plainly_in_the_value(value: str) -> None:
    """R158: what is told is in the value, in front of everything but a scheme."""
    host = host_named(value)
    if host is not None:
        _, _, behind = value.lower().rpartition("://") if "://" in value else ("", "", value)
        assert host in value.lower()
        assert behind or value
        assert is_among(host, (host,))
