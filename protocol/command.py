"""What may be said to a session: a submission, as admission made it valid."""

from typing import Literal, TypeAlias

import msgspec

from greenroom.protocol.identity import MessageId, SkillId, Slug
from greenroom.protocol.receipt import When

By: TypeAlias = Literal["person", "host"]


class Pick(msgspec.Struct, frozen=True, gc=False):
    """A skill that a person chose, as it was called then; later renames do not alter it (R22)."""

    id: SkillId
    slug: Slug
    name: str


class Submission(msgspec.Struct, frozen=True, gc=False):
    """A message that was found valid and is on its way to being durable."""

    message: MessageId
    body: bytes
    """The user message, encoded once: what is stored and, unexpanded, what is sent."""
    picks: tuple[Pick, ...]
    when: When
    by: By
    person: str | None
    key: str | None
    """The caller's idempotency key."""

    @property
    def waits(self) -> bool:
        """Whether it needs a turn of its own: any pick, or ``when="queue"`` (R119)."""
        return bool(self.picks) or self.when != "steer"
