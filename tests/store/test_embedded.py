"""The embedded store as a whole: kills, full disks, a held writer, a restart in mid-delete."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio

from greenroom.protocol.errors import StoreFull
from greenroom.protocol.identity import SessionId
from greenroom.store import (
    Committed,
    Create,
    Delete,
    Enqueue,
    Failed,
    Gone,
    KeyEntry,
    Options,
    Store,
    erasure,
    open_lmdb,
)
from greenroom.store.schema import ERASING, HEADS, IDS, LOG, META, NAMES, TABLES
from tests.store.offering import ANN, BEN, ask, ask_all, commit, made, texts

OPTIONS = Options(map_size=256 << 20, reserve_bytes=0)

# Commits for ever in several sessions, and tells each acknowledged one as it is acknowledged.
COMMITTING = """
import os, sys, trio
from greenroom.protocol.identity import SessionId
from greenroom.store import Claim, Commit, Committed, Create, open_lmdb

async def run(store, name):
    session = SessionId("default", name)
    store.offer(Create(session, b"", b"[]"), lambda verdict: None)
    verdicts, turn = [], trio.Event()
    store.offer(Claim(session), lambda verdict: (verdicts.append(verdict), turn.set()))
    await turn.wait()
    epoch, head = verdicts[0].epoch, verdicts[0].head
    while True:
        turn = trio.Event()
        def then(verdict):
            assert isinstance(verdict, Committed), verdict
            os.write(1, b"%s %d %d\\n" % (name.encode(), verdict.head, verdict.number))
            turn.set()
        store.offer(Commit(session, epoch, head, b"[%d]" % head), then)
        await turn.wait()
        head += 1

async def main():
    async with open_lmdb(sys.argv[1]) as store, trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(run, store, str(number))

trio.run(main)
"""


def killed_while_committing(path: Path, acknowledged_min: int) -> list[tuple[str, int, int]]:
    """What a process had acknowledged when it was killed."""
    command = [sys.executable, "-c", COMMITTING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(acknowledged_min)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
    whole = [line.split() for line in lines if line.endswith(b"\n")]
    return [(name.decode(), int(head), int(number)) for name, head, number in whole]


async def survives_kills(path: Path, kills: int) -> None:
    acknowledged: list[tuple[str, int, int]] = []
    for kill in range(kills):
        acknowledged += killed_while_committing(path, 40 + 13 * kill)
        async with open_lmdb(path) as store:
            for name, head, number in acknowledged:
                entry = store.entry(number)
                assert entry is not None, (name, head, number)
                assert (entry.session.key, entry.records) == (name, b"[%d]" % (head - 1))
            for stored in store.sessions():
                records = texts(store, stored.session)
                assert records == [b"[]", *(b"[%d]" % head for head in range(stored.head))]
            numbers = [entry.number for entry in store.feed(limit=1_000_000)]
            assert numbers == list(range(1, len(numbers) + 1))


async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """P110, P041, R83: kill -9 at any moment: every acknowledged commit is whole, numbers dense."""
    await survives_kills(tmp_path / "store", 3)


@pytest.mark.drill
async def test_what_was_acknowledged_survives_many_kills(tmp_path: Path) -> None:
    """P110: as above, 40 times over one store."""
    await survives_kills(tmp_path / "store", 40)


async def fill_up(store: Store) -> tuple[Failed, int]:
    """Commit until it fails; the failure, and the head that was reached."""
    head = 0
    while isinstance(
        verdict := await ask(store, commit(head=head, records=b"r" * 9_000)), Committed
    ):
        head = verdict.head
    return verdict, head


async def test_a_full_map_refuses_and_stays_readable(tmp_path: Path) -> None:
    """P116: the commit fails whole as StoreFull, nothing acknowledged is lost, deleting goes on."""
    options = Options(map_size=1 << 20, reserve_bytes=0)
    async with open_lmdb(tmp_path / "store", options=options) as store:
        await made(store, ANN)
        await made(store, BEN)
        failed, head = await fill_up(store)
        assert isinstance(failed.error, StoreFull)
        assert not failed.unknown
        assert len(texts(store)) == 1 + head
        assert isinstance(await ask(store, commit(BEN, records=b"[small]")), Committed)
    async with open_lmdb(tmp_path / "store", options=options) as store:
        assert len(texts(store)) == 1 + head


async def test_a_file_that_may_not_grow_refuses(tmp_path: Path) -> None:
    """P116: a limit of the machine is a full disk too, and does not end the process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with open_lmdb(tmp_path / "store", options=OPTIONS) as store:
        await made(store, ANN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512 << 10, before[1]))
        try:
            failed, head = await fill_up(store)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert isinstance(failed.error, StoreFull)
        assert len(texts(store)) == 1 + head
        assert await ask(store, commit(head=head)) == Committed(head + 1, 2 + head)


