"""Laws of paths in a package: inside of it, shown as they are, and each once on every disk."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.protocol.errors import GreenroomError, SameName, TooLarge
from greenroom.protocol.package_path import (
    DEPTH_MAX,
    is_left_out,
    parts_within,
    refuse_alike,
)
from greenroom.protocol.refusal import BadPlugin


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../a", "a/../../b", "a/..", "/etc/passwd", "//a", "C:/a", "c:a"),
        *(
            "..\\a",
            "a\\b",
            "a\0b",
            "\ud83d",
            "a\nb",
            "a\u200bb",
            "a\u202eb",
            " a/b",
            "a/b ",
            "\x1b",
        ),
    ],
)
def test_a_path_that_is_none_within_a_package_is_refused(path: str) -> None:
    """R163, R194: absolute, leading out, or not shown as it is; the refusal says where."""
    with pytest.raises(BadPlugin) as refusal:
        parts_within(path)
    assert refusal.value.facts["where"]


@pytest.mark.parametrize("path", ["x" * 1_025, "a/" * DEPTH_MAX + "b"])
def test_a_path_has_bounds(path: str) -> None:
    """R194: in bytes and in depth, with the bound named."""
    with pytest.raises(TooLarge, match=r"bound|longer") as refusal:
        parts_within(path)
    assert refusal.value.facts["bound"] in {1_024, DEPTH_MAX}


def test_a_path_may_be_written_loosely() -> None:
    """R162: as programs that pack folders write it."""
    assert parts_within("./a//b/") == ("a", "b")
    assert parts_within("./") == parts_within("") == ()
    assert parts_within("ä/日本 語.md") == ("ä", "日本 語.md")


@given(st.text(st.sampled_from("ab./\\:\0 \u200b~"), max_size=12))
@example("....//a")
@example("a/./../b")
def test_what_is_taken_stays_inside(path: str) -> None:
    """R163: whatever is taken names something below the package, and nothing else."""
    try:
        parts = parts_within(path)
    except GreenroomError:
        return
    assert not path.startswith("/")
    assert all(
        part not in {"", ".", ".."} and "/" not in part and "\\" not in part for part in parts
    )


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        ([("a",), ("a",)], []),
        ([("a",), ("A",)], []),
        ([("a", "x"), ("A", "y")], []),
        ([("a", "x")], [("A",)]),
        ([("a",), ("a", "b")], []),
        ([("a", "b"), ("a",)], []),
        ([("a",)], [("a",)]),
        ([("a", "b")], [("a", "b", "c")]),
        ([("stra\u00dfe",), ("STRASSE",)], []),
        ([("\u00e9",), ("e\u0301",)], []),
        ([("\ufb01",), ("fi",)], []),
        ([("a",)], [("a", "b")]),
    ],
)
def test_two_spellings_of_one_path_are_refused(
    files: list[tuple[str, ...]], folders: list[tuple[str, ...]]
) -> None:
    """R163: what one disk would hold apart and another would write over each other."""
    with pytest.raises(SameName) as refusal:
        refuse_alike(files, folders)
    assert refusal.value.facts["where"]


def test_different_paths_are_no_matter() -> None:
    """R162: folders may be named again and again, and names may repeat in other folders."""
    refuse_alike([("a", "x"), ("b", "x"), ("x",)], [("a",), ("a",), ("c", "d"), ()])


def test_what_programs_leave_behind_is_no_part_of_a_package() -> None:
    """R162: hidden files and compiled ones, wherever they lie."""
    assert [is_left_out(parts) for parts in ((".git", "x"), ("a", ".b"), ("__pycache__",))] == [
        True
    ] * 3
    assert not is_left_out(("a", "b.c"))
