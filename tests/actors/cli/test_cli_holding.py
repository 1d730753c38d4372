"""Laws of ``greenroom hold``, ``lift`` and ``holds``: on a store, with no host running."""

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

    past = ran(tmp_path, "holds", "--past").stdout.splitlines()
    assert ["ann held sessions" in past[0], "ben lifted" in past[1]] == [True, True]
    assert ": Mended." in past[1]
    entries = [
        json.loads(line) for line in ran(tmp_path, "holds", "--past", "--json").stdout.splitlines()
    ]
    assert [(each["is"], each["by"]) for each in entries] == [
        ("hold_placed", "ann"),
        ("hold_lifted", "ben"),
    ]


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
