"""What is sent, kept as bytes: additions are none until they are durable."""

from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.conversation import Conversation, rebuilt
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.message import ImagePart, TextPart, UserMessage
from greenroom.protocol.request import ModelRequest, frame_digest, request_digest

FRAME = frame_digest("m", "system", b"[]", b"{}")


def test_an_addition_changes_nothing_until_it_is_adopted() -> None:
    """R83: nothing that is not stored is ever sent."""
    conversation = Conversation()
    conversation.adopt(conversation.plus([b"one"]))
    before = conversation.plus([]).digest.of(FRAME)
    addition = conversation.plus([b"two", b"three"])
    assert (list(conversation.messages()), conversation.size) == ([b"one"], 3)
    assert conversation.plus([]).digest.of(FRAME) == before
    conversation.adopt(addition)
    assert list(conversation.messages()) == [b"one", b"two", b"three"]
    assert (len(conversation), conversation.size) == (3, 11)


def test_a_request_stays_as_it_was_while_the_conversation_grows() -> None:
    """R57: what a model was handed does not change under it."""
    conversation = Conversation()
    conversation.adopt(conversation.plus([b"one"]))
    asked = conversation.messages()
    conversation.adopt(conversation.plus([b"two"]))
    assert list(asked) == [b"one"]


def test_images_are_counted() -> None:
    """R100: an image has a declared cost, whatever its bytes are."""
    image = encode_message(UserMessage((TextPart("x"), ImagePart("image/png", "d", 9))))
    conversation = Conversation()
    conversation.adopt(conversation.plus([image, encode_message(UserMessage("no image"))]))
    assert conversation.images == 1


@given(st.lists(st.lists(st.binary(max_size=9), max_size=3), max_size=6))
def test_the_rolling_digest_is_the_digest_of_the_request(parts: list[list[bytes]]) -> None:
    """R196: however the messages came together, the digest is that of the whole request."""
    conversation = Conversation()
    for chunks in parts:
        conversation.adopt(conversation.plus(chunks))
    request = ModelRequest("m", "system", b"[]", conversation.messages(), b"{}")
    assert conversation.plus([]).digest.of(FRAME) == request_digest(request)
    again = rebuilt([chunk for chunks in parts for chunk in chunks])
    assert again.plus([]).digest.of(FRAME) == request_digest(request)
