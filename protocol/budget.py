"""Counting all that a request holds, before it is sent, and whose it is.

The estimate covers the whole system string, every projected message with its images, the tool
declarations, the output reserve and a safety margin (R100). What stays the same from one request to
the next is counted once, as a :class:`Budget`; each message is counted once, when it enters the
conversation; so the check before each dispatch, of a first prompt or of a round behind tool
results, adds two numbers (R105). Only a refusal counts again, to say where it all went (R102).
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NoReturn, TypeAlias

import msgspec

from greenroom.protocol.composition import Composition, SystemString
from greenroom.protocol.errors import OverBudget
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.projection import Source
from greenroom.protocol.tokens import TokenCounter, TokenEstimate, section_tokens

__all__ = [
    "Budget",
    "Spend",
    "SpendTable",
    "TokenCounter",
    "TokenEstimate",
    "budget_of",
    "check",
    "images_in",
    "message_tokens",
    "request_rows",
    "room_for_conversation",
    "spend_table",
]

RESERVE_DIVISOR: Final = 4
"""At most this part of a window is kept for the answer: in a small one a prompt needs room too."""


class Spend(msgspec.Struct, frozen=True, gc=False):
    """One row of a table: what takes up room, whose it is, how much."""

    part: str
    owner: str
    """The contributor's ``id@version``, or empty."""
    tokens: int


class SpendTable(msgspec.Struct, frozen=True):
    """Where the tokens of a request went; as text it is a table, the largest part first (R102)."""

    rows: tuple[Spend, ...]
    window: int
    """Tokens of the model's window."""

    @property
    def total(self) -> int:
        """All rows together: what is compared with the window."""
        return sum(row.tokens for row in self.rows)

    @property
    def largest(self) -> Spend:
        """What to shorten first."""
        return max(self.rows, key=lambda row: row.tokens)

    def __str__(self) -> str:
        rows = sorted(self.rows, key=lambda row: (-row.tokens, row.part))
        lines = [(row.part, f"{row.tokens:,}", row.owner) for row in rows if row.tokens]
        lines += [("total", f"{self.total:,}", ""), ("window", f"{self.window:,}", "")]
        part = max(len(line[0]) for line in lines)
        tokens = max(len(line[1]) for line in lines)
        return "\n".join(
            f"{name:<{part}}  {count:>{tokens}}  {owner}".rstrip() for name, count, owner in lines
        )


class Budget(msgspec.Struct, frozen=True, gc=False):
    """What a request may hold under one kept prompt and model; all in tokens."""

    window: int
    """Prompt and answer together."""
    fixed: int
    """The system string and the tool declarations."""
    reserve: int
    """Kept for the answer."""
    safety: int
    """Kept free because counts are estimates."""

    @property
    def room(self) -> int:
        """What is left for the conversation; the system string is spent first (R101)."""
        return room_for_conversation(self.window, self.fixed, self.reserve, self.safety)

    def fits(self, message_tokens: int) -> bool:
        """Whether a request whose messages have that many tokens may be sent."""
        return self.fixed + self.reserve + self.safety + message_tokens <= self.window


def room_for_conversation(window: int, fixed: int, reserve: int = 0, safety: int = 0) -> int:
    """Tokens left for messages; never below zero, however long the system string (R101)."""
    return max(0, window - fixed - reserve - safety)


def budget_of(
    composition: Composition,
    system: SystemString,
    counter: TokenCounter,
    window: int,
    limits: Limits = DEFAULT_LIMITS,
    output_tokens: int | None = None,
) -> Budget:
    """Count what all requests under this kept prompt share (R100).

    Args:
        composition: whose tool declarations are sent.
        system: the whole system string, its live section included.
        counter: how tokens are counted.
        window: of the model, in tokens.
        limits: output reserve and safety share.
        output_tokens: the model's longest answer; None: it may be as long as the reserve.
    """
    return Budget(
        window=window,
        fixed=sum(row.tokens for row in _fixed_rows(composition, system, counter)),
        reserve=_reserve(window, limits, output_tokens),
        safety=math.ceil(window * limits.safety_share),
    )


