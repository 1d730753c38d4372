"""Laws of text that goes into a tool and comes out of it."""

import hashlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import Later, tool
from greenroom.actors.models.scripted import call
from greenroom.actors.tool_text import Output, check_arguments, kept_text, output_of
from greenroom.protocol.errors import BadArguments, ToolFailed
from greenroom.protocol.limits import Limits
from tests.actors.asked import asking, asks, calls_of
from tests.actors.test_said import Words
from tests.actors.world import FULL, Stage


class Point(msgspec.Struct):
    x: int
    note: str = ""


@pytest.mark.parametrize(
    ("value", "text", "mended"),
    [
        ("as it is", "as it is", False),
        (b"caf\xc3\xa9", "café", False),
        (b"\xff\x00", "\ufffd\ufffd", True),
        ("a\0b", "a\ufffdb", True),
        ("\ud83d", "\ufffd", True),
        (Point(1), '{"x":1,"note":""}', False),
        (Point(1, "\ud83d"), '{"note":"\ufffd","x":1}', True),
        ({"b": {3, 1, 2}, "a": None}, '{"a":null,"b":[1,2,3]}', False),
        ({1: "x"}, '{"1":"x"}', False),
        (None, "null", False),
        (float("nan"), "null", False),
    ],
)
def test_every_result_is_text_that_can_be_stored(value: object, text: str, mended: bool) -> None:
    """R194, P128: text as it is, bytes as UTF-8, all else as JSON; what was mended is marked."""
    output = output_of(value)
    assert output.mended is mended
    if isinstance(value, Point) and mended:
        assert msgspec.json.decode(output.text) == msgspec.json.decode(text)
    else:
        assert output == Output(text, mended)
    output.text.encode()


def test_what_is_no_value_or_too_large_is_refused() -> None:
    """R194: a typed failure and nothing else."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for value in (object(), lambda: None, deep):
        with pytest.raises(ToolFailed):
            output_of(value)
    with pytest.raises(ToolFailed):
        output_of("é" * 60, Limits(object_bytes_max=100))
    assert output_of("é" * 50, Limits(object_bytes_max=100)).text


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3)


@given(st.recursive(st.text(alphabet='[]{}"\\ a'), nested, max_leaves=20), st.integers(1, 6))
def test_depth_is_that_of_the_value(value: object, bound: int) -> None:
    """R194: brackets in strings do not count, those of the value do."""
    text = msgspec.json.encode(value).decode()
    limits = Limits(value_depth_max=bound)
    if depth(value) > bound:
        with pytest.raises(BadArguments):
            check_arguments(text, limits)
    else:
        check_arguments(text, limits)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def test_size_is_counted_in_bytes() -> None:
    """R194: the bound is of UTF-8 bytes, not of characters."""
    check_arguments("é" * 50, Limits(arguments_bytes_max=100))
    with pytest.raises(BadArguments):
        check_arguments("é" * 51, Limits(arguments_bytes_max=100))


ODD: list[Any] = [
    Later("x", expires=-1),
    Later("x", expires=2**53 + 1),
    Later("x", expires=1.5),  # type: ignore[arg-type]
    Later("x", expires="tomorrow"),  # type: ignore[arg-type]
    Later("x", expires=True),
    Later(7),  # type: ignore[arg-type]
    Later(None),  # type: ignore[arg-type]
    Output("x", later="soon"),  # type: ignore[arg-type]
    Output("x", later=Later(b"x")),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("value", ODD, ids=repr)
async def test_a_later_that_cannot_be_asked_is_a_failure_of_its_tool(
    stage: Stage, value: Any
) -> None:
    """R224, R194, R175: the model is told, and neither turn nor session ends by it."""
    with pytest.raises(ToolFailed):
        output_of(value)

    @tool(effect="read")
    async def odd() -> Any:
        """Return what cannot be asked."""
        return value

    async with asking(stage, call("odd"), "Odd.", tools=[odd], preset=FULL) as session:
        assert (await session.ask("Hi")).end == "done"
        assert await calls_of(session) == [("odd", "failed")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\0b\ud800", "a\ufffdb\ufffd"), (Words("when?"), "when?"), ("x" * 9_999, "x" * 2_000)],
)
async def test_what_a_tool_waits_for_is_made_valid_and_has_a_bound(
    stage: Stage, text: str, shown: str
) -> None:
    """R194, R223: a question that cannot be stored would end its session."""

    @tool(effect="read")
    async def odd() -> Later:
        """Say oddly what is waited for."""
        return Later(text, expires=2**53)

    async with asking(stage, call("odd"), tools=[odd], preset=FULL) as session:
        [question] = await asks(session)
        assert (question.text, question.expires) == (shown, 2**53)
        assert type(question.text) is str


@pytest.mark.parametrize("text", ["", "x" * 25, "ä" * 50, "x" * 100, "x" * 101, "ä" * 51])
def test_a_long_text_is_kept_apart_and_a_short_one_is_not(text: str) -> None:
    """R193, P126: by its bytes; the head ends with a character, and names the whole."""
    kept = kept_text(text, Limits(result_bytes_max=100, result_head_bytes=9))
    data = text.encode()
    if len(data) <= 100:
        assert (kept.shown, kept.object, kept.blobs) == (text, None, {})
        return
    digest = hashlib.sha256(data).hexdigest()
    assert (kept.object, kept.blobs) == (digest, {digest: data})
    assert kept.shown.startswith(text[: 9 // len(text[0].encode())] + "\n")
    assert digest in kept.shown
