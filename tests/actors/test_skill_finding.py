"""Laws of finding skills: whatever is in the folder, it is loaded or it is named."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.actors import skill_finding
from greenroom.actors.skill_finding import DEPTH_MAX, find_skills
from greenroom.protocol.errors import Refused

MAIN = "---\ndescription: Use it.\n---\nBody"


def made(root: Path, *paths: str, content: str = MAIN) -> Path:
    for name in paths:
        path = root / "skills" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def about(root: Path) -> list[str]:
    """What the warnings are about."""
    return [warning.partition(":")[0] for warning in find_skills(root).warnings]


def test_no_folder_of_skills_is_no_skills(tmp_path: Path) -> None:
    """R231: a workspace may have none."""
    found = find_skills(tmp_path)
    assert (found.skills, found.warnings) == ({}, [])


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (["a/readme.md"], ["skills/a"]),
        (["a/skill.md"], ["skills/a"]),
        (["a/deep/er/x.txt"], ["skills/a"]),
        (["a/b/SKILL.md", "a/c/x.txt", "a/readme.md"], ["skills/a/c"]),
        (["a/1/2/3/4/SKILL.md"], ["skills/a"]),
        (["a/1/2/3/SKILL.md"], []),
        (["a/SKILL.md", "a/b/x.txt"], []),
        (["a/.hidden", ".git/config"], []),
        (["SKILL.md"], ["skills/SKILL.md"]),
        (["refunds.md", "README.md", "LICENSE"], ["skills/refunds.md"]),
    ],
)
def test_a_folder_with_files_and_no_skill_is_named(
    tmp_path: Path, files: list[str], named: list[str]
) -> None:
    """R231: a misspelt main file is no silence; one warning, by the topmost folder without any."""
    assert about(made(tmp_path, *files)) == named


def test_a_folder_without_files_is_nothing(tmp_path: Path) -> None:
    """An empty folder was not meant for a skill yet."""
    (tmp_path / "skills" / "a" / "b").mkdir(parents=True)
    assert about(tmp_path) == []


def test_one_that_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    """S10: bytes that are no text, a main file that is none, links: the others are loaded."""
    root = made(tmp_path, "good/SKILL.md", "folder/SKILL.md/x")
    made(root, "bare/SKILL.md", content="no head")
    made(root, "group/x", "group/good/SKILL.md")
    (root / "skills" / "bytes").mkdir()
    (root / "skills" / "bytes" / "SKILL.md").write_bytes(b"\xff")
    (root / "skills" / "linked").symlink_to(root / "skills" / "good")
    os.mkfifo(root / "skills" / "fifo")
    assert set(find_skills(root).skills) == {"skills/good", "skills/group/good"}
    assert about(root) == [
        "skills/bare/SKILL.md",
        "skills/bytes/SKILL.md",
        "skills/folder/SKILL.md",
        "skills/linked",
    ]


def test_a_folder_that_cannot_be_listed_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R231: one folder beyond its bound is named, and the skills beside it are loaded."""
    monkeypatch.setattr(skill_finding, "ENTRIES_MAX", 3)
    root = made(tmp_path, "good/SKILL.md", *(f"many/{number}" for number in range(4)))
    assert set(find_skills(root).skills) == {"skills/good"}
    assert about(root) == ["skills/many"]


def test_a_place_of_skills_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """R231: the folder itself is the owner's own."""
    (tmp_path / "skills").write_text("x")
    with pytest.raises(Refused):
        find_skills(tmp_path)


FOLDERS = st.lists(
    st.tuples(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.booleans()), max_size=8
)


@settings(max_examples=40)
@given(FOLDERS)
def test_every_file_is_of_a_skill_or_below_what_is_named(
    tmp_path_factory: pytest.TempPathFactory, folders: list[tuple[list[str], bool]]
) -> None:
    """R231: whatever the tree, no folder with files is passed over in silence."""
    root = tmp_path_factory.mktemp("ws")
    for parts, is_skill in folders:
        made(root, "/".join(parts) + ("/SKILL.md" if is_skill else "/x.txt"))
    found = find_skills(root)
    told = [*found.skills, *(warning.partition(":")[0] for warning in found.warnings)]
    mains = {"skills/" + "/".join(parts) for parts, is_skill in folders if is_skill}
    for parts, _ in folders:
        below = ["skills/" + "/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
        beside = any(main.startswith(f"{below[-1]}/") for main in mains)
        assert beside or any(folder in told for folder in below)
    assert all(id_.count("/") <= DEPTH_MAX for id_ in found.skills)
