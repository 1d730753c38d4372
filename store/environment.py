"""Opening and closing LMDB, with all that keeps it from ending the process or losing data silently.

What LMDB would not say, or would say by a signal: a second writing process, a file that was cut, an
empty file where there was a store, a folder of somebody else, use after a fork. Each is found here,
before the first transaction, and has its own error. Never ``sync=False``, ``metasync=False`` or
``writemap``: each loses what was acknowledged, or dies by SIGBUS on a full disk.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import attrs
import lmdb

from greenroom.protocol.errors import (
    NotAStore,
    SaveFailed,
    StoreClosed,
    StoreDamaged,
    StoreFailed,
    StoreTooNew,
    StoreUnavailable,
)
from greenroom.store import folder as folders
from greenroom.store.envelope import Kind, seal, unseal_as
from greenroom.store.figures import Space
from greenroom.store.owner import OWNER_FILE, Owner, taken
from greenroom.store.schema import (
    FORMAT,
    FORMAT_KEY,
    INCARNATION_KEY,
    META,
    TABLES,
    Table,
    number_key,
    number_of,
)


@attrs.frozen(kw_only=True)
class Options:
    """How an environment is opened."""

    map_size: int = 64 << 30
    """The most that the store can grow to, in bytes: address space only, the file is sparse."""
    readers_max: int = 512
    reserve_bytes: int = 8 << 20
    """Set aside on the disk, so that sessions can be deleted when it is full; 0: nothing."""


DEFAULT_OPTIONS: Final = Options()
META_PAGES: Final = 2
"""Pages of an LMDB file that belong to no tree."""


class LmdbTables:
    """The tables inside one LMDB transaction, which ends with the ``with`` block.

    All bytes are copies: a view into the map is stale or fatal after the transaction.
    """

    __slots__ = ("_databases", "_transaction")

    def __init__(
        self, transaction: "lmdb.Transaction[bytes]", databases: dict[Table, "lmdb._Database"]
    ) -> None:
        self._transaction = transaction
        self._databases = databases

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._transaction.abort()
        if isinstance(error, lmdb.Error):
            raise _reading_failed(error) from error

    @property
    def transaction_id(self) -> int:
        """The id under which a write would be found as committed."""
        return self._transaction.id()

    def get(self, table: Table, key: bytes, /) -> bytes | None:
        """The value under ``key``."""
        return self._transaction.get(key, None, self._databases[table])

    def last(self, table: Table, /) -> bytes | None:
        """The greatest key of a table."""
        with self._transaction.cursor(self._databases[table]) as cursor:
            return cursor.key() if cursor.last() else None

    def scan(
        self, table: Table, prefix: bytes, /, start: bytes = b""
    ) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values that begin with ``prefix``, from ``start`` on, in order."""
        with self._transaction.cursor(self._databases[table]) as cursor:
            first = max(prefix, start)
            found = cursor.set_range(first) if first else cursor.first()
            while found:
                key, value = cursor.item()
                if not key.startswith(prefix):
                    return
                yield key, value
                found = cursor.next()

    def put(self, table: Table, key: bytes, value: bytes, /) -> None:
        """Set the value under ``key``."""
        # By place (dupdata, overwrite, append), here and below: names cost a tenth of the put.
        if not self._transaction.put(key, value, True, True, False, self._databases[table]):  # noqa: FBT003
            raise SaveFailed(f"A record of {table!r} was not taken.", table=table)

    def append(self, table: Table, key: bytes, value: bytes, /) -> None:
        """Set the value under a key above all others."""
        # Out of order LMDB answers False and drops the record without an error.
        if not self._transaction.put(key, value, True, True, True, self._databases[table]):  # noqa: FBT003
            raise SaveFailed(f"A record of {table!r} came out of order.", table=table)

    def delete(self, table: Table, key: bytes, /) -> bool:
        """Remove ``key``; say whether it was there."""
        return self._transaction.delete(key, b"", self._databases[table])

    def commit(self) -> None:
        """Make it durable."""
        self._transaction.commit()

    def abort(self) -> None:
        """Leave nothing of it."""
        self._transaction.abort()


