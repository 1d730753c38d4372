"""The body holds our bytes as they are; images and opaque blocks are all that is translated."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.models.chat_request import request_body, wire_message
from greenroom.protocol.agent import REQUEST_FIELDS
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.message import (
    AssistantMessage,
    Function,
    ImagePart,
    Message,
    OpaquePart,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tests.actors.models.provider import USER, request_of

CALL = ToolCall("c1-0-0", Function("look", '{"at":  1}'))
IMAGE = ImagePart("image/png", "d" * 64, 3)
THOUGHT = OpaquePart("m", b'{"reasoning_content":"\\u00e9  kept"}')
plain = st.one_of(
    st.builds(UserMessage, st.text()),
    st.builds(UserMessage, st.lists(st.builds(TextPart, st.text()), min_size=1).map(tuple)),
    st.builds(AssistantMessage, st.text(), st.sampled_from([(), (CALL,)])),
    st.builds(ToolMessage, st.just("c1-0-0"), st.text()),
)


def body_of(*messages: bytes, **parts: str | bytes) -> bytes:
    return request_body(request_of(*messages, **parts))  # type: ignore[arg-type]


@given(st.lists(plain, min_size=1))
def test_messages_without_blocks_are_passed_byte_for_byte(messages: list[Message]) -> None:
    """R196: what the port was handed stands in the body, in one piece."""
    encoded = [encode_message(message) for message in messages]
    assert b",".join(encoded) in body_of(*encoded)
    assert all(wire_message(message, "m") is message for message in encoded)


def test_the_system_string_is_the_first_message() -> None:
    """R5: one system message, and none if there is nothing to say."""
    assert json.loads(body_of())["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]
    assert len(json.loads(body_of(system=""))["messages"]) == 1


def test_all_that_the_body_says_itself_is_kept_from_parameters() -> None:
    """R231: a workspace refuses an agent whose parameter has the name of one of these fields."""
    body = json.loads(body_of(tools=b'[{"type":"function"}]', parameters=b"{}"))
    assert set(body) <= REQUEST_FIELDS


def test_tools_are_sent_as_they_are_or_not_at_all() -> None:
    """R195: the captured bytes; no empty list."""
    tools = b'[{"function":  {"name":"look"},"type":"function"}]'
    assert b'"tools":' + tools in body_of(tools=tools)
    assert "tools" not in json.loads(body_of(tools=b"[]"))
    assert b"look" not in request_body(request_of(tools=tools), tools=False)


def test_no_parameter_replaces_what_the_request_says() -> None:
    body = body_of(parameters=b'{"temperature":0.5,"model":"other","stream":false}')
    read = json.loads(body)
    assert (read["temperature"], read["model"], read["stream"]) == (0.5, "m", True)


def test_extra_fields_stand_beside_the_request() -> None:
    body = request_body(request_of(), extra=b'{"prompt_cache_key":"k"}')
    assert json.loads(body)["prompt_cache_key"] == "k"


def test_parameters_that_are_no_object_are_refused() -> None:
    with pytest.raises(ModelFailed, match="not a JSON object"):
        body_of(parameters=b"[]")


def test_the_same_request_has_the_same_body() -> None:
    """R179: a retry sends the same bytes."""
    assert body_of(USER) == body_of(USER)


def test_an_image_becomes_a_data_url() -> None:
    """P096: kept once by digest, resolved only here."""
    message = encode_message(UserMessage((TextPart("Look"), IMAGE)))
    read = json.loads(wire_message(message, "m", {"d" * 64: b"\0\1\2"}.__getitem__))
    assert read["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}},
    ]
    with pytest.raises(ModelFailed, match="read images"):
        wire_message(message, "m")


def test_an_opaque_block_goes_back_byte_for_byte_to_its_own_model() -> None:
    """R176: never read, never written anew."""
    message = encode_message(AssistantMessage((THOUGHT, TextPart("Yes.")), (CALL,)))
    sent = wire_message(message, "m")
    assert THOUGHT.data[1:-1] in sent
    read = json.loads(sent)
    assert (read["role"], read["content"]) == ("assistant", "Yes.")
    assert read["tool_calls"][0]["function"]["arguments"] == '{"at":  1}'


@pytest.mark.parametrize("text", [(), (TextPart("Yes."),), (TextPart("Y"), TextPart("es."))])
def test_an_opaque_block_is_dropped_whole_for_another_model(text: tuple[TextPart, ...]) -> None:
    """R176, P014: nothing of it is left, and the message can still be sent."""
    sent = wire_message(encode_message(AssistantMessage((THOUGHT, *text))), "other")
    assert b"kept" not in sent
    content = json.loads(sent)["content"]
    told = content if isinstance(content, str) else "".join(part["text"] for part in content)
    assert told == "".join(part.text for part in text)


def test_opaque_bytes_of_no_shape_are_dropped_whole() -> None:
    """R176: what this wire cannot have made is not guessed at."""
    odd = AssistantMessage((OpaquePart("m", b"\0signed"), TextPart("Yes.")))
    assert json.loads(wire_message(encode_message(odd), "m")) == {
        "role": "assistant",
        "content": "Yes.",
    }
