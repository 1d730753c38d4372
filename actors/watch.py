"""Bounds on how long a turn may stay with one model call or one round of tools.

One task of the host looks at all running turns now and then, instead of each call setting a
deadline of its own: a scope with a deadline costs 5 µs a call, and this costs a turn nothing. A
bound is therefore kept to within a twentieth. (A tool that states a timeout of its own gets a
scope, and ends alone; this is for those that never return.)
"""

from typing import Final, TypeAlias

import trio

from greenroom.actors.services import Services
from greenroom.actors.session import SessionActor
from greenroom.protocol.identity import SessionId
from greenroom.protocol.phase import Phase

LOOKS: Final = 20
"""How often a bound is looked at within its own length."""
Seen: TypeAlias = dict[SessionId, tuple[object, float]]
"""By session: the place where its turn stands, and since when it has been seen there."""
SECONDS_MIN: Final = 0.05
SECONDS_MAX: Final = 15.0


async def watch(services: Services) -> None:
    """Stop turns that stay too long where they are; never returns."""
    limits = services.limits
    shortest = min(limits.model_seconds_max, limits.tool_seconds_max)
    interval = min(max(shortest / LOOKS, SECONDS_MIN), SECONDS_MAX)
    seen: Seen = {}
    while True:
        await trio.sleep(interval)
        seen = _look(services, seen, trio.current_time())


def _look(services: Services, before: Seen, now: float) -> Seen:
    """Look at all running turns once; where each stands, and since when."""
    running = [actor for actor in services.actors.values() if actor.turn is not None]
    seen = {actor.id: _since(actor, before, now) for actor in running}
    for actor in running:
        _look_at(actor, now - seen[actor.id][1], services)
    return seen


def _since(actor: SessionActor, seen: Seen, now: float) -> tuple[object, float]:
    """Where the turn stands, and since when it has been seen there."""
    turn = actor.turn
    assert turn is not None
    place = (turn.number, turn.round, actor.phase)
    before = seen.get(actor.id)
    return before if before is not None and before[0] == place else (place, now)


def _look_at(actor: SessionActor, seconds: float, services: Services) -> None:
    turn, limits = actor.turn, services.limits
    assert turn is not None
    if actor.phase is Phase.MODEL and seconds > limits.model_seconds_max:
        reason = f"The model did not answer within {limits.model_seconds_max:g} s."
        turn.stop("failed", reason)
    elif actor.phase is Phase.TOOLS and seconds > limits.tool_seconds_max:
        reason = f"A tool did not return within {limits.tool_seconds_max:g} s."
        turn.stop("failed", reason)
