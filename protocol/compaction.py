"""Compaction: where a conversation is cut, and the summary that stands for what is before the cut.

The cut is at a turn's first user message, so no call is parted from its result and no steer from
its turn (R109). What is before it is summarised under the prompt that was composed for what follows
(R107); where it does not fit one request, piece by piece: at turn boundaries, inside a turn at
round boundaries, and where even one round is too long, result by result (R210). Each piece but the
first begins with the summary of those before it.

Only requests change. Stored messages, ordinals and anchors stay as they are (R108, R211).
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

import attrs
import msgspec
from msgspec import structs

from greenroom.protocol.budget import TokenCounter, message_tokens
from greenroom.protocol.composition import Composition
from greenroom.protocol.encoding import decode_message, encode_message
from greenroom.protocol.message import AssistantMessage, ToolMessage, UserMessage
from greenroom.protocol.request import Messages, ModelRequest
from greenroom.protocol.wording import Wording, one_line

KEPT_SHARE: Final = 0.25
"""How much of a conversation may stay whole behind a summary besides its newest turn."""


class TurnStart(msgspec.Struct, frozen=True, gc=False):
    """Where a turn begins in what is sent of a conversation."""

    ordinal: int
    """Of its first user message."""
    place: int
    """Of its first message in what is sent, notes included."""


def cut_of(
    starts: Sequence[TurnStart], newest: TurnStart, tokens: Sequence[int], keep: int
) -> TurnStart:
    """The turn before which a conversation is cut (R109).

    Args:
        starts: where its turns begin, oldest first.
        newest: the one that is kept in any case; it may be one to come.
        tokens: of each message that is sent.
        keep: how many tokens of older turns may be kept as well.
    """
    cut = newest
    for start in reversed(starts):
        if start.place >= newest.place:
            continue
        keep -= sum(tokens[start.place : cut.place])
        if keep < 0:
            break
        cut = start
    return cut


def moved_sections(
    before: Composition | None, after: Composition
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sections of ``before`` that ``after`` says otherwise, and those that it lacks (R107)."""
    now = {section.name: section.text for section in after.sections}
    old = () if before is None else before.sections
    return (
        tuple([s.name for s in old if s.name in now and now[s.name] != s.text]),
        tuple([s.name for s in old if s.name not in now]),
    )


def framed_summary(summary: str, wording: Wording) -> bytes:
    """A summary as the model is sent it: in user position, and said to be one (R106)."""
    return encode_message(UserMessage(wording.summary.format(text=summary)))


def closing(changed: Sequence[str], removed: Sequence[str], wording: Wording) -> bytes:
    """The last message of a request for a summary: what is asked, and what has moved (R107)."""
    parts = [wording.summarise]
    for names, sentence in (
        (changed, wording.sections_changed),
        (removed, wording.sections_removed),
    ):
        if names:
            parts.append(sentence.format(names=", ".join(map(one_line, names))))
    return encode_message(UserMessage("\n\n".join(parts)))


def summary_request(
    composition: Composition,
    system: str,
    wording: Wording,
    piece: Sequence[bytes],
    *,
    so_far: str = "",
    changed: Sequence[str] = (),
    removed: Sequence[str] = (),
) -> ModelRequest:
    """The request for the summary of one piece (R107).

    Args:
        composition: the one that was made with the compaction.
        system: the system string under it.
        wording: its wording.
        piece: the messages, projected against it.
        so_far: the summary of the pieces before this one.
        changed: sections that the composition says otherwise.
        removed: sections that it lacks.
    """
    messages = [framed_summary(so_far, wording)] if so_far else []
    messages += [*piece, closing(changed, removed, wording)]
    return ModelRequest(
        composition.model,
        system,
        composition.tools,
        Messages(messages, len(messages)),
        composition.parameters,
    )


# --- pieces ---------------------------------------------------------------------------------------


