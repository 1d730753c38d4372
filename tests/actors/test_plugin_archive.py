"""Laws of archives: unpacked in memory, within bounds, by names that lead nowhere else."""

import bz2
import io
import lzma
import random
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.plugin_archive import unpacked
from greenroom.protocol.errors import InvalidInput, SameName, TooLarge
from greenroom.protocol.limits import Limits
from greenroom.protocol.refusal import BadPlugin
from tests.actors.packing import FILES, Content, gzipped, tarred, zipped, zipped_as

PACKERS: dict[str, Callable[[Content], bytes]] = {
    "zip": zipped,
    "stored": lambda files: zipped(files, zipfile.ZIP_STORED),
    "tar": tarred,
    "tar.gz": lambda files: gzipped(tarred(files)),
}
packers = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
SMALL = Limits(plugin_bytes_max=20_000, plugin_file_bytes_max=15_000, plugin_files_max=20)


@packers
def test_every_archive_of_the_same_files_is_the_same(pack: Callable[[Content], bytes]) -> None:
    """R162: by the components of their paths, hidden ones left out."""
    found = unpacked(pack({**FILES, ".git/config": "x", "./a//b": b"\xff", "review/": b""}))
    expected = {tuple(name.split("/")): text.encode() for name, text in FILES.items()}
    assert found == {**expected, ("a", "b"): b"\xff"}


@packers
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("../evil", BadPlugin),
        ("review/../../evil", BadPlugin),
        ("/etc/evil", BadPlugin),
        ("C:/evil", BadPlugin),
        ("..\\evil", BadPlugin),
        ("review\\evil", BadPlugin),
        ("a\nb", BadPlugin),
        ("a\u202eb", BadPlugin),
        (".hidden/../../evil", BadPlugin),
        ("plugin.yaml", SameName),
        ("./plugin.yaml", SameName),
        ("Plugin.yaml", SameName),
        ("Review/other.md", SameName),
        ("review/SKILL.md/x", SameName),
        ("review", SameName),
        ("/".join("x" * 17), TooLarge),
        ("x" * 2_000, TooLarge),
    ],
)
def test_a_hostile_name_refuses_the_whole_archive(
    pack: Callable[[Content], bytes], name: str, error: type[Exception]
) -> None:
    """R163: wherever in it, with what and where in the facts."""
    for files in ([*FILES.items(), (name, "x")], [(name, "x"), *FILES.items()]):
        with pytest.raises(error) as refusal:
            unpacked(pack(files))
        assert isinstance(refusal.value, InvalidInput | SameName)
        assert refusal.value.facts["where"]


def test_a_name_that_ends_early_is_looked_at_whole() -> None:
    """R194: a NUL in a zip, behind which other programs read nothing."""
    data = zipped([*FILES.items(), ("x.txt", "x")]).replace(b"x.txt", b"x\0.xt")
    with pytest.raises(BadPlugin):
        unpacked(data)


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        (stat.S_IFLNK | 0o777, "review/odd"),
        (stat.S_IFIFO | 0o644, "review/odd"),
        (stat.S_IFCHR | 0o644, "review/odd"),
        (stat.S_IFBLK | 0o644, "review/odd"),
        (stat.S_IFSOCK | 0o644, "review/odd"),
        (stat.S_IFDIR | 0o755, "review/odd"),
        (stat.S_IFREG | 0o644, "review/odd/"),
        (stat.S_IFLNK | 0o777, ".hidden"),
    ],
)
def test_a_zip_holds_files_and_folders_only(mode: int, name: str) -> None:
    """R163: links, devices and pipes are refused, hidden or not, and what is both or neither."""
    with pytest.raises(BadPlugin) as refusal:
        unpacked(zipped_as(mode, name))
    assert refusal.value.facts["where"] == name


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_two_ways_of_packing_are_read(how: int) -> None:
    """R194: of the others it is not known how much memory they take."""
    with pytest.raises(BadPlugin, match="store or deflate"):
        unpacked(zipped(FILES, how))
    for packed in (bz2.compress(tarred(FILES)), lzma.compress(tarred(FILES))):
        with pytest.raises(BadPlugin, match=r"tar\.gz"):
            unpacked(packed)


def test_an_encrypted_entry_is_refused() -> None:
    """R163: what cannot be shown cannot be approved."""
    data = bytearray(zipped(FILES))
    first = data.index(b"PK\x01\x02")
    data[first + 8] |= 1
    with pytest.raises(BadPlugin, match="encrypted"):
        unpacked(bytes(data))


# --- what expands without end --------------------------------------------------------------------


