"""A host while it runs and when it stops: what goes on besides the turns.

Leaving the host's block ends running turns within a bound, tries once to write what could not be
written, and tells readers that nothing more will come. What is queued stays queued (R208).
"""

import logging
from typing import TYPE_CHECKING, Final

import trio

from greenroom.actors.listing import Listing
from greenroom.actors.models.port import Model
from greenroom.actors.services import Services
from greenroom.actors.session import SessionActor
from greenroom.actors.watch import watch
from greenroom.protocol.errors import GreenroomError

if TYPE_CHECKING:
    from greenroom.actors.host import Host

_log: Final = logging.getLogger("greenroom")


async def look_after(host: "Host", scope: trio.CancelScope) -> None:
    """Passivate, watch, and let queued messages go on, until ``scope`` is cancelled."""
    with scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_passivate_idle, host)
            nursery.start_soon(watch, host.services)
            if host.services.policy.revive and not host.services.store.read_only:
                nursery.start_soon(_revive, host)


async def _passivate_idle(host: "Host") -> None:
    """Let sessions go that had nothing to do for a while: their memory returns (R184)."""
    idle = host.services.limits.idle_seconds
    while True:
        await trio.sleep(idle / 2)
        _passivate_older(host, trio.current_time() - idle)


def _passivate_older(host: "Host", deadline: float) -> None:
    # A function of its own, so that no variable of the loop keeps the last one while it sleeps.
    for actor in list(host.services.actors.values()):
        if actor.is_quiet and actor.last_active <= deadline:
            host.passivate(actor)


async def _revive(host: "Host") -> None:
    """Let sessions with queued messages go on, one after the other (R93)."""
    async for summary in Listing(lambda: host.summaries(None)):
        if summary.phase in ("queued", "interrupted"):
            try:
                await host.activate(summary.session)
            except GreenroomError:
                # It is told to whoever opens that session; the others must not wait for it.
                continue


async def stop(services: Services, helpers: trio.CancelScope, nursery: trio.Nursery) -> None:
    """End what runs, within a bound; everything accepted stays in the store."""
    services.closing = True
    helpers.cancel()
    actors = list(services.actors.values())
    for actor in actors:
        if actor.turn is not None:
            actor.turn.stop("interrupted", "The host stopped.")
    with trio.move_on_after(services.limits.settle_seconds_max):
        while any(actor.turn is not None for actor in actors):
            await services.settled.wait()
        for actor in actors:
            await _last_flush(actor)
    nursery.cancel_scope.cancel()
    for model in services.models.values():
        await _close(model)


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


async def _last_flush(actor: SessionActor) -> None:
    try:
        await actor.flush()
    except GreenroomError:
        # What is lost is named when the host has ended.
        return


async def _close(model: Model) -> None:
    """Close a model that can be closed: it opens again when it is used again."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()
