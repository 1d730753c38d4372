"""Laws of ``greenroom hold``, ``lift``, ``recompose`` and ``journal``: with no host running."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.actors.cli.commands import ESCAPE, ran
from tests.actors.cli.conftest import Kept

SCRIPTED = ("chat", "--model", "scripted", "--session")


def shown(folder: Path, key: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(ran(folder, "show", key, "--json").stdout)
    return value


def test_a_store_is_held_and_lifted_between_two_runs(tmp_path: Path) -> None:
    """R159, R239: a chat is told who holds and why, what was typed is kept, and it is answered with
    the first host after the lift."""
    assert ran(tmp_path, *SCRIPTED, "a", "--agent", "support", given="One").returncode == 0
    why = ("--agent", "support", "--reason", "It pays\x1b twice.", "--by", "ann")
    held = ran(tmp_path, "hold", *why)
    assert (held.returncode, held.stderr) == (0, "")
    count, name = held.stdout.split("\n")[:2]
    assert count == "held: 1 session"
    name = name.strip()

    listed = ran(tmp_path, "holds").stdout
    assert "sessions of the agent support of the tenant default: It pays" in listed
    assert "by ann · 20" in listed
    assert "1 session" in listed
    assert ESCAPE not in listed
    told = ran(tmp_path, *SCRIPTED, "a", given="Two\n/preset read-only")
    assert told.returncode == 1
    assert "held by ann: It pays" in told.stdout
    assert f"greenroom lift {name}" in told.stdout
    assert "is held by ann" in told.stdout + told.stderr
    assert shown(tmp_path, "a")["session"]["queued"] == 1

    lifted = ran(tmp_path, "lift", name, "--by", "ben", "--reason", "Mended.")
    assert (lifted.returncode, lifted.stderr) == (0, "")
    assert "held by ann: It pays" in lifted.stdout
    again = ran(tmp_path, "lift", name)
    assert again.returncode == 1
    assert "`greenroom holds`" in again.stderr
    assert "0 holds" in ran(tmp_path, "holds").stdout
    assert ran(tmp_path, *SCRIPTED, "a", given="Three").returncode == 0
    turns = shown(tmp_path, "a")["turns"]
    assert [turn["end"] for turn in turns] == ["done"] * len(turns)
    assert len(turns) >= 2

    entries = ran(tmp_path, "journal").stdout.splitlines()
    assert ["ann held sessions" in entries[0], "ben lifted" in entries[1]] == [True, True]
    assert entries[1].endswith(": Mended.")
    assert entries[2] == "2 entries"
    assert ESCAPE not in "".join(entries)


def test_a_program_reads_what_was_done(tmp_path: Path) -> None:
    """R159, R239: a hold, its lift and a mark are each one object, as a program is told them."""

    def told(*arguments: object) -> dict[str, Any]:
        done = ran(tmp_path, *arguments, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        value: dict[str, Any] = json.loads(done.stdout)
        return value

    assert ran(tmp_path, *SCRIPTED, "a", "--agent", "support", given="One").returncode == 0
    held = told("hold", "--agent", "support", "--reason", "r", "--by", "ann")
    assert (held["agent"], held["by"], held["sessions"]) == ("support", "ann", 1)
    assert told("holds") == held
    lifted = told("lift", held["id"])
    assert lifted == {name: value for name, value in held.items() if name != "sessions"}
    marked = told("recompose", "--reason", "r", "--by", "ben")
    assert (marked["by"], marked["sessions"]) == ("ben", 1)


def test_the_journal_is_read_a_page_at_a_time(tmp_path: Path) -> None:
    """R242: who, when and why, of whatever was done; and each page says how to go on."""
    assert ran(tmp_path, *SCRIPTED, "a", "--agent", "support", given="One").returncode == 0
    for reason in ("One.", "Two.", "Three."):
        why = ("--contributor", "preamble", "--reason", reason, "--by", "ann")
        marked = ran(tmp_path, "recompose", *why)
        assert (marked.returncode, marked.stderr) == (0, "")
        assert marked.stdout == "composed anew at their next turn: 1 session\n"
    first = ran(tmp_path, "journal", "--limit", 2).stdout.splitlines()
    assert "ann marked sessions with the contributor preamble of the tenant default" in first[0]
    assert first[0].endswith("to be composed anew: One.")
    assert first[2] == "2 entries; more with --after 2"
    rest = ran(tmp_path, "journal", "--after", 2, "--json").stdout.splitlines()
    [last] = [json.loads(line) for line in rest]
    assert (last["number"], last["entry"]["is"]) == (3, "sessions_marked")
    assert (last["entry"]["by"], last["entry"]["reason"]) == ("ann", "Three.")
    assert ran(tmp_path, "journal", "--after", 9).stdout == "0 entries\n"


def test_a_skill_is_found_by_the_index_of_the_store(kept: Kept) -> None:
    """R239: without a workspace, by what the sessions show; read while it is held."""
    shows = [
        json.loads(
            ran(kept.folder, "show", f"demo-0-000{n}", "--store", kept.store, "--json").stdout
        )
        for n in range(5)
    ]
    slugs = [{use["slug"] for turn in each["turns"] for use in turn["skills"]} for each in shows]
    slug = min(set.union(*slugs))
    counted = sum(slug in each for each in slugs)
    held = ran(kept.folder, "hold", "--store", kept.store, "--skill", slug, "--reason", "Look.")
    number, name = held.stdout.split("\n")[:2]
    try:
        assert int(number.split()[1]) >= counted > 0
        listed = ran(kept.folder, "holds", "--store", kept.store, "--json").stdout
        assert json.loads(listed)["skill"].endswith(f"/{slug}")
    finally:
        assert ran(kept.folder, "lift", name.strip(), "--store", kept.store).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("hold",), 2, "reason"),
        (("hold", "--reason", "x", "--label", "a"), 2, "NAME=VALUE"),
        (("hold", "--reason", "x", "--running", "pause"), 2, "running"),
        (("hold", "--reason", "x"), 1, "Nothing was kept yet"),
        (("holds",), 1, "Nothing was kept yet"),
        (("recompose",), 2, "reason"),
        (("recompose", "--reason", "x", "--label", "=a"), 2, "NAME=VALUE"),
        (("recompose", "--reason", "x"), 1, "Nothing was kept yet"),
        (("journal",), 1, "Nothing was kept yet"),
        (("journal", "--limit", "0"), 2, "limit"),
        (("lift", "x"), 1, "Nothing was kept yet"),
    ],
)
def test_what_cannot_be_held_is_told(
    tmp_path: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    """Nothing is made for it, and nothing is a traceback."""
    done = ran(tmp_path, *arguments)
    assert done.returncode == code
    assert told in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("data.mdb"))
