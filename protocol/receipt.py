"""What a session answers: where a message stands (receipt), and what became of it (outcome)."""

from typing import Final, Literal, TypeAlias

import msgspec

from greenroom.protocol.errors import Rewound
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.quoting import quoted
from greenroom.protocol.usage import Usage

ReceiptStatus: TypeAlias = Literal["started", "queued", "steered", "scheduled"]
When: TypeAlias = Literal["steer", "queue", "interrupt", "reject"]
End: TypeAlias = Literal[
    "done",
    "empty",
    "failed",
    "cancelled",
    "refused",
    "context_full",
    "interrupted",
    "save_failed",
    "not_sent",
    "recalled",
]


RECALLED: Final = "The message was recalled."
"""Why a message, and what was asked before it could begin, came to nothing (R127, R215)."""
DIGITS_MAX: Final = 20
"""Of a number in a cursor's text."""


class Cursor(msgspec.Struct, frozen=True, order=True, gc=False):
    """A place in the store's order of commits: opaque, resumable within its incarnation."""

    incarnation: str
    number: int
    index: int = 0
    """Events of one commit share its number; this counts within it."""

    def __str__(self) -> str:
        return f"{self.incarnation}.{self.number}.{self.index}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Read back what ``str`` wrote. Raises :class:`Rewound` for anything else."""
        if not isinstance(text, str):
            raise Rewound(f"A {type(text).__name__} is not the text of a cursor.")
        rest, _, index = text.rpartition(".")
        incarnation, _, number = rest.rpartition(".")
        if not (incarnation and _is_number(number) and _is_number(index)):
            raise Rewound(f"{quoted(text)} is not a cursor.", cursor=text[:80])
        return cls(incarnation, int(number), int(index))


def _is_number(text: str) -> bool:
    return len(text) < DIGITS_MAX and text.isascii() and text.isdigit()


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """A message is durable and stands here; what becomes of it is its outcome (R177)."""

    message: MessageId
    status: ReceiptStatus
    position: int
    """How many messages stand before it in the queue; 0 when its turn started."""
    turn: TurnId | None
    """The turn that it started or is to steer into."""
    repeated: bool
    """The same idempotency key came before: this is the first receipt again."""
    cursor: Cursor
    """Follow ``events(after=cursor)`` from here: no gap and no repeat (R221)."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What became of a message: the turn that took it and how that turn ended (R213)."""

    turn: TurnId | None
    """None when no turn took it (recalled, not sent before a turn had a number)."""
    end: End
    reason: str
    text: str
    """The last answer's words."""
    messages: int
    """Conversation messages that the turn added."""
    usage: Usage
    absorbed: bool = False
    """The message steered into a turn that another message began."""


class Compaction(msgspec.Struct, frozen=True, gc=False):
    """What became of a conversation that was to be compacted (R111)."""

    status: Literal["compacted", "nothing to compact"]
    """With nothing to compact the prompt is composed anew all the same."""
    before: int | None
    """Ordinal of the user message that stands first behind the summary."""
    summary: str
    composition: str
    """Digest of the kept prompt from now on."""
    tokens_before: int
    """Of the whole conversation as it was sent; an estimate, as it is counted for a request."""
    tokens_after: int
    usage: Usage
    cursor: Cursor
