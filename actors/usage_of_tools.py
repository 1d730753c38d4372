"""Which tools the turns of an agent really called most: what a load by usage goes by (R145)."""

from collections import Counter
from itertools import islice
from typing import Final

from greenroom.actors.services import Services
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.record import Asked, Ended, Returned

SESSIONS_MAX: Final = 64
"""Sessions of the agent that are looked at."""


def most_called(services: Services, agent: str) -> tuple[str, ...]:
    """The tools on demand that an agent's turns called, the most first; equal ones by name.

    Counted once until the workspace is read anew: conversations that begin meanwhile are composed
    to the same, and share their prefix.
    """
    known = services.most_called.get(agent)
    if known is not None:
        return known
    counted: Counter[str] = Counter()
    store = services.store
    for session in islice(store.find("agent", agent), SESSIONS_MAX):
        try:
            for entry in store.read(session):
                for record in decode_records(entry.records):
                    if isinstance(record, Returned | Asked | Ended):
                        # A result names its tool where the call went through ``use_tool``.
                        counted.update(r.tool for r in record.results if r.tool is not None)
        except StoreDamaged:
            continue
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    services.most_called[agent] = tuple(ranked)
    return tuple(ranked)
