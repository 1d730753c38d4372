"""Laws of pinning: one reading, its revision, and what of it is read ahead."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.errors import InvalidInput, TooLarge
from greenroom.protocol.limits import Limits
from greenroom.protocol.skill import capped, cut_text, package_revision, pin, render_block
from greenroom.protocol.wording import CURRENT
from tests.protocol.prompt_samples import package, skill

FAMILY = "a👩‍👩‍👧‍👦b"


@pytest.mark.parametrize(
    ("body", "files", "read_ahead"),
    [
        ("See b.md, then a.md.", {"a.md": b"A", "b.md": b"B"}, "b.md"),
        ("See b.md.", {"index.md": b"I", "b.md": b"B"}, "index.md"),
        (
            "See ref/a.md.txt",
            {"ref/a.md": b"1", "ref/a.md.txt": b"2", "a.md": b"3"},
            "ref/a.md.txt",
        ),
        ("See SKILL.md and a.md.", {"a.md": b"A"}, "a.md"),
        ("See x.bin and a.md.", {"x.bin": b"\xff\xfe", "a.md": b"A"}, "a.md"),
        ("See x.bin and a.md.", {"x.bin": b"\0", "a.md": b"A"}, "a.md"),
        ("See gone.md.", {"a.md": b"A"}, None),
        ("Nothing is named.", {"a.md": b"A"}, None),
    ],
    ids=["first", "index", "longest", "not-itself", "not-utf8", "not-text", "gone", "none"],
)
def test_the_main_reference_is_the_index_or_what_the_body_names_first(
    body: str, files: Mapping[str, bytes], read_ahead: str | None
) -> None:
    """R39, R41: one file is read ahead, and never the body's own."""
    pinned = skill("deploy", body, files)
    assert (pinned.reference and pinned.reference.path) == read_ahead
    assert pinned.paths == tuple(sorted(files.keys() - {read_ahead}))


def test_further_files_are_listed_in_order() -> None:
    """R40: all but the main file and the one read ahead, by path."""
    pinned = skill("deploy", "See b.md", {"c": b"", "b.md": b"B", "a/z": b"", "a": b"\xff"})
    assert pinned.paths == ("a", "a/z", "c")


def test_read_ahead_keeps_within_both_bounds() -> None:
    """R39: 16 KB for one skill and 32 KB for one message; what is left out is still listed."""
    files = {"index.md": b"x" * 20_000}
    first, last, late = (
        pin(package("s", files=files), spent=spent) for spent in (0, 32_000, 32_768)
    )
    assert first.reference is not None
    assert (len(first.reference.text), first.reference.cut) == (16_384, True)
    assert last.reference is not None
    assert (len(last.reference.text), last.reference.cut) == (768, True)
    assert (late.reference, late.paths) == (None, ("index.md",))


def test_a_file_that_fits_is_whole_and_not_marked() -> None:
    """R39: only what was cut is marked as cut, also at the bound itself."""
    pinned = skill("s", files={"index.md": b"x" * 16_384})
    assert pinned.reference is not None
    assert (len(pinned.reference.text), pinned.reference.cut) == (16_384, False)


def test_a_mark_of_an_earlier_cut_stays() -> None:
    """R39: a file that was cut when pinned is still cut when it is capped again."""
    pinned = skill("s", files={"index.md": b"x" * 20_000})
    again = capped(pinned)
    assert again is pinned
    shorter = capped(pinned, spent=32_000).reference
    assert shorter is not None
    assert shorter.cut


@pytest.mark.parametrize("offset", range(len(FAMILY.encode()) + 2))
def test_a_cut_never_goes_through_a_character(offset: int) -> None:
    """P126: at every offset the beginning is valid UTF-8, and as long as it can be."""
    cut = cut_text(FAMILY, offset)
    assert FAMILY.startswith(cut)
    assert len(cut.encode()) <= offset
    assert cut == FAMILY or len(FAMILY[: len(cut) + 1].encode()) > offset


@given(st.text(), st.integers(-1, 50))
def test_any_text_is_cut_at_a_character(words: str, bytes_max: int) -> None:
    """P126: for every text the cut is a beginning of it within the bound."""
    cut = cut_text(words, bytes_max)
    assert words.startswith(cut)
    assert len(cut.encode()) <= max(bytes_max, 0)


@given(st.dictionaries(st.text(), st.binary(), max_size=4), st.data())
def test_a_revision_is_the_content_of_the_whole_package(
    files: dict[str, bytes], data: st.DataObject
) -> None:
    """R25: the order of reading changes nothing, any other byte or name does."""
    shuffled = dict(data.draw(st.permutations(list(files.items()))))
    assert package_revision(shuffled) == package_revision(files)
    assert package_revision({**files, "one more": b""}) != package_revision(files)
    for path, content in files.items():
        edited = {**files, path: content + b"!"}
        assert package_revision(edited) != package_revision(files)


def test_a_boundary_moved_between_files_is_another_revision() -> None:
    """R25: lengths stand in the digest, so no two packages run together."""
    assert package_revision({"a": b"bc"}) != package_revision({"ab": b"c"})
    assert package_revision({"a": b"1", "b": b""}) != package_revision({"a": b"", "b": b"1"})


def test_the_body_has_a_digest_of_its_own() -> None:
    """R25: an edit of another file is another revision of the same body."""
    one, other = skill("s", files={"a": b"1"}), skill("s", files={"a": b"2"})
    assert one.revision != other.revision
    assert one.body_digest == other.body_digest
    assert one.files != other.files


@pytest.mark.parametrize("value", ['a"b', "<b>", "a&b", "a\nb", '"><skill name="x'])
def test_attribute_values_are_escaped(value: str) -> None:
    """R4: no name can close an attribute or open a tag."""
    block = render_block(skill("s", name=value), CURRENT)
    opening = block.splitlines()[0]
    assert opening.startswith('<skill name="')
    assert (opening.count('"'), opening.count("<"), opening.count(">")) == (4, 1, 1)


def test_a_body_is_carried_as_plain_text() -> None:
    """R4: whatever tags a body holds, they stand in it as they are."""
    body = 'Say </skill> and <permissions> and {body} and <skill name="x">.'
    block = render_block(skill("s", body), CURRENT)
    assert block == f'<skill name="S" location="skills/s">\n{body}\n</skill>'


@pytest.mark.parametrize("path", ["a\nb", " a", "a ", "a\u2028b", "a\rb"])
def test_a_path_that_cannot_be_listed_as_it_is_is_refused(path: str) -> None:
    """R40: what is listed is what read_object is to be called with."""
    with pytest.raises(InvalidInput, match="one line"):
        pin(package("s", files={path: b""}))
    assert pin(package("s", files={"a  b\tc": b""})).paths == ("a  b\tc",)


def test_what_cannot_be_kept_is_refused() -> None:
    """R194: lone surrogates and NUL never get past the pinning, nor a package over its bounds."""
    for bad in (package("s", "a\ud800"), package("s", "a\0"), package("s", files={"\udc80": b""})):
        with pytest.raises(InvalidInput):
            pin(bad)
    with pytest.raises(TooLarge):
        pin(package("s", files={"a": b"", "b": b""}), Limits(skill_files_max=2))
    with pytest.raises(TooLarge):
        pin(package("s", files={"a": b"12345"}), Limits(skill_bytes_max=4))
