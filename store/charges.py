"""What a store counts of a tenant's spending: one row a day, for tenants that have a quota (R233).

A row is changed by the commit that tells of what was spent, so neither is there without the other.
The first charge of a day removes the rows of the months before, which no quota asks for any more.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from greenroom.protocol.quota import NOTHING, Charge, Spent, first_day
from greenroom.store.envelope import Kind, damaged, seal, unseal_as
from greenroom.store.schema import CHARGED, DIGEST_BYTES, number_key, number_of, tenant_key
from greenroom.store.tables import Tables, View

_counts: Final = struct.Struct(">QQ")
_MOST: Final = 2**64 - 1


def charge(tables: Tables, tenant: str, charges: Iterable[Charge]) -> None:
    """Add to the rows of a tenant; none goes below nothing."""
    for each in charges:
        key = tenant_key(tenant) + number_key(each.day)
        value = tables.get(CHARGED, key)
        if value is None:
            _remove_before(tables, tenant, first_day(each.day, "month"))
        spent = each.spent + (NOTHING if value is None else _unpacked(key, value))
        told = _counts.pack(_bounded(spent.tokens), _bounded(spent.turns))
        tables.put(CHARGED, key, seal(Kind.CHARGED, key, told))


def charged(view: View, tenant: str) -> Iterator[tuple[int, Spent]]:
    """What was charged on each day, the oldest first. Raises :class:`StoreDamaged`."""
    for key, value in view.scan(CHARGED, tenant_key(tenant)):
        yield number_of(key[DIGEST_BYTES:]), _unpacked(key, value)


def _bounded(count: int) -> int:
    return min(max(0, count), _MOST)


def _unpacked(key: bytes, value: bytes) -> Spent:
    told = unseal_as(Kind.CHARGED, value, table=CHARGED, key=key)
    if len(told) != _counts.size:
        raise damaged("is no count", CHARGED, key, None)
    return Spent(*_counts.unpack(told))


def _remove_before(tables: Tables, tenant: str, day: int) -> None:
    within = tenant_key(tenant)
    last = within + number_key(day)
    gone = [key for key, _ in tables.scan(CHARGED, within) if key < last]
    for key in gone:
        tables.delete(CHARGED, key)
