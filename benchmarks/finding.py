"""Finding: how long it takes to find ten sessions among many, and that none of the others is read.

    python -m benchmarks.finding --sessions 100000

The sessions are put into a store of LMDB as a host would leave them after a turn: a header, and the
terms of a kept prompt of ten contributors. Ten of them have a contributor that no other one has.
What is printed is the least of a few runs, with the summaries of what is found.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import trio

from benchmarks.footprint import host_on
from greenroom.actors import Host
from greenroom.actors.index import WHOLE
from greenroom.actors.terms import terms_of
from greenroom.protocol.encoding import encode_header, encode_records
from greenroom.protocol.filter import Term, Which
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import Opened
from greenroom.store import Create, Store, open_lmdb

RUNS = 5
FOUND = 10
AT_ONCE = 2_000
PRESET = "read-only"
QUESTIONS: tuple[tuple[str, Which], ...] = (
    ("by a contributor", {"contributor": "rare"}),
    ("by its version", {"contributor": "rare@1"}),
    ("by three things", {"labels": {"rare": "yes"}, "agent": "clerk", "preset": PRESET}),
    ("by what none has", {"contributor": "none"}),
    ("all, read in turn", {}),
)


def kept(*, rare: bool) -> frozenset[Term]:
    """The terms of a kept prompt."""
    names = [*(f"c{number}" for number in range(9)), "rare" if rare else "c9"]
    keys = [*names, *(f"{name}@1" for name in names)]
    return frozenset([("model", "m"), *(("contributor", key) for key in keys)])


KEPT = {rare: kept(rare=rare) for rare in (False, True)}


def creations(sessions: int) -> Iterator[Create]:
    """What makes the sessions."""
    records = encode_records([Opened(0, "clerk", None, PRESET)])
    for number in range(sessions):
        rare = number % (sessions // FOUND) == 0
        labels = {"rare": "yes"} if rare else {}
        header = Header("clerk", None, PRESET, None, 0, 1, 1, 2, labels=labels, indexed=WHOLE)
        session = SessionId("default", f"s{number}")
        terms = terms_of(session, header, KEPT[rare])
        yield Create(session, encode_header(header), records, terms)


async def fill(store: Store, sessions: int) -> None:
    """Put them into the store, many in a transaction."""
    made = list(creations(sessions))
    for start in range(0, sessions, AT_ONCE):
        left, done = made[start : start + AT_ONCE], trio.Event()

        def then(_: object, left: list[Create] = left, done: trio.Event = done) -> None:
            left.pop()
            if not left:
                done.set()

        for operation in tuple(left):
            store.offer(operation, then)
        await done.wait()


async def least(host: Host, which: Which) -> tuple[float, int]:
    """Seconds of the quickest run, and how many were found."""
    walls = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        found = await host.sessions(**which).count()
        walls.append(time.perf_counter() - begun)
    return min(walls), found


async def measure(sessions: int) -> None:
    """Fill a store and ask it."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_lmdb(Path(folder) / "store") as store:
            await fill(store, sessions)
            async with host_on(store) as host:
                for what, which in QUESTIONS:
                    tell(what, *await least(host, which), sessions)
                begun = time.perf_counter()
                hold = await host.hold(contributor="rare", reason="It is wrong.", by="ann")
                tell("a hold", time.perf_counter() - begun, hold.sessions or 0, sessions)


def tell(what: str, wall: float, found: int, sessions: int) -> None:
    """Print a line."""
    print(f"{what:<18} {found:>7,} of {sessions:,}: {wall * 1e3:.2f} ms")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description="Finding sessions by the index.")
    parser.add_argument("--sessions", type=int, default=100_000)
    trio.run(measure, parser.parse_args().sessions)


if __name__ == "__main__":
    main()
