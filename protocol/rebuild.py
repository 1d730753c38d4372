"""From stored records to what was sent: the conversation, and any request, to the byte (R196).

One pass in order over the records of a session; what it gives for a record is the same on every
try, since projection is a pure function of the message, its snapshot and the kept prompt (R34).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from greenroom.protocol.command import Submission
from greenroom.protocol.composition import Composition, decode_composition
from greenroom.protocol.errors import Missing, StoreDamaged
from greenroom.protocol.identity import MessageId, TurnId
from greenroom.protocol.projection import (
    SkillExpansion,
    Source,
    expansion_of,
    legacy_message,
    project_assistant,
    project_user,
)
from greenroom.protocol.prompt_checkpoint import SystemPromptCheckpoint, replay_text
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    CallResult,
    Dispatched,
    Ended,
    Imported,
    LegacyContext,
    Responded,
    Returned,
)
from greenroom.protocol.repair import repair
from greenroom.protocol.request import Messages, ModelRequest, request_digest
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.protocol.wording import wording_of


class Projector:
    """Walks stored records once and gives what of them is sent, with each message's source."""

    def __init__(self, composition: Composition, model: str) -> None:
        self._composition = composition
        self._model = model
        self._accepted: dict[MessageId, Accepted] = {}
        self._legacy: dict[int, list[LegacyContext]] = {}
        self._place = -1

    def project(self, records: Iterable[AnyRecord]) -> Iterator[tuple[bytes, Source]]:
        """What is sent of ``records``, in order."""
        imported: list[Imported] = []
        for record in records:
            if imported and not isinstance(record, Imported | LegacyContext):
                yield from self._imported(imported)
                imported = []
            match record:
                case Accepted():
                    self._accepted[record.message] = record
                case Dispatched():
                    yield from self._user(record.message, record.ordinal, record.snapshot)
                case Responded():
                    source = self._history()
                    body = project_assistant(bytes(record.body), self._model)
                    if body:
                        yield body, source
                case Returned():
                    yield from self._results(record.results)
                    for steer in record.steers:
                        yield from self._user(steer.message, steer.ordinal, None)
                case Ended():
                    yield from self._results(record.results)
                case Imported():
                    imported.append(record)
                case LegacyContext(snapshot=snapshot):
                    self._legacy.setdefault(snapshot.user_turn, []).append(record)
                case _:
                    pass
        yield from self._imported(imported)

    def _imported(self, history: Sequence[Imported]) -> Iterator[tuple[bytes, Source]]:
        """A history that came from elsewhere, as it can be sent (R48)."""
        before = self._place + 1
        self._place += len(history)
        wording = wording_of(self._composition.wording)
        for body, source in zip(*repair([bytes(r.body) for r in history], wording), strict=True):
            message, ordinal = source.message, None
            if message is not None:
                ordinal = history[message].ordinal
                message += before
            sent = project_assistant(body, self._model)
            if sent:
                yield sent, Source(source.origin, message)
            yield from self._legacy_at(ordinal)
        for record in history:
            # What was anchored to a message that is left out.
            yield from self._legacy_at(record.ordinal)

    def _history(self, expansion: SkillExpansion | None = None) -> Source:
        self._place += 1
        return Source("history", self._place, expansion)

    def _user(
        self, message: MessageId, ordinal: int, snapshot: RuntimeContextSnapshot | None
    ) -> Iterator[tuple[bytes, Source]]:
        accepted = self._accepted.pop(message)
        source = self._history(expansion_of(snapshot, self._composition))
        yield (
            project_user(bytes(accepted.body), snapshot, accepted.picks, self._composition),
            source,
        )
        yield from self._legacy_at(ordinal)

    def _results(self, results: Sequence[CallResult]) -> Iterator[tuple[bytes, Source]]:
        for result in results:
            yield bytes(result.body), self._history()

    def _legacy_at(self, ordinal: int | None) -> Iterator[tuple[bytes, Source]]:
        for record in self._legacy.pop(ordinal, ()) if ordinal is not None else ():
            yield legacy_message(record.snapshot), Source("legacy_context")


class SentRequest(msgspec.Struct, frozen=True):
    """A request that was sent, rebuilt from the store."""

    turn: TurnId
    round: int
    request: ModelRequest
    recorded: str
    """The digest that was committed before it was sent."""
    rebuilt: str
    """The digest of what was rebuilt."""

    @property
    def is_exact(self) -> bool:
        """Whether the rebuilt bytes are those that were sent (R196)."""
        return self.recorded == self.rebuilt


def request_at(
    records: Sequence[AnyRecord],
    turn: TurnId,
    round_: int,
    blob: Callable[[str], bytes | None],
) -> SentRequest:
    """Rebuild the request of one round of one turn (``round_`` -1: the turn's last).

    Raises:
        Missing: the turn was not dispatched, or has no such round.
        StoreDamaged: the composition that it names is not in the store.
    """
    places = [
        (index, record.request)
        for index, record in enumerate(records)
        if isinstance(record, Dispatched | Returned) and record.turn == turn
    ]
    try:
        index, recorded = places[round_]
    except IndexError:
        raise Missing(
            f"Turn {turn} has no request of round {round_}; it sent {len(places)}.", turn=turn
        ) from None
    before = records[: index + 1]
    start = next(r for r in before if isinstance(r, Dispatched) and r.turn == turn)
    composition = composition_from(start.composition, blob)
    chunks = [chunk for chunk, _ in Projector(composition, start.model).project(before)]
    request = ModelRequest(
        model=start.model,
        system=replay_text(checkpoints_of(before)),
        tools=composition.tools,
        messages=Messages(chunks, len(chunks)),
        parameters=composition.parameters,
    )
    place = round_ if round_ >= 0 else len(places) + round_
    return SentRequest(turn, place, request, recorded, request_digest(request))


def composition_from(digest: str, blob: Callable[[str], bytes | None]) -> Composition:
    """Read a kept composition. Raises :class:`StoreDamaged` if the store does not hold it."""
    data = blob(digest)
    if data is None:
        raise StoreDamaged(f"The kept prompt {digest[:12]} is not in the store.", digest=digest)
    return decode_composition(data)


def checkpoints_of(records: Iterable[AnyRecord]) -> list[SystemPromptCheckpoint]:
    """The prompt checkpoints of a session, oldest first."""
    return [
        record.checkpoint
        for record in records
        if isinstance(record, Dispatched) and record.checkpoint is not None
    ]


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
        blank=False,
    )
