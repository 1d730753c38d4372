"""Which layout of sessions in LMDB: one log with chains, or a range of keys for each session?

    PYTHONPATH=.import python -m benchmarks.store_layout [--sessions 1000] [--folder .]

Both layouts keep entries of 900 bytes and a head of 160 bytes for each session, in sealed values,
and commit durably. Figures are medians; CPU is that of the writing thread. ``--folder`` must lie on
a disk (a memory file system hides what flushing costs).
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Protocol

import lmdb

from greenroom.store.envelope import Kind, seal, unseal
from greenroom.store.schema import LOG, number_key, number_of, queue_key

RECORDS = b"r" * 900
HEAD = b"h" * 160
LONG = 1_000
"""Entries of the session that is reopened and erased."""


class Layout(Protocol):
    """A way to lay sessions out."""

    name: str

    def write(self, sessions: Iterable[int]) -> None:
        """One commit for each of these, in one transaction."""
        ...

    def reopen(self, session: int) -> int:
        """Read a session's entries; answer how many."""
        ...

    def feed(self) -> int:
        """Read all entries in the order of the store; answer how many."""
        ...

    def erase(self, session: int) -> None:
        """Remove the entries of a session."""
        ...


class Base:
    """An environment with two tables."""

    def __init__(self, folder: Path) -> None:
        self.env = lmdb.open(str(folder), map_size=8 << 30, max_dbs=3, max_spare_txns=2)
        self.entries = self.env.open_db(b"entries")
        self.heads = self.env.open_db(b"heads")
        self.order = self.env.open_db(b"order")
        self.number = 0


class Log(Base):
    """Entries by store-wide number, appended; each names its session's entry before it."""

    name = "log with chains"

    def write(self, sessions: Iterable[int]) -> None:
        """One commit for each of these, in one transaction."""
        with self.env.begin(write=True) as txn:
            for session in sessions:
                key = number_key(session)
                head = txn.get(key, None, self.heads)
                before = b"\0" * 8 if head is None else unsealed(key, head)[:8]
                self.number += 1
                number = number_key(self.number)
                value = seal(Kind.ENTRY_COMMITTED, number, key + before, RECORDS)
                txn.put(number, value, append=True, db=self.entries)
                txn.put(key, seal(Kind.HEAD, key, number, HEAD), db=self.heads)

    def chain(self, txn: "lmdb.Transaction[bytes]", session: int) -> list[bytes]:
        """The keys of a session's entries, newest first."""
        key = number_key(session)
        keys, number = [], unsealed(key, txn.get(key, None, self.heads))[:8]
        while number_of(number):
            keys.append(number)
            number = unsealed(number, txn.get(number, None, self.entries))[8:16]
        return keys

    def reopen(self, session: int) -> int:
        """Read a session's entries; answer how many."""
        with self.env.begin() as txn:
            return len(self.chain(txn, session))

    def feed(self) -> int:
        """Read all entries in the order of the store; answer how many."""
        with self.env.begin() as txn:
            return sum(bool(unsealed(*item)) for item in txn.cursor(self.entries))

    def erase(self, session: int) -> None:
        """Remove the entries of a session."""
        with self.env.begin(write=True) as txn:
            for key in self.chain(txn, session):
                txn.delete(key, db=self.entries)


