"""A model over HTTP, against a real server: what is sent, what is answered, and every fault."""

import json
from collections.abc import AsyncIterator

import pytest
import trio

from greenroom.actors.models import openai as module
from greenroom.actors.models.chat_request import request_body
from greenroom.actors.models.openai import OpenAI, openai
from greenroom.actors.models.port import Capabilities, RequestedCall
from greenroom.actors.models.retry import Retries
from greenroom.protocol.errors import ExtraMissing, ModelFailed
from greenroom.protocol.limits import Limits
from greenroom.protocol.usage import Usage
from tests.actors.models.provider import (
    AT_ONCE,
    Exchange,
    Heard,
    Play,
    Provider,
    cut,
    delta,
    event,
    events,
    garbled,
    made,
    refusal,
    request_of,
    session_of,
    text,
)

KEY = "sk-verysecret"


@pytest.fixture
async def model(provider: Provider) -> AsyncIterator[OpenAI]:
    made = openai("m", base_url=provider.url, key=KEY, retries=AT_ONCE)
    yield made
    await made.aclose()


async def hanging(exchange: Exchange) -> None:
    """Begins to answer and says no more."""
    await exchange.start()
    await exchange.data(delta(content="Hal"))
    await exchange.until_left()


async def test_an_answer_is_streamed_and_returned_whole(
    provider: Provider, model: OpenAI, sink: Heard
) -> None:
    """P025, R190."""
    counted = {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "total_tokens": 11,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    provider.plays = [text("Grüß ", "dich 😀", usage=counted)]
    response = await model.respond(request_of(), session_of(), sink)
    assert response.text == "Grüß dich 😀"
    assert sink.told == ["Grüß ", "dich 😀"]
    assert response.usage == Usage(input=5, cache_read=4, output=2)
    assert response.finish == "stop"


async def test_calls_come_from_the_wire(provider: Provider, model: OpenAI, sink: Heard) -> None:
    begun = {"index": 0, "id": "call_0", "function": {"name": "look", "arguments": '{"at"'}}
    ended = {"index": 0, "function": {"arguments": ":1}"}}
    provider.plays = [
        events(delta(tool_calls=[begun]), delta(tool_calls=[ended]), delta("tool_calls"))
    ]
    response = await model.respond(request_of(), session_of(), sink)
    assert response.calls == (RequestedCall("call_0", "look", '{"at":1}'),)


async def test_the_request_is_sent_byte_for_byte(
    provider: Provider, model: OpenAI, sink: Heard
) -> None:
    """R196: what was handed over is what the provider gets."""
    provider.plays = [text("Yes.")]
    request = request_of(
        b'{"role":"user","content":"\xc3\xa9  spaced"}', tools=b'[{"type": "function"}]'
    )
    await model.respond(request, session_of(), sink)
    asked = provider.asked[0]
    assert asked.body == request_body(request)
    assert request.tools in asked.body
    assert request.messages[0] in asked.body
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"


async def test_extra_fields_are_a_function_of_the_session(provider: Provider, sink: Heard) -> None:
    provider.plays = [text("Yes.")]
    model = made(provider, extra=lambda session: {"prompt_cache_key": session.agent})
    await model.respond(request_of(), session_of(), sink)
    await model.aclose()
    assert json.loads(provider.asked[0].body)["prompt_cache_key"] == "agent"


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_temporary_faults_are_tried_again_with_the_same_bytes(
    provider: Provider, model: OpenAI, sink: Heard, status: int
) -> None:
    """R179."""
    provider.plays = [refusal(status, retry_after="0"), refusal(status), text("Yes.")]
    assert (await model.respond(request_of(), session_of(), sink)).text == "Yes."
    assert len({asked.body for asked in provider.asked}) == 1
    assert len(provider.asked) == 3


async def test_what_stays_is_told_after_the_last_try(provider: Provider, sink: Heard) -> None:
    """R179, P019: with what the provider asks for."""
    fault = {"error": {"message": "Slow\n down.", "code": "rate_limit"}}
    provider.plays = [refusal(429, fault, retry_after="7")]
    model = made(provider, retries=Retries(attempts_max=1))
    with pytest.raises(ModelFailed, match="status 429: Slow down") as caught:
        await model.respond(request_of(), session_of(), sink)
    await model.aclose()
    assert (caught.value.temporary, caught.value.retry_after) == (True, 7.0)
    assert caught.value.facts["begun"] is False  # nothing that a quota would count (R233)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "too long"}}),
        (401, {"error": "wrong key"}),
        (404, None),
        (307, None),
        (429, {"error": {"message": "Pay first.", "code": "insufficient_quota"}}),
    ],
)
async def test_permanent_faults_are_asked_once(
    provider: Provider, model: OpenAI, sink: Heard, status: int, body: object
) -> None:
    """R179, P005."""
    provider.plays = [refusal(status, body)]
    with pytest.raises(ModelFailed) as caught:
        await model.respond(request_of(), session_of(), sink)
    assert not caught.value.temporary
    assert len(provider.asked) == 1


