"""One pass over the records of a session: its counts, its open turn, and what was pinned.

Counts are read from records and not from the header, which is only as new as the last turn that was
settled (R50, R94).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from greenroom.protocol.grant import Grant, grants_of
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.parked import Since
from greenroom.protocol.prompt_checkpoint import KeptCheckpoint
from greenroom.protocol.record import (
    Accepted,
    Answered,
    AnyRecord,
    Asked,
    Compacted,
    Dispatched,
    Ended,
    Imported,
    LegacyContext,
    NotSent,
    Opened,
    Responded,
    Resumed,
    Returned,
)
from greenroom.protocol.runtime_context import RuntimeContextSnapshot


class Tally:
    """What the records of a session come to; plain counters, filled once."""

    def __init__(self, records: Iterable[AnyRecord]) -> None:
        self.opened: Opened | None = None
        self.users = 0
        """User messages of the conversation: the next ordinal (R51)."""
        self.messages = 0
        self.turns: TurnId = 0
        """The newest turn that was begun, refused ones too."""
        self.open_turn: Dispatched | None = None
        self.since: list[Since] = []
        """The records of the open turn, behind its dispatch; and what made room for that."""
        self.snapshots: list[RuntimeContextSnapshot] = []
        self.checkpoints: list[tuple[str, KeptCheckpoint]] = []
        """Each with the digest of the composition whose texts it names."""
        self.settled: int | None = None
        """When the last turn ended, in milliseconds since 1970 (UTC)."""
        self.told: dict[str, str] = {}
        """By contributor, what its note was last told about, since the prompt was composed."""
        self.grants: tuple[Grant, ...] = ()
        """What is granted and not used, of the last turn that ended; whoever interrupts that, or
        cancels the next one before it was sent, does not want it any more (P139, R160)."""
        self._interrupting: set[MessageId] = set()
        self._composition = ""
        for record in records:
            step = self._STEPS.get(type(record))
            if step is not None:
                step(self, record)

    def _opened(self, record: Opened) -> None:
        self.opened = record

    def _accepted(self, record: Accepted) -> None:
        if record.stops is not None:
            self._interrupting.add(record.message)
        else:
            self._interrupting.discard(record.message)

    def _dispatched(self, record: Dispatched) -> None:
        if record.message in self._interrupting:
            self.grants = ()
        made_room = [one for one in self.since if isinstance(one, Compacted)]
        self.open_turn = record
        self.since = [one for one in made_room if one.turn == record.turn]
        self.users += 1
        self.messages += 1
        self.turns = record.turn
        if record.composition != self._composition:
            self._composition, self.told = record.composition, {}
        if record.notes:
            self.told.update((note.contributor, note.about) for note in record.notes if note.about)
        if record.snapshot is not None:
            self.snapshots.append(record.snapshot)
        if record.checkpoint is not None:
            self.checkpoints.append((self._composition, record.checkpoint))

    def _responded(self, record: Responded) -> None:
        self.messages += 1
        if record.granted:
            used = {use.question for use in record.granted}
            self.grants = tuple([one for one in self.grants if one.question not in used])
        self.since.append(record)

    def _returned(self, record: Returned) -> None:
        self.users += len(record.steers)
        self.messages += len(record.results) + len(record.steers)
        self.since.append(record)

    def _asked(self, record: Asked) -> None:
        self.messages += len(record.results)
        self.since.append(record)

    def _answered(self, record: Answered) -> None:
        self.since.append(record)

    def _resumed(self, record: Resumed) -> None:
        if record.checkpoint is not None:
            self.checkpoints.append((self._composition, record.checkpoint))
        self.since.append(record)

    def _compacted(self, record: Compacted) -> None:
        self._composition, self.told = record.composition, {}
        if record.request and record.checkpoint is not None:
            self.checkpoints.append((record.composition, record.checkpoint))
        self.since.append(record)

    def _ended(self, record: Ended) -> None:
        self.grants = grants_of(self.since, record.unused) if record.unused else ()
        self.open_turn, self.since = None, []
        self.settled = record.at
        self.messages += len(record.results)

    def _not_sent(self, record: NotSent) -> None:
        self.turns = record.turn
        if record.end == "cancelled" or record.message in self._interrupting:
            self.grants = ()

    def _imported(self, record: Imported) -> None:
        self.messages += 1
        self.users += record.ordinal is not None

    def _legacy(self, record: LegacyContext) -> None:
        self.snapshots.append(record.snapshot)

    _STEPS: ClassVar[Mapping[type, Callable[..., None]]] = {
        Opened: _opened,
        Accepted: _accepted,
        Dispatched: _dispatched,
        Responded: _responded,
        Returned: _returned,
        Asked: _asked,
        Answered: _answered,
        Resumed: _resumed,
        Compacted: _compacted,
        Ended: _ended,
        NotSent: _not_sent,
        Imported: _imported,
        LegacyContext: _legacy,
    }
