"""Laws of the folder: what is outside it is never read, written or named."""

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greenroom.actors.confined import (
    DEPTH_MAX,
    HIDDEN,
    list_folder,
    parts_of,
    read_bytes,
    write_bytes,
)
from greenroom.protocol.errors import InvalidInput, Missing, Refused, TooLarge

SECRET = b"outside"
BOUND = 1_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with something in it, beside one of which nothing may be seen."""
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "in" / "a.txt").write_bytes(b"inside")
    for outside in (tmp_path / "out", tmp_path / "root-twin"):
        outside.mkdir()
        (outside / "a.txt").write_bytes(SECRET)
    return root


@pytest.mark.parametrize(
    "path",
    [
        *("../out/a.txt", "in/../../out/a.txt", "..", "../root-twin/a.txt", "/etc/passwd", "//etc"),
        *("", "in/a\0", "\ud83d", "x" * 5_000, "a/" * (DEPTH_MAX + 1), HIDDEN + "1"),
    ],
)
def test_a_path_that_leads_out_is_no_path(root: Path, path: str) -> None:
    """S8: refused before the disk is asked, for reading, writing and listing alike."""
    with pytest.raises(InvalidInput):
        parts_of(path)
    with pytest.raises(InvalidInput):
        read_bytes(root, path, BOUND)
    with pytest.raises(InvalidInput):
        write_bytes(root, path, b"")
    with pytest.raises(InvalidInput):
        list_folder(root, path, BOUND)


def test_a_path_may_be_written_loosely(root: Path) -> None:
    """What stays inside is read, however it is spelled."""
    assert read_bytes(root, "./in//a.txt", BOUND) == b"inside"
    assert parts_of(".") == ()


@pytest.mark.parametrize("inside", [True, False])
def test_links_are_not_followed(root: Path, inside: bool) -> None:
    """S8: neither out of the folder nor within it, neither as the file nor on the way."""
    target = root / "in" if inside else root.parent / "out"
    (root / "way").symlink_to(target)
    (root / "file").symlink_to(target / "a.txt")
    for path in ("way/a.txt", "file"):
        with pytest.raises(Refused):
            read_bytes(root, path, BOUND)
        with pytest.raises(Refused):
            write_bytes(root, path, b"changed")
    with pytest.raises(Refused):
        list_folder(root, "way", BOUND)
    with pytest.raises(Refused):
        write_bytes(root, "way/new.txt", b"changed")
    assert names_in(target) == ["a.txt"]
    assert (target / "a.txt").read_bytes() in {SECRET, b"inside"}


def test_what_is_no_plain_file_is_not_opened(root: Path) -> None:
    """S8: FIFO, device, socket-like things, folders and hard links; nothing waits on them."""
    os.mkfifo(root / "fifo")
    os.link(root.parent / "out" / "a.txt", root / "hard")
    names = ["fifo", "hard", "in", "."]
    for name in names:
        with pytest.raises(Refused):
            read_bytes(root, name, BOUND)
    for name in names[:3]:
        with pytest.raises(Refused):
            write_bytes(root, name, b"changed")
    with pytest.raises(Refused):
        read_bytes(Path("/dev"), "zero", BOUND)
    assert (root.parent / "out" / "a.txt").read_bytes() == SECRET
    kinds = {entry.name: entry.kind for entry in list_folder(root, ".", BOUND)}
    assert kinds == {"fifo": "other", "hard": "other", "in": "folder"}


def test_a_large_file_is_refused_unread(root: Path) -> None:
    """S8: a file of a terabyte costs nothing."""
    with (root / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge):
        read_bytes(root, "huge", BOUND)
    (root / "just").write_bytes(b"x" * BOUND)
    assert len(read_bytes(root, "just", BOUND)) == BOUND


def test_a_swapped_link_never_leads_out(root: Path) -> None:
    """S9: a thread that puts a link in the place of a folder and of a file, as fast as it can."""
    done = threading.Event()
    out, inside, parked = root.parent / "out", root / "in", root / "parked"

    def swap() -> None:
        while not done.is_set():
            try:
                if not parked.exists():
                    inside.rename(parked)
                inside.symlink_to(out)
                inside.unlink()
                parked.rename(inside)
            except OSError:  # the writer made the folder anew meanwhile
                shutil.rmtree(inside, ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    seen: dict[bytes, int] = {}
    refused = 0
    try:
        for number in range(10_000):
            try:
                if number % 10:
                    data = read_bytes(root, "in/a.txt", BOUND)
                    seen[data] = seen.get(data, 0) + 1
                else:
                    write_bytes(root, "in/b.txt", b"mine")
            except Refused:
                refused += 1
    finally:
        done.set()
        thread.join()
    assert set(seen) == {b"inside"}
    assert refused > 0
    assert names_in(out) == ["a.txt"]
    assert (out / "a.txt").read_bytes() == SECRET


@pytest.mark.parametrize("put", [Path.symlink_to, lambda path, _: os.mkfifo(path)])
def test_what_was_looked_at_is_what_is_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path, Path], object]
) -> None:
    """S9: a link or a FIFO that comes between look and opening is refused, not waited on."""
    look, file = os.stat, root / "in" / "a.txt"

    def look_and_swap(path: str, **how: Any) -> os.stat_result:
        facts = look(path, **how)
        if path == "a.txt" and "dir_fd" in how:
            file.unlink()
            put(file, root.parent / "out" / "a.txt")
        return facts

    monkeypatch.setattr("greenroom.actors.confined.os.stat", look_and_swap)
    with pytest.raises(Refused):
        read_bytes(root, "in/a.txt", BOUND)


def test_writing_is_whole_or_not_at_all(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed write leaves the old file and nothing beside it."""
    assert write_bytes(root, "new/deep/b.txt", b"one") is True
    assert write_bytes(root, "new/deep/b.txt", b"two") is False
    monkeypatch.setattr("greenroom.actors.confined.os.fsync", _no_space)
    with pytest.raises(Refused, match="space"):
        write_bytes(root, "new/deep/b.txt", b"three")
    assert (root / "new/deep/b.txt").read_bytes() == b"two"
    assert names_in(root / "new/deep") == ["b.txt"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _no_space(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_writing_keeps_the_mode(root: Path) -> None:
    """Who may read a file is not the tool's to change."""
    (root / "in" / "a.txt").chmod(0o600)
    write_bytes(root, "in/a.txt", b"new")
    assert (root / "in" / "a.txt").stat().st_mode & 0o777 == 0o600


def test_a_refusal_names_no_path_of_the_machine(root: Path) -> None:
    """R198: what the model is told is the path that it wrote."""
    for path in ("gone.txt", "gone/a.txt", "in/a.txt/b"):
        with pytest.raises(Refused) as caught:
            read_bytes(root, path, BOUND)
        assert str(root) not in str(caught.value)
    with pytest.raises(Missing):
        list_folder(root / "gone", ".", BOUND)


def test_a_listing_has_a_bound_and_an_order(root: Path) -> None:
    """Entries come by name; too many are refused; files that are being written are not shown."""
    for name in ("c", "b", "a", f"{HIDDEN}1-1"):
        (root / "in" / name).write_bytes(b"")
    assert [entry.name for entry in list_folder(root, "in", 5)] == ["a", "a.txt", "b", "c"]
    with pytest.raises(TooLarge):
        list_folder(root, "in", 3)
