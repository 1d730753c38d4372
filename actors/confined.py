"""Opening files inside one folder, and nowhere else, whatever others do to it meanwhile.

A path is never checked and then opened as a whole: between the two a link could be put in its way
(S9). Each component is opened from the directory before it and never through a link, so that what
was checked is what is read. What is not a plain file (a FIFO, a device, a file with a second name
by hard link) is refused before anything is read from it (S8).
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from typing import Final

import attrs

from greenroom.protocol.errors import InvalidInput, Missing, Refused, SameName, TooLarge
from greenroom.protocol.identity import check_text

PATH_BYTES_MAX: Final = 4_096
DEPTH_MAX: Final = 32
"""Folders in a path."""
HIDDEN: Final = ".greenroom-"
"""Begins the names of files that are being written; such names are neither listed nor opened."""

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A FIFO opened to read without O_NONBLOCK would wait for a writer for ever.
_TO_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TO_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TO_APPEND: Final = (
    os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)
_numbers: Final = count()


@attrs.frozen(slots=True)
class Listed:
    """One entry of a folder."""

    name: str
    kind: str
    """``file``, ``folder``, ``link`` or ``other``: what is not opened as a plain file."""
    size: int
    """Bytes of a file."""


def parts_of(path: str) -> tuple[str, ...]:
    """The components of a relative path; none for the folder itself.

    Raises:
        InvalidInput: absolute, leading out by ``..``, with NUL or surrogates, or empty.
        TooLarge: longer or deeper than the bounds.
    """
    check_text(path, "path", PATH_BYTES_MAX)
    if path.startswith("/"):
        raise InvalidInput(f"The path {path!r} is absolute: paths are relative to the folder.")
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if not path or ".." in parts:
        raise InvalidInput(f"The path {path!r} leads out of the folder, or nowhere.")
    if len(parts) > DEPTH_MAX:
        raise TooLarge(f"The path has {len(parts)} components; the bound is {DEPTH_MAX}.")
    if any(part.startswith(HIDDEN) for part in parts):
        raise InvalidInput(f"Names that begin with {HIDDEN} are not given out.")
    return parts


@contextmanager
def opened_folder(root: Path | int, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder ``parts`` below ``root``; ``make`` creates what is missing.

    ``root`` is a path, which may itself lead through links (whoever runs the host named it), or a
    folder that is open already.

    Raises:
        Missing: there is no such folder.
        Refused: a component is a link or no folder.
    """
    shown = "/".join(parts)
    with _as_refusal(shown or "."):
        # "." of an open folder is a descriptor of its own, with a place of its own in the listing.
        current = (
            os.open(".", _DIRECTORY, dir_fd=root)
            if isinstance(root, int)
            else os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        )
    try:
        for part in parts:
            if make:
                with _as_refusal(shown), suppress(FileExistsError):
                    os.mkdir(part, dir_fd=current)
            with _as_refusal(shown):
                below = os.open(part, _DIRECTORY, dir_fd=current)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def read_bytes(root: Path, path: str, bytes_max: int) -> bytes:
    """The whole of a plain file below ``root``.

    Raises:
        Missing: there is no such file.
        TooLarge: it has more than ``bytes_max`` bytes.
        Refused: it is no plain file, or the way to it leads through a link.
    """
    *above, name = parts_of(path) or (".",)
    with opened_folder(root, tuple(above)) as folder:
        return read_in(folder, name, path, bytes_max)


def read_in(folder: int, name: str, shown: str, bytes_max: int) -> bytes:
    """The whole of the plain file ``name`` of an opened folder; errors as :func:`read_bytes`."""
    with _as_refusal(shown):
        # Looked at first because opening alone can have an effect on a device.
        _check_plain(os.stat(name, dir_fd=folder, follow_symlinks=False), shown)
        file = os.open(name, _TO_READ, dir_fd=folder)
    with os.fdopen(file, "rb") as stream:
        facts = os.fstat(file)
        _check_plain(facts, shown)
        # One byte more than is allowed tells of a file that grows while it is read.
        data = stream.read(bytes_max + 1)
    if len(data) > bytes_max:
        size = max(len(data), facts.st_size)
        raise TooLarge(f"{shown} has {size:,} bytes; the bound is {bytes_max:,}.")
    return data


