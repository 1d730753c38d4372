"""Laws of plugins in a workspace's folder: whole or not there, and as they were decided."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from greenroom.actors.confined import HIDDEN
from greenroom.actors.plugin_folder import DECISIONS, change, read_shelf
from greenroom.protocol.catalog import Catalog
from greenroom.protocol.errors import Refused, TooLarge
from tests.actors.packing import lying
from tests.protocol.plugin_samples import STANCE, bare, plugin, terms

NOW = 1_700_000_000_000
LOG = f"plugins/{DECISIONS}"


def proposing(version: str = "1", text: str = "Be kind.") -> Callable[[Catalog], Catalog]:
    made = bare(version, contributors=({**STANCE, "text": text, "version": version},))
    return lambda catalog: catalog.propose(made, terms(), owner="workspace", at=NOW)


def approving(version: str = "1") -> Callable[[Catalog], Catalog]:
    def approved(catalog: Catalog) -> Catalog:
        key = f"reviewer@{version}"
        return catalog.approve(key, catalog.proposal(key).digest, terms(by="ben"), at=NOW)

    return approved


def step(root: Path, *steps: Callable[[Catalog], Catalog]) -> Catalog:
    """Take steps one after the other."""
    for one in steps:
        change(root, lambda shelf, one=one: one(shelf.catalog))  # type: ignore[misc]
    return read_shelf(root).catalog


def files_in(root: Path) -> dict[str, bytes]:
    """All files below a folder, by path; folders as nothing."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in root.rglob("*")
    }


def test_what_was_decided_is_read_back(tmp_path: Path) -> None:
    """R163: who and when, by digest, one line each; and versions by id and version."""
    catalog = step(tmp_path, proposing(), approving(), proposing("2", "Obey."))
    assert catalog.states == {"reviewer@1": "active", "reviewer@2": "proposed"}
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    assert [(line["act"], line["version"], line["by"]) for line in lines] == [
        ("propose", "1", "ada"),
        ("approve", "1", "ben"),
        ("propose", "2", "ada"),
    ]
    assert {line["at"] for line in lines} == {NOW}
    assert lines[0]["digest"] == lines[1]["digest"] == catalog.decision("reviewer@1").digest
    assert set(files_in(tmp_path)) == {
        "plugins",
        LOG,
        "plugins/reviewer",
        *(f"plugins/reviewer/{version}{file}" for version in "12" for file in ("", "/plugin.json")),
    }


def test_a_workspace_without_plugins_has_none(tmp_path: Path) -> None:
    """R231: the folder may be missing, and reading makes none."""
    shelf = read_shelf(tmp_path)
    assert (shelf.catalog, shelf.faults, shelf.warnings) == (Catalog(), (), ())
    assert files_in(tmp_path) == {}


def test_lines_are_only_appended(tmp_path: Path) -> None:
    """R163: what was decided stays on record."""
    step(tmp_path, proposing())
    before = (tmp_path / LOG).read_bytes()
    step(tmp_path, approving(), lambda catalog: catalog.remove("reviewer@1", terms(), at=NOW))
    after = (tmp_path / LOG).read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 3


def test_a_step_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    """R163: proposed again it is the same."""
    step(tmp_path, proposing())
    before = files_in(tmp_path)
    step(tmp_path, proposing())
    assert files_in(tmp_path) == before


def test_a_step_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    """R163: not even an empty folder."""

    def refused(_: Catalog) -> Catalog:
        raise Refused("No.")

    with pytest.raises(Refused):
        step(tmp_path, refused)
    assert files_in(tmp_path) == {}


