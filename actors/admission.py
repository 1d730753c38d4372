"""From what a caller sends to a durable message: validated, made durable, then given a receipt.

An idle session accepts a message in the same commit that dispatches its turn; else the message is
enqueued, and takes its place in the gateway in the store's own callback, in the store's order. A
refusal raises its typed error, stores nothing and uses up no key (R177).
"""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from greenroom.actors.border import check_skills
from greenroom.actors.content import Held, Sent, held
from greenroom.actors.gateway import INTERRUPTED, Waiting
from greenroom.actors.holds import held_error, hold_on
from greenroom.actors.opening import begins_with_runs
from greenroom.actors.session import SessionActor
from greenroom.actors.waiting import Slot
from greenroom.protocol.account import receipt_of
from greenroom.protocol.command import By, Pick, Submission
from greenroom.protocol.encoding import decode_records, encode_message, encode_records
from greenroom.protocol.errors import (
    Busy,
    EmptyMessage,
    InvalidInput,
    KeyReused,
    Missing,
    QueueFull,
    StoreDamaged,
    StoreFailed,
    StoreUnavailable,
)
from greenroom.protocol.identity import check_name
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import UserMessage, is_blank, text_of
from greenroom.protocol.phase import OPEN_PHASES, Phase
from greenroom.protocol.receipt import Cursor, Outcome, Receipt, ReceiptStatus, When
from greenroom.protocol.record import Accepted
from greenroom.protocol.selection import resolve_picks
from greenroom.store.contract import (
    Enqueue,
    EnqueueVerdict,
    Failed,
    KeyEntry,
    Known,
    Queued,
    QueueIsFull,
)

_WHEN: Final = ("steer", "queue", "interrupt", "reject")


class Admitted(msgspec.Struct, frozen=True, gc=False):
    """A message that was found valid; nothing is stored yet."""

    submission: Submission
    keys: tuple[KeyEntry, ...]
    blobs: dict[str, bytes] = {}
    """Its images, by content."""


class Words(msgspec.Struct, frozen=True, gc=False):
    """What a caller sends, found storable; whether the session can take it is another question."""

    held: Held
    body: bytes
    """The message as it is stored."""
    skills: tuple[str, ...]
    """The explicit picks, as they were given."""
    when: When
    keys: tuple[KeyEntry, ...]


def checked(
    content: Sent, skills: Sequence[str], when: When, key: str | None, limits: Limits
) -> Words:
    """Check what is sent by itself, before the session is asked (R194).

    Raises:
        InvalidInput, TooLarge: see there.
    """
    if when not in _WHEN:
        raise InvalidInput(f"There is no way to send {when!r}; there are {', '.join(_WHEN)}.")
    message = held(content, limits)
    given = check_skills(skills) if skills != () else ()
    body = encode_message(UserMessage(message.content))
    if key is None:
        return Words(message, body, given, when, ())
    check_name(key, "idempotency key", limits)
    return Words(message, body, given, when, (KeyEntry(key, content_digest(body, given)),))


def admitted(actor: SessionActor, words: Words, by: By = "person") -> Admitted:
    """Check whether the session can take what is sent (R19 to R24).

    Raises:
        EmptyMessage, SkillNotGiven, AmbiguousSkill, TooLarge: see there.
    """
    content, text = words.held.content, text_of(words.held.content)
    picks: tuple[Pick, ...] = ()
    if words.skills or "$" in text:
        picks = resolve_picks(
            words.skills, text, actor.services.skills_of(actor.header), actor.services.limits
        )
    if is_blank(content) and not picks:
        raise EmptyMessage("There is nothing in the message.")
    submission = Submission(
        actor.services.world.new_id(),
        words.body,
        picks,
        words.when,
        by,
        actor.header.person if by == "person" else None,
        words.keys[0].key if words.keys else None,
    )
    return Admitted(submission, words.keys, words.held.blobs)


def content_digest(body: bytes, skills: Sequence[str]) -> bytes:
    """What tells two messages under one key apart: words, attachments and explicit picks (R177).

    The picks as they were given: what a ``$name`` means may change until the message comes again.
    """
    picked = "\0".join(skills).encode()
    return hashlib.blake2b(body + b"\0" + picked, digest_size=16).digest()


# --- accepting ------------------------------------------------------------------------------------


