"""Laws of the demo's figures: equal bytes are counted as a cache would find them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import SessionInfo
from greenroom.actors.cli.measuring import Measured, Prefixes, Share, common, quantile
from greenroom.actors.models.scripted import call, scripted
from greenroom.protocol.identity import SessionId
from greenroom.protocol.request import Messages, ModelRequest
from tests.actors.models.provider import Heard

words = st.text("ab", max_size=3)
messages = st.lists(st.binary(min_size=1, max_size=4), min_size=1, max_size=4)


def request(system: str, sent: list[bytes]) -> ModelRequest:
    return ModelRequest("m", system, b"[]", Messages(sent, len(sent)), b"{}")


def info(key: str, agent: str = "a") -> SessionInfo:
    return SessionInfo(SessionId("default", key), agent, None, 1)


def slowly(one: bytes, other: bytes) -> int:
    """The common beginning, counted byte by byte."""
    both = list(zip(one, other, strict=False))
    return next((i for i, (a, b) in enumerate(both) if a != b), len(both))


@given(st.binary(max_size=20), st.binary(max_size=20), st.binary(max_size=20))
def test_the_common_beginning_is_exact(shared: bytes, one: bytes, other: bytes) -> None:
    """R217: the search by halves finds what counting finds."""
    assert common(shared + one, shared + other) == slowly(shared + one, shared + other)


@given(st.lists(st.tuples(words, messages), min_size=2, max_size=4))
def test_within_a_conversation_it_counts_as_the_bytes_do(
    sent: list[tuple[str, list[bytes]]],
) -> None:
    """R57: each request against the one before it, as if the canonical bytes were compared.

    A comma stands between two messages: comparing part by part may count that one more or less.
    """
    prefixes = Prefixes()
    for system, parts in sent:
        prefixes.take(request(system, parts), info("s"))
    whole = [request(system, parts).canonical() for system, parts in sent]
    exact = sum(slowly(one, other) for one, other in pairwise(whole))
    assert abs(prefixes.within.equal - exact) <= len(sent) * len(b'],"parameters":{}}')


def test_across_conversations_of_an_agent() -> None:
    """R65: first requests are compared within one agent only, with any conversation before."""
    prefixes = Prefixes()
    first = request("kept", [b"Hello"])
    prefixes.take(first, info("one"))
    assert prefixes.across == Share()
    prefixes.take(request("kept", [b"Help"]), info("two"))
    head = first.canonical().index(b"Hello")
    assert prefixes.across.equal == head + len(b"Hel")
    prefixes.take(request("kept", [b"Hello"]), info("three", agent="another"))
    assert prefixes.across.equal == head + len(b"Hel")


async def test_a_measured_model_changes_nothing() -> None:
    """The same answer, the same words streamed, and its calls and time counted once."""
    measured, sink = Measured(scripted(("Hello", call("look_up")))), Heard()
    answer = await measured.respond(request("s", [b"1"]), info("s"), sink)
    assert (answer.text, sink.heard) == ("Hello", "Hello")
    assert (measured.calls, measured.tool_calls) == (1, 1)
    assert measured.seconds(SessionId("default", "s"), 1) > 0
    assert measured.seconds(SessionId("default", "s"), 1) == 0


def test_quantiles() -> None:
    """The p99 of few values is the largest; of none it is 0."""
    assert quantile([], 0.5) == 0
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([3.0, 1.0, 2.0], 0.99) == 3.0