@attrs.define(eq=False, kw_only=True)
class Environment:
    """An open LMDB environment: its tables, its owner's lock, its limits."""

    folder: Path
    incarnation: str
    read_only: bool
    _lmdb: lmdb.Environment
    _databases: dict[Table, "lmdb._Database"]
    _owner: Owner | None
    _pid: int = attrs.field(factory=os.getpid, init=False)
    _closed: bool = attrs.field(default=False, init=False)

    def check(self) -> None:
        """Raise :class:`StoreClosed` after closing, and in a forked child (R187)."""
        if self._closed:
            raise StoreClosed("The store was closed.")
        self.check_process()

    def check_process(self) -> None:
        """Raise :class:`StoreClosed` in a forked child: LMDB lets it write, and forbids it."""
        if os.getpid() != self._pid:
            raise StoreClosed(f"The store belongs to process {self._pid}, which forked this one.")

    def view(self) -> LmdbTables:
        """The tables as they stand, for a short read."""
        self.check()
        try:
            return LmdbTables(self._lmdb.begin(), self._databases)
        except lmdb.Error as error:
            raise _reading_failed(error) from error

    def begin_write(self) -> LmdbTables:
        """The write transaction. The thread that begins it must end it, in the same call."""
        self.check()
        return LmdbTables(self._lmdb.begin(write=True), self._databases)

    def committed_id(self) -> int:
        """The id of the newest committed transaction. Raises lmdb.Error if it cannot be told."""
        # A broken environment still tells an id; only beginning a transaction shows that it is.
        self._lmdb.begin().abort()
        return self._lmdb.info()["last_txnid"]

    def disk_free(self) -> int:
        """Bytes that the disk has room for."""
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize

    def release_reserve(self) -> bool:
        """Give the reserve's room to the disk; say whether there was one."""
        return folders.release_reserve(self.folder)

    def space(self) -> Space:
        """What the store takes on disk."""
        self.check()
        info, page = self._lmdb.info(), self._lmdb.stat()["psize"]
        used = (info["last_pgno"] + 1) * page
        with self._lmdb.begin() as transaction:
            trees = [transaction.stat(database) for database in self._databases.values()]
        pages = sum(t["branch_pages"] + t["leaf_pages"] + t["overflow_pages"] for t in trees)
        live = (pages + META_PAGES) * page
        return Space(
            used=used,
            live=live,
            reclaimable=max(0, used - live),
            map_size=info["map_size"],
            disk_free=self.disk_free(),
        )

    def close(self) -> None:
        """Close the tables, then let another process own them."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        self._lmdb.close()
        if self._owner is not None:
            self._owner.give_back()


def open_environment(
    path: Path, *, read_only: bool, incarnation: str | None, options: Options
) -> Environment:
    """Open the store in a folder, or make one; ``open_lmdb`` tells the errors."""
    marked = folders.check_folder(path, create=not read_only)
    owner = None if read_only else Owner.take(path)
    opened: lmdb.Environment | None = None
    try:
        opened = _open_lmdb(path, read_only=read_only, options=options)
        info = opened.info()
        folders.check_size(path, (info["last_pgno"] + 1) * opened.stat()["psize"])
        opened.reader_check()
        databases, told = _open_tables(opened, path, read_only=read_only, incarnation=incarnation)
        if not marked:
            folders.write_marker(path)
        if not read_only:
            folders.fill_reserve(path, options.reserve_bytes)
    except BaseException as error:
        if opened is not None:
            opened.close()
        if owner is not None:
            owner.give_back()
        if isinstance(error, lmdb.Error):
            raise _opening_failed(path, error) from error
        raise
    return Environment(
        folder=path,
        incarnation=told,
        read_only=read_only,
        lmdb=opened,
        databases=databases,
        owner=owner,
    )


def _open_lmdb(path: Path, *, read_only: bool, options: Options) -> lmdb.Environment:
    return lmdb.open(
        str(path),
        map_size=options.map_size,
        readonly=read_only,
        create=not read_only,
        mode=0o600,
        max_dbs=len(TABLES),
        max_readers=options.readers_max,
        max_spare_txns=4,
    )


def _open_tables(
    opened: lmdb.Environment, path: Path, *, read_only: bool, incarnation: str | None
) -> tuple[dict[Table, "lmdb._Database"], str]:
    """Open all tables, made in one transaction if this is to be a new store."""
    with opened.begin() as transaction:
        new = _is_new(transaction, path, read_only=read_only)
    if read_only:
        # Handles that are opened inside a read transaction do not outlive it.
        databases = {table: opened.open_db(table.encode(), create=False) for table in TABLES}
        with opened.begin() as transaction:
            return databases, _read_meta(LmdbTables(transaction, databases), path)
    with opened.begin(write=True) as transaction:
        databases = {table: opened.open_db(table.encode(), transaction) for table in TABLES}
        tables = LmdbTables(transaction, databases)
        if new:
            _write_meta(tables, path, incarnation)
        return databases, _read_meta(tables, path)


def _is_new(transaction: "lmdb.Transaction[bytes]", path: Path, *, read_only: bool) -> bool:
    if transaction.stat()["entries"]:
        if transaction.get(META.encode()) is None:
            raise NotAStore(f"The LMDB file in {path.name!r} is not one of a greenroom store.")
        return False
    if read_only or (path / folders.MARKER_FILE).exists():
        raise StoreDamaged(f"The data of store {path.name!r} is empty.")
    return True


def _write_meta(tables: LmdbTables, path: Path, incarnation: str | None) -> None:
    name = (incarnation or _unlike_any_other(path)).encode()
    for key, told in ((FORMAT_KEY, number_key(FORMAT)), (INCARNATION_KEY, name)):
        tables.put(META, key, seal(Kind.META, key, told))


def _read_meta(tables: LmdbTables, path: Path) -> str:
    """The incarnation, after the format was found to be known."""
    format_, incarnation = (
        unseal_as(Kind.META, tables.get(META, key) or b"", table=META, key=key)
        for key in (FORMAT_KEY, INCARNATION_KEY)
    )
    if number_of(format_) > FORMAT:
        raise StoreTooNew(
            f"The store {path.name!r} has format {number_of(format_)};"
            f" this program knows up to {FORMAT}.",
            format=number_of(format_),
            known=FORMAT,
        )
    return incarnation.decode()


def _unlike_any_other(path: Path) -> str:
    """A name for a new store, from what only its file has: device, inode and time of making."""
    made = (path / folders.DATA_FILE).stat()
    told = f"{made.st_dev} {made.st_ino} {made.st_ctime_ns} {os.getpid()}"
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def _opening_failed(path: Path, error: lmdb.Error) -> StoreFailed:
    told = f"{type(error).__name__}: {error}"
    if "already open" in str(error):
        return taken(path, (path / OWNER_FILE).read_text() if _has_owner(path) else "")
    if isinstance(error, lmdb.InvalidError | lmdb.CorruptedError | lmdb.PageNotFoundError):
        return StoreDamaged(f"The store {path.name!r} cannot be read: {told}.")
    if isinstance(error, lmdb.NotFoundError):
        return StoreUnavailable(
            f"The store {path.name!r} was made by an earlier greenroom and lacks a table.",
            way_out="Open it for writing once, as a host does: what is lacking is made then.",
        )
    if isinstance(error, lmdb.VersionMismatchError):
        return StoreTooNew(f"The file of store {path.name!r} has another version of LMDB: {told}.")
    return StoreUnavailable(f"The store {path.name!r} cannot be opened: {told}.")


def _has_owner(path: Path) -> bool:
    return (path / OWNER_FILE).exists()


def _reading_failed(error: lmdb.Error) -> StoreFailed:
    told = f"{type(error).__name__}: {error}"
    if isinstance(error, lmdb.CorruptedError | lmdb.PageNotFoundError | lmdb.InvalidError):
        return StoreDamaged(f"A page of the store cannot be read: {told}.")
    return StoreUnavailable(f"The store cannot be read now: {told}.")