@pytest.mark.parametrize("call", range(10))
def test_a_disk_that_fails_leaves_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """R163: nothing is half-installed, at whichever write it fails; the next try succeeds."""
    step(tmp_path, proposing())
    before = files_in(tmp_path)
    count, fsync = 0, os.fsync

    def failing(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count == call + 1:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr("greenroom.actors.confined.os.fsync", failing)
    made = bare("2", contributors=({**STANCE, "text": "Obey.", "version": "2"},))

    def next_one(catalog: Catalog) -> Catalog:
        return catalog.propose(made, terms(), owner="workspace", at=NOW)

    if call < 9:
        with pytest.raises(Refused, match="space"):
            step(tmp_path, next_one)
        assert files_in(tmp_path) == before
    monkeypatch.undo()
    assert step(tmp_path, next_one).states["reviewer@2"] == "proposed"


def test_a_process_that_died_is_passed_over(tmp_path: Path) -> None:
    """R163: a version that no line names, a line that was cut, and what was being written."""
    step(tmp_path, proposing())
    lying(
        tmp_path / "plugins",
        {
            "reviewer/2/plugin.json": '{"id": "reviewer", "version": "2"}',
            "reviewer/2/old.txt": "x",
            f"{HIDDEN}1-1/plugin.json": "{}",
        },
    )
    with (tmp_path / LOG).open("ab") as log:
        log.write(b'{"act":"propose","plugin":"rev')
    shelf = read_shelf(tmp_path)
    assert shelf.faults == ()
    assert [warning.partition(":")[0] for warning in shelf.warnings] == [LOG, "plugins/reviewer/2"]
    assert shelf.catalog.states == {"reviewer@1": "proposed"}
    catalog = step(tmp_path, proposing("2", "Obey."))
    assert catalog.states == {"reviewer@1": "proposed", "reviewer@2": "proposed"}
    assert read_shelf(tmp_path).warnings == ()
    assert not (tmp_path / "plugins/reviewer/2/old.txt").exists()
    assert (tmp_path / LOG).read_bytes().count(b"\n") == 2
    assert [path.name for path in (tmp_path / "plugins").glob(".*")] == []


def _edit(root: Path) -> None:
    path = root / "plugins/reviewer/1/plugin.json"
    path.write_text(path.read_text().replace("Be kind.", "Obey me."))


def _add_skill(root: Path) -> None:
    lying(root / "plugins/reviewer/1", {"review/SKILL.md": "---\ndescription: x\n---\n"})
    path = root / "plugins/reviewer/1/plugin.json"
    path.write_text(path.read_text().replace("{", '{"skills": ["review"], ', 1))


def _gone(root: Path) -> None:
    (root / "plugins/reviewer/1").rename(root / "away")


def _other(root: Path) -> None:
    path = root / "plugins/reviewer/1/plugin.json"
    path.write_text(path.read_text().replace('"version":"1"', '"version":"3"', 1))


def _broken(root: Path) -> None:
    (root / "plugins/reviewer/1/plugin.json").write_text("{")


def _linked(root: Path) -> None:
    (root / "plugins/reviewer/1").rename(root / "away")
    (root / "plugins/reviewer/1").symlink_to(root / "away")


@pytest.mark.parametrize("harm", [_edit, _add_skill, _gone, _other, _broken, _linked])
@pytest.mark.parametrize("approved", [True, False])
def test_what_is_not_as_it_was_decided_is_a_fault(
    tmp_path: Path, harm: Callable[[Path], None], approved: bool
) -> None:
    """R138, R163: edited, exchanged, broken or gone; the folder is named, once."""
    step(tmp_path, proposing(), *([approving()] if approved else []))
    harm(tmp_path)
    shelf = read_shelf(tmp_path)
    [fault] = shelf.faults
    assert fault.startswith("plugins/reviewer/1: ")
    if approved:
        removed = shelf.catalog.remove("reviewer@1", terms(), at=NOW)
        assert removed.active == ()


@pytest.mark.parametrize(("harm", "told"), [(_gone, 0), (_broken, 1), (_other, 1)])
def test_what_nobody_wants_may_be_gone(
    tmp_path: Path, harm: Callable[[Path], None], told: int
) -> None:
    """R231: a version that was rejected or removed is missed by nobody, and never another one."""
    step(tmp_path, proposing(), lambda catalog: catalog.reject("reviewer@1", terms(), at=NOW))
    harm(tmp_path)
    shelf = read_shelf(tmp_path)
    assert shelf.faults == ()
    assert [warning.partition(":")[0] for warning in shelf.warnings] == [
        "plugins/reviewer/1"
    ] * told
    assert shelf.catalog.published == {}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{}",
        "[]",
        "x",
        '{"act": "sign"}',
        '{"act":"propose","plugin":"a","version":"1","owner":"all","digest":"","by":"a","at":1}',
        '{"act":"propose","plugin":"a","version":"1","owner":"author","digest":"","by":"a"}',
        '{"act":"propose","plugin":"a","version":"1","owner":"author","digest":"","by":"a","at":"1"}',
        '{"act":"propose","plugin":"a","version":"1","owner":"author","digest":"","by":"a","at":1,"x":1}',
    ],
)
def test_a_line_that_is_no_decision_is_a_fault(tmp_path: Path, line: str) -> None:
    """R163: with its number; the others hold."""
    step(tmp_path, proposing())
    with (tmp_path / LOG).open("a") as log:
        log.write(f"{line}\n")
    shelf = read_shelf(tmp_path)
    [fault] = shelf.faults
    assert fault.startswith(f"{LOG}, line 2: ")
    assert shelf.catalog.states == {"reviewer@1": "proposed"}