@pytest.mark.parametrize(
    "half",
    [
        cut(delta(content="Hal"), b'data: {"choices":[{"del'),
        cut(delta(content="Hal"), delta("stop")),
        events(delta(content="Hal"), done=False),
    ],
    ids=["inside an event", "before the end of the body", "ended without a reason"],
)
async def test_a_cut_stream_is_tried_again_and_never_returned(
    provider: Provider, model: OpenAI, sink: Heard, half: Play
) -> None:
    """R179, P024: the reader is told to forget it."""
    provider.plays = [half, text("Whole.")]
    response = await model.respond(request_of(), session_of(), sink)
    assert (response.text, sink.heard, sink.restarts) == ("Whole.", "Whole.", 1)


async def test_a_kept_connection_that_died_is_replaced_at_once(
    provider: Provider, sink: Heard
) -> None:
    """R179: it is no try of its own, since no byte was answered."""
    provider.plays = [text("One."), cut(), text("Two.")]
    model = made(provider, retries=Retries(attempts_max=1))
    await model.respond(request_of(), session_of(), sink)
    assert (await model.respond(request_of(), session_of(), sink)).text == "Two."
    await model.aclose()
    assert provider.connections == 2


async def test_a_provider_that_is_not_there_is_a_temporary_fault(sink: Heard) -> None:
    """R179."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()
    model = openai("m", base_url=f"http://127.0.0.1:{port}", retries=AT_ONCE)
    with pytest.raises(ModelFailed, match="ConnectError") as caught:
        await model.respond(request_of(), session_of(), sink)
    await model.aclose()
    assert caught.value.temporary
    assert caught.value.facts["attempts"] == AT_ONCE.attempts_max


@pytest.mark.parametrize(
    "play",
    [
        garbled(),
        garbled(b"data: no json\n\n", "text/event-stream"),
        garbled(b"data: " + b"x" * 5_000 + b"\n\n", "text/event-stream"),
        garbled(event({"choices": "none"}), "text/event-stream"),
    ],
)
async def test_garbage_is_a_permanent_fault(provider: Provider, sink: Heard, play: Play) -> None:
    provider.plays = [play]
    model = made(provider, limits=Limits(response_bytes_max=4_000))
    with pytest.raises(ModelFailed) as caught:
        await model.respond(request_of(), session_of(), sink)
    await model.aclose()
    assert not caught.value.temporary
    assert len(provider.asked) == 1


async def test_a_fault_in_the_midst_of_a_stream_leaves_the_model_usable(
    provider: Provider, model: OpenAI, sink: Heard
) -> None:
    """R179: with events behind it, in the same piece and in later ones."""
    bad = event({"error": {"message": "no", "code": 400}})
    provider.plays = [events(delta(content="a") + bad + delta(content="b"), bad), text("Yes.")]
    with pytest.raises(ModelFailed, match="reports: no"):
        await model.respond(request_of(), session_of(), sink)
    assert sink.heard == "a"
    assert (await model.respond(request_of(), session_of(), sink)).text == "Yes."


async def test_a_stream_that_stays_open_behind_its_end_is_left(
    provider: Provider, model: OpenAI, sink: Heard
) -> None:
    """An answer that is whole waits for nothing."""

    async def staying(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.data(delta("stop", content="Yes.") + b"data: [DONE]\n\n")
        await exchange.until_left()

    provider.plays = [staying]
    with trio.fail_after(5):
        assert (await model.respond(request_of(), session_of(), sink)).text == "Yes."


async def test_a_connection_that_is_lost_behind_the_end_is_no_fault(
    provider: Provider, sink: Heard
) -> None:
    """R179: the answer was whole before."""
    provider.plays = [cut(delta("stop", content="Yes.") + b"data: [DONE]\n\n")]
    model = made(provider, retries=Retries(attempts_max=1))
    assert (await model.respond(request_of(), session_of(), sink)).text == "Yes."
    await model.aclose()


async def test_a_refusal_without_an_end_is_left(
    provider: Provider, model: OpenAI, sink: Heard
) -> None:
    """R194: neither bytes nor seconds are given to a body that goes on."""

    async def endless(exchange: Exchange) -> None:
        await exchange.start(400, "text/plain")
        await exchange.data(b"x" * 100_000)
        await exchange.until_left()

    provider.plays = [endless]
    with trio.fail_after(5), pytest.raises(ModelFailed, match="status 400"):
        await model.respond(request_of(), session_of(), sink)


async def test_waiting_for_a_connection_has_no_clock_of_its_own(
    provider: Provider, model: OpenAI, sink: Heard
) -> None:
    """The call's deadline bounds it; the client's own default is 5 s."""
    provider.plays = [text("Yes.")]
    await model.respond(request_of(), session_of(), sink)
    assert model._transport is not None
    assert model._transport._client.timeout.pool is None


async def test_a_long_refusal_is_read_in_part(
    provider: Provider, model: OpenAI, sink: Heard
) -> None:
    """R194: whatever a provider says about a fault, little of it is held."""
    provider.plays = [refusal(400, {"error": {"message": "x" * 1_000_000}})]
    with pytest.raises(ModelFailed) as caught:
        await model.respond(request_of(), session_of(), sink)
    assert caught.value.sentence == "The provider answered with status 400."


async def test_a_call_has_a_deadline(provider: Provider, sink: Heard) -> None:
    """R179: all retries are inside it."""
    provider.plays = [hanging]
    model = made(provider, limits=Limits(model_seconds_max=0.1))
    with pytest.raises(ModelFailed, match="longer than") as caught:
        await model.respond(request_of(), session_of(), sink)
    await model.aclose()
    assert caught.value.temporary


async def test_silence_is_bounded(provider: Provider, sink: Heard) -> None:
    provider.plays = [hanging, text("Yes.")]
    model = made(provider, silence_seconds=0.1)
    assert (await model.respond(request_of(), session_of(), sink)).text == "Yes."
    await model.aclose()


async def test_a_cancelled_call_ends_at_once_and_the_next_one_works(
    provider: Provider, model: OpenAI, sink: Heard
) -> None:
    """The provider sees the connection go, so that it stops to compute."""
    left = trio.Event()

    async def watched(exchange: Exchange) -> None:
        await hanging(exchange)
        left.set()

    provider.plays = [watched, text("Yes.")]
    with trio.CancelScope() as scope:

        class Leaving(Heard):
            def text(self, piece: str, /) -> None:
                scope.cancel()

        await model.respond(request_of(), session_of(), Leaving())
    assert scope.cancelled_caught
    with trio.fail_after(5):
        await left.wait()
    assert (await model.respond(request_of(), session_of(), sink)).text == "Yes."


async def test_many_streams_run_at_once(provider: Provider, model: OpenAI) -> None:
    """A hundred and fifty at once, where the client's own defaults give up on fifty."""
    all_here = trio.Event()

    async def together(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.data(delta(content="A"))
        if provider.running == 150:
            all_here.set()
        await all_here.wait()
        await exchange.data(delta("stop") + b"data: [DONE]\n\n")
        await exchange.end()

    provider.plays = [together]
    heard = [Heard() for _ in range(150)]
    async with trio.open_nursery() as nursery:
        for number, one in enumerate(heard):
            nursery.start_soon(model.respond, request_of(), session_of(f"s{number}"), one)
    assert {one.heard for one in heard} == {"A"}
    assert provider.most_running == 150


async def test_connections_are_kept_and_bounded(provider: Provider) -> None:
    """Twenty calls over three connections."""
    provider.plays = [text("Yes.")]
    model = made(provider, connections=3)
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(model.respond, request_of(), session_of(), Heard())
    await model.aclose()
    assert len(provider.asked) == 20
    assert provider.most_running <= provider.connections <= 3


async def test_a_model_without_tools_is_sent_none(provider: Provider, sink: Heard) -> None:
    model = made(provider, capabilities=Capabilities(tools=False))
    assert b"look" not in model.body(request_of(tools=b'[{"look":1}]'), session_of())


async def test_a_closed_model_opens_again(provider: Provider, model: OpenAI, sink: Heard) -> None:
    provider.plays = [text("Yes.")]
    for _ in range(2):
        await model.respond(request_of(), session_of(), sink)
        await model.aclose()
    assert provider.connections == 2


def test_one_model_serves_several_loops() -> None:
    """Connections of a loop that has ended are not used in the next."""
    model = openai("m", base_url="http://127.0.0.1:9", retries=Retries(attempts_max=1))

    async def ask() -> None:
        with pytest.raises(ModelFailed):
            await model.respond(request_of(), session_of(), Heard())
        used.append(model._transport)

    used: list[object] = []
    trio.run(ask)
    trio.run(ask)
    assert used[0] is not used[1]


def test_a_missing_client_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"pip install 'greenroom\[openai\]'"):
        openai("m", base_url="http://127.0.0.1")
