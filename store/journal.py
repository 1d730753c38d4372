"""What a store keeps of no session: the journal of interventions, and what stands because of them.

An entry of the journal and the change that it tells of are one step: nothing is in force that the
journal does not tell. The journal is only ever appended to; nothing that removes sessions or their
history reaches it (R242).
"""

from collections.abc import Iterator
from itertools import islice

from greenroom.protocol.errors import SaveFailed
from greenroom.store.contract import Absent, Done, Enter, JournalEntry, Standing
from greenroom.store.envelope import Kind, damaged, seal, unseal_as
from greenroom.store.schema import (
    JOURNAL,
    STANDING,
    kind_key,
    number_key,
    number_of,
    standing_key,
)
from greenroom.store.tables import Tables, View

_NUMBER_BYTES = 8


def enter(tables: Tables, operation: Enter, bytes_max: int) -> Done | Absent:
    """Append an entry, and set or remove what stands with it."""
    changes = [(standing_key(one.kind, one.key), one) for one in operation.standing]
    for key, one in changes:
        if one.value is None and tables.get(STANDING, key) is None:
            return Absent()
    sizes = [len(operation.entry), *(len(one.value or b"") for one in operation.standing)]
    if max(sizes) > bytes_max:
        raise SaveFailed(
            f"An entry of the journal has {max(sizes):,} bytes; the bound is {bytes_max:,}.",
            bytes=max(sizes),
            bound=bytes_max,
        )
    number = number_of(tables.last(JOURNAL)) + 1
    place = number_key(number)
    tables.append(JOURNAL, place, seal(Kind.JOURNAL, place, operation.entry))
    for key, one in changes:
        if one.value is None:
            tables.delete(STANDING, key)
        else:
            name = one.key.encode()
            told = place + number_key(len(name)) + name
            tables.put(STANDING, key, seal(Kind.STANDING, key, told, one.value))
    return Done(number)


def standing(view: View, kind: str) -> list[Standing]:
    """What stands of a kind, in the order in which it was set."""
    found = []
    for key, value in view.scan(STANDING, kind_key(kind)):
        told = unseal_as(Kind.STANDING, value, table=STANDING, key=key)
        begin = 2 * _NUMBER_BYTES
        end = begin + number_of(told[_NUMBER_BYTES:begin])
        if len(told) < end:
            raise damaged("is too short", STANDING, key, None)
        row = Standing(kind, told[begin:end].decode(), told[end:])
        found.append((number_of(told[:_NUMBER_BYTES]), row))
    return [row for _, row in sorted(found, key=lambda each: each[0])]


def entries(view: View, after: int, limit: int) -> Iterator[JournalEntry]:
    """The next entries of the journal with a number above ``after``."""
    for key, value in islice(view.scan(JOURNAL, b"", start=number_key(after + 1)), limit):
        yield JournalEntry(number_of(key), unseal_as(Kind.JOURNAL, value, table=JOURNAL, key=key))
