"""From what is stored to a live actor: claimed, read back, and an interrupted turn settled.

Nothing is repaired by reading: a session whose records do not fit together is set aside with the
reason, and the others run (R92). The queue, the kept prompt and the prefix of the next request are
as they were (R169).
"""

from collections.abc import Sequence

import attrs
import msgspec
from msgspec import structs

from greenroom.actors.conversation import Conversation, rebuilt
from greenroom.actors.gateway import Gateway, Waiting
from greenroom.actors.services import Services
from greenroom.actors.session import SessionActor
from greenroom.actors.waiting import Slot
from greenroom.protocol.encoding import (
    decode_header,
    decode_message,
    decode_records,
    encode_message,
)
from greenroom.protocol.errors import (
    GreenroomError,
    Missing,
    SaveFailed,
    SessionLost,
    SetAside,
    StoreDamaged,
    StoreFailed,
)
from greenroom.protocol.identity import SessionId
from greenroom.protocol.message import AssistantMessage, ToolMessage
from greenroom.protocol.permission import Preset
from greenroom.protocol.prompt_checkpoint import NamedSections, replay
from greenroom.protocol.rebuild import Projector, checkpoints_of, submission_of
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    CallResult,
    Dispatched,
    Ended,
    Header,
    Imported,
    Opened,
    Responded,
    Returned,
)
from greenroom.protocol.runtime_context import check_anchors
from greenroom.protocol.usage import Usage
from greenroom.store.contract import Absent, Claim, Claimed, ClaimVerdict, Failed, Gone, Known

UNKNOWN: str = "Unknown outcome: the host stopped while this call ran; it may have happened."
NOT_RUN: str = "Not run: the host stopped before this call began."


async def activated(services: Services, session: SessionId) -> SessionActor:
    """Claim a session and read it back.

    Raises:
        Missing: there is none.
        SetAside: what is stored does not fit together; the reason is in it.
        StoreFailed: the store could not do it.
    """
    claimed = await _claim(services, session)
    try:
        actor = _read_back(services, session, claimed)
    except (StoreDamaged, GreenroomError) as error:
        if isinstance(error, StoreFailed) and not isinstance(error, StoreDamaged):
            raise
        raise SetAside(
            f"The session {session} cannot be opened: {error.sentence}", session=str(session)
        ) from error
    if actor.header.open_turn is not None:
        await _settle_interrupted(actor)
    return actor


async def _claim(services: Services, session: SessionId) -> Claimed:
    slot: Slot[ClaimVerdict] = Slot()
    services.store.offer(Claim(session), slot.put)
    verdict = await slot.get_shielded()
    match verdict:
        case Claimed():
            return verdict
        case Failed(error=error):
            raise error
        case Gone() | Absent():
            raise Missing(f"There is no session {session}.", session=str(session))


@attrs.frozen
class _Tally:
    """What one pass over the records of a session finds."""

    opened: Opened | None
    users: int
    messages: int
    turns: int
    open_turn: Dispatched | None
    since: tuple[AnyRecord, ...]
    """The records of the open turn."""


def _tally(records: Sequence[AnyRecord]) -> _Tally:
    opened: Opened | None = None
    users = messages = turns = 0
    running: Dispatched | None = None
    since: list[AnyRecord] = []
    for record in records:
        match record:
            case Dispatched():
                running, since = record, []
                users, messages, turns = users + 1, messages + 1, max(turns, record.turn)
            case Responded():
                messages += 1
                since.append(record)
            case Returned():
                users += len(record.steers)
                messages += len(record.results) + len(record.steers)
                since.append(record)
            case Ended():
                running = None
                messages += len(record.results)
            case Imported():
                messages += 1
                users += record.ordinal is not None
            case Opened():
                opened = record
            case _:
                turns = max(turns, getattr(record, "turn", None) or 0)
    return _Tally(opened, users, messages, turns, running, tuple(since))


