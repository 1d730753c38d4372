"""What reading and writing need of a place with ordered tables: five calls, and no more.

Whatever offers them is a store's inside: an LMDB transaction, or a few dictionaries.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Protocol

from greenroom.store.schema import Table


class View(Protocol):
    """Tables as they stand at one moment; what they answer is copied."""

    def get(self, table: Table, key: bytes, /) -> bytes | None:
        """The value under ``key``."""
        ...

    def last(self, table: Table, /) -> bytes | None:
        """The greatest key of a table."""
        ...

    def scan(
        self, table: Table, prefix: bytes, /, start: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values in order: those that begin with ``prefix`` and are not below ``start``.

        The tables must not be changed before the walk ends.
        """
        ...


class Tables(View, Protocol):
    """Tables within a transaction that can be given up as a whole."""

    def put(self, table: Table, key: bytes, value: bytes, /) -> None:
        """Set the value under ``key``."""
        ...

    def append(self, table: Table, key: bytes, value: bytes, /) -> None:
        """Set the value under a key above all others. Raises :class:`SaveFailed` if it is not."""
        ...

    def delete(self, table: Table, key: bytes, /) -> bool:
        """Remove ``key``; say whether it was there."""
        ...


def some_keys(view: View, table: Table, prefix: bytes, count: int) -> list[bytes]:
    """The first keys with a prefix, at most ``count``: what a bounded step removes."""
    return [key for key, _ in islice(view.scan(table, prefix), count)]