@pytest.mark.parametrize(
    ("plugin_", "version"), [("..", "x"), ("../..", "etc"), ("/etc", "1"), ("a", ".."), ("", "")]
)
def test_a_line_is_no_way_out(tmp_path: Path, plugin_: str, version: str) -> None:
    """R163: what it names is looked for among the plugins, and nowhere else."""
    root = tmp_path / "ws"
    lying(tmp_path / "x", {"plugin.json": "{}"})
    said: dict[str, object] = {
        "act": "propose",
        "plugin": plugin_,
        "version": version,
        "owner": "author",
    }
    said |= {"digest": "", "by": "a", "at": 1}
    lying(root, {LOG: json.dumps(said) + "\n"})
    [fault] = read_shelf(root).faults
    assert "leads out" in fault or "called so" in fault


def test_what_lies_among_the_plugins_unasked_is_named(tmp_path: Path) -> None:
    """R231: nothing there is passed over in silence."""
    step(tmp_path, proposing())
    lying(tmp_path / "plugins", {"other/1/plugin.json": "{}", "reviewer/9/x": "", "notes.txt": ""})
    assert [warning.partition(":")[0] for warning in read_shelf(tmp_path).warnings] == [
        "plugins/notes.txt",
        "plugins/other",
        "plugins/reviewer/9",
    ]


def test_two_commands_do_not_decide_at_once(tmp_path: Path) -> None:
    """R163: the second is refused and may try again."""
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another command"):
            step(tmp_path, proposing())
    finally:
        os.close(held)
    assert step(tmp_path, proposing()).states == {"reviewer@1": "proposed"}

    def meanwhile(catalog: Catalog) -> Catalog:
        with pytest.raises(Refused, match="another command"):
            step(tmp_path, proposing("3"))
        return catalog

    step(tmp_path, meanwhile)


def test_the_record_has_a_bound(tmp_path: Path) -> None:
    """R194: a file that is too long is a fault, and is not appended to."""
    lying(tmp_path, {LOG: b"\n" * 4_194_305})
    [fault] = read_shelf(tmp_path).faults
    assert fault.startswith(LOG)
    with pytest.raises(TooLarge):
        step(tmp_path, proposing())
    assert not (tmp_path / "plugins/reviewer/1").exists()


def test_every_skill_of_a_version_is_written(tmp_path: Path) -> None:
    """R163: as it was shown."""

    def whole(catalog: Catalog) -> Catalog:
        return catalog.propose(plugin(), terms(), owner="workspace", at=NOW)

    catalog = step(tmp_path, whole)
    assert catalog.read("reviewer@1") == plugin()
    assert (tmp_path / "plugins/reviewer/1/review/index.md").read_text() == "Index."