async def test_commits_wait_for_a_held_writer_and_the_loop_goes_on(tmp_path: Path) -> None:
    """P028, R170: while another holds LMDB's write lock nothing is dropped and the loop runs."""
    holding = """
import lmdb, sys
with lmdb.open(sys.argv[1], max_dbs=20, map_size=256 << 20).begin(write=True):
    print("held", flush=True)
    sys.stdin.readline()
"""
    path = tmp_path / "store"
    async with open_lmdb(path, options=OPTIONS) as store:
        await made(store)
        command = [sys.executable, "-c", holding, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:  # noqa: ASYNC220 - ended below
            assert holder.stdout is not None
            holder.stdout.readline()
            verdicts: list[object] = []
            for head in range(10):
                store.offer(commit(head=head), verdicts.append)
            for _ in range(100):
                await trio.lowlevel.checkpoint()
                assert store.look(ANN) is not None
            assert verdicts == []
            assert store.statistics().waiting == 10
            holder.communicate(b"go on\n")
        await ask(store, commit(head=10))
        assert verdicts == [Committed(head + 1, head + 2) for head in range(10)]


async def test_a_delete_goes_on_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R192: what a former run began to erase is erased, and refused meanwhile."""
    path = tmp_path / "store"
    async with open_lmdb(path, options=OPTIONS) as store:
        await made(store)
        await ask_all(store, [commit(head=head) for head in range(50)])
        tables = store._environment.begin_write()
        with monkeypatch.context() as patch:
            patch.setattr(erasure, "STEP_ROWS_MAX", 10)
            session = b"\0" * 7 + b"\1"
            step = erasure.begin_erasing(tables, session, 51, 99).step
            assert isinstance(step, erasure.Erase)
            erasure.erase_some(tables, step)
        tables.commit()
        assert len(store.feed()) == 41
    async with open_lmdb(path, options=OPTIONS) as store:
        await ask(store, Create(BEN, b"", b"[]"))
    async with open_lmdb(path, options=OPTIONS) as store:
        assert [entry.session for entry in store.feed()] == [BEN]
        with store.view() as view:
            assert list(view.scan(ERASING, b"")) == []


async def test_erased_text_leaves_no_row(tmp_path: Path) -> None:
    """R192: after a delete no table holds what the session said; its tombstone has no header."""
    async with open_lmdb(tmp_path / "store", options=OPTIONS) as store:
        await made(store)
        await ask(
            store, commit(records=b"[secret]", header=b"secret", blobs={"ab" * 32: b"secret"})
        )
        await ask(store, Enqueue(ANN, b"[secret]", KeyEntry("key", b"secret")))
        await ask(store, Delete(ANN, b"[gone]"))
        assert store.look(ANN) == Gone()
        with store.view() as view:
            rows = {table: list(view.scan(table, b"")) for table in TABLES}
        assert not any(b"secret" in value for items in rows.values() for _, value in items)
        assert {table for table, items in rows.items() if items} == {META, LOG, HEADS, NAMES, IDS}
        assert len(rows[LOG]) == 1


async def test_a_long_read_holds_nothing_open(tmp_path: Path) -> None:
    """R170: after reads of every kind no reader's slot is in use, so the file can be used again."""
    async with open_lmdb(tmp_path / "store", options=OPTIONS) as store:
        names = [SessionId("default", str(number)) for number in range(150)]
        await ask_all(store, [Create(name, b"", b"[]") for name in names])
        lists = store.sessions()
        next(lists)
        store.feed()
        before = (tmp_path / "store" / "data.mdb").stat().st_size
        for _ in range(300):
            await ask(store, Create(names[0], b"", b"[]"))
            store._environment.begin_write().abort()
        await made(store)
        for head in range(300):
            await ask(store, commit(head=head, header=b"h" * 4_000, records=b"[]"))
        assert (tmp_path / "store" / "data.mdb").stat().st_size - before < 1 << 20


async def test_the_loop_runs_while_a_group_is_written(tmp_path: Path) -> None:
    """R170, P112: a group of 64 creates and 64 commits is written beside the loop."""
    async with open_lmdb(tmp_path / "store", options=OPTIONS) as store:
        names = [SessionId("default", str(number)) for number in range(64)]
        for name in names:
            await made(store, name)
        new = [SessionId("new", str(number)) for number in range(64)]
        ticks, began = 0, time.perf_counter()
        verdicts: list[object] = []
        for one, other in zip(names, new, strict=True):
            store.offer(commit(one, records=b"r" * 50_000), verdicts.append)
            store.offer(Create(other, b"", b"[]"), verdicts.append)
        while len(verdicts) < 128:
            await trio.lowlevel.checkpoint()
            ticks += 1
        assert not any(isinstance(verdict, Failed) for verdict in verdicts)
        assert ticks > 2
        print(f"128 operations in {time.perf_counter() - began:.4f} s, {ticks} ticks of the loop")


def test_lmdb_is_opened_with_nothing_that_loses_data(tmp_path: Path) -> None:
    """R83: durable means flushed: the flags that would make it fast and false are off."""
    opened: list[dict[str, object]] = []

    async def main() -> None:
        async with open_lmdb(tmp_path / "store", options=OPTIONS) as store:
            opened.append(dict(store._environment._lmdb.flags()))

    trio.run(main)
    flags = opened[0]
    assert (flags["sync"], flags["metasync"]) == (True, True)
    assert (flags["writemap"], flags["map_async"]) == (False, False)
