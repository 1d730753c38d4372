"""Whose key a request is sent with, and that nobody sees it (R229)."""

import traceback
from collections.abc import Iterator

import pytest

from greenroom.actors.models.port import SessionInfo
from greenroom.actors.models.retry import Retries
from greenroom.protocol.errors import GreenroomError, ModelFailed
from tests.actors.models.provider import (
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


def everything_of(error: BaseException) -> Iterator[str]:
    """All that a log could show of an error: its text, facts, causes and the frames' locals."""
    assert error.__traceback__ is not None
    # The first frame is the test's own, and that knows the key.
    frames = error.__traceback__.tb_next or error.__traceback__
    shown = traceback.TracebackException(type(error), error, frames, capture_locals=True)
    yield from shown.format()
    if isinstance(error, GreenroomError):
        yield repr(error.facts)
    for behind in (error.__cause__, error.__context__):
        if behind is not None:
            yield repr(behind) + repr(getattr(behind, "request", ""))
            yield from everything_of(behind)


@pytest.mark.parametrize(
    "play",
    [
        refusal(400, {"error": {"message": f"The key {KEY} may not do that."}}),
        refusal(401, {"error": {"message": "Incorrect key: sk-very*****"}}),
        refusal(500, {"error": f"Trace: Bearer {KEY}"}),
        events(event({"error": {"message": f"Not with {KEY}", "code": 400}})),
        cut(delta(content="Hal")),
        cut(),
        garbled(),
    ],
)
async def test_the_key_is_in_no_error(provider: Provider, sink: Heard, play: Play) -> None:
    """R229: nor in causes, facts, or the locals of the frames that were ours or the client's."""
    provider.plays = [play]

    async def key(session: SessionInfo) -> str:
        return KEY

    model = made(provider, key=key, retries=Retries(attempts_max=1))
    with pytest.raises(ModelFailed) as caught:
        await model.respond(request_of(), session_of(), sink)
    await model.aclose()
    assert provider.asked[0].headers["authorization"] == f"Bearer {KEY}"
    shown = "".join(everything_of(caught.value)) + repr(model) + repr(made(provider, key=KEY))
    # What the provider itself sent is the provider's; no line of ours repeats it.
    ours = [line for line in shown.splitlines() if "Not with" not in line or "reports" in line]
    assert "sk-very" not in "".join(ours)


async def test_a_key_is_a_function_of_the_session(provider: Provider, sink: Heard) -> None:
    """R229: asked once for each request, also if that is sent twice."""
    asked_for = []

    async def key(session: SessionInfo) -> str:
        asked_for.append(session.id.tenant)
        return f"key-of-{session.id.tenant}"

    provider.plays = [refusal(500), text("Yes.")]
    model = made(provider, key=key)
    await model.respond(request_of(), session_of(tenant="a"), sink)
    await model.respond(request_of(), session_of(tenant="b"), sink)
    await model.aclose()
    assert asked_for == ["a", "b"]
    sent = [asked.headers["authorization"] for asked in provider.asked]
    assert sent == ["Bearer key-of-a", "Bearer key-of-a", "Bearer key-of-b"]


@pytest.mark.parametrize("told", ["", None, "sk-ü", "sk\nx", KeyError("sk-verysecret")])
async def test_no_key_is_a_permanent_fault(provider: Provider, sink: Heard, told: object) -> None:
    """R229: it names model and tenant, and nothing is sent."""

    async def key(session: SessionInfo) -> str:
        if isinstance(told, Exception):
            raise told
        return told  # type: ignore[return-value]

    model = made(provider, key=key)
    with pytest.raises(ModelFailed, match=r"model m and the tenant acme") as caught:
        await model.respond(request_of(), session_of(tenant="acme"), sink)
    assert not caught.value.temporary
    assert (caught.value.facts["model"], caught.value.facts["tenant"]) == ("m", "acme")
    assert provider.asked == []
    assert "sk-" not in str(caught.value) + repr(caught.value.facts)


async def test_without_a_key_no_header_is_sent(provider: Provider, sink: Heard) -> None:
    provider.plays = [text("Yes.")]
    model = made(provider)
    await model.respond(request_of(), session_of(), sink)
    await model.aclose()
    assert "authorization" not in provider.asked[0].headers
