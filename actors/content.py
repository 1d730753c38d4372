"""What a person sends, as it is held: text as text, blocks as blocks, images once by content.

An image comes with its bytes. A digest is not taken from a caller: it could name what another
session holds (R218).
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from greenroom.protocol.errors import InvalidInput, TooLarge
from greenroom.protocol.identity import check_text
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import Content, Image, ImagePart, TextPart
from greenroom.protocol.quoting import quoted

Sent: TypeAlias = str | Sequence[TextPart | Image]
"""What may be sent: a text, or blocks of text and images."""
_MEDIA_TYPE: Final = re.compile(r"image/[a-z0-9.+-]{1,64}")


class Held(msgspec.Struct, frozen=True, gc=False):
    """A content that may be stored, and the bytes that have to be stored with it."""

    content: Content
    blobs: dict[str, bytes]


_NO_BLOBS: Final[dict[str, bytes]] = {}


def held(content: Sent, limits: Limits) -> Held:
    """Check a content at the border (R23, R194).

    Raises:
        InvalidInput: neither a text nor blocks, a text that cannot be stored, or a block that says
            nothing, which providers refuse.
        TooLarge: over its bound in bytes, all texts together, or in blocks.
    """
    if isinstance(content, str):
        check_text(content, "message", limits.message_bytes_max)
        return Held(content, _NO_BLOBS)
    if not isinstance(content, list | tuple):
        raise InvalidInput("A message is a text or a list of content blocks.", what="message")
    if len(content) > limits.message_parts_max:
        raise TooLarge(
            f"The message has {len(content)} blocks; the bound is {limits.message_parts_max}.",
            bound=limits.message_parts_max,
        )
    parts: list[TextPart | ImagePart] = []
    blobs: dict[str, bytes] = {}
    size = 0
    for block in content:
        if isinstance(block, TextPart):
            size += _check_words(block.text, limits.message_bytes_max, size)
            parts.append(block)
        elif isinstance(block, Image):
            part = _image_part(block, limits)
            blobs[part.digest] = block.data
            parts.append(part)
        else:
            raise InvalidInput(
                f"A message cannot hold a {type(block).__name__}; it holds TextPart and Image.",
                what="message",
            )
    return Held(tuple(parts), blobs)


def _check_words(text: object, bound: int, before: int) -> int:
    """The bytes of one text block, behind ``before`` bytes of others."""
    if not isinstance(text, str):
        raise InvalidInput(f"The text of a block is no {type(text).__name__}.", what="message")
    size = check_text(text, "message", bound)
    if before + size > bound:
        raise TooLarge(
            f"The blocks of the message have more than {bound:,} bytes of text together.",
            what="message",
            bound=bound,
        )
    if not text.strip():
        raise InvalidInput("A block of the message has no words: leave it out.", what="message")
    return size


def _image_part(image: Image, limits: Limits) -> ImagePart:
    media_type: object = image.media_type
    data: object = image.data
    if not isinstance(media_type, str) or not isinstance(data, bytes):
        raise InvalidInput("An image is a media type (a text) and bytes.", what="image")
    if not _MEDIA_TYPE.fullmatch(image.media_type):
        raise InvalidInput(
            f"{quoted(image.media_type)} is no media type of an image.", what="image"
        )
    if not image.data:
        raise InvalidInput("An image without bytes cannot be sent.", what="image")
    if len(image.data) > limits.object_bytes_max:
        raise TooLarge(
            f"The image has {len(image.data):,} bytes; the bound is {limits.object_bytes_max:,}.",
            bound=limits.object_bytes_max,
        )
    digest = hashlib.sha256(image.data).hexdigest()
    return ImagePart(image.media_type, digest, len(image.data))
