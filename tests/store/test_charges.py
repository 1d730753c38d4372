"""Counts of what tenants were charged: those that are damaged, and a restart."""

from pathlib import Path

import pytest

from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.quota import Charge, Spent
from greenroom.store import Options, open_lmdb
from greenroom.store.charges import charge, charged
from greenroom.store.envelope import Kind, seal
from greenroom.store.memory_tables import MemoryTables
from greenroom.store.schema import CHARGED, number_key, tenant_key
from tests.store.offering import ask, commit, made

OPTIONS = Options(map_size=16 << 20, reserve_bytes=0)


@pytest.mark.parametrize("told", [b"", b"x" * 15, b"x" * 17])
def test_a_count_that_is_none_is_damage(told: bytes) -> None:
    """R92: it is named, and not taken for nothing."""
    tables, key = MemoryTables(), tenant_key("a") + number_key(1)
    tables.put(CHARGED, key, seal(Kind.CHARGED, key, told))
    with pytest.raises(StoreDamaged, match="is no count"):
        list(charged(tables, "a"))


def test_a_count_has_a_bound() -> None:
    """R194: whatever is charged, it can be written."""
    tables = MemoryTables()
    for _ in range(3):
        charge(tables, "a", [Charge(1, Spent(2**63, 1))])
    assert dict(charged(tables, "a")) == {1: Spent(2**64 - 1, 3)}


async def test_a_restart_finds_what_was_charged(tmp_path: Path) -> None:
    """R233: and nothing of it is read before it is asked for."""
    async with open_lmdb(tmp_path, options=OPTIONS) as store:
        await made(store)
        await ask(store, commit(charges=(Charge(1, Spent(2, 1)),)))
    async with open_lmdb(tmp_path, options=OPTIONS) as store:
        assert store.charged("default") == {1: Spent(2, 1)}
