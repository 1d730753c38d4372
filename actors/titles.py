"""Titles, made beside the turns: which sessions are due for one, and a few at once (R95).

A turn that ends makes its session due, if that has no title and somebody typed something. Nothing
waits for a title: a session whose title is made is as quiet as it would be without, and its next
turn begins at once. A request that fails is made again with the end of a later turn, a bounded
number of times (R96). Where the host stops, or the session is deleted or let go, the request is
cancelled and leaves nothing.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import attrs
import trio

from greenroom.actors.models.port import Model
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.protocol.phase import Phase
from greenroom.protocol.titling import typed_in

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor
    from greenroom.actors.turn import Turn

_log: Final = logging.getLogger("greenroom")


@attrs.define(eq=False, slots=True)
class Titles:
    """The titles that a host makes; at most one of a session at a time."""

    model: Model | None
    """None: none are made."""
    limits: Limits
    make: Callable[["SessionActor", Model], Awaitable[None]]
    """Asks for one and commits it."""
    _due: dict[SessionId, "SessionActor"] = attrs.field(factory=dict)
    """Those that wait for a place, the one that has waited longest first."""
    _running: dict[SessionId, trio.CancelScope] = attrs.field(factory=dict)

    def turn_over(self, actor: "SessionActor", turn: "Turn") -> None:
        """A turn has ended: its session is due, if there were words in the turn."""
        if self.model is not None and turn.start is not None and _has_words(turn):
            self.due(actor)

    def due(self, actor: "SessionActor") -> None:
        """Make the session's title, as soon as there is a place; unless it has one."""
        if self.model is None or actor.id in self._running or not self._wants(actor):
            return
        self._due[actor.id] = actor
        self._go_on()

    def cancel(self, session: SessionId) -> None:
        """Make none for this session, which is deleted or let go."""
        self._due.pop(session, None)
        scope = self._running.get(session)
        if scope is not None:
            scope.cancel()

    def stop(self) -> None:
        """Make none any more: the host stops."""
        self.model = None
        self._due.clear()
        for scope in self._running.values():
            scope.cancel()

    def _wants(self, actor: "SessionActor") -> bool:
        header, services = actor.header, actor.services
        if header.title is not None or header.untitled >= self.limits.title_attempts_max:
            return False
        # A held session is kept still; one that is not live any more is somebody else's.
        return actor.phase is not Phase.HELD and services.actors.get(actor.id) is actor

    def _go_on(self) -> None:
        while self._due and len(self._running) < self.limits.titles_max:
            session = next(iter(self._due))
            actor = self._due.pop(session)
            if self.model is not None and self._wants(actor):
                scope = self._running[session] = trio.CancelScope()
                actor.services.nursery.start_soon(self._run, actor, self.model, scope)

    async def _run(self, actor: "SessionActor", model: Model, scope: trio.CancelScope) -> None:
        try:
            with scope:
                await self.make(actor, model)
        except Exception as error:  # noqa: BLE001 - a title is worth no session and no host
            _log.error("The title of %s was not made: %s", actor.id, error)
        finally:
            del self._running[actor.id]
        self._go_on()


def _has_words(turn: "Turn") -> bool:
    entries = (turn.entry, *turn.absorbed)
    typed = (entry.submission for entry in entries if entry.submission.by == "person")
    return any(typed_in(submission.body) for submission in typed)
