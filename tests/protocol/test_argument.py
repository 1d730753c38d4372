"""Arguments: found by a path, and compared as JSON has them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.argument import Condition, Like, fits, values_at


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("cents", [7]),
        ("order.kind", ["gift"]),
        ("items.sku", ["a", "b"]),
        ("items", [{"sku": "a"}, {"sku": "b"}, 3]),
        ("order.kind.more", []),
        ("gone", []),
        ("none", [None]),
        ("deep.x", [1, 2]),
    ],
)
def test_a_path_goes_into_objects_and_every_element(path: str, found: list[object]) -> None:
    # R155
    arguments = {
        "cents": 7,
        "order": {"kind": "gift"},
        "items": [{"sku": "a"}, {"sku": "b"}, 3],
        "none": None,
        "deep": [[{"x": 1}], {"x": 2}],
    }
    assert list(values_at(arguments, path)) == found


@pytest.mark.parametrize(
    ("value", "condition", "does"),
    [
        (7, 7, True),
        (7.0, 7, True),
        (True, 1, False),
        (1, True, False),
        (False, False, True),
        ("7", 7, False),
        (None, None, True),
        (0, None, False),
        ("eur", ("usd", "eur"), True),
        (True, (0, 1), False),
        ("x", (), False),
        ({"a": 1}, "a", False),
        ("abc", Like("a*c"), True),
        ("abc", Like("*"), True),
        ("abc", Like("abc"), True),
        ("abc", Like("ab"), False),
        ("abc", Like("A*"), False),
        ("aa", Like("a*a"), True),
        ("a", Like("a*a"), False),
        ("a.b", Like("a.b"), True),
        ("axb", Like("a.b"), False),
        ("line\nline", Like("line*"), True),
        (7, Like("7"), False),
        ("", Like(""), True),
    ],
)
def test_a_value_is_compared_as_json_has_it(
    value: object, condition: Condition, *, does: bool
) -> None:
    # R155
    assert fits(value, condition) is does


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_a_shape_means_what_it_says(shape: str, text: str) -> None:
    """R155: the same as the slow way of telling it."""
    slow = re.fullmatch(".*".join(map(re.escape, shape.split("*"))), text) is not None
    assert fits(text, Like(shape)) is slow


def test_a_shape_of_many_stars_is_told_at_once() -> None:
    assert not fits("a" * 100_000, Like("a*" * 1_000 + "b"))