class Ranges(Base):
    """Entries by session and place in it; the feed needs an index from number to key."""

    name = "ranges of sessions"

    def write(self, sessions: Iterable[int]) -> None:
        """One commit for each of these, in one transaction."""
        with self.env.begin(write=True) as txn:
            for session in sessions:
                key = number_key(session)
                head = txn.get(key, None, self.heads)
                place = 0 if head is None else number_of(unsealed(key, head)[:8])
                where = queue_key(key, place)
                self.number += 1
                number = number_key(self.number)
                txn.put(where, seal(Kind.ENTRY_COMMITTED, where, number, RECORDS), db=self.entries)
                txn.put(number, seal(Kind.NAME, number, where), append=True, db=self.order)
                txn.put(key, seal(Kind.HEAD, key, number_key(place + 1), HEAD), db=self.heads)

    def items(self, txn: "lmdb.Transaction[bytes]", session: int) -> list[tuple[bytes, bytes]]:
        """Keys and payloads of a session's entries, oldest first."""
        prefix, items = number_key(session), []
        cursor = txn.cursor(self.entries)
        found = cursor.set_range(prefix)
        while found and cursor.key().startswith(prefix):
            items.append((cursor.key(), unsealed(*cursor.item())))
            found = cursor.next()
        return items

    def reopen(self, session: int) -> int:
        """Read a session's entries; answer how many."""
        with self.env.begin() as txn:
            return len(self.items(txn, session))

    def feed(self) -> int:
        """Read all entries in the order of the store; answer how many."""
        with self.env.begin() as txn:
            return sum(
                bool(unsealed(where, txn.get(where, None, self.entries)))
                for where in (unsealed(*item) for item in txn.cursor(self.order))
            )

    def erase(self, session: int) -> None:
        """Remove the entries of a session."""
        with self.env.begin(write=True) as txn:
            for key, value in self.items(txn, session):
                txn.delete(value[:8], db=self.order)
                txn.delete(key, db=self.entries)


def unsealed(key: bytes, value: bytes | None) -> bytes:
    """The payload of a sealed value, checked as the store checks it."""
    return unseal(value or b"", table=LOG, key=key)[1]


def timed(action: Callable[[], object], times: int = 1) -> tuple[float, float]:
    """Median seconds of wall time and of CPU."""
    wall, cpu = [], []
    for _ in range(times):
        began, began_cpu = time.perf_counter(), time.thread_time()
        action()
        wall.append(time.perf_counter() - began)
        cpu.append(time.thread_time() - began_cpu)
    return median(wall), median(cpu)


def measure(layout: Layout, sessions: int) -> dict[str, str]:
    """All figures of one layout, by what was done."""
    chance = random.Random(7)
    figures = {}
    for group, times in ((1, 300), (100, 150), (1_000, 40)):
        wall, cpu = timed(lambda n=group: layout.write(chance.choices(range(sessions), k=n)), times)  # type: ignore[misc]
        figures[f"write, groups of {group}"] = (
            f"{group / wall:9,.0f}/s {cpu / group * 1e6:6.1f} µs CPU"
        )
    for _ in range(LONG):
        layout.write([sessions, *chance.choices(range(sessions), k=20)])
    wall, _ = timed(lambda: layout.reopen(sessions), 20)
    figures[f"reopen {LONG} entries"] = f"{wall * 1e3:9.2f} ms"
    wall, _ = timed(layout.feed)
    figures["feed of all"] = f"{wall * 1e3:9.1f} ms"
    wall, _ = timed(lambda: layout.reopen(0), 100)
    figures["find and read one session"] = f"{wall * 1e3:9.3f} ms"
    wall, _ = timed(lambda: layout.erase(sessions))
    figures[f"erase {LONG} entries"] = f"{wall * 1e3:9.2f} ms"
    return figures


def main() -> None:
    """Measure both layouts and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--folder", default=".")
    arguments = parser.parse_args()
    table, sizes = {}, {}
    for kind in (Log, Ranges):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            layout = kind(Path(folder))
            table[kind.name] = measure(layout, arguments.sessions)
            sizes[kind.name] = (Path(folder) / "data.mdb").stat().st_size / layout.number
            layout.env.close()
    print(f"{'':28}" + "".join(f"{name:>30}" for name in table))
    for row in table[Log.name]:
        print(f"{row:28}" + "".join(f"{figures[row]:>30}" for figures in table.values()))
    print(f"{'file, a commit':28}" + "".join(f"{size:>24,.0f} bytes" for size in sizes.values()))


if __name__ == "__main__":
    main()
