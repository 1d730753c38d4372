"""Laws of ``greenroom export`` and ``import``: a session as a file, and back."""

import os
import subprocess
from pathlib import Path

import pytest

from greenroom.protocol import read_export, requests_in
from greenroom.store import open_lmdb
from tests.actors.cli.commands import command, environment, ran
from tests.actors.cli.conftest import Kept

KEY = "demo-0-0001"


def wrote(kept: Kept, to: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Export a session of the demo into a file."""
    return ran(kept.folder, "export", KEY, "--store", kept.store, "--to", to, *more)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_tells_all_of_a_session_and_makes_it_again(kept: Kept, tmp_path: Path) -> None:
    """P145, R191: what was sent is rebuilt from the file; imported, it is the same session."""
    file, there = tmp_path / "ann.jsonl", ("--store", tmp_path / "store")
    done = wrote(kept, file)
    assert (done.returncode, done.stdout) == (0, "")
    lines = file.read_bytes().splitlines()
    assert f"{KEY}: {len(lines)} lines, " in done.stderr
    assert all(one.is_exact for one in requests_in(lines))
    done = ran(tmp_path, "import", file, "--session", KEY, *there)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{KEY}: agent support · " in done.stdout
    again = ran(tmp_path, "export", KEY, *there)
    assert again.stdout.encode() == file.read_bytes()
    shown = [ran(tmp_path, "show", KEY, "--store", each).stdout for each in (kept.store, there[1])]
    assert shown[0] == shown[1]


def test_a_pipe_carries_it_to_another_tenant(kept: Kept, tmp_path: Path) -> None:
    """R191, R218: the bytes are alone on standard output, and - is standard input."""
    line = " ".join(command("export", KEY, "--store", kept.store))
    into = " ".join(command("import", "-", "--session", "b", "--tenant", "t"))
    done = subprocess.run(
        ["/bin/sh", "-c", f"{line} | {into}"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("b: ")
    assert "b" in ran(tmp_path, "sessions", "--tenant", "t", "--json").stdout
    assert "There are no sessions." in ran(tmp_path, "sessions").stdout


def test_a_file_is_overwritten_only_if_that_is_said(kept: Kept, tmp_path: Path) -> None:
    """R232: otherwise it is wrong usage, and the file is as it was; nothing is left beside it."""
    file = tmp_path / "ann.jsonl"
    file.write_text("mine")
    done = wrote(kept, file)
    assert (done.returncode, file.read_text()) == (2, "mine")
    assert "--overwrite" in done.stderr
    assert wrote(kept, file, "--overwrite").returncode == 0
    assert read_export(file.read_bytes().splitlines()).session.key == KEY
    assert names_in(tmp_path) == ["ann.jsonl"]


def test_what_cannot_be_exported_makes_no_file(kept: Kept, tmp_path: Path) -> None:
    """R232: a key that is not there is told with one that is; a place that is not there too."""
    done = ran(tmp_path, "export", "nobody", "--store", kept.store, "--to", tmp_path / "a")
    assert (done.returncode, names_in(tmp_path)) == (1, [])
    assert "there is demo-0-000" in done.stderr
    done = wrote(kept, tmp_path / "nowhere" / "a")
    assert (done.returncode, names_in(tmp_path)) == (1, [])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("cut", [0, 100, -2])
async def test_a_file_that_was_cut_off_makes_no_session(
    kept: Kept, tmp_path: Path, cut: int
) -> None:
    """R191: it is said, and the store has nothing of it."""
    file, store = tmp_path / "ann.jsonl", tmp_path / "store"
    wrote(kept, file)
    file.write_bytes(file.read_bytes()[:cut])
    done = ran(tmp_path, "import", file, "--session", "a", "--store", store)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Nothing was stored" in done.stderr
    async with open_lmdb(store, read_only=True) as opened:
        assert (list(opened.sessions()), opened.last_number()) == ([], 0)


def test_what_keeps_it_from_being_imported_is_told(kept: Kept, tmp_path: Path) -> None:
    """R232: a key that is taken, another workspace, a file that is none; one sentence each."""
    file = tmp_path / "ann.jsonl"
    wrote(kept, file)
    assert ran(tmp_path, "import", file, "--session", "a").returncode == 0
    done = ran(tmp_path, "import", file, "--session", "a")
    assert (done.returncode, "another key" in done.stderr) == (1, True)
    agents = tmp_path / "work" / "agents"
    agents.mkdir(parents=True)
    (agents / "other.md").write_text("You help.")
    work = ("--workspace", tmp_path / "work")
    done = ran(tmp_path, "import", file, "--session", "b", *work)
    assert (done.returncode, "other" in done.stderr) == (1, True)
    for path in (tmp_path, tmp_path / "nowhere"):
        done = ran(tmp_path, "import", path, "--session", "b")
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_a_reader_that_leaves_is_no_error(kept: Kept, tmp_path: Path) -> None:
    """R232: as for every command whose output is piped."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command("export", KEY, "--store", kept.store),
        env=environment(tmp_path),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
