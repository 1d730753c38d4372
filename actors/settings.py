"""What may be set of a session, and taken back: each a commit, and in force only after it."""

import logging
from functools import partial
from typing import Final

import trio
from msgspec import structs

from greenroom.actors.asking_first import withdrawn_with, without
from greenroom.actors.flushing import flush
from greenroom.actors.gateway import Waiting
from greenroom.actors.holds import held_error
from greenroom.actors.marks import noted
from greenroom.actors.pending import raised
from greenroom.actors.session import SessionActor
from greenroom.actors.terms import terms_with
from greenroom.actors.titling import change_title
from greenroom.protocol.errors import Busy, GreenroomError, PendingSave, SessionLost
from greenroom.protocol.header import Header
from greenroom.protocol.identity import MessageId
from greenroom.protocol.journal import entry_of
from greenroom.protocol.phase import Phase, Step
from greenroom.protocol.receipt import RECALLED, Outcome
from greenroom.protocol.record import ModelChanged, PresetChanged, Recalled, TitleSet
from greenroom.protocol.usage import Usage

_log: Final = logging.getLogger("greenroom")


async def set_preset(actor: SessionActor, preset: str, by: str | None) -> None:
    """Put a preset in force that there is; see :func:`configure`."""
    actor.check_quiet()
    before = actor.header.preset
    if preset != before:
        record = PresetChanged(actor.services.world.now(), preset, before, by)
        await configure(actor, record, structs.replace(actor.header, preset=preset))


async def set_model(actor: SessionActor, model: str, by: str | None) -> None:
    """Choose a model that there is; see :func:`configure`."""
    actor.check_quiet()
    before = actor.header.model or ""
    if model != before:
        actor.mapped = None
        record = ModelChanged(actor.services.world.now(), model, before, by)
        await configure(actor, record, structs.replace(actor.header, model=model))


async def configure(
    actor: SessionActor, record: PresetChanged | ModelChanged, header: Header
) -> None:
    """Commit a setting; it is in force after that, and not before (R8, R10).

    The journal says with it who put it (R242).

    Raises:
        Busy, PendingSave: the session is not idle; nothing changed (R9).
        StoreFailed: it could not be written; the former setting stays.
    """
    actor.check_quiet()
    header = noted(actor, header)
    # Offered first: what cannot be encoded is refused before anything moves.
    terms, entry = terms_with(actor, header), entry_of(actor.id, record)
    saving = actor.commit([record], header, terms=terms, entry=entry)
    actor.step(Step.CONFIGURE)
    error = await saving.get_shielded()
    if isinstance(error, SessionLost):
        actor.lose(error, saving.sealed)
        raise error
    if error is not None:
        actor.step(Step.REFUSED)
        actor.go_on()
        raise raised(error)
    actor.step(Step.SAVED)
    actor.go_on()


async def set_title(actor: SessionActor, title: str | None, by: str | None) -> None:
    """Give a session a person's title; None: one is made, if the host makes any (R96, R91).

    Raises:
        Held: a hold keeps the session still.
        StoreFailed, SessionLost: it could not be written; the former title stays.
    """
    if actor.phase is Phase.HELD:
        raise held_error(actor)
    record = TitleSet(actor.services.world.now(), title, by)
    await change_title(actor, partial(_titled, record))
    if title is None:
        actor.services.titles.due(actor)


def _titled(record: TitleSet, header: Header) -> tuple[TitleSet, Header]:
    return record, structs.replace(header, title=record.title, untitled=0)


async def recall(actor: SessionActor, message: MessageId) -> bool:
    """Take back a queued message; False when it is not queued (R127).

    That it was taken back is durable when this returns; with a save pending it joins that, and
    becomes durable with it (R91).

    Raises:
        StoreFailed: it could not be written; the message stands where it stood.
    """
    await actor.until_heard()
    while actor.answering is not None:
        # What is answered by then stands; what is not is withdrawn with its message (R215).
        await actor.answering.wait()
    place = actor.gateway.place_of(message)
    if place is None:
        return False
    entry = actor.gateway.take_at(place)
    if entry.seq is not None:
        await _take_back(actor, entry, entry.seq)
    actor.outcomes.resolve(message, Outcome(None, "recalled", RECALLED, "", 0, Usage()))
    # A hold may have been only about what this message picked.
    actor.go_on()
    return True


async def _take_back(actor: SessionActor, entry: Waiting, seq: int) -> None:
    """Commit that a message was taken out of the queue, and what was asked for it with it."""
    message = entry.submission.message
    asked = withdrawn_with(actor, message)
    record = Recalled(actor.services.world.now(), message, withdrawn=asked)
    if actor.pending:
        actor.join([record], consumed=(seq,))
        return
    header, terms = without(actor, asked) if asked else (None, None)
    saving = actor.commit([record], header, consumed=(seq,), terms=terms)
    heard = actor.answering = trio.Event() if asked else None
    error = await saving.get_shielded()
    if heard is not None:
        actor.answering = None
        heard.set()
    if isinstance(error, SessionLost):
        actor.lose(error)
        raise error
    if error is not None:
        actor.gateway.put_back([entry])
        actor.go_on()
        raise raised(error)
    actor.gateway.settled(asked)


async def dispose(actor: SessionActor, *, discard: bool) -> None:
    """Let an actor go; what is not on disk is written first, or given up if asked (R208).

    A parked turn stays as it is, and goes on from the store (R184).

    Raises:
        Busy: a turn runs, a message waits, or somebody waits for the outcome of a parked turn.
        PendingSave: something could not be written, and was not to be discarded.
    """
    _check_at_rest(actor)
    with trio.move_on_after(actor.services.limits.settle_seconds_max):
        try:
            await flush(actor)
        except GreenroomError as error:
            if not discard:
                raise PendingSave(
                    f"The session {actor.id} cannot be let go: {error.sentence}"
                ) from error
    if actor.pending and not discard:
        raise PendingSave(f"The session {actor.id} was not saved in time.")
    if actor.pending:
        lost = ", ".join(type(record).__name__ for record in actor.records())
        _log.error("The session %s is let go with what could not be saved: %s.", actor.id, lost)
        actor.pending.drop()
    # What was flushed may have let the queue go on.
    _check_at_rest(actor)
    actor.leave("The session was let go")


def _check_at_rest(actor: SessionActor) -> None:
    if actor.phase is not Phase.UNSAVED and not actor.may_rest:
        raise Busy(f"The session {actor.id} is busy: {actor.why_busy()}.", reason=actor.why_busy())
