"""Laws of the sums of a pass."""

from greenroom.actors.bench import Expire, cache, ideal
from greenroom.actors.bench.tally import Tally, add, public_ways
from tests.actors.bench.scenes import MINUTE, Requests, played, prompt


def counted(requests: Requests) -> list[int]:
    """What an ideal cache reads of each of these requests."""
    tally = Tally([cache("ideal", ideal)])
    for at, tenant, model, sent in requests.sent:
        tally.take(tenant, model, sent, at)
    return list(tally.caches[0].reads)


def test_tenants_and_models_have_caches_of_their_own() -> None:
    """What one has sent is nothing to the other."""
    same, _ = played(prompt(0, "a"), prompt(1, "b"))
    other, _ = played(prompt(0, "a"), prompt(1, "b", tenant="x"))
    assert counted(same)[1] > 0
    assert counted(other)[1] == 0


def test_a_cold_cache_reads_nothing() -> None:
    """Of the tenant whose it is; the other's stay warm."""
    tally = Tally([cache("ideal", ideal)])
    requests, _ = played(prompt(0), prompt(1, tenant="x"), Expire(at=2), prompt(MINUTE))
    first, theirs, second = ((tenant, sent) for _, tenant, _, sent in requests.sent)
    for tenant, sent in (first, theirs):
        tally.take(tenant, "m", sent, 0.0)
    tally.expire("default")
    for tenant, sent in (second, theirs):
        tally.take(tenant, "m", sent, 1.0)
    reads = list(tally.caches[0].reads)
    assert reads == [0, 0, 0, len(theirs[1].tokens)]


def test_a_read_is_of_the_placements_that_it_covers() -> None:
    """From the beginning on, the last one in part."""
    sums = [0] * 5
    add(sums, (("agent", 3), ("platform", 5), ("agent", 9), ("message", 12)), 7)
    assert sums == [2, 5, 0, 0, 0]
    add(sums, (("agent", 3),), 0)
    assert sums == [2, 5, 0, 0, 0]


def test_the_public_ways_say_what_they_are_made_with() -> None:
    """Sizes, minimum lengths and lives are data."""
    ways = {way.name: way.settings for way in public_ways()}
    assert list(ways) == ["block chain", "radix tree", "breakpoints", "whole units"]
    assert ways["breakpoints"]["count"] == 4
    assert ways["whole units"]["minimum"] == 1_024
    assert all(way.make() is not way.make() for way in public_ways())
