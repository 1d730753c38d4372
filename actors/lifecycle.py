"""A host while it runs and when it stops: what goes on besides the turns.

The actors' tasks stand outside of the caller's cancellation, so that a block that is cancelled ends
like any other: running turns are ended within a bound, what could not be written is tried once
more, and readers are told that nothing more will come. What is queued stays queued (R208).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import trio

from greenroom.actors.flushing import flush
from greenroom.actors.holding import goes_on
from greenroom.actors.listing import Listing
from greenroom.actors.models.port import Model
from greenroom.actors.questions import open_questions
from greenroom.actors.services import Services
from greenroom.actors.session import SessionActor
from greenroom.actors.terms import ANSWER, EXPIRY, WAITING
from greenroom.actors.watch import watch
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import GreenroomError, StoreDamaged, StoreFailed
from greenroom.protocol.question import overdue
from greenroom.protocol.record import Accepted
from greenroom.protocol.state import SessionSummary
from greenroom.store.contract import Store

if TYPE_CHECKING:
    from greenroom.actors.host import Host

_log: Final = logging.getLogger("greenroom")


async def keep(*, task_status: trio.TaskStatus[trio.Nursery]) -> None:
    """Hold the nursery of the actors until it is cancelled itself: :func:`stop` does that.

    Shielded, because a turn has to be settled and not dropped when the caller's scope is cancelled.
    """
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as nursery:
            task_status.started(nursery)
            await trio.sleep_forever()


async def start_keeping(outer: trio.Nursery) -> trio.Nursery:
    """Start :func:`keep`; the actors' nursery."""
    # Where the caller is being cancelled already, a keeper that is shielded would never hand over.
    with trio.CancelScope(shield=True):
        nursery: trio.Nursery = await outer.start(keep)
    return nursery


@contextmanager
def alone() -> Iterator[None]:
    """Let an error that is the only one leave nurseries as itself, and not as a group of groups."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if error is group:
            raise
        raise error from error.__cause__


async def look_after(host: "Host", scope: trio.CancelScope) -> None:
    """Passivate, watch, and let queued messages go on, until ``scope`` is cancelled."""
    with scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_passivate_idle, host)
            nursery.start_soon(watch, host.services)
            if host.services.policy.revive and not host.services.store.read_only:
                nursery.start_soon(_revive, host)
            if not host.services.store.read_only:
                nursery.start_soon(_settle_overdue, host)


async def _passivate_idle(host: "Host") -> None:
    """Let sessions go that had nothing to do for a while: their memory returns (R184)."""
    idle = host.services.limits.idle_seconds
    while True:
        await trio.sleep(idle / 2)
        _passivate_older(host, trio.current_time() - idle)


def _passivate_older(host: "Host", deadline: float) -> None:
    # A function of its own, so that no variable of the loop keeps the last one while it sleeps.
    for actor in list(host.services.actors.values()):
        if actor.may_rest and actor.last_active <= deadline:
            host.passivate(actor)


async def _settle_overdue(host: "Host") -> None:
    """Settle by policy what nobody answered in its time; the turns go on (R223, R224)."""
    services = host.services
    while True:
        await trio.sleep(services.limits.overdue_seconds)
        try:
            expiring = open_questions(services.store, None, among=EXPIRY)
        except StoreFailed as error:
            _log.error("What is overdue cannot be read: %s", error)
            continue
        now = services.world.now()
        for question in expiring:
            if question.expires is not None and question.expires <= now:
                try:
                    await host.answer(question, overdue(question.kind))
                except GreenroomError as error:
                    _log.error("A question of %s is overdue: %s", question.session, error)


async def _revive(host: "Host") -> None:
    """Let sessions go on that have messages queued, or a turn with all its answers (R93, R161)."""
    store = host.services.store
    try:
        waiting = frozenset(store.find(WAITING, ANSWER))
        async for summary in Listing(lambda: host.summaries(None)):
            waits = summary.session in waiting and not _is_interrupted(store, summary)
            if goes_on(summary.phase, waits=waits):
                try:
                    await host.activate(summary.session)
                except GreenroomError:
                    # It is told to whoever opens that session; the others must not wait for it.
                    continue
    except StoreFailed as error:
        _log.error("What waits in the store cannot be read: %s", error)


def _is_interrupted(store: Store, summary: SessionSummary) -> bool:
    """Whether the message that is next was accepted to end the turn that is parked (R178)."""
    if not summary.queued:
        return False
    try:
        first = store.queued(summary.session)[:1]
        records = [r for entry in first for r in decode_records(entry.records)]
    except StoreDamaged:
        return False
    return any(isinstance(record, Accepted) and record.stops is not None for record in records)


async def stop(services: Services, helpers: trio.CancelScope) -> None:
    """End what runs, within a bound; everything accepted stays in the store."""
    services.closing = True
    helpers.cancel()
    services.titles.stop()
    bound = services.limits.settle_seconds_max
    tasks = services.nursery.cancel_scope
    actors = list(services.actors.values())
    for actor in actors:
        if actor.turn is not None:
            actor.turn.stop("interrupted", "The host stopped.")
        elif actor.compaction is not None:
            actor.compaction.cancel()
    with trio.move_on_after(bound):
        # Where the actors' nursery failed there is no task left that could settle a turn.
        while not tasks.cancel_called and any(map(_runs, actors)):
            await services.settled.wait()
        for actor in actors:
            await _last_flush(actor)
    tasks.cancel()
    with trio.move_on_after(bound):
        async with trio.open_nursery() as nursery:
            for model in {id(model): model for model in services.models.values()}.values():
                nursery.start_soon(_close, model)


def _runs(actor: SessionActor) -> bool:
    if actor.turn is None:
        return actor.compaction is not None
    return actor.turn.runs


def ended(services: Services) -> None:
    """Every turn is settled: readers have all there is to read, and nobody waits for ever."""
    for shared in list(services.subscribers.values()):
        shared.close()
    services.bell.close()
    for actor in list(services.actors.values()):
        if actor.pending:
            lost = ", ".join(type(record).__name__ for record in actor.records())
            _log.error("The session %s ends with what could not be saved: %s.", actor.id, lost)
        actor.leave()
    # Whoever comes now is told that the host was closed, instead of finding an actor that rests.
    services.actors.clear()


async def _last_flush(actor: SessionActor) -> None:
    try:
        await flush(actor)
    except GreenroomError:
        # What is lost is named when the host has ended.
        return


async def _close(model: Model) -> None:
    """Close a model that can be closed: it opens again when it is used again."""
    close = getattr(model, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except Exception:  # noqa: BLE001 - it must not keep the others from being closed
        _log.exception("The model %s could not be closed.", model.name)
