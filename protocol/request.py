"""What is handed to the model port, and the digest that identifies it.

A request is four byte strings: system, tools, messages, parameters. Messages are the encoded
messages of the conversation, in order, each encoded once. ``Messages`` is a view of an append-only
list, so a request of a long conversation copies nothing.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import msgspec


class Messages(Sequence[bytes]):
    """The first ``length`` messages of an append-only list: fixed, though the list grows."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: list[bytes], length: int) -> None:
        self._items = items
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return [self._items[i] for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._items[index % self._length]

    def __iter__(self) -> Iterator[bytes]:
        for index in range(self._length):
            yield self._items[index]

    def joined(self) -> bytes:
        """The messages as one JSON array."""
        return b"[" + b",".join(self) + b"]"


class ModelRequest(msgspec.Struct, frozen=True, gc=False):
    """One request, as a model port gets it: no id, ordinal or map of ours is in it (R46)."""

    model: str
    system: str
    """The kept prompt and the live permissions: one string (R5)."""
    tools: bytes
    """A JSON array of declarations, captured with the kept prompt (R195)."""
    messages: Messages
    parameters: bytes
    """A JSON object: what the agent sets, such as temperature."""

    def canonical(self) -> bytes:
        """The request as one JSON object: what R196 rebuilds and compares."""
        system = msgspec.json.encode(self.system)
        model = msgspec.json.encode(self.model)
        return b'{"model":%b,"system":%b,"tools":%b,"messages":%b,"parameters":%b}' % (
            model,
            system,
            self.tools,
            self.messages.joined(),
            self.parameters,
        )


class RequestDigest:
    """A rolling digest: each request costs its new messages, whatever came before.

    It covers a frame (model, system, tools, parameters: hashed once per kept prompt) and the
    messages in order, each with its length in front, so that no two conversations collide.
    """

    __slots__ = ("_messages",)

    def __init__(self, messages: "hashlib._Hash | None" = None) -> None:
        self._messages = hashlib.sha256() if messages is None else messages

    def copy(self) -> "RequestDigest":
        """A digest that goes on from here on its own."""
        return RequestDigest(self._messages.copy())

    def add(self, framed: bytes) -> None:
        """Take in the next messages, as :func:`framed` puts them."""
        self._messages.update(framed)

    def of(self, frame: bytes) -> str:
        """The digest of the request that ends here, under ``frame``: 64 hexadecimal digits."""
        rolling = self._messages.copy()
        rolling.update(frame)
        return rolling.hexdigest()


def framed(messages: Iterable[bytes]) -> bytes:
    """Encoded messages one behind the other, each with its length in front."""
    return b"".join([b"%d:%b" % (len(message), message) for message in messages])


def frame_digest(model: str, system: str, tools: bytes, parameters: bytes) -> bytes:
    """The digest of all of a request that is not messages."""
    frame = hashlib.sha256()
    for part in (model.encode(), system.encode(), tools, parameters):
        frame.update(b"%d:" % len(part))
        frame.update(part)
    return frame.digest()


def request_digest(request: ModelRequest) -> str:
    """The digest of a whole request, computed from nothing but its bytes."""
    rolling = RequestDigest()
    rolling.add(framed(request.messages))
    frame = frame_digest(request.model, request.system, request.tools, request.parameters)
    return rolling.of(frame)
