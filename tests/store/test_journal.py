"""The journal over LMDB: it survives a restart, and a row that is not what was written is named."""

from pathlib import Path

import lmdb
import pytest

from greenroom.protocol.errors import StoreDamaged, StoreUnavailable
from greenroom.store import Enter, Options, Standing, open_lmdb
from greenroom.store.folder import DATA_FILE
from greenroom.store.schema import JOURNAL, STANDING, Table, number_key, standing_key
from tests.store.offering import ask

OPTIONS = Options(map_size=16 << 20, reserve_bytes=0)


async def test_a_restart_finds_what_stood(tmp_path: Path) -> None:
    """R239, R242: and the numbers go on."""
    async with open_lmdb(tmp_path, options=OPTIONS) as store:
        await ask(store, Enter(b"first", (Standing("hold", "ä", b"v"),)))
    async with open_lmdb(tmp_path, read_only=True, options=OPTIONS) as store:
        assert store.standing("hold") == [Standing("hold", "ä", b"v")]
    async with open_lmdb(tmp_path, options=OPTIONS) as store:
        await ask(store, Enter(b"second", (Standing("hold", "ä", None),)))
        assert [(e.number, e.entry) for e in store.journal()] == [(1, b"first"), (2, b"second")]
        assert store.standing("hold") == []


@pytest.mark.parametrize("table", [JOURNAL, STANDING])
async def test_a_row_that_is_not_what_was_written_is_named(tmp_path: Path, table: Table) -> None:
    """R92: nothing is repaired by reading."""
    async with open_lmdb(tmp_path, options=OPTIONS) as store:
        await ask(store, Enter(b"entry", (Standing("hold", "a", b"value"),)))
    key = number_key(1) if table == JOURNAL else standing_key("hold", "a")
    with lmdb.open(str(tmp_path), max_dbs=32) as raw:
        database = raw.open_db(table.encode())
        with raw.begin(write=True, db=database) as transaction:
            value = transaction.get(key)
            assert value is not None
            transaction.put(key, value[:-1] + b"?")
    async with open_lmdb(tmp_path, options=OPTIONS) as store:
        with pytest.raises(StoreDamaged, match=str(table)):
            store.journal() if table == JOURNAL else store.standing("hold")


async def test_a_store_of_before_is_read_when_it_was_written_once(tmp_path: Path) -> None:
    """A table that came later is made by whoever writes; until then a reader is told so."""
    async with open_lmdb(tmp_path, options=OPTIONS):
        pass
    with lmdb.open(str(tmp_path), max_dbs=32) as raw:
        database = raw.open_db(JOURNAL.encode())
        with raw.begin(write=True) as transaction:
            transaction.drop(database)
    assert (tmp_path / DATA_FILE).is_file()
    with pytest.raises(StoreUnavailable, match="Open it for writing once"):
        async with open_lmdb(tmp_path, read_only=True, options=OPTIONS):
            pass
    async with open_lmdb(tmp_path, options=OPTIONS) as store:
        assert store.journal() == []
    async with open_lmdb(tmp_path, read_only=True, options=OPTIONS) as store:
        assert store.journal() == []
