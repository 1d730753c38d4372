"""Laws of the demo's figures: equal bytes are counted as a cache would find them."""

from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import SessionInfo
from greenroom.actors.cli.measuring import Measured, Prefixes, Share, quantile
from greenroom.actors.models.scripted import call, scripted
from greenroom.protocol.identity import SessionId
from greenroom.protocol.request import Messages, ModelRequest
from tests.actors.models.provider import Heard

words = st.text("ab", max_size=3)
messages = st.lists(st.text("ab", min_size=1, max_size=4).map(str.encode), min_size=1, max_size=4)


def request(system: str, sent: list[bytes]) -> ModelRequest:
    return ModelRequest("m", system, b"[]", Messages(sent, len(sent)), b"{}")


def info(key: str, agent: str = "a") -> SessionInfo:
    return SessionInfo(SessionId("default", key), agent, None, 1)


def slowly(one: bytes, other: bytes) -> int:
    """The common beginning, counted byte by byte."""
    both = list(zip(one, other, strict=False))
    return next((i for i, (a, b) in enumerate(both) if a != b), len(both))


@given(words, messages, words, messages)
def test_within_a_conversation_it_counts_as_the_bytes_do(
    system: str, sent: list[bytes], other_system: str, other: list[bytes]
) -> None:
    """R57: as if the canonical bytes were compared, but for what closes a list of messages."""
    one, two = request(system, sent), request(other_system, other)
    prefixes = Prefixes()
    prefixes.take(one, info("s"))
    prefixes.take(two, info("s"))
    exact = slowly(one.canonical(), two.canonical())
    closing = len(b'],"parameters":{}}') if one.canonical() == two.canonical() else 1
    assert exact - closing <= prefixes.within.equal <= exact + 1


def test_a_conversation_of_an_earlier_run_is_no_first_request() -> None:
    """What was sent before we looked is unknown: its first request here is counted nowhere."""
    prefixes = Prefixes()
    prefixes.take(request("kept", [b"Hello"]), info("new"))
    counted = Share(prefixes.overall.equal, prefixes.overall.total)
    prefixes.take(request("kept", [b"Hello"]), SessionInfo(SessionId("default", "s"), "a", None, 2))
    assert (prefixes.overall, prefixes.across) == (counted, Share())
    prefixes.take(request("kept", [b"Hello", b"you"]), info("s"))
    assert prefixes.within.equal > 0


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
