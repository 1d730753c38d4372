"""Laws of skill packages: read whole, leniently, and never from outside their folder."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.skill_source import main_file, read_package, skill_package, slug_of
from greenroom.protocol.errors import InvalidInput, SkillUnavailable
from greenroom.protocol.limits import Limits
from greenroom.protocol.skill import package_revision

HEAD = b"---\nname: Money Back\ndescription: When: money goes back.\n---\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one skill, and something outside of it."""
    skill = tmp_path / "ws" / "skills" / "refunds"
    (skill / "deep").mkdir(parents=True)
    (skill / "SKILL.md").write_bytes(HEAD + b"\nBody\n")
    (skill / "deep" / "x.bin").write_bytes(b"\xff\x00")
    (tmp_path / "secret").write_text("outside")
    return tmp_path / "ws"


def test_a_package_is_read_whole_as_it_is_now(root: Path) -> None:
    """R25: every file of it, binary ones too; an edit of any is another revision."""
    package = read_package(root, "skills/refunds")
    assert set(package.files) == {"SKILL.md", "deep/x.bin"}
    assert package.files["deep/x.bin"] == b"\xff\x00"
    assert package.body == "Body"
    summary = package.summary
    assert (summary.id, summary.slug, summary.name) == (
        "skills/refunds",
        "money-back",
        "Money Back",
    )
    assert summary.description == "When: money goes back."
    (root / "skills/refunds/deep/x.bin").write_bytes(b"\xfe")
    assert package_revision(read_package(root, "skills/refunds").files) != package_revision(
        package.files
    )


def test_what_does_not_belong_to_a_package_is_left_out(root: Path) -> None:
    """S8, R40: links, devices, second names, hidden files, names that are no text or no line."""
    skill = root / "skills" / "refunds"
    (skill / "link").symlink_to(root.parent / "secret")
    (skill / "folder").symlink_to(root.parent)
    os.link(root.parent / "secret", skill / "hard")
    os.mkfifo(skill / "fifo")
    (skill / ".git").mkdir()
    (skill / ".git" / "config").write_text("")
    for odd in ("two\nlines", "blank ", " blank"):
        (skill / odd).write_text("")
    with open(str(skill).encode() + b"/\xff", "wb"):  # noqa: PTH123
        pass
    assert set(read_package(root, "skills/refunds").files) == {"SKILL.md", "deep/x.bin"}


def _gone(skill: Path) -> None:
    (skill / "SKILL.md").unlink()


def _linked(skill: Path) -> None:
    (skill / "SKILL.md").rename(skill.parent / "S")
    (skill / "SKILL.md").symlink_to(skill.parent / "S")


def _disabled(skill: Path) -> None:
    (skill / "SKILL.md").write_bytes(b"---\ndescription: x\ndisabled: true\n---\n")


def _broken(skill: Path) -> None:
    (skill / "SKILL.md").write_bytes(b"\xff")


def _large(skill: Path) -> None:
    (skill / "large").write_bytes(b"x" * 2_000)


def _many(skill: Path) -> None:
    for folder in ("x", "y"):
        (skill / folder).mkdir()
        for number in range(6):
            (skill / folder / str(number)).write_bytes(b"")


def _deep(skill: Path) -> None:
    (skill / "/".join("abcdefghij")).mkdir(parents=True)


@pytest.mark.parametrize("harm", [_gone, _linked, _disabled, _broken, _large, _many, _deep])
def test_what_cannot_be_read_is_unavailable(root: Path, harm: Callable[[Path], None]) -> None:
    """R27: one typed error for every way in which a source can fail, and every bound."""
    harm(root / "skills" / "refunds")
    with pytest.raises(SkillUnavailable) as caught:
        read_package(root, "skills/refunds", Limits(skill_bytes_max=1_000, skill_files_max=10))
    assert str(root) not in str(caught.value)


def test_a_name_with_blanks_in_it_is_kept_as_it_is(root: Path) -> None:
    """R40: what is in a package is called as its file is."""
    (root / "skills" / "two  blanks").mkdir()
    (root / "skills" / "two  blanks" / "SKILL.md").write_bytes(HEAD)
    (root / "skills" / "two  blanks" / "a  b.md").write_bytes(b"B")
    package = read_package(root, "skills/two  blanks")
    assert package.summary.id == "skills/two  blanks"
    assert "a  b.md" in package.files
    (root / "skills" / "two  blanks").rename(root / "skills" / "two\nlines")
    with pytest.raises(SkillUnavailable, match="one line"):
        read_package(root, "skills/two\nlines")


@pytest.mark.parametrize("skill", ["..", "/", "skills/../../secret", "skills/gone", "", "\0"])
def test_an_id_is_no_way_out(root: Path, skill: str) -> None:
    """S10: an id that leads anywhere else is no skill."""
    with pytest.raises(SkillUnavailable):
        read_package(root, skill)


@pytest.mark.parametrize(
    ("data", "name", "description"),
    [
        (b"---\ndescription: x\n---\n", "folder", "x"),
        (b"---\nname: 7\ndescription: |\n  two\n  lines\n---\n", "7", "two lines"),
        (b"---\nname: ../../etc\ndescription: x\nunknown: [a]\n---\n", "../../etc", "x"),
        (b'---\nname: "\\ud83d"\ndescription: x\n---\n', "\N{REPLACEMENT CHARACTER}", "x"),
    ],
)
def test_a_main_file_is_read_leniently(data: bytes, name: str, description: str) -> None:
    """Odd names and unknown fields load, with a word about them; a name is never a path (S10)."""
    read = main_file(data, "skills/folder")
    assert (read.summary.name, read.summary.description) == (name, description)
    assert read.summary.id == read.summary.location == "skills/folder"
    assert bool(read.oddities) == (name != "folder")


@pytest.mark.parametrize("data", [b"Body", b"---\nname: a\n---\n", b"---\ndescription: []\n---\n"])
def test_without_a_description_there_is_no_skill(data: bytes) -> None:
    """The one thing that a catalog cannot do without."""
    with pytest.raises(InvalidInput):
        main_file(data, "skills/folder")


@given(st.text())
def test_every_name_has_a_slug(name: str) -> None:
    """R19: a slug is what may stand behind a dollar sign."""
    slug = slug_of(name)
    assert slug[0] in "abcdefghijklmnopqrstuvwxyz0123456789"
    assert all(sign in "abcdefghijklmnopqrstuvwxyz0123456789-" for sign in slug)


@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp"))))
def test_a_skill_made_in_code_reads_as_one_of_a_folder(text: str) -> None:
    """R231: the same package, whatever stands in its texts."""
    try:
        package = skill_package('It\'s: a "skill"', text, "Body", {"a": "b"})
    except InvalidInput:
        assert not text.strip()
        return
    read = main_file(package.files["SKILL.md"], package.summary.id)
    assert (read.body, read.summary) == (package.body, package.summary)
