"""What only the memory store has: fault points."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from greenroom.protocol.errors import SaveFailed, StoreFull
from greenroom.store import Commit, Committed, Enqueue, Failed, MemoryStore, Queued, open_memory
from greenroom.store.memory_tables import MemoryTables
from greenroom.store.schema import LOG
from tests.store.offering import ANN, ask, ask_all, commit, made, texts

FULL = StoreFull("There is no room.")


@pytest.fixture
async def memory() -> AsyncIterator[MemoryStore]:
    async with open_memory() as store:
        await made(store)
        yield store


async def test_a_planned_write_fails_and_nothing_is_written(memory: MemoryStore) -> None:
    """R84: the next one fails, those around it do not."""
    memory.faults.fail_next(FULL, skip=1)
    verdicts = await ask_all(memory, [Enqueue(ANN, b"[%d]" % n) for n in range(3)])
    assert verdicts == [Queued(1, 2), Failed(FULL), Queued(2, 3)]
    assert texts(memory) == [b"[0]", b"[0]", b"[2]"]
    assert memory.statistics().failed == 1


async def test_an_unknown_write_may_have_landed(memory: MemoryStore) -> None:
    """R85: reported as unknown and written all the same; the same commit again is Committed."""
    memory.faults.fail_next(FULL, unknown=True, applied=True)
    assert await ask(memory, commit()) == Failed(FULL, unknown=True)
    assert texts(memory) == [b"[0]", b"[1]"]
    assert await ask(memory, commit()) == Committed(1, 2)


async def test_faults_choose_what_they_hit(memory: MemoryStore) -> None:
    """R84: only operations for which ``where`` holds are counted and fail, plan by plan."""
    memory.faults.fail_next(FULL, where=lambda operation: isinstance(operation, Commit))
    memory.faults.fail_next(SaveFailed("second"))
    verdicts = await ask_all(memory, [Enqueue(ANN, b"[]"), commit(), commit(), commit()])
    assert [type(verdict) for verdict in verdicts] == [Queued, Failed, Failed, Committed]


async def test_held_writes_go_on_in_order(memory: MemoryStore) -> None:
    """P028: nothing is applied while writes are held; afterwards all of it is, in order."""
    memory.faults.hold()
    verdicts: list[object] = []
    memory.offer(commit(head=0), verdicts.append)
    await wait_all_tasks_blocked()
    memory.offer(commit(head=1), verdicts.append)
    await wait_all_tasks_blocked()
    assert verdicts == []
    assert texts(memory) == [b"[0]"]
    memory.faults.release()
    await wait_all_tasks_blocked()
    assert verdicts == [Committed(1, 2), Committed(2, 3)]


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=2), st.none() | st.binary(max_size=2))),
    st.lists(st.tuples(st.binary(min_size=1, max_size=2), st.none() | st.binary(max_size=2))),
)
def test_an_abort_leaves_what_was_before(
    kept: list[tuple[bytes, bytes | None]], given_up: list[tuple[bytes, bytes | None]]
) -> None:
    """R170: rows and their order are those of the last whole transaction."""
    tables, rows = MemoryTables(), dict[bytes, bytes]()
    for writes in (kept, given_up):
        tables.begin()
        for key, value in writes:
            if value is None:
                tables.delete(LOG, key)
            else:
                tables.put(LOG, key, value)
            if writes is kept:
                rows.pop(key, None) if value is None else rows.update({key: value})
    if given_up is not kept:
        tables.abort()
    assert list(tables.scan(LOG, b"")) == sorted(rows.items())
    assert tables.last(LOG) == max(rows, default=None)
