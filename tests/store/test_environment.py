"""Opening: everything that must be refused before LMDB touches it."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import lmdb
import pytest

from greenroom.protocol.errors import (
    NotAStore,
    StoreClosed,
    StoreDamaged,
    StoreFailed,
    StoreTaken,
    StoreTooNew,
    StoreUnavailable,
)
from greenroom.protocol.identity import SessionId
from greenroom.store import Committed, Create, Failed, Options, open_lmdb
from greenroom.store.envelope import Kind, seal
from greenroom.store.environment import Environment, open_environment
from greenroom.store.owner import Owner, program_version
from greenroom.store.schema import FORMAT_KEY, META, number_key
from tests.store.offering import ANN, BEN, ask, commit, made, texts

OPTIONS = Options(map_size=64 << 20, reserve_bytes=1 << 20)
PAGE = os.sysconf("SC_PAGE_SIZE")


def opened(path: Path, *, read_only: bool = False) -> Environment:
    return open_environment(path, read_only=read_only, incarnation=None, options=OPTIONS)


async def filled(path: Path) -> None:
    async with open_lmdb(path, options=OPTIONS) as store:
        for session in (ANN, BEN):
            await made(store, session)
            await ask(store, commit(session, records=b"[" + session.key.encode() * 3_000 + b"]"))


def python(script: str, path: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )


OPEN = """
import sys, trio
from greenroom.protocol.identity import SessionId
from greenroom.store import open_lmdb
async def main():
    async with open_lmdb(sys.argv[1], read_only=READ_ONLY) as store:
        print(len(store.read(SessionId("default", "ann"))))
try:
    trio.run(main)
except Exception as error:
    print(type(error).__name__, error)
"""


async def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    """R187: modes 0700 and 0600, whatever the umask; the reserve lies ready."""
    async with open_lmdb(tmp_path / "new" / "store", options=OPTIONS):
        folder = tmp_path / "new" / "store"
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert set(modes) == {"data.mdb", "lock.mdb", "store", "owner", "reserve"}
        assert set(modes.values()) == {0o600}
        assert (folder / "reserve").stat().st_size == 1 << 20


async def test_a_second_writer_is_refused_by_name(tmp_path: Path) -> None:
    """R187: in this process or another; the holder's pid and version are told."""
    path = tmp_path / "store"
    async with open_lmdb(path, options=OPTIONS):
        with pytest.raises(StoreTaken) as caught:
            opened(path)
        assert caught.value.facts["pid"] == os.getpid()
        assert caught.value.facts["version"] == (program_version() or None)
        other = python(OPEN.replace("READ_ONLY", "False"), path)
        assert other.stdout.startswith("StoreTaken")
        assert str(os.getpid()) in other.stdout
    opened(path).close()


async def test_reading_beside_the_writer(tmp_path: Path) -> None:
    """R187: another process may read what is committed, and write nothing."""
    path = tmp_path / "store"
    await filled(path)
    async with open_lmdb(path, options=OPTIONS) as store:
        assert python(OPEN.replace("READ_ONLY", "True"), path).stdout == "2\n"
        assert isinstance(await ask(store, commit(head=1)), Committed)
    async with open_lmdb(path, read_only=True, options=OPTIONS) as reader:
        assert reader.read_only
        refused = await ask(reader, Create(SessionId("default", "new"), b"", b"[]"))
        assert isinstance(refused, Failed)
        assert isinstance(refused.error, StoreUnavailable)
        assert len(texts(reader)) == 3


async def test_a_forked_child_cannot_use_the_store(tmp_path: Path) -> None:
    """R187, P118: reads and offers are refused in the child; the parent goes on."""
    async with open_lmdb(tmp_path / "store", options=OPTIONS) as store:
        await made(store)
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            refused = 0
            for use in (
                lambda: store.look(ANN),
                lambda: store.offer(commit(), print),
                store.space,
            ):
                try:
                    use()
                except StoreClosed:
                    refused += 1
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3  # noqa: ASYNC222 - it is short
        assert isinstance(await ask(store, commit()), Committed)


def test_a_forked_child_does_not_keep_the_store_taken(tmp_path: Path) -> None:
    """R187: the lock ends with its owner, although a child of it lives on."""
    owner = Owner.take(tmp_path)
    ready, started = os.pipe()
    leave, left = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        os.write(started, b"r")
        os.close(left)
        os.read(leave, 1)
        os._exit(0)
    os.read(ready, 1)
    owner.forget()  # as the end of the process would, without unlocking
    Owner.take(tmp_path).give_back()
    for descriptor in (ready, started, leave, left):
        os.close(descriptor)
    os.waitpid(child, 0)


