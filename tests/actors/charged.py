"""What a tenant was charged, in memory and on disk, and models whose answers cost something."""

from typing import Any

from greenroom.actors import Host
from greenroom.actors.models.port import ModelResponse, RequestedCall
from greenroom.protocol.quota import NOTHING, QuotaState, Spent
from greenroom.protocol.usage import Usage
from tests.actors.world import Stage

CACHED = Usage(input=60, cache_read=900, cache_write=20, output=15, reasoning=5)
"""A request of which 90 % came from a cache: 1,000 tokens in all."""
WORST_LEAST = 4_096
"""A request may take at least the answer's reserve."""


def stands(host: Host) -> QuotaState:
    """What stands of the quota."""
    state = host.services.quotas.state("default")
    assert state is not None
    return state


def on_disk(stage: Stage, tenant: str = "default") -> Spent:
    """What the store tells of all days."""
    return sum(stage.store.charged(tenant).values(), NOTHING)


def check_settled(stage: Stage, host: Host) -> Spent:
    """Nothing is reserved any more, and the store has what memory has; that."""
    state = stands(host)
    assert state.reserved == NOTHING
    assert on_disk(stage) == state.charged
    return state.charged


def costing(usage: Usage, text: str = "Fine.", *calls: RequestedCall) -> ModelResponse:
    """An answer that costs so much."""
    finish: Any = "calls" if calls else "stop"
    return ModelResponse("" if calls else text, calls, usage=usage, finish=finish)
