"""What a conversation is made of: user, assistant and tool messages, and their content blocks.

The shapes are those of the chat-completions wire, because a message is encoded once and those bytes
are what is stored and what is handed to a model port: a provider of that family passes them on
untouched. Whatever that wire has no room for (who sent it, when, whether a tool failed, the
provider's own ids) is a fact of the record around the message, never of the message, so nothing of
it can reach a provider (R46).
"""

from typing import TypeAlias

import msgspec

from greenroom.protocol.identity import CallId


class TextPart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """A run of text inside block content."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="image"):
    """An image, kept once by content hash; a provider resolves the digest when it sends."""

    media_type: str
    digest: str
    """SHA-256 of the bytes, in hexadecimal."""
    size: int
    """Bytes."""


class Image(msgspec.Struct, frozen=True, gc=False):
    """An image as a caller attaches it; what is stored and sent of it is an :class:`ImagePart`."""

    media_type: str
    """Such as ``image/png``."""
    data: bytes


class OpaquePart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="opaque"):
    """A block that only its own provider understands: passed on byte for byte, or dropped whole.

    Signed reasoning, unknown block types. It is sent only to the model that made it (R176).
    """

    model: str
    data: bytes


Part: TypeAlias = TextPart | ImagePart | OpaquePart
Content: TypeAlias = str | tuple[Part, ...]


class Function(msgspec.Struct, frozen=True, gc=False):
    """What a call names: the tool, and its arguments exactly as the model wrote them."""

    name: str
    arguments: str


class ToolCall(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="function"):
    """One call that a model asks for, under an id of ours (R181)."""

    id: CallId
    function: Function


class UserMessage(msgspec.Struct, frozen=True, gc=False, tag_field="role", tag="user"):
    """What stands in user position."""

    content: Content


class AssistantMessage(
    msgspec.Struct, frozen=True, gc=False, tag_field="role", tag="assistant", omit_defaults=True
):
    """What a model answered: text or blocks, and the calls that it asks for."""

    content: Content = ""
    tool_calls: tuple[ToolCall, ...] = ()


class ToolMessage(msgspec.Struct, frozen=True, gc=False, tag_field="role", tag="tool"):
    """The one result of one call, right behind the message that asked for it (R175)."""

    tool_call_id: CallId
    content: str


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage


def text_of(content: Content) -> str:
    """The words of a content, without images and opaque blocks."""
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content if isinstance(part, TextPart))


def is_blank(content: Content) -> bool:
    """Whether there is nothing in it: only white space, and no attachment (R24)."""
    if not isinstance(content, str) and any(isinstance(part, ImagePart) for part in content):
        return False
    return not text_of(content).strip()