@pytest.mark.parametrize("pages", [0.5, 1, 1.5, 2, 3, 5])
async def test_a_file_that_was_cut_is_refused(tmp_path: Path, pages: float) -> None:
    """P048: by an error and not by SIGBUS, wherever it was cut; nothing is written to it."""
    path = tmp_path / "store"
    await filled(path)
    os.truncate(path / "data.mdb", int(pages * PAGE))
    before = (path / "data.mdb").read_bytes()
    with pytest.raises(StoreDamaged):
        opened(path)
    with pytest.raises(StoreDamaged):
        opened(path, read_only=True)
    assert (path / "data.mdb").read_bytes() == before


async def test_empty_data_is_no_new_store(tmp_path: Path) -> None:
    """P048, R192: where the marker says one existed, nothing is taken for empty."""
    path = tmp_path / "store"
    await filled(path)
    os.truncate(path / "data.mdb", 0)
    with pytest.raises(StoreDamaged):
        opened(path)
    (path / "data.mdb").unlink()
    with pytest.raises(StoreDamaged):
        opened(path)
    lmdb.open(str(path), max_dbs=1).close()
    with pytest.raises(StoreDamaged):
        opened(path)


async def test_a_flipped_bit_is_one_sessions_damage(tmp_path: Path) -> None:
    """P114, R92: LMDB would answer with the wrong bytes; the other session is read and written."""
    path = tmp_path / "store"
    await filled(path)
    data = bytearray((path / "data.mdb").read_bytes())
    place = data.index(b"ann" * 1_000) + 100
    data[place] ^= 4
    (path / "data.mdb").write_bytes(data)
    async with open_lmdb(path, options=OPTIONS) as store:
        with pytest.raises(StoreDamaged, match="session ann"):
            store.read(ANN)
        assert len(texts(store, BEN)) == 2
        assert isinstance(await ask(store, commit(BEN, 1)), Committed)


async def test_what_is_not_a_store_is_left_alone(tmp_path: Path) -> None:
    """R187: a file, another folder, another LMDB, another marker, or nothing to read."""
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("text")
    with (
        lmdb.open(str(tmp_path / "foreign"), max_dbs=1) as foreign,
        foreign.begin(write=True) as transaction,
    ):
        transaction.put(b"k", b"v")
    await filled(tmp_path / "marked")
    (tmp_path / "marked" / "store").write_text("[]")
    for name in ("file", "folder", "foreign", "marked"):
        with pytest.raises(NotAStore):
            opened(tmp_path / name)
    with pytest.raises(NotAStore):
        opened(tmp_path / "nothing", read_only=True)
    assert not (tmp_path / "nothing").exists()
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["mine.txt"]


async def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """R92: by the marker, and by the tables themselves; never by changing anything."""
    path = tmp_path / "store"
    await filled(path)
    shutil.copytree(path, tmp_path / "other")
    (path / "store").write_text('{"greenroom": "store", "format": 99}')
    with pytest.raises(StoreTooNew):
        opened(path)
    environment = opened(tmp_path / "other")
    tables = environment.begin_write()
    tables.put(META, FORMAT_KEY, seal(Kind.META, FORMAT_KEY, number_key(99)))
    tables.commit()
    environment.close()
    with pytest.raises(StoreTooNew):
        opened(tmp_path / "other")


async def test_making_a_store_may_be_interrupted(tmp_path: Path) -> None:
    """P110: a folder whose making was cut off before its marker is made a store by the next."""
    path = tmp_path / "store"
    await filled(path)
    (path / "store").unlink()
    async with open_lmdb(path, options=OPTIONS) as store:
        assert len(texts(store)) == 2
    assert (path / "store").exists()


async def test_an_incarnation_is_told_and_kept(tmp_path: Path) -> None:
    """R237: two stores differ, and one stays the same when it is opened again."""
    async with open_lmdb(tmp_path / "a", options=OPTIONS) as one:
        first = one.incarnation
    async with open_lmdb(tmp_path / "b", options=OPTIONS) as other:
        assert other.incarnation != first
    async with open_lmdb(tmp_path / "a", options=OPTIONS, incarnation="new") as again:
        assert again.incarnation == first
    async with open_lmdb(tmp_path / "c", options=OPTIONS, incarnation="told") as told:
        assert told.incarnation == "told"


async def test_space_is_told(tmp_path: Path) -> None:
    """P116: what is used, what of it is live, and what the disk has left."""
    await filled(tmp_path / "store")
    async with open_lmdb(tmp_path / "store", options=OPTIONS) as store:
        space = store.space()
        assert 0 < space.live <= space.used <= space.map_size == OPTIONS.map_size
        assert space.reclaimable == space.used - space.live
        assert space.disk_free > 0


async def test_a_place_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    """R194: the machine's refusals are store errors too."""
    with pytest.raises(StoreFailed):
        async with open_lmdb(tmp_path / ("x" * 300)):
            pass