def _read_back(services: Services, session: SessionId, claimed: Claimed) -> SessionActor:
    store = services.store
    header = decode_header(claimed.header)
    records = [record for entry in store.read(session) for record in decode_records(entry.records)]
    tally = _tally(records)
    if tally.opened is None:
        raise StoreDamaged(f"The session {session} has no first record.")
    check_anchors([s for r in records if (s := _snapshot_of(r)) is not None], tally.users)
    header = structs.replace(
        header,
        users=tally.users,
        messages=tally.messages,
        turns=max(header.turns, tally.turns),
        open_turn=tally.open_turn.turn if tally.open_turn else None,
    )
    kept, conversation, sent = None, Conversation(), None
    if header.composition is not None:
        kept = services.kept_prompts.stored(header.composition, store.blob)
        projector = Projector(kept.composition, kept.composition.model)
        conversation = rebuilt(projector.project(records))
        sent = _as_sent(replay(checkpoints_of(records)))
    actor = SessionActor(
        services,
        session,
        claimed.epoch,
        claimed.head,
        claimed.number,
        header,
        _preset(services, header),
        tally.opened.instructions,
        conversation,
        _gateway(services, session),
        kept,
        sent,
    )
    return actor


def _snapshot_of(record: AnyRecord):  # type: ignore[no-untyped-def]
    return getattr(record, "snapshot", None)


def _as_sent(sections: NamedSections) -> NamedSections:
    return tuple(sections)


def _preset(services: Services, header: Header) -> Preset:
    return services.workspace.presets.get(header.preset)


def _gateway(services: Services, session: SessionId) -> Gateway:
    """The queue as it was, in the order in which the store serves it (R93)."""
    gateway = Gateway(services.policy.behind)
    for queued in services.store.queued(session):
        for record in decode_records(queued.records):
            if isinstance(record, Accepted):
                submission = submission_of(record)
                gateway.add(Waiting(submission, queued.seq, queued.number, record.waits))
    return gateway


# --- a turn that nobody runs ----------------------------------------------------------------------


async def _settle_interrupted(actor: SessionActor) -> None:
    """End a turn that was running when its host stopped: every call gets a result (R175, P031)."""
    entries = actor.services.store.read(actor.id)
    tally = _tally([r for entry in entries for r in decode_records(entry.records)])
    start = tally.open_turn
    assert start is not None
    results = _missing_results(tally.since)
    usage = Usage()
    for record in tally.since:
        if isinstance(record, Responded):
            usage += record.usage
    added = 1 + sum(
        1 if isinstance(r, Responded) else len(r.results) + len(r.steers)
        for r in tally.since
        if isinstance(r, Responded | Returned)
    )
    ended = Ended(
        actor.services.world.now(),
        start.turn,
        "interrupted",
        "The host stopped while this turn ran.",
        "interrupted",
        results,
        "",
        added + len(results),
        usage,
    )
    header = structs.replace(
        actor.header,
        open_turn=None,
        messages=actor.header.messages + len(results),
        usage=actor.header.usage + usage,
    )
    obstacle = await actor.commit([ended], header).get_shielded()
    if isinstance(obstacle, SessionLost):
        raise obstacle
    if obstacle is not None:
        assert not isinstance(obstacle, Known), "the end of a turn registers no key"
        raise SaveFailed(
            f"The interrupted turn {start.turn} cannot be settled: {obstacle.sentence}"
        ) from obstacle
    chunks = [bytes(result.body) for result in results]
    actor.conversation.adopt(actor.conversation.plus(chunks))


def _missing_results(since: Sequence[AnyRecord]) -> tuple[CallResult, ...]:
    """Results for the calls of a committed answer whose outcomes were not committed (R173)."""
    if not since or not isinstance(since[-1], Responded):
        return ()
    answer = since[-1]
    message = decode_message(answer.body)
    assert isinstance(message, AssistantMessage)
    results = []
    for call in message.tool_calls:
        writes = call.id in answer.intents
        body = encode_message(ToolMessage(call.id, UNKNOWN if writes else NOT_RUN))
        state = "unknown" if writes else "not_run"
        results.append(CallResult(call.id, msgspec.Raw(body), state))  # type: ignore[arg-type]
    return tuple(results)
