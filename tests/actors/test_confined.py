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
    append_lines,
    list_folder,
    parts_of,
    read_bytes,
    remove_folder,
    sweep,
    write_bytes,
    write_folder,
)
from greenroom.protocol.errors import InvalidInput, Missing, Refused, SameName, TooLarge

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


def test_a_folder_is_written_whole_and_once(root: Path) -> None:
    """R163: with all its files and folders; what is there already stays as it is."""
    write_folder(root, "new/one", {"a.txt": b"1", "deep/er/b.txt": b"2"})
    assert (root / "new/one/deep/er/b.txt").read_bytes() == b"2"
    with pytest.raises(SameName):
        write_folder(root, "new/one", {"a.txt": b"other"})
    with pytest.raises(SameName):
        write_folder(root, "in", {"a.txt": b"other"})
    with pytest.raises(Refused):
        write_folder(root, "in/a.txt", {"a.txt": b"other"})
    assert (root / "new/one/a.txt").read_bytes() == b"1"
    assert (root / "in/a.txt").read_bytes() == b"inside"
    assert names_in(root / "new") == ["one"]
    assert names_in(root) == ["in", "new"]


@pytest.mark.parametrize("path", ["../out", "a/../../out", "/etc/x", "way", "way/new"])
def test_a_folder_is_written_nowhere_else(root: Path, path: str) -> None:
    """S8, R163: neither by its own path, nor by a link, nor by that of a file in it."""
    (root / "way").symlink_to(root.parent / "out")
    with pytest.raises(Refused):
        write_folder(root, path, {"a.txt": b"changed"})
    with pytest.raises(Refused):
        write_folder(root, "new", {f"../{path}": b"changed"})
    with pytest.raises(Refused):
        append_lines(root, f"{path}/a.txt", b"x\n", BOUND)
    assert (root.parent / "out" / "a.txt").read_bytes() == SECRET
    assert names_in(root) == ["in", "way"]


def test_a_folder_that_cannot_be_written_is_not_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R163: nothing of it, and nothing beside it."""
    monkeypatch.setattr("greenroom.actors.confined.os.fsync", _no_space)
    with pytest.raises(Refused, match="space"):
        write_folder(root, "new", {"a.txt": b"1"})
    assert names_in(root) == ["in"]


def test_lines_are_appended_whole(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R163: behind the last whole line; one that was cut is taken away, a failure leaves none."""
    append_lines(root, "log/a.jsonl", b"1\n", BOUND)
    append_lines(root, "log/a.jsonl", b"2\n3\n", BOUND)
    with (root / "log/a.jsonl").open("ab") as log:
        log.write(b"cut")
    append_lines(root, "log/a.jsonl", b"4\n", BOUND)
    assert (root / "log/a.jsonl").read_bytes() == b"1\n2\n3\n4\n"
    with pytest.raises(TooLarge):
        append_lines(root, "log/a.jsonl", b"x" * BOUND, BOUND)
    monkeypatch.setattr("greenroom.actors.confined.os.fsync", _no_space)
    with pytest.raises(Refused, match="space"):
        append_lines(root, "log/a.jsonl", b"5\n", BOUND)
    assert (root / "log/a.jsonl").read_bytes() == b"1\n2\n3\n4\n"


def test_lines_are_appended_to_plain_files_only(root: Path) -> None:
    """S8: to no link, no FIFO, no folder and no file of two names."""
    os.mkfifo(root / "fifo")
    os.link(root.parent / "out" / "a.txt", root / "hard")
    (root / "link").symlink_to(root.parent / "out" / "a.txt")
    for name in ("fifo", "hard", "link", "in"):
        with pytest.raises(Refused):
            append_lines(root, name, b"x\n", BOUND)
    assert (root.parent / "out" / "a.txt").read_bytes() == SECRET


def test_a_folder_is_taken_away_with_what_is_in_it(root: Path) -> None:
    """R163: and with no more; links in it are taken away and not followed."""
    write_folder(root, "new/one", {"a.txt": b"1", "b/c.txt": b"2"})
    (root / "new/one/way").symlink_to(root.parent / "out")
    remove_folder(root, "new/one")
    remove_folder(root, "new/one")
    remove_folder(root, "gone/one")
    assert names_in(root / "new") == []
    assert (root.parent / "out" / "a.txt").read_bytes() == SECRET
    with pytest.raises(Refused):
        remove_folder(root, "../out")


def test_what_dead_writers_left_is_swept(root: Path) -> None:
    """R163: hidden folders of ours, and nothing else."""
    for name in (f"{HIDDEN}1-1", "kept", ".other"):
        (root / name / "deep").mkdir(parents=True)
    sweep(root, ".")
    sweep(root, "gone")
    assert names_in(root) == [".other", "in", "kept"]