def write_bytes(root: Path, path: str, data: bytes) -> bool:
    """Replace or create a file below ``root``, whole or not at all; says whether it is new.

    Folders on the way are created. Readers see the old bytes or the new ones, never a part.

    Raises:
        InvalidInput: the path names no file.
        Refused: the way leads through a link, something else than a plain file is there, or the
            disk refuses.
    """
    parts = parts_of(path)
    if not parts:
        raise InvalidInput(f"The path {path!r} names no file.")
    *above, name = parts
    with opened_folder(root, tuple(above), make=True) as folder, _as_refusal(path):
        try:
            before = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            mode = None
        else:
            _check_plain(before, path)
            mode = stat.S_IMODE(before.st_mode)
        _replace(folder, name, data, mode)
        return mode is None


def write_folder(root: Path, path: str, files: Mapping[str, bytes]) -> None:
    """Create a folder below ``root`` with these files in it, whole and on the disk or not at all.

    Folders on the way are created. Nothing is replaced: a folder that is there stays as it is.

    Raises:
        InvalidInput: the path or that of a file is none.
        SameName: there is such a folder, and something in it.
        Refused: the way leads through a link, or the disk refuses.
    """
    *above, name = parts_of(path)
    beside = _beside()
    with opened_folder(root, tuple(above), make=True) as folder, _as_refusal(path):
        shutil.rmtree(beside, ignore_errors=True, dir_fd=folder)  # of a dead process, as below
        try:
            with opened_folder(folder, (beside,), make=True) as made:
                for file, data in files.items():
                    _write_new(made, parts_of(file), data)
                os.fsync(made)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            _sync(root, tuple(above))
        except BaseException as error:
            shutil.rmtree(beside, ignore_errors=True, dir_fd=folder)
            if isinstance(error, OSError) and error.errno in {errno.EEXIST, errno.ENOTEMPTY}:
                raise SameName(f"There is something in {path} already.", names=[path]) from None
            raise


def _write_new(root: int, parts: tuple[str, ...], data: bytes) -> None:
    """Write a file that is not there yet, and see that it and its folder are on the disk."""
    with opened_folder(root, parts[:-1], make=True) as folder:
        file = os.open(parts[-1], _TO_WRITE, 0o666, dir_fd=folder)
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(file)
        os.fsync(folder)


def append_lines(root: Path, path: str, lines: bytes, bytes_max: int) -> None:
    """Append whole lines to a plain file below ``root``: on the disk, or not at all.

    The file and the folders on the way are created. A line that was cut while it was written, by a
    process that died, is taken away first.

    Raises:
        TooLarge: it would have more than ``bytes_max`` bytes.
        Refused: the way leads through a link, it is no plain file, or the disk refuses.
    """
    *above, name = parts_of(path)
    with opened_folder(root, tuple(above), make=True) as folder, _as_refusal(path):
        file = os.open(name, _TO_APPEND, 0o666, dir_fd=folder)
        with os.fdopen(file, "r+b", buffering=0) as stream:
            _check_plain(os.fstat(file), path)
            before = stream.read(bytes_max + 1) or b""
            size = before.rfind(b"\n") + 1
            if len(before) + len(lines) > bytes_max:
                raise TooLarge(f"{path} would have more than {bytes_max:,} bytes.")
            try:
                stream.truncate(size)
                if stream.write(lines) != len(lines):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
                _sync(root, tuple(above))
            except BaseException:
                stream.truncate(size)
                raise


