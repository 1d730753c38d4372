"""Which tools the turns of an agent really called most: what a load by usage goes by (R145)."""

from collections import Counter, deque
from typing import Final

from greenroom.actors.listing import Listing
from greenroom.actors.services import Services
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.filter import AGENT
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import Asked, Ended, Returned

SESSIONS_MAX: Final = 64
"""Sessions of the agent that are looked at, the newest."""


async def most_called(services: Services, tenant: str, agent: str) -> tuple[str, ...]:
    """The tools on demand that an agent's turns called, the most first; equal ones by name.

    Counted once for each tenant, whose sessions alone are looked at (R218), until the workspace is
    read anew: conversations that begin meanwhile are composed to the same, and share their prefix.
    """
    known = services.most_called.get((tenant, agent))
    if known is not None:
        return known
    store = services.store
    newest: deque[SessionId] = deque(maxlen=SESSIONS_MAX)
    async for session in Listing(lambda: store.find(AGENT, agent, tenant=tenant)):
        newest.append(session)
    counted: Counter[str] = Counter()
    for session in newest:
        try:
            for entry in store.read(session):
                for record in decode_records(entry.records):
                    if isinstance(record, Returned | Asked | Ended):
                        # A result names its tool where the call went through ``use_tool``.
                        counted.update(r.tool for r in record.results if r.tool is not None)
        except StoreDamaged:
            continue
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    # Whoever counted first meanwhile is followed, so that all are composed to the same.
    return services.most_called.setdefault((tenant, agent), tuple(ranked))