def piece_of(part: Sequence[bytes], start: int, until: int) -> list[bytes]:
    """The messages ``start`` to ``until`` of a part, as a request can hold them.

    Where the piece cuts a round, its answer is shown with those calls whose results are in the
    piece, so that each call has its result (P013).
    """
    piece = list(part[start:until])
    if piece and _is_result(piece[0]):
        opening = max(place for place in range(start) if not _is_result(part[place]))
        piece.insert(0, _with_calls(part[opening], part[start:until], is_first=False))
    if until < len(part) and _is_result(part[until]):
        last = max((i for i, body in enumerate(piece) if not _is_result(body)), default=0)
        piece[last] = _with_calls(piece[last], piece[last + 1 :], is_first=True)
    return piece


@attrs.define(eq=False, slots=True)
class Pieces:
    """A part that is to be summarised, and where it may be taken apart (R210)."""

    part: Sequence[bytes]
    turns: Sequence[int]
    """Where turns begin in it."""
    counter: TokenCounter
    image_tokens: int = 0
    _answers: list[int] = attrs.field(init=False)
    _totals: list[int] = attrs.field(init=False)
    """Tokens of the messages before each place, so that a piece costs a subtraction."""

    def __attrs_post_init__(self) -> None:
        self._answers = [n for n, body in enumerate(self.part) if body.startswith(_ANSWER)]
        self._totals = [0, *accumulate(map(self.one, self.part))]

    def one(self, body: bytes) -> int:
        """What one message takes in a request."""
        return message_tokens(body, self.counter, self.image_tokens)

    def tokens(self, start: int, until: int) -> int:
        """What the piece from ``start`` to ``until`` takes."""
        if self._cuts_round(start) or self._cuts_round(until):
            return sum(map(self.one, piece_of(self.part, start, until)))
        return self._totals[until] - self._totals[start]

    def _cuts_round(self, place: int) -> bool:
        return place < len(self.part) and _is_result(self.part[place])

    def end(self, start: int, room: int) -> int | None:
        """Where the longest piece ends that begins at ``start`` and fits; None: there is none.

        It ends at a turn; where no whole turn fits at a round, and else behind a message.
        """
        whole = len(self.part)
        turns = [*(place for place in self.turns if place > start), whole]
        rounds = [*(place for place in self._answers if start < place < turns[0]), turns[0]]
        for places in (turns, rounds, self._single(start, rounds[0])):
            reached = self._reach(start, places, room)
            if reached is not None:
                return reached
        return None

    def least(self, start: int) -> int:
        """What the shortest piece takes that begins at ``start``."""
        return self.tokens(start, next(iter(self._single(start, len(self.part)))))

    def _single(self, start: int, until: int) -> Iterable[int]:
        # Not before a round's first result: without calls its answer may say nothing.
        for place in range(start + 1, until + 1):
            if not self._cuts_round(place) or self._cuts_round(place - 1):
                yield place

    def _reach(self, start: int, places: Iterable[int], room: int) -> int | None:
        reached = None
        for place in places:
            if self.tokens(start, place) > room:
                break
            reached = place
        return reached


_ANSWER: Final = b'{"role":"assistant"'
_RESULT: Final = b'{"role":"tool"'
"""How these messages begin, since all are encoded by us."""


def _is_result(body: bytes) -> bool:
    return body.startswith(_RESULT)


def _with_calls(answer: bytes, results: Sequence[bytes], *, is_first: bool) -> bytes:
    """An answer with the calls that ``results`` are of; its words stand where it is first."""
    message = decode_message(answer)
    assert isinstance(message, AssistantMessage), "a result stands behind its answer"
    found = [decode_message(body) for body in results]
    named = {one.tool_call_id for one in found if isinstance(one, ToolMessage)}
    calls = tuple([call for call in message.tool_calls if call.id in named])
    content = message.content if is_first else ""
    return encode_message(structs.replace(message, content=content, tool_calls=calls))
