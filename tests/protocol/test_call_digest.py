"""What an approval is bound to: everything that a call does, and nothing that is noise."""

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.call_digest import call_digest

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)


def turned(value: Any, *, ascii_only: bool) -> str:
    """The same JSON, written in another order, with other spaces and other escapes."""

    def about(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: about(value[key]) for key in reversed(value)}
        return [about(each) for each in value] if isinstance(value, list) else value

    return json.dumps(about(value), indent=3, ensure_ascii=ascii_only)


def typed(value: Any) -> Any:
    """A value in which 1, 1.0 and true are three, as JSON writes them."""
    if isinstance(value, dict):
        return {key: typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [typed(each) for each in value]
    return (type(value), repr(value))


@given(OBJECTS, st.booleans())
def test_how_an_object_is_written_is_noise(value: dict[str, Any], ascii_only: bool) -> None:
    """P139: order of members, spaces and escapes, however deep."""
    one = json.dumps(value, separators=(",", ":"))
    assert call_digest("pay", one) == call_digest("pay", turned(value, ascii_only=ascii_only))


@given(OBJECTS, OBJECTS, TEXTS, TEXTS)
def test_what_is_done_is_exact(a: dict[str, Any], b: dict[str, Any], c: str, d: str) -> None:
    """R161, P138: one digest is one tool with equal arguments."""
    equal = (c, typed(a)) == (d, typed(b))
    assert (call_digest(c, json.dumps(a)) == call_digest(d, json.dumps(b))) is equal


@given(OBJECTS, st.sets(TEXTS, min_size=1, max_size=3), st.data())
def test_what_is_advisory_is_noise(value: dict[str, Any], advisory: Any, data: Any) -> None:
    """P139: other words, or none; and in everything else it stays exact."""
    rest = {key: each for key, each in value.items() if key not in advisory}
    worded = rest | data.draw(st.dictionaries(st.sampled_from(sorted(advisory)), VALUES))
    digest = call_digest("pay", json.dumps(value), tuple(advisory))
    assert call_digest("pay", turned(worded, ascii_only=True), sorted(advisory)) == digest
    other = data.draw(OBJECTS)
    kept = {key: each for key, each in other.items() if key not in advisory}
    if typed(kept) != typed(rest):
        assert call_digest("pay", json.dumps(other), tuple(advisory)) != digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1}', '{"a":1.0}'),
        ('{"a":1.0}', '{"a":1.00}'),
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":0}', '{"a":-0}'),
        ('{"a":1}', '{"a":true}'),
        ('{"a":null}', "{}"),
        ('{"a":null}', '{"a":"null"}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":1,"a":2}', '{"a":2,"a":1}'),
        ('{"a":[1,2]}', '{"a":[2,1]}'),
        ('{"a":{"why":1}}', '{"a":{"why":2}}'),
        ('{"a":"b c"}', '{"a":"b  c"}'),
    ],
)
def test_what_may_do_something_else_is_no_noise(one: str, other: str) -> None:
    """P138, P139: numbers as they are written, null and missing, a member twice; only outermost
    arguments are advisory."""
    for advisory in ((), ("why",)):
        assert call_digest("pay", one, advisory) != call_digest("pay", other, advisory)


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[]", '[{"why":1}]', '"why"', "1", "null", '{"a":NaN}', '{"a":1}{}',
     '{"a":"\\ud800"}', "[" * 100_000, '{"a":' * 100_000],
)  # fmt: skip
def test_what_is_no_object_keeps_its_exact_text(text: str) -> None:
    """P139: it cannot be told what of it is noise; what cannot be stored cannot either."""
    bound = msgspec.json.encode(("pay", text))
    assert call_digest("pay", text) == hashlib.sha256(bound).hexdigest()
    assert call_digest("pay", text) != call_digest("pay", f" {text}")
    assert call_digest("pay", text, ("why",)) != call_digest("pay", f" {text}", ("why",))


def test_a_digest_says_what_it_leaves_out() -> None:
    """P139: where a tool says otherwise by now, what was approved is another call."""
    said = [(), ("why",), ("note",), ("why", "note")]
    assert len({call_digest("pay", '{"cents":1}', advisory) for advisory in said}) == len(said)
    assert call_digest("pay", "{}", ("b", "a")) == call_digest("pay", "{}", ["a", "b"])
