"""Who may write: one process, by a lock in a file of its own that says who holds it.

LMDB lets two processes write without a word, and its own lock file loses its locks when anybody in
the process opens and closes it. So the owner's lock is an ``flock`` on another file. It ends with
the process, however that ends. A forked child gives its copy back at once: otherwise the store
would stay taken for as long as the child lives (R187).
"""

import fcntl
import os
import weakref
from pathlib import Path
from typing import Final

import attrs

from greenroom.protocol.errors import StoreTaken

OWNER_FILE: Final = "owner"
_TOLD_BYTES_MAX: Final = 200


@attrs.define(eq=False, weakref_slot=True)
class Owner:
    """The lock of the process that writes."""

    descriptor: int

    @classmethod
    def take(cls, folder: Path) -> "Owner":
        """Become the owner of the store in ``folder``.

        Raises:
            StoreTaken: another process (or this one, already) is it; it names pid and version.
        """
        descriptor = os.open(folder / OWNER_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told = os.pread(descriptor, _TOLD_BYTES_MAX, 0).decode(errors="replace")
            os.close(descriptor)
            raise taken(folder, told) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {program_version()}\n".encode(), 0)
        owner = cls(descriptor)
        _owners.add(owner)
        return owner

    def give_back(self) -> None:
        """Let another process become the owner, also while a forked child lives."""
        if self.descriptor >= 0:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        self.forget()

    def forget(self) -> None:
        """Close this process's copy of the lock; unlocking would take it from the parent."""
        _owners.discard(self)
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def taken(folder: Path, told: str) -> StoreTaken:
    """The error that names who holds a store."""
    pid, _, program = told.strip().partition(" ")
    holder = f"process {pid}" if pid.isdecimal() else "another process"
    of_version = f" (greenroom {program})" if program else ""
    return StoreTaken(
        f"The store {folder.name!r} is held by {holder}{of_version}.",
        pid=int(pid) if pid.isdecimal() else None,
        version=program or None,
    )


def program_version() -> str:
    """The version of greenroom that runs; empty where it runs without being installed."""
    # Imported here: it costs a tenth of the whole import, and only an opened store needs it.
    from importlib import metadata  # noqa: PLC0415

    try:
        return metadata.version("greenroom")
    except metadata.PackageNotFoundError:
        return ""


_owners: "weakref.WeakSet[Owner]" = weakref.WeakSet()


def _forget_in_child() -> None:
    for owner in list(_owners):
        owner.forget()


os.register_at_fork(after_in_child=_forget_in_child)
