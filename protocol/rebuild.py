"""From stored records to what was sent: the conversation, and any request, to the byte (R196).

One pass in order over the records of a session; what it gives for a record is the same on every
try, since projection is a pure function of the message, its snapshot and the kept prompt (R34).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from greenroom.protocol.command import Submission
from greenroom.protocol.composition import Composition, decode_composition
from greenroom.protocol.errors import Missing, StoreDamaged
from greenroom.protocol.identity import SessionId, TurnId
from greenroom.protocol.projection import (
    Source,
)
from greenroom.protocol.projector import Projector
from greenroom.protocol.prompt_checkpoint import (
    KeptCheckpoint,
    NamedSections,
    SystemPromptCheckpoint,
    joined,
    replay,
    whole,
)
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    Compacted,
    Dispatched,
    NotSent,
    Opened,
    Resumed,
    Returned,
)
from greenroom.protocol.request import Messages, ModelRequest, request_digest

_BEGUN: Final = (Dispatched, NotSent)
"""What a turn begins with, or is all of it."""


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A request of a turn, by where it is recorded."""

    turn: TurnId
    round: int
    index: int
    """The record with which it was committed."""
    digest: str
    composition: str
    """Digest of the composition under which it was sent."""


def sent_in(records: Iterable[AnyRecord]) -> list[Sent]:
    """The requests of all turns, in order; one that a compaction replaced is none (R210)."""
    sent: list[Sent] = []
    turn, round_, composition = 0, 0, ""
    for index, record in enumerate(records):
        match record:
            case Dispatched():
                turn, round_, composition = record.turn, 0, record.composition
            case Returned():
                round_ = record.round + 1
            case Compacted() if record.request:
                composition = record.composition
                if sent[-1].turn == turn and sent[-1].round == round_:
                    sent.pop()
            case _:
                continue
        if record.request:
            sent.append(Sent(turn, round_, index, record.request, composition))
    return sent


class SentRequest(msgspec.Struct, frozen=True):
    """A request that was sent, rebuilt from the store."""

    turn: TurnId
    """0: of no turn."""
    round: int
    request: ModelRequest
    recorded: str
    """The digest that was committed before it was sent."""
    rebuilt: str
    """The digest of what was rebuilt."""
    composition: Composition
    """The kept prompt; like all that follows, what the bytes were made of and not what was sent."""
    sections: NamedSections
    """Of the system string, in order."""
    sources: tuple[Source, ...]
    """The origin of each message (R45)."""
    preset: str
    """The one whose permissions it tells."""
    agent: str = ""
    person: str | None = None
    """The sender of the turn's message; None: nobody's part of the prompt is sent (R137)."""
    session: SessionId | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the rebuilt bytes are those that were sent (R196)."""
        return self.recorded == self.rebuilt


def request_at(
    records: Sequence[AnyRecord],
    turn: TurnId,
    round_: int,
    blob: Callable[[str], bytes | None],
    session: SessionId | None = None,
) -> SentRequest:
    """Rebuild the request of one round of one turn (``round_`` -1: the turn's last).

    Args:
        records: all of a session, from its first.
        turn: the turn's number.
        round_: the round's number, 0 is the first.
        blob: reads content by its hash.
        session: whose records they are; it is only passed on.

    Raises:
        Missing: the turn was not dispatched, or has no such round.
        StoreDamaged: the composition that it names is not in the store.
    """
    _check_dispatched(records, turn)
    of_turn = [one for one in sent_in(records) if one.turn == turn]
    try:
        sent = of_turn[round_]
    except IndexError:
        raise Missing(
            f"Turn {turn} has no request of round {round_}; it sent {len(of_turn)}.", turn=turn
        ) from None
    before = records[: sent.index + 1]
    composition = composition_from(sent.composition, blob)
    projector = Projector(composition, composition.model, mapped=True).take(before)
    sections, chunks = replay(checkpoints_of(before, blob)), projector.chunks
    request = ModelRequest(
        model=composition.model,
        system=joined(sections),
        tools=composition.tools,
        messages=Messages(chunks, len(chunks)),
        parameters=composition.parameters,
    )
    first = records[0]
    start = next(r for r in before if isinstance(r, Dispatched) and r.turn == turn)
    return SentRequest(
        turn,
        sent.round,
        request,
        sent.digest,
        request_digest(request),
        composition,
        sections,
        tuple(projector.sources or ()),
        _preset_of(start, before),
        first.agent if isinstance(first, Opened) else "",
        _person_of(start, before),
        session,
    )


def _preset_of(start: Dispatched, records: Iterable[AnyRecord]) -> str:
    """The preset in force: a turn that was parked commits to one anew (R157)."""
    preset = start.preset
    for record in records:
        if isinstance(record, Resumed) and record.turn == start.turn:
            preset = record.preset
    return preset


def _person_of(start: Dispatched, records: Iterable[AnyRecord]) -> str | None:
    """The sender of the turn's message."""
    accepted = (r for r in records if isinstance(r, Accepted) and r.message == start.message)
    return next((record.person for record in accepted), None)


def _check_dispatched(records: Iterable[AnyRecord], turn: TurnId) -> None:
    """Refuse a turn that sent nothing, and say which did."""
    begun = {r.turn: isinstance(r, Dispatched) for r in records if isinstance(r, _BEGUN)}
    if turn not in begun:
        there = {0: "there is none yet", 1: "there is 1"}.get(
            len(begun), f"there are {len(begun):,}"
        )
        raise Missing(f"There is no turn {turn:,} in this session; {there}.", turn=turn)
    if not begun[turn]:
        raise Missing(f"Turn {turn:,} ended before it sent a request.", turn=turn)


def composition_from(digest: str, blob: Callable[[str], bytes | None]) -> Composition:
    """Read a kept composition. Raises :class:`StoreDamaged` if the store does not hold it."""
    data = blob(digest)
    if data is None:
        raise StoreDamaged(f"The kept prompt {digest[:12]} is not in the store.", digest=digest)
    return decode_composition(data)


def checkpoints_of(
    records: Iterable[AnyRecord], blob: Callable[[str], bytes | None]
) -> list[SystemPromptCheckpoint]:
    """The prompt checkpoints of a session, oldest first: those of its turns' requests (R70).

    Raises:
        StoreDamaged: a composition that one names is not in the store.
    """
    found: list[SystemPromptCheckpoint] = []
    digest, texts = "", dict[str, str]()
    composition = ""
    for record in records:
        if isinstance(record, Dispatched | Compacted):
            composition = record.composition
        checkpoint = _checkpoint_of(record)
        if checkpoint is not None:
            if checkpoint.kept and digest != composition:
                digest, texts = composition, composition_from(composition, blob).texts
            found.append(whole(checkpoint, texts))
    return found


def _checkpoint_of(record: AnyRecord) -> KeptCheckpoint | None:
    if isinstance(record, Dispatched | Resumed):
        return record.checkpoint
    # A compaction before a dispatch sends no request of its turn: that has one of its own.
    return record.checkpoint if isinstance(record, Compacted) and record.request else None


def submission_of(record: Accepted) -> Submission:
    """A stored acceptance as the submission that it was."""
    return Submission(
        message=record.message,
        body=bytes(record.body),
        picks=record.picks,
        when="queue" if record.waits else "steer",
        by=record.by,
        person=record.person,
        key=record.key,
    )