def peak(data: bytes, limits: Limits = SMALL) -> int:
    """The most memory that refusing an archive as too large took."""
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge) as refusal:
            unpacked(data, limits)
        assert refusal.value.facts["bound"]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@packers
def test_what_unpacks_to_more_than_it_may_is_left_at_the_bound(
    pack: Callable[[Content], bytes],
) -> None:
    """R194: one file of 15 MB, and files that are each small enough; the memory stays small."""
    for files in (
        {**FILES, "big": bytes(15_000_000)},
        {**FILES, **{f"big-{number}": bytes(14_000) for number in range(3)}},
    ):
        assert peak(pack(files)) < 1_000_000 + 2 * len(files)


def test_a_size_in_a_header_is_believed_by_nobody() -> None:
    """R194: a zip that says of 15 MB that they are 10 bytes, or of 10 that they are 4 GB."""
    data = bytearray(zipped([("big", bytes(15_000_000))]))
    for signature, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = data.index(signature) + at
        data[place : place + 4] = struct.pack("<I", 10)
    with pytest.raises(InvalidInput):
        unpacked(bytes(data), SMALL)
    small = bytearray(zipped([("a", b"x" * 10)]))
    place = small.index(b"PK\x01\x02") + 24
    small[place : place + 4] = struct.pack("<I", 0xFFFFFFF0)
    with suppress(InvalidInput):
        assert unpacked(bytes(small), SMALL) == {("a",): b"x" * 10}


def test_one_content_under_many_names_counts_each_time() -> None:
    """R194: entries of a zip that all point at the same bytes."""
    data = zipped([(f"{number:02}", b"x" * 9_000) for number in range(10)])
    first = data.index(b"PK\x01\x02")
    listed = bytearray(data[first:])
    place = 0
    while (place := listed.find(b"PK\x01\x02", place)) >= 0:
        listed[place + 42 : place + 46] = struct.pack("<I", 0)
        place += 4
    with pytest.raises(InvalidInput):
        unpacked(data[:first] + bytes(listed), SMALL)


@packers
def test_entries_are_counted(pack: Callable[[Content], bytes]) -> None:
    """R194: empty ones too, and one more than there may be."""
    few = Limits(plugin_files_max=20, plugin_bytes_max=20_000)
    assert peak(pack([(str(number), b"") for number in range(21)]), few) < 1_000_000
    assert len(unpacked(pack([(str(number), b"") for number in range(20)]), few)) == 20


def test_a_list_of_entries_is_counted_before_it_is_made() -> None:
    """R194: of a zip all of it would be made at once."""
    many = zipped([(str(number), b"") for number in range(10_000)])
    assert peak(many, Limits(plugin_files_max=20)) < len(many)


def test_an_archive_within_an_archive_is_a_file() -> None:
    """R194: nothing is unpacked twice."""
    inner = zipped(FILES)
    assert unpacked(gzipped(tarred({"inner.zip": inner}))) == {("inner.zip",): inner}


def test_the_archive_itself_has_a_bound() -> None:
    """R194: before anything of it is looked at."""
    with pytest.raises(TooLarge, match="archive has more than 101,920"):
        unpacked(b"PK\x03\x04" + bytes(101_917), SMALL)


# --- what is none --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"id: reviewer",
        b"PK\x03\x04",
        b"PK\x05\x06" + bytes(18),
        b"\x1f\x8b",
        gzipped(b""),
        gzipped(b"hello"),
        gzipped(tarred(FILES))[:-9],
        b"#!" + zipped(FILES),
        zipped(FILES)[:-1],
    ],
    ids=range(10),
)
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    """R163: empty, cut, of another kind, or a program with a zip behind it."""
    if data[:4] == b"PK\x05\x06":
        assert unpacked(data) == {}
        return
    with pytest.raises(BadPlugin) as refusal:
        unpacked(data)
    assert refusal.value.facts["where"]


@given(seed=st.integers(), count=st.integers(1, 8), pack=st.sampled_from(list(PACKERS)))
def test_a_damaged_archive_ends_in_a_refusal_or_in_files(seed: int, count: int, pack: str) -> None:
    """R163: in no other error, whatever is damaged."""
    chance = random.Random(seed)
    data = bytearray(PACKERS[pack](FILES))
    for _ in range(count):
        data[chance.randrange(len(data))] = chance.randrange(256)
    with suppress(BadPlugin, TooLarge, SameName):
        unpacked(bytes(data), SMALL)


def test_a_zip_that_was_added_to_is_read_by_its_last_list() -> None:
    """R163: what is shown is what is read, and only that."""
    made = io.BytesIO(zipped(FILES))
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("more.md", "x")
    assert ("more.md",) in unpacked(made.getvalue())
