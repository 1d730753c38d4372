"""The queue of one session: what steers, what waits for a turn of its own, who waits behind it.

Plain and synchronous. The order is that in which the store made the messages durable. A message
that *waits* (a pick, ``when="queue"``, an interruption) gets a turn of its own; everything accepted
after it waits behind it, plain words too, until that turn has begun (R115 to R121).
"""

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

import attrs
import msgspec

from greenroom.protocol.command import Submission
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.receipt import ReceiptStatus
from greenroom.protocol.record import Accepted, EagerAsked
from greenroom.store.contract import KeyEntry

INTERRUPTED: Final = "Interrupted by a message."
"""Why a turn ended that a message came in front of (R178)."""
Behind: TypeAlias = Literal["steer", "own_turn"]
"""What becomes of plain words behind a waiting message: they steer into its turn, or each waits."""


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """A message on its way to a turn."""

    submission: Submission
    seq: int | None
    """Its entry in the store's queue; None while its own turn has yet to accept it."""
    number: int
    """The commit that made it durable; 0 if none has yet."""
    own_turn: bool
    """It gets a turn of its own (R119)."""
    keys: tuple[KeyEntry, ...] = ()
    """The idempotency key that its own acceptance registers."""
    blobs: dict[str, bytes] = {}
    """Its images, which its own acceptance stores."""
    stops: TurnId | None = None
    """The turn that it interrupts, as it is stored with it."""

    def acceptance(self, status: ReceiptStatus, turn: TurnId, at: int) -> Accepted:
        """The record with which it becomes durable together with the turn that takes it."""
        submission = self.submission
        return Accepted(
            at,
            submission.message,
            msgspec.Raw(submission.body),
            status,
            0,
            turn,
            submission.picks,
            submission.by,
            submission.person,
            submission.key,
            submission.waits,
        )


@attrs.define(eq=False, slots=True)
class Gateway:
    """The messages of one session that no turn has taken yet."""

    behind: Behind = "steer"
    asked: tuple[EagerAsked, ...] = ()
    """What was asked before the conversation begins, and has no answer yet (R215)."""
    _line: list[Waiting] = attrs.field(factory=list)
    _arriving: tuple[Submission, ...] = ()
    """Messages offered to the store whose verdict has not come: they have a place already."""

    def __len__(self) -> int:
        return len(self._line)

    @property
    def is_empty(self) -> bool:
        """Nothing is queued and nothing is on its way into the queue."""
        return not self._line and not self._arriving

    @property
    def is_stored(self) -> bool:
        """Nothing of it is in memory only, or on its way (R93)."""
        return not self._arriving and all(entry.seq is not None for entry in self._line)

    @property
    def waits_for(self) -> tuple[EagerAsked, ...]:
        """What has to be answered before the first turn: asked for messages that still stand."""
        return tuple([one for one in self.asked if self.holds(one.message)]) if self.asked else ()

    def settled(self, questions: Collection[str]) -> None:
        """These questions wait no more."""
        self.asked = tuple([one for one in self.asked if one.question.id not in questions])

    def interrupts(self, turn: TurnId) -> bool:
        """Whether the message that is next was accepted to end that turn (R178)."""
        return bool(self._line) and self._line[0].stops == turn

    @property
    def length(self) -> int:
        """Messages queued or on their way."""
        return len(self._line) + len(self._arriving)

    def would_wait(self, submission: Submission) -> bool:
        """Whether a message accepted now gets a turn of its own."""
        if submission.waits:
            return True
        return self.behind == "own_turn" and self._has_waiting()

    def would_steer(self, submission: Submission) -> bool:
        """Whether a message accepted now may be handed to the running turn."""
        return not submission.waits and not self._has_waiting()

    def _has_waiting(self) -> bool:
        return any(submission.waits for submission in self._arriving) or any(
            entry.own_turn for entry in self._line
        )

    def expect(self, submission: Submission) -> None:
        """A message was offered to the store: keep its place until the verdict."""
        self._arriving += (submission,)

    def is_coming(self, message: MessageId) -> bool:
        """Whether the message is on its way into the queue."""
        return any(submission.message == message for submission in self._arriving)

    def arrived(self, entry: Waiting, *, front: bool = False) -> None:
        """The message is durable: it takes its place, in the store's order."""
        self._forget(entry.submission)
        self.add(entry, front=front)

    def refused(self, submission: Submission) -> None:
        """The message was not taken after all."""
        self._forget(submission)

    def _forget(self, submission: Submission) -> None:
        message = submission.message
        self._arriving = tuple([one for one in self._arriving if one.message != message])

    def add(self, entry: Waiting, *, front: bool = False) -> None:
        """Put an entry behind all others, or (an interruption) in front of them (R178)."""
        self._line.insert(0 if front else len(self._line), entry)

    def put_back(self, entries: list[Waiting]) -> None:
        """What was taken and not committed stands at its old place again, once (R123)."""
        if not entries:
            return
        place = 0
        while place < len(self._line) and _is_before(self._line[place], entries[0]):
            place += 1
        self._line[place:place] = entries

    @property
    def first(self) -> Waiting | None:
        """The message whose turn would be next, where it stands."""
        return self._line[0] if self._line else None

    def take_prompt(self) -> Waiting | None:
        """The message whose turn is next."""
        return self._line.pop(0) if self._line else None

    def take_steers(self, most: int) -> list[Waiting]:
        """The plain messages in front of the first waiting one, at most ``most`` (R116, R120)."""
        count = 0
        while count < len(self._line) and count < most and not self._line[count].own_turn:
            count += 1
        steers, self._line[:count] = self._line[:count], []
        return steers

    def place_of(self, message: MessageId) -> int | None:
        """Where a queued message stands; None when it is not queued."""
        for place, entry in enumerate(self._line):
            if entry.submission.message == message:
                return place
        return None

    def take_at(self, place: int) -> Waiting:
        """Take a message out again (R127)."""
        return self._line.pop(place)

    def holds(self, message: MessageId) -> bool:
        """Whether the message is queued."""
        return self.place_of(message) is not None

    def of_key(self, key: str) -> Waiting | None:
        """The queued message that came with an idempotency key and is not stored yet (R93)."""
        for entry in self._line:
            if any(used.key == key for used in entry.keys):
                return entry
        return None


def _is_before(standing: Waiting, returning: Waiting) -> bool:
    """Whether a message that stands in the line is served before one that comes back to it."""
    if standing.seq is not None and returning.seq is not None:
        return standing.seq < returning.seq
    return standing.submission.when == "interrupt"