def _reserve(window: int, limits: Limits, output_tokens: int | None) -> int:
    """Room for the answer: no more than the model can write, nor than a share of its window."""
    longest = limits.output_tokens_reserve if output_tokens is None else output_tokens
    return min(limits.output_tokens_reserve, longest, window // RESERVE_DIVISOR)


def message_tokens(body: bytes, counter: TokenCounter, image_tokens: int = 0) -> int:
    """Tokens of one projected message: its bytes, and the declared cost of each image (P095)."""
    return counter.tokens(body) + images_in(body) * image_tokens


def images_in(body: bytes) -> int:
    """How many images an encoded message holds."""
    return len(_IMAGE.findall(body)) if _MAYBE_IMAGE in body else 0


def check(
    budget: Budget, message_tokens: int, table: Callable[[], SpendTable], what: str = "request"
) -> None:
    """Refuse a request that does not fit; ``table`` is asked only then.

    Raises:
        OverBudget: with the table in the message, and in ``facts`` (R102).
    """
    if not budget.fits(message_tokens):
        _refuse(table(), what)


def spend_table(
    budget: Budget,
    composition: Composition,
    system: SystemString,
    messages: Sequence[bytes],
    counter: TokenCounter,
    *,
    image_tokens: int = 0,
    sources: Sequence[Source] = (),
) -> SpendTable:
    """Count a whole request by owner: sections, skills, tools, message groups, reserve (R102).

    Args:
        budget: window, reserve and safety.
        composition: names the contributor of each section.
        system: the sections that are sent.
        messages: the projected messages.
        counter: the same that the request was measured with.
        image_tokens: the model's declared cost of one image.
        sources: the origin of each message, if known; else messages are grouped by role alone.
    """
    return SpendTable(
        rows=(
            *request_rows(
                composition,
                system,
                messages,
                counter,
                image_tokens=image_tokens,
                sources=sources,
            ),
            Spend("output reserve", "", budget.reserve),
            Spend("safety", "", budget.safety),
        ),
        window=budget.window,
    )


def request_rows(
    composition: Composition,
    system: SystemString,
    messages: Sequence[bytes],
    counter: TokenCounter,
    *,
    image_tokens: int = 0,
    sources: Sequence[Source] = (),
) -> Iterator[Spend]:
    """The rows of :func:`spend_table` for what is sent, without reserve and safety."""
    yield from _fixed_rows(composition, system, counter)
    yield from _message_rows(messages, sources, counter, image_tokens)


_MAYBE_IMAGE: Final = b'"image"'
_IMAGE: Final = re.compile(rb'"type"\s*:\s*"image"')
"""Inside a text the quotes would be escaped, so only a real block fits."""
_ROLE: Final = re.compile(rb'\s*\{\s*"role"\s*:\s*"(\w+)"')
_Rows: TypeAlias = Iterable[Spend]


def _fixed_rows(composition: Composition, system: SystemString, counter: TokenCounter) -> _Rows:
    """A row for each section and one for the tools."""
    owners = {section.name: section.contributor for section in composition.sections}
    for name, text in system.sections:
        yield Spend(name, owners.get(name, ""), section_tokens(text, counter))
    yield Spend("tools", "", counter.tokens(composition.tools))


def _message_rows(
    messages: Sequence[bytes],
    sources: Sequence[Source],
    counter: TokenCounter,
    image_tokens: int,
) -> _Rows:
    """A row for each group of messages (of each contributor), and one for all images."""
    groups: dict[tuple[str, str], int] = {}
    images = 0
    for index, body in enumerate(messages):
        source = sources[index] if sources else None
        key = _group_of(body, source), "" if source is None else source.contributor
        groups[key] = groups.get(key, 0) + counter.tokens(body)
        images += images_in(body)
    for (group, contributor), tokens in groups.items():
        yield Spend(group, contributor, tokens)
    if images:
        yield Spend("images", "", images * image_tokens)


def _group_of(body: bytes, source: Source | None) -> str:
    if source is not None and source.origin != "history":
        return f"messages: {source.origin}"
    if source is not None and source.expansion is not None:
        return f"messages: user with {', '.join(source.expansion.ids)}"
    role = _ROLE.match(body)
    return f"messages: {role[1].decode() if role else 'other'}"


def _refuse(table: SpendTable, what: str) -> NoReturn:
    raise OverBudget(
        f"The {what} needs {table.total:,} tokens; the model's window has {table.window:,}. "
        f"The largest part is {table.largest.part}.\n{table}\n",
        needed=table.total,
        window=table.window,
        largest=table.largest.part,
        table=str(table),
    )
