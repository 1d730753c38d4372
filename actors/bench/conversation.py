"""One conversation of a run: what it is composed with, what was said, and the requests of it.

Each message is projected and cut into tokens once, when it is said; a request is put together from
these pieces, so a turn costs what is new beside one copy.
"""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

import attrs

from greenroom.actors.bench.cache import WIDTH, Breakpoints, Tokens, packed
from greenroom.actors.bench.composing import Head, Kept, Said
from greenroom.actors.bench.trace import Compact, Prompt
from greenroom.protocol.permission import Preset
from greenroom.protocol.placement import Placement

Tokenizer: TypeAlias = Callable[[bytes], Sequence[int]]
"""Cuts one piece of a request (a placement's text, a message) into tokens; pure."""


def four_bytes(data: bytes) -> Tokens:
    """The default: every four bytes are a token, which is cheap, and close to the truth in length.

    The last one is filled up, so that a piece has the same tokens wherever it stands.
    """
    return Tokens(data + bytes(-len(data) % WIDTH))


@attrs.frozen(eq=False)
class Sent:
    """A request as a cache and the checks are given it."""

    tokens: Tokens
    spans: tuple[tuple[Placement, int], ...]
    """Placement, and tokens up to the end of a stretch of it, in the order of the request."""
    breakpoints: Breakpoints
    pieces: tuple[bytes, ...]
    """Tools, system string and messages, before they were cut into tokens."""
    head: Head
    epoch: tuple[int, str]
    """While it is the same, a request has to be a beginning of the next."""
    opening: int
    """How many of ``pieces`` belong to the conversation's opening and what stands before it."""


@attrs.define(eq=False)
class Conversation:
    """What is known of a conversation; plain and synchronous."""

    line: Prompt
    """The one that began it."""
    instructions: str
    kept: Kept
    tokenizer: Tokenizer
    preset: Preset
    model: str | None = None
    users: int = 0
    running: bool = False
    waiting: deque[Prompt | Compact] = attrs.field(factory=deque)
    """What came while a turn ran."""
    said: list[Said] = attrs.field(factory=list)
    turn: int = 0
    """Where in ``said`` the newest turn begins."""
    opening: int = 0
    """Messages of ``said`` that are the conversation's opening, such as a summary."""
    epoch: int = 0
    """Rises when the trace, and not the composer, breaks with what was sent before."""
    last: Sent | None = None
    told: str = ""
    """The policy that was told last, where it is told by notes."""
    _chunks: list[bytes] = attrs.field(factory=list)
    _tokens: list[bytes] = attrs.field(factory=list)
    _head: tuple[tuple[str, bool], Head, list[bytes]] | None = None

    def say(self, *messages: Said) -> None:
        """Add messages at the end."""
        self.said.extend(messages)
        self._project(messages)

    def compose(self, kept: Kept) -> None:
        """Go on with another composition; what was said is projected against it."""
        before, self.kept, self._head = self.kept, kept, None
        if before.composition == kept.composition:
            return
        if any(message.snapshot is not None for message in self.said):
            self._project_anew()

    def replace(self, said: list[Said], opening: int) -> None:
        """Put other messages in the place of all that was said."""
        self.said, self.opening, self.turn = said, opening, opening
        self.epoch += 1
        self._project_anew()

    def sent(self, *, with_person: bool) -> Sent:
        """The request that these messages make now."""
        head, parts = self._beginning(with_person=with_person)
        sizes = accumulate([len(part) // WIDTH for part in (*parts, *self._tokens)])
        ends = tuple(sizes)
        levels = [part.level for part in head.parts]
        levels += ["conversation"] * self.opening
        spans = tuple(zip(levels, ends, strict=False))
        if len(ends) > len(levels):
            spans = (*spans, ("message", ends[-1]))
        return Sent(
            tokens=Tokens(b"".join([*parts, *self._tokens])),
            spans=spans,
            breakpoints=Breakpoints(ends, _marks(levels[: len(parts)], ends)),
            pieces=(head.tools, head.system, *self._chunks),
            head=head,
            epoch=(self.epoch, self.preset.id),
            opening=2 + self.opening,
        )

    def _beginning(self, *, with_person: bool) -> tuple[Head, list[bytes]]:
        key = (self.preset.id, with_person)
        if self._head is None or self._head[0] != key:
            head = self.kept.head(self.preset, with_person=with_person)
            self._head = (key, head, [packed(self.tokenizer(part.data)) for part in head.parts])
        return self._head[1], self._head[2]

    def _project_anew(self) -> None:
        self._chunks.clear()
        self._tokens.clear()
        self._project(self.said)

    def _project(self, messages: Sequence[Said]) -> None:
        for message in messages:
            chunk = message.projected(self.kept.composition)
            self._chunks.append(chunk)
            self._tokens.append(packed(self.tokenizer(chunk)))


_MARKED: Final = ("platform", "agent", "person")
"""Where a mark is worth most: behind what other conversations begin with too."""


def _marks(levels: Sequence[Placement], ends: Sequence[int]) -> tuple[int, ...]:
    """At most four marks: behind platform, agent and person, and at the end of the request."""
    last = {level: ends[number] for number, level in enumerate(levels) if level in _MARKED}
    return tuple(sorted({*last.values(), ends[-1]}))
