"""What comes out of a tool as text, as what comes later, or as what is kept apart."""

import hashlib
from typing import Any

import pytest

from greenroom.actors import Later, tool
from greenroom.actors.models.scripted import call
from greenroom.actors.tool_text import Output, kept_text, output_of
from greenroom.protocol.errors import ToolFailed
from greenroom.protocol.limits import Limits
from tests.actors.asked import asking, asks, calls_of
from tests.actors.test_said import Words
from tests.actors.world import FULL, Stage

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
