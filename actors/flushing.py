"""Writing what could not be written: in order, unchanged, with no tool and no model (R85)."""

from typing import TYPE_CHECKING

import trio

from greenroom.actors.pending import Obstacle, raised
from greenroom.protocol.errors import SaveFailed, SessionLost
from greenroom.protocol.phase import Phase, Step

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor


async def flush(actor: "SessionActor") -> None:
    """Write what a session keeps; run no tool and call no model (R85).

    Raises:
        SaveFailed: it still cannot be written; everything is kept.
        SessionLost: somebody else holds the session now; what was kept is given up.
    """
    if actor.phase is not Phase.UNSAVED:
        return
    if actor.flushing is not None:
        await actor.flushing.wait()
        await flush(actor)
        return
    actor.flushing = trio.Event()
    try:
        await _flush(actor)
    finally:
        actor.flushing.set()
        actor.flushing = None
    actor.go_on()


async def _flush(actor: "SessionActor") -> None:
    if not actor.pending:
        # A dispatch failed and nothing was kept of it: an empty commit shows that the store
        # takes writes again before the queue goes on (R85, R205). A title or a recall may be on
        # its way meanwhile: it is sealed behind that, and not beside it (R91).
        _check(actor, await actor.commit([]).get_shielded())
    while actor.pending:
        _check(actor, await actor.save(actor.pending.first).get_shielded())
        actor.pending.written()
    actor.step(Step.FLUSHED)


def _check(actor: "SessionActor", obstacle: Obstacle | None) -> None:
    """Raise what kept a commit from being written, if something did."""
    if isinstance(obstacle, SessionLost):
        actor.lose(obstacle)
        raise obstacle
    if obstacle is not None:
        actor.step(Step.SAVE_FAILED)
        cause = raised(obstacle)
        sentence = f"The session {actor.id} cannot be saved yet: {cause.sentence}"
        raise SaveFailed(sentence, session=str(actor.id)) from cause
