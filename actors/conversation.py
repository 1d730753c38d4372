"""What of a session is sent, kept as encoded bytes while the session is active.

Each message is projected and encoded once, when it enters; a request is a view of the list and a
rolling digest, so a turn costs what is new, whatever the conversation's length. What a boundary
wants to add is an ``Addition`` until its commit is durable: nothing unstored is ever sent (R83).
"""

from collections.abc import Sequence

import attrs
import msgspec

from greenroom.protocol.budget import images_in
from greenroom.protocol.request import Messages, RequestDigest, framed


class Addition(msgspec.Struct, frozen=True, gc=False):
    """Messages that are to follow, and the digest as it is with them."""

    chunks: tuple[bytes, ...]
    digest: RequestDigest
    size: int
    """Bytes of the conversation with them."""
    images: int
    """Images in the conversation with them."""


@attrs.define(eq=False, slots=True)
class Conversation:
    """The projected messages of one session, in order."""

    _chunks: list[bytes] = attrs.field(factory=list)
    _digest: RequestDigest = attrs.field(factory=RequestDigest)
    size: int = 0
    """Bytes of all chunks: what the estimate of tokens goes by."""
    images: int = 0
    """Images in all chunks: each has a declared cost (P095)."""

    def __len__(self) -> int:
        return len(self._chunks)

    def plus(self, chunks: Sequence[bytes]) -> Addition:
        """What the conversation would be with ``chunks`` behind it; changes nothing."""
        digest = self._digest.copy()
        told = framed(chunks)
        digest.add(told)
        # The lengths between the messages cannot look like an image.
        images = self.images + images_in(told)
        return Addition(tuple(chunks), digest, self.size + sum(map(len, chunks)), images)

    def adopt(self, addition: Addition) -> None:
        """The commit that carries the addition is durable."""
        self._chunks.extend(addition.chunks)
        self._digest = addition.digest
        self.size = addition.size
        self.images = addition.images

    def messages(self) -> Messages:
        """The messages so far, as a request holds them: no copy."""
        return Messages(self._chunks, len(self._chunks))


def rebuilt(chunks: Sequence[bytes]) -> Conversation:
    """A conversation of messages that were projected before."""
    conversation = Conversation()
    conversation.adopt(conversation.plus(chunks))
    return conversation
