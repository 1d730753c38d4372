"""Ordered tables in dictionaries, with a way back: what a memory store keeps its rows in."""

from bisect import bisect_left, insort
from collections.abc import Iterator

import attrs

from greenroom.protocol.errors import SaveFailed
from greenroom.store.schema import TABLES, Table


@attrs.define(eq=False)
class MemoryTables:
    """Tables in dictionaries, with the way back to where the transaction began."""

    _rows: dict[Table, dict[bytes, bytes]] = attrs.field(
        factory=lambda: {table: {} for table in TABLES}, init=False
    )
    _order: dict[Table, list[bytes]] = attrs.field(
        factory=lambda: {table: [] for table in TABLES}, init=False
    )
    _before: list[tuple[Table, bytes, bytes | None]] = attrs.field(factory=list, init=False)

    def get(self, table: Table, key: bytes, /) -> bytes | None:
        """The value under ``key``."""
        return self._rows[table].get(key)

    def last(self, table: Table, /) -> bytes | None:
        """The greatest key of a table."""
        order = self._order[table]
        return order[-1] if order else None

    def scan(
        self, table: Table, prefix: bytes, /, start: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values that begin with ``prefix``, from ``start`` on, in order."""
        order, rows = self._order[table], self._rows[table]
        for place in range(bisect_left(order, max(prefix, start)), len(order)):
            key = order[place]
            if not key.startswith(prefix):
                return
            yield key, rows[key]

    def put(self, table: Table, key: bytes, value: bytes, /) -> None:
        """Set the value under ``key``."""
        self._before.append((table, key, self._rows[table].get(key)))
        self._set(table, key, value)

    def append(self, table: Table, key: bytes, value: bytes, /) -> None:
        """Set the value under a key above all others."""
        newest = self.last(table)
        if newest is not None and key <= newest:
            raise SaveFailed(f"A record of {table!r} came out of order.", table=table)
        self.put(table, key, value)

    def delete(self, table: Table, key: bytes, /) -> bool:
        """Remove ``key``; say whether it was there."""
        before = self._rows[table].get(key)
        if before is None:
            return False
        self._before.append((table, key, before))
        self._set(table, key, None)
        return True

    def begin(self) -> None:
        """From here on what is written can be given up."""
        self._before.clear()

    def abort(self) -> None:
        """Give up what was written since :meth:`begin`."""
        for table, key, value in reversed(self._before):
            self._set(table, key, value)
        self._before.clear()

    def bytes_held(self) -> int:
        """Bytes of all keys and values."""
        return sum(
            len(key) + len(value) for rows in self._rows.values() for key, value in rows.items()
        )

    def _set(self, table: Table, key: bytes, value: bytes | None) -> None:
        rows, order = self._rows[table], self._order[table]
        if value is None:
            del rows[key]
            del order[bisect_left(order, key)]
            return
        if key not in rows:
            insort(order, key)
        rows[key] = value