async def accept(actor: SessionActor, message: Admitted) -> Receipt:
    """Make a message durable and say where it stands.

    Whether its key was used before is decided in the transaction that would register it, so two
    callers at once get one turn (R177).

    Raises:
        OverQuota: nothing is left of the tenant's quota; nothing is accepted (R233).
    """
    submission = message.submission
    actor.services.quotas.check_left(actor.id.tenant)
    if not _starts_now(actor, submission):
        return await _queue(actor, message)
    slot: Slot[int | Known] = Slot()
    turn = actor.begin(Waiting(submission, None, 0, submission.waits, message.keys, message.blobs))
    turn.accepted = slot
    number = await slot.get()
    if isinstance(number, Known):
        return _repeated(actor, message.keys[0], number)
    cursor = Cursor(actor.services.store.incarnation, number)
    return Receipt(submission.message, "started", 0, turn.number, repeated=False, cursor=cursor)


async def accept_and_wait(actor: SessionActor, message: Admitted) -> Outcome | Receipt:
    """Accept a message; on an idle session its outcome is waited for at once, with one wake.

    Raises:
        OverQuota: as :func:`accept`.
    """
    submission = message.submission
    actor.services.quotas.check_left(actor.id.tenant)
    if not _starts_now(actor, submission):
        return await _queue(actor, message)
    slot = actor.outcomes.wait_for(submission.message)
    actor.begin(Waiting(submission, None, 0, submission.waits, message.keys, message.blobs))
    try:
        outcome = await slot.get()
    finally:
        if not slot.filled:
            actor.outcomes.forget(submission.message, slot)
    if isinstance(outcome, Known):
        return _repeated(actor, message.keys[0], outcome)
    return outcome


def _repeated(actor: SessionActor, entry: KeyEntry, known: Known) -> Receipt:
    if known.digest != entry.digest:
        raise KeyReused(f"The key {entry.key!r} was used for another message.", key=entry.key)
    store = actor.services.store
    stored = store.entry(known.number)
    records = decode_records(stored.records) if stored is not None else []
    mine = [r for r in records if isinstance(r, Accepted) and r.key == entry.key]
    receipt = receipt_of(mine, store.incarnation, known.number)
    if receipt is None:
        raise StoreDamaged(f"The message of the key {entry.key!r} is not where it was stored.")
    return receipt


def _starts_now(actor: SessionActor, submission: Submission) -> bool:
    held = actor.phase is Phase.HELD
    if actor.is_quiet and not actor.services.closing:
        held = hold_on(actor, submission.picks) is not None
        if not held:
            # Where none may start now, the message is made durable first: nobody waits for that.
            # So is one that begins with runs, since a person may be asked about them (R215).
            return actor.services.turns.has_room and not begins_with_runs(actor)
    if submission.when == "reject":
        if held:
            raise held_error(actor, submission.picks)
        raise Busy(f"The session {actor.id} is busy: {actor.why_busy()}.", reason=actor.why_busy())
    return False


# --- queueing -------------------------------------------------------------------------------------


class _Arrival(msgspec.Struct, frozen=True):
    """A message on its way into the queue, and who waits for its receipt."""

    actor: SessionActor
    message: Admitted
    record: Accepted
    own_turn: bool
    slot: "Slot[EnqueueVerdict]"


async def _queue(actor: SessionActor, message: Admitted) -> Receipt:
    """Queue a message behind what runs or waits (R116 to R121)."""
    submission, gateway = message.submission, actor.gateway
    bound = actor.services.limits.queued_messages_max
    if gateway.length >= bound:
        raise QueueFull(f"The session {actor.id} has {bound:,} messages queued.", bound=bound)
    own_turn = gateway.would_wait(submission)
    record = _acceptance(actor, submission, own_turn=own_turn)
    if not actor.services.policy.durable_intake and not begins_with_runs(actor):
        first = _first_of_key(actor, message)
        return first or _keep(actor, message, record, own_turn=own_turn)
    slot: Slot[EnqueueVerdict] = Slot()
    arrival = _Arrival(actor, message, record, own_turn, slot)
    gateway.expect(submission)
    operation = Enqueue(
        actor.id,
        encode_records([record]),
        message.keys[0] if message.keys else None,
        submission.when == "interrupt",
        bound,
        message.blobs,
    )
    actor.services.store.offer(operation, partial(_arrived, arrival))
    verdict = await slot.get()
    return _queued(actor, message, record, verdict)


def _acceptance(actor: SessionActor, submission: Submission, *, own_turn: bool) -> Accepted:
    gateway, turn = actor.gateway, actor.turn
    running = turn.number if turn is not None and actor.phase in OPEN_PHASES else None
    steers = running is not None and not own_turn and gateway.would_steer(submission)
    status: ReceiptStatus = "steered" if steers else "queued"
    first = submission.when == "interrupt"
    return Accepted(
        actor.services.world.now(),
        submission.message,
        msgspec.Raw(submission.body),
        status,
        0 if first else gateway.length,
        running if steers else None,
        submission.picks,
        submission.by,
        submission.person,
        submission.key,
        own_turn,
        running if first else None,
    )


