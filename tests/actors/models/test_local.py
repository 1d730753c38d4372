"""A model on this machine: what it shares between questions, and how it comes and goes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from greenroom.actors.models import local as module
from greenroom.actors.models.local import Local, Slots, local
from greenroom.actors.models.port import ModelResponse
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import ExtraMissing, UnknownModel
from greenroom.protocol.message import AssistantMessage, UserMessage
from tests.actors.models.provider import Heard, request_of, session_of

SYSTEM = "You sell garden tools and answer in one short sentence. " * 20
ASKED = encode_message(UserMessage("What do you sell?"))


@pytest.fixture
async def model() -> AsyncIterator[Local]:
    pytest.importorskip("xllamacpp")
    async with local(answer_tokens=24) as opened:
        yield opened


async def asked(model: Local, key: str, *messages: bytes) -> ModelResponse:
    request = request_of(*messages, model=model.name, system=SYSTEM)
    return await model.respond(request, session_of(key), Heard())


@pytest.mark.local
async def test_a_conversation_and_its_siblings_share_their_prefix(model: Local) -> None:
    """R195: a stable prompt is computed once; the engine itself says how much it found."""
    first = await asked(model, "a", ASKED)
    assert first.text
    assert first.usage.cache_read == 0
    answer = encode_message(AssistantMessage(first.text))
    more = encode_message(UserMessage("How much is a spade?"))
    second = await asked(model, "a", ASKED, answer, more)
    assert second.usage.cache_read > 0.8 * second.usage.input
    other = await asked(model, "b", encode_message(UserMessage("Good day!")))
    assert other.usage.cache_read > 0.8 * (other.usage.input + other.usage.cache_read)


@pytest.mark.local
async def test_an_engine_that_died_is_started_again(model: Local) -> None:
    assert model.engine is not None
    before = model.engine
    await before.aclose()
    assert (await asked(model, "a", ASKED)).text
    assert model.engine is not before


@pytest.mark.local
async def test_a_first_call_opens_the_engine_once() -> None:
    """Whoever comes first; cancelling one of them leaves the others theirs."""
    pytest.importorskip("xllamacpp")
    model = local(answer_tokens=4, tell=lambda line: None)
    async with trio.open_nursery() as nursery:
        for key in "abcd":
            nursery.start_soon(asked, model, key, ASKED)
    assert model.engine is not None
    running = model.engine
    await model.aclose()
    assert not running.running


def test_each_session_keeps_its_slot_while_there_are_enough() -> None:
    slots = Slots(2)
    told = [slots.of(session_of(key))["id_slot"] for key in "ababca"]
    assert told == [0, 1, 0, 1, 0, 1]


def test_a_name_that_is_not_known_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "check_engine_installed", lambda: None)
    with pytest.raises(UnknownModel, match="known are smollm2"):
        local("gpt-9")
    path = tmp_path / "own.gguf"
    path.touch()
    own = local(path, context=100)
    assert (own.name, own.capabilities.context_tokens, own.capabilities.tools) == ("own", 100, True)
    assert not local().capabilities.tools


def test_a_missing_engine_is_told_when_the_model_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("greenroom.actors.models.engine.find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match="xllamacpp"):
        local()
