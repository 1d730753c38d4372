"""Calls that come out of a turn: a tool must not feed its own turn, nor wait in a circle (P157)."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final

from greenroom.actors.waits import RUNNING
from greenroom.protocol.errors import WouldWaitForItself
from greenroom.protocol.identity import SessionId
from greenroom.protocol.phase import Phase

if TYPE_CHECKING:
    from greenroom.actors.host import Host

_NOBODY: Final = nullcontext()
"""A caller who runs in no turn waits in nobody's way."""
_RESTS: Final = frozenset({Phase.SETTLING, Phase.PARKED})
"""Phases of an open turn in which no tool of it runs."""


def runs_in(host: "Host") -> SessionId | None:
    """The session of this host in whose turn the caller runs, as long as that turn does."""
    running, services = RUNNING.get(), host.services
    if running is None or running.waits is not services.waits:
        return None
    actor = host.live(running.session)
    if actor is None or actor.turn is None or actor.phase in _RESTS:
        return None
    return running.session if actor.turn.number == running.turn else None


def check_feeds_another(host: "Host", session: SessionId) -> None:
    """Refuse a tool that sends a message to its own turn, which it would keep going (P157)."""
    if runs_in(host) == session:
        raise WouldWaitForItself(
            f"This runs inside a turn of {session} and would send it a message.",
            session=str(session),
            target=str(session),
        )


def waiting_for(host: "Host", session: SessionId) -> AbstractContextManager[None]:
    """Where a tool waits for a session, that is noted, and refused if it is a circle."""
    waiter = runs_in(host)
    if waiter is None:
        return _NOBODY
    return host.services.waits.waiting(waiter, session)
