"""The writer over an environment whose commits can be made to fail."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import lmdb
import pytest

from greenroom.protocol.errors import SaveFailed, StoreDamaged, StoreFull, StoreUnavailable
from greenroom.protocol.identity import SessionId
from greenroom.store import Claim, Committed, Create, Created, Delete, Enqueue, Failed, Options
from greenroom.store.environment import Environment, LmdbTables, open_environment
from greenroom.store.group import Unfinished
from greenroom.store.schema import HEADS, LOG, number_key, number_of
from greenroom.store.writer import Writer
from tests.store.offering import ANN, BEN, commit

NAMES = [SessionId("default", str(number)) for number in range(16)]


@attrs.define(eq=False)
class Faulty:
    """An environment of which the next commits fail, before or after they landed."""

    real: Environment
    failing: list[Exception] = attrs.field(factory=list)
    lands: bool = False
    panics: bool = False
    begun: int = 0
    free: int = 1 << 40
    reserve: bool = False

    def begin_write(self) -> "FaultyTables":
        self.begun += 1
        return FaultyTables(self, self.real.begin_write())

    def committed_id(self) -> int:
        if self.panics:
            raise lmdb.PanicError("panic")
        return self.real.committed_id()

    def disk_free(self) -> int:
        return self.free

    def release_reserve(self) -> bool:
        reserve, self.reserve = self.reserve, False
        return reserve


class FaultyTables:
    """Tables whose commit may fail."""

    def __init__(self, environment: Faulty, tables: LmdbTables) -> None:
        self._environment = environment
        self._tables = tables

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tables, name)

    def commit(self) -> None:
        failing = self._environment.failing
        if not failing:
            return self._tables.commit()
        if self._environment.lands:
            self._tables.commit()
        else:
            self._tables.abort()
        raise failing.pop(0)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Faulty]:
    options = Options(map_size=64 << 20, reserve_bytes=0)
    real = open_environment(
        tmp_path / "store", read_only=False, incarnation="test", options=options
    )
    yield Faulty(real)
    real.close()


@pytest.fixture
def writer(environment: Faulty) -> Writer:
    writer = Writer(environment, None)  # type: ignore[arg-type]
    for session in (ANN, BEN, *NAMES):
        writer.settle([Create(session, b"", b"[]"), Claim(session)])
    return writer


def heads(environment: Faulty) -> list[bytes]:
    with environment.real.view() as view:
        return [value for _, value in view.scan(HEADS, b"")]


def test_one_bad_record_fails_one_session(writer: Writer, environment: Faulty) -> None:
    """R84: of a group of sixteen the one that cannot be written fails, the others commit."""
    group = [commit(name, consumed=(9,) if name.key == "5" else ()) for name in NAMES]
    before = environment.begun
    verdicts = writer.settle(group)
    assert [isinstance(verdict, Committed) for verdict in verdicts] == [
        name.key != "5" for name in NAMES
    ]
    failed = verdicts[5]
    assert isinstance(failed, Failed)
    assert not failed.unknown
    # In halves, not one by one: nine transactions for sixteen members.
    assert environment.begun - before == 9


@pytest.mark.usefixtures("writer")
def test_a_damaged_session_fails_alone(environment: Faulty) -> None:
    """P114, R92: its mates commit, it is named, and it is not repaired."""
    tables = environment.real.begin_write()
    session = number_key(1)
    value = bytearray(tables.get(HEADS, session) or b"")
    value[-1] ^= 1
    tables.put(HEADS, session, bytes(value))
    tables.commit()
    # A writer that has the session in mind would write over the damage with what is right.
    opened_again = Writer(environment, None)  # type: ignore[arg-type]
    failed, committed = opened_again.settle([commit(ANN), commit(BEN)])
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, StoreDamaged)
    assert failed.error.facts["session"] == ANN
    assert isinstance(committed, Committed)
    assert heads(environment)[0] == bytes(value)


@pytest.mark.parametrize(
    ("error", "free", "kind"),
    [
        (lmdb.MapFullError("full"), 1 << 40, StoreFull),
        (lmdb.Error("Input/output error"), 0, StoreFull),
        (lmdb.Error("Input/output error"), 1 << 40, SaveFailed),
        (lmdb.DiskError("No space left on device"), 1 << 40, StoreFull),
        (lmdb.Error("File too large"), 1 << 40, StoreFull),
        (OSError(errno.ENOSPC, "no"), 1 << 40, StoreFull),
        (MemoryError(), 0, SaveFailed),
    ],
)
def test_a_fault_is_named_for_what_it_is(
    writer: Writer, environment: Faulty, error: Exception, free: int, kind: type[Exception]
) -> None:
    """R84, P116: a full disk is told by its room, whatever LMDB calls it; nothing was written."""
    before = heads(environment)
    environment.failing, environment.free = [error], free
    (failed,) = writer.settle([commit(ANN)])
    assert isinstance(failed, Failed)
    assert type(failed.error) is kind
    assert heads(environment) == before
    assert writer.settle([commit(ANN)]) == [Committed(1, 19)]


def test_a_commit_that_landed_stands(writer: Writer, environment: Faulty) -> None:
    """R85: reported as failed and durable all the same: the verdicts hold, nothing comes twice."""
    environment.failing, environment.lands = [lmdb.Error("Input/output error")], True
    first, second = writer.settle([commit(ANN), Enqueue(BEN, b"[q]")])
    assert isinstance(first, Committed)
    assert not isinstance(second, Failed)
    with environment.real.view() as view:
        assert number_of(view.last(LOG)) == 20
    assert writer.settle([commit(ANN)]) == [first]


def test_what_cannot_be_known_is_told_so(writer: Writer, environment: Faulty) -> None:
    """R85: all of the group are unknown, and the writer takes nothing more until a reopening."""
    environment.failing, environment.panics = [lmdb.Error("Input/output error")], True
    verdicts = writer.settle([commit(ANN), commit(BEN)])
    assert [isinstance(v, Failed) and v.unknown for v in verdicts] == [True, True]
    later = writer.settle([commit(ANN)])[0]
    assert isinstance(later, Failed)
    assert isinstance(later.error, StoreUnavailable)
    assert not later.unknown


def test_a_created_session_of_an_aborted_group_is_forgotten(
    writer: Writer, environment: Faulty
) -> None:
    """R84: the writer's memory of names holds nothing that was not committed."""
    new = SessionId("default", "new")
    environment.failing = [lmdb.Error("a"), lmdb.Error("b")]
    failed, enqueued = writer.settle([Create(new, b"", b"[]"), Enqueue(ANN, b"[]")])
    assert isinstance(failed, Failed)
    assert not isinstance(enqueued, Failed)
    created, failed = writer.settle([Create(new, b"", b"[]"), commit(ANN, consumed=(9,))])
    assert isinstance(created, Created)
    assert isinstance(failed, Failed)


def test_deleting_takes_the_reserve(writer: Writer, environment: Faulty) -> None:
    """P116: on a full disk nothing else does, for only deleting gives room back."""
    environment.reserve = True
    environment.failing = [lmdb.MapFullError("full")]
    assert isinstance(writer.settle([commit(ANN)])[0], Failed)
    assert environment.reserve
    environment.failing = [lmdb.MapFullError("full")]
    assert isinstance(writer.settle([Delete(ANN, b"[]")])[0], Unfinished)
    assert not environment.reserve


def test_an_append_out_of_order_is_a_failure(environment: Faulty) -> None:
    """R84: LMDB answers False and drops the record; here it is an error."""
    tables = environment.real.begin_write()
    tables.append(HEADS, number_key(9), b"")
    with pytest.raises(SaveFailed):
        tables.append(HEADS, number_key(9), b"")
    tables.abort()
