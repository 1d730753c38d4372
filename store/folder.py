"""The folder of a store: what belongs in it, how it is told from anything else, what guards it.

=========  =======================================================================================
data.mdb   LMDB's tables
lock.mdb   LMDB's table of readers; never opened by us
store      the marker: this is a store, of this format. Written last when a store is made
owner      who writes now (``owner.py``)
reserve    room on the disk that is given up when it is full, so that deleting still works
=========  =======================================================================================
"""

import json
import os
from pathlib import Path
from typing import Final

from greenroom.protocol.errors import NotAStore, StoreDamaged, StoreTooNew
from greenroom.store.owner import OWNER_FILE
from greenroom.store.schema import FORMAT

DATA_FILE: Final = "data.mdb"
LOCK_FILE: Final = "lock.mdb"
MARKER_FILE: Final = "store"
RESERVE_FILE: Final = "reserve"
_UNNAMED_MARKER: Final = "store.new"
OURS: Final = frozenset(
    {DATA_FILE, LOCK_FILE, MARKER_FILE, RESERVE_FILE, OWNER_FILE, _UNNAMED_MARKER}
)


def check_folder(folder: Path, *, create: bool) -> bool:
    """Find out whether ``folder`` holds a store; make the folder if it may be made.

    Returns whether it is marked as a store.

    Raises:
        NotAStore: there is something else, or nothing and nothing may be created.
        StoreTooNew: it is a store of a newer format.
        StoreDamaged: it is marked as a store and its data is missing or cut short (P048).
    """
    if folder.exists() and not folder.is_dir():
        raise NotAStore(f"{folder.name!r} is not a folder.")
    if not folder.exists():
        if not create:
            raise NotAStore(f"There is no store at {folder.name!r}.")
        folder.mkdir(mode=0o700, parents=True)
        sync_folder(folder.parent)
    if (folder / MARKER_FILE).exists():
        _check_marker(folder)
        _check_data(folder)
        return True
    if not create:
        raise NotAStore(f"The folder {folder.name!r} is not a store.")
    others = sorted(path.name for path in folder.iterdir() if path.name not in OURS)
    if others:
        raise NotAStore(f"The folder {folder.name!r} holds other things, such as {others[0]!r}.")
    return False


def write_marker(folder: Path) -> None:
    """Mark the folder as a store, durably: from here on empty data is damage."""
    unnamed = folder / _UNNAMED_MARKER
    descriptor = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, json.dumps({"greenroom": "store", "format": FORMAT}).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    unnamed.rename(folder / MARKER_FILE)
    sync_folder(folder)


def check_size(folder: Path, needed: int) -> None:
    """Compare the data with what its own newest meta page speaks of.

    A file that was cut is mapped all the same, and touching what is missing ends the process
    (SIGBUS). So this stands between opening the file and the first transaction.
    """
    size = (folder / DATA_FILE).stat().st_size
    if size < needed:
        raise StoreDamaged(
            f"The data of store {folder.name!r} is cut short: {size:,} of {needed:,} bytes.",
            size=size,
            needed=needed,
        )


def fill_reserve(folder: Path, size: int) -> None:
    """Set ``size`` bytes of the disk aside, if it has them; without them the store works too."""
    path = folder / RESERVE_FILE
    if size <= 0 or (path.exists() and path.stat().st_size == size):
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError:
        os.close(descriptor)
        path.unlink()
    else:
        os.close(descriptor)


def release_reserve(folder: Path) -> bool:
    """Give the reserve to the disk; say whether there was one."""
    try:
        (folder / RESERVE_FILE).unlink()
    except OSError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable; LMDB does not do it for the files that it makes."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_marker(folder: Path) -> None:
    try:
        told = json.loads((folder / MARKER_FILE).read_bytes())
        named, format_ = told["greenroom"], int(told["format"])
    except (ValueError, TypeError, KeyError, RecursionError):
        named, format_ = None, 0
    if named != "store":
        raise NotAStore(f"The marker of folder {folder.name!r} is not one of a greenroom store.")
    if format_ > FORMAT:
        raise StoreTooNew(
            f"The store {folder.name!r} has format {format_}; this program knows up to {FORMAT}.",
            format=format_,
            known=FORMAT,
        )


def _check_data(folder: Path) -> None:
    data = folder / DATA_FILE
    if not data.exists() or data.stat().st_size == 0:
        raise StoreDamaged(f"The data of store {folder.name!r} is missing or empty.", size=0)