def _arrived(arrival: _Arrival, verdict: EnqueueVerdict) -> None:
    """The store's callback: the message has its place before anybody wakes."""
    services, submission = arrival.actor.services, arrival.message.submission
    arrival.actor.gateway.refused(submission)
    if isinstance(verdict, Failed) and verdict.unknown:
        verdict = _read_back(arrival, verdict)
    if isinstance(verdict, Queued):
        entry = Waiting(
            submission,
            verdict.seq,
            verdict.number,
            arrival.own_turn,
            stops=arrival.record.stops,
        )
        # The actor may have been replaced meanwhile; whoever is live now takes the message.
        actor = services.actors.get(arrival.actor.id, arrival.actor)
        if actor.phase is not Phase.CLOSED and not actor.gateway.holds(submission.message):
            actor.gateway.add(entry, front=submission.when == "interrupt")
            actor.number = max(actor.number, verdict.number)
        services.published(actor.id, verdict.number, (arrival.record,))
        if submission.when == "interrupt" and actor.turn is not None:
            actor.turn.stop("cancelled", INTERRUPTED)
        actor.go_on()
    arrival.slot.put(verdict)


def _read_back(arrival: _Arrival, verdict: Failed) -> EnqueueVerdict:
    """Where it is not known whether a message was stored, the stored queue decides (R86)."""
    try:
        queue = arrival.actor.services.store.queued(arrival.actor.id)
    except StoreFailed:
        return verdict
    for entry in queue:
        if any(
            isinstance(record, Accepted) and record.message == arrival.record.message
            for record in decode_records(entry.records)
        ):
            return Queued(entry.seq, entry.number)
    return verdict


def _queued(
    actor: SessionActor, message: Admitted, record: Accepted, verdict: EnqueueVerdict
) -> Receipt:
    if isinstance(verdict, Queued):
        cursor = Cursor(actor.services.store.incarnation, verdict.number)
        return Receipt(
            record.message,
            record.status,
            record.position,
            record.turn,
            repeated=False,
            cursor=cursor,
        )
    if isinstance(verdict, Known):
        return _repeated(actor, message.keys[0], verdict)
    if isinstance(verdict, QueueIsFull):
        raise QueueFull(
            f"The session {actor.id} has {verdict.length:,} messages queued.", bound=verdict.length
        )
    if isinstance(verdict, Failed):
        raise StoreUnavailable(
            f"The message was not kept: {verdict.error.sentence}"
        ) from verdict.error
    raise Missing(f"There is no session {actor.id} any more.", session=str(actor.id))


def stored_first(actor: SessionActor, words: Words) -> Receipt | None:
    """The receipt of the message that used the key before, if it is durable (R177).

    A caller that comes again with its key is answered so, whatever the session would say to a new
    message now.

    Raises:
        KeyReused: it was another message.
    """
    for entry in words.keys:
        known = actor.services.store.known(actor.id, entry.key)
        if known is not None:
            return _repeated(actor, entry, known)
    return None


def _first_of_key(actor: SessionActor, message: Admitted) -> Receipt | None:
    """The receipt of the key's first message, which the store may not know yet (R177)."""
    if not message.keys:
        return None
    store, entry, turn = actor.services.store, message.keys[0], actor.turn
    known = store.known(actor.id, entry.key)
    if known is not None:
        return _repeated(actor, entry, known)
    first = actor.gateway.of_key(entry.key)
    if first is None and turn is not None and any(k.key == entry.key for k in turn.entry.keys):
        first = turn.entry
    if first is None:
        return None
    if first.keys[0].digest != entry.digest:
        raise KeyReused(f"The key {entry.key!r} was used for another message.", key=entry.key)
    cursor = Cursor(store.incarnation, actor.number)
    return Receipt(first.submission.message, "queued", 0, None, repeated=True, cursor=cursor)


def _keep(actor: SessionActor, message: Admitted, record: Accepted, *, own_turn: bool) -> Receipt:
    """Queue in memory only, where the host wants that: lost with the process (R93)."""
    submission = message.submission
    entry = Waiting(submission, None, 0, own_turn, message.keys, message.blobs)
    actor.gateway.add(entry, front=submission.when == "interrupt")
    if submission.when == "interrupt" and actor.turn is not None:
        actor.turn.stop("cancelled", INTERRUPTED)
    actor.go_on()
    cursor = Cursor(actor.services.store.incarnation, actor.number)
    return Receipt(
        record.message, record.status, record.position, record.turn, repeated=False, cursor=cursor
    )
