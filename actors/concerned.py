"""Which sessions of a store a hold concerns: told from the index, so that none is read (R239)."""

from collections.abc import Iterable, Iterator
from itertools import chain

from greenroom.actors.listing import Listing
from greenroom.actors.terms import SKILL
from greenroom.protocol.hold import Hold
from greenroom.protocol.identity import SessionId
from greenroom.store.contract import Store


async def concerned(store: Store, hold: Hold, binding: Iterable[str] = ()) -> dict[SessionId, None]:
    """The sessions that a hold concerns, each once.

    ``binding`` are the agents to which its skill is bound now: their sessions are concerned before
    they have a kept prompt.
    """
    first, *others = _filters(store, hold, tuple(binding))
    found = dict.fromkeys(await _all(first))
    for more in others:
        within = frozenset(await _all(more))
        found = {session: None for session in found if session in within}
    return found


async def _all(found: Iterator[SessionId]) -> list[SessionId]:
    """All of them; others get to run meanwhile."""
    return await Listing(lambda: found).all()


def _filters(store: Store, hold: Hold, binding: tuple[str, ...]) -> Iterator[Iterator[SessionId]]:
    """What each part of a hold says by itself; all sessions, where it names nothing."""
    tenant = hold.tenant
    if hold.skill is not None:
        agents = [store.find("agent", name, tenant=tenant) for name in binding]
        yield chain(store.find(SKILL, hold.skill, tenant=tenant), *agents)
    if hold.agent is not None:
        yield store.find("agent", hold.agent, tenant=tenant)
    for name, value in hold.labels.items():
        yield store.find(f"label:{name}", value, tenant=tenant)
    if hold.skill is None and hold.agent is None and not hold.labels:
        yield (stored.session for stored in store.sessions(tenant))
