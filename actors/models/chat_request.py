"""From a request of ours to the body of a chat-completions call: a pure function of its bytes.

Our messages have that wire's shape, so they are joined, not rebuilt: a message without images and
opaque blocks is in the body byte for byte (R196). An image becomes a data URL. An opaque block goes
to the model that made it exactly as it came, or is left out whole (R176).
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from greenroom.protocol.encoding import decode_message, encode
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.message import (
    AssistantMessage,
    ImagePart,
    OpaquePart,
    Part,
    TextPart,
    ToolMessage,
)
from greenroom.protocol.request import ModelRequest

Blobs: TypeAlias = Callable[[str], bytes]
"""The bytes of an image by its SHA-256."""

# How encoded messages begin that hold no blocks: no need to look inside.
_PLAIN: Final = (
    b'{"role":"user","content":"',
    b'{"role":"assistant","content":"',
    b'{"role":"assistant","tool_calls":',
    b'{"role":"tool",',
)
_STREAMING: Final = b'"stream":true,"stream_options":{"include_usage":true}'


def request_body(
    request: ModelRequest, *, tools: bool = True, blobs: Blobs | None = None, extra: bytes = b"{}"
) -> bytes:
    """Return the JSON body of one call.

    ``extra`` is a JSON object of fields beside the request, such as a cache key. Parameters and
    extra stand first, so that none of them can replace what the request says.

    Raises:
        ModelFailed: an image that nothing here can resolve, or parameters that are no object.
    """
    messages = [wire_message(message, request.model, blobs) for message in request.messages]
    if request.system:
        messages.insert(0, b'{"role":"system","content":%b}' % encode(request.system))
    fields = [
        _fields_of(request.parameters),
        _fields_of(extra),
        b'"model":' + encode(request.model),
        b'"messages":[' + b",".join(messages) + b"]",
        # An empty list is refused by some providers.
        b'"tools":' + request.tools if tools and request.tools.strip() not in {b"", b"[]"} else b"",
        _STREAMING,
    ]
    return b"{" + b",".join(field for field in fields if field) + b"}"


def wire_message(message: bytes, model: str, blobs: Blobs | None = None) -> bytes:
    """Return an encoded message as ``model`` gets it: most often the very same object."""
    if message.startswith(_PLAIN):
        return message
    read = decode_message(message)
    if isinstance(read, ToolMessage) or isinstance(read.content, str):
        return message
    if all(isinstance(part, TextPart) for part in read.content):
        return message
    content = _content(read.content, blobs)
    if not isinstance(read, AssistantMessage):
        return b'{"role":"user","content":' + content + b"}"
    fields = [b'"role":"assistant"', *_opaque_fields(read.content, model), b'"content":' + content]
    if read.tool_calls:
        fields.append(b'"tool_calls":' + encode(read.tool_calls))
    return b"{" + b",".join(fields) + b"}"


def _content(parts: tuple[Part, ...], blobs: Blobs | None) -> bytes:
    """The parts that the wire has room for: a lone text as a string, as it would have come."""
    shown = [part for part in parts if not isinstance(part, OpaquePart)]
    if not shown:
        return b'""'
    if len(shown) == 1 and isinstance(shown[0], TextPart):
        return encode(shown[0].text)
    return b"[" + b",".join(_wire_part(part, blobs) for part in shown) + b"]"


def _wire_part(part: TextPart | ImagePart, blobs: Blobs | None) -> bytes:
    if isinstance(part, TextPart):
        return encode(part)
    if blobs is None:
        raise ModelFailed("This model was not given a way to read images.", digest=part.digest)
    data = b64encode(blobs(part.digest))
    media_type = encode(f"data:{part.media_type};base64,")[:-1]
    return b'{"type":"image_url","image_url":{"url":' + media_type + data + b'"}}'


def _opaque_fields(parts: tuple[Part, ...], model: str) -> Iterator[bytes]:
    for part in parts:
        if isinstance(part, OpaquePart) and part.model == model:
            fields = part.data[1:-1] if part.data.startswith(b"{") else b""
            if fields:
                yield fields


def _fields_of(json_object: bytes) -> bytes:
    """What stands between the braces."""
    stripped = json_object.strip()
    if not (stripped.startswith(b"{") and stripped.endswith(b"}")):
        raise ModelFailed("The parameters of this request are not a JSON object.")
    return stripped[1:-1].strip()