def remove_folder(root: Path, path: str) -> None:
    """Take a folder below ``root`` away with all that is in it; it may be gone already.

    Raises:
        Refused: the way leads through a link, or the disk refuses.
    """
    *above, name = parts_of(path)
    with suppress(Missing), opened_folder(root, tuple(above)) as folder, _as_refusal(path):
        # By one step out of sight: what is half taken away is never taken for the whole.
        beside = _beside()
        os.rename(name, beside, src_dir_fd=folder, dst_dir_fd=folder)
        shutil.rmtree(beside, dir_fd=folder)


def sweep(root: Path, path: str) -> None:
    """Take away what writers left in a folder that died: for whoever holds it alone.

    Raises:
        Refused: the way leads through a link, or the disk refuses.
    """
    with suppress(Missing), opened_folder(root, parts_of(path)) as folder, _as_refusal(path):
        with os.scandir(folder) as scan:
            left = [entry.name for entry in scan if entry.name.startswith(HIDDEN)]
        for name in left:
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)


def _sync(root: Path, above: tuple[str, ...]) -> None:
    """See that a folder and those above it, which may be new, are on the disk."""
    for length in range(len(above), -1, -1):
        with opened_folder(root, above[:length]) as folder:
            os.fsync(folder)


def _beside() -> str:
    """A name for what is being written, which is neither listed nor opened."""
    return f"{HIDDEN}{os.getpid()}-{next(_numbers)}"


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    """Write beside, then rename: the name stands for the old file or the new one at any moment."""
    beside = _beside()
    with suppress(FileNotFoundError):
        # Left by a process of this number that died while it wrote.
        os.unlink(beside, dir_fd=folder)
    file = os.open(beside, _TO_WRITE, 0o666, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            if mode is not None:
                os.fchmod(file, mode)
            stream.write(data)
            stream.flush()
            os.fsync(file)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise


def list_folder(root: Path, path: str, entries_max: int) -> tuple[Listed, ...]:
    """What a folder below ``root`` holds, by name; links are shown and never followed.

    Raises:
        Missing: there is no such folder.
        TooLarge: it holds more than ``entries_max`` entries.
        Refused: it is none, or the way to it leads through a link.
    """
    with opened_folder(root, parts_of(path)) as folder:
        return list_in(folder, path, entries_max)


def list_in(folder: int, shown: str, entries_max: int) -> tuple[Listed, ...]:
    """What an opened folder holds; errors as :func:`list_folder`."""
    with _as_refusal(shown), os.scandir(folder) as scan:
        entries = [entry.name for entry in islice(scan, entries_max + 1)]
        if len(entries) > entries_max:
            raise TooLarge(f"{shown} holds more than {entries_max:,} entries.")
    shown_names = sorted(name for name in entries if not name.startswith(HIDDEN))
    return tuple(found for name in shown_names if (found := _listed(folder, name)))


def _listed(folder: int, name: str) -> Listed | None:
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # removed since the folder was read
        return None
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    kind = kinds.get(stat.S_IFMT(facts.st_mode), "other")
    if kind == "file" and facts.st_nlink > 1:
        kind = "other"
    return Listed(name, kind, facts.st_size if kind == "file" else 0)


def _check_plain(facts: os.stat_result, shown: str) -> None:
    """Refuse what is not a file with exactly one name."""
    if stat.S_ISDIR(facts.st_mode):
        raise Refused(f"{shown} is a folder, not a file.")
    if not stat.S_ISREG(facts.st_mode):
        raise Refused(f"{shown} is a link or a device, not a plain file: it is not opened.")
    if facts.st_nlink > 1:
        raise Refused(f"{shown} has a second name by a hard link: it is not opened.")


@contextmanager
def _as_refusal(shown: str) -> Iterator[None]:
    """The machine's answer as a typed error without any path of the machine."""
    try:
        yield
    except FileNotFoundError:
        raise Missing(f"There is no {shown}.") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise Refused(f"{shown} cannot be used: {reason}. Links are not followed.") from None
