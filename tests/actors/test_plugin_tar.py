"""Laws of tars: what honest programs write is read, and whatever else is refused with its place."""

import io
import struct
import tarfile
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.plugin_tar import BLOCK, LONG_NAME_MAX, tar_entries
from greenroom.protocol.errors import GreenroomError, TooLarge
from greenroom.protocol.refusal import BadPlugin
from tests.actors.packing import FILES, pairs, tarred, tarred_as

FORMS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
NAMES = st.text(st.sampled_from("aä日/."), min_size=1, max_size=8).filter(
    lambda name: not name.endswith("/")
)


def read(data: bytes) -> list[tuple[str, bytes | None]]:
    """The entries of a tar with their contents; None for a folder."""
    return [
        (entry.name, None if entry.read is None else entry.read(1 << 30))
        for entry in tar_entries(data)
    ]


@given(files=st.lists(st.tuples(NAMES, st.binary(max_size=1_100))), form=st.sampled_from(FORMS))
def test_what_is_packed_is_read(files: list[tuple[str, bytes]], form: int) -> None:
    """R162: names and contents, in every form that the standard library packs."""
    assert read(tarred(files, form)) == files


@pytest.mark.parametrize("form", FORMS[1:])
@pytest.mark.parametrize("length", [99, 100, 101, 155, 256, 5_000])
def test_long_names_are_read(length: int, form: int) -> None:
    """R162: of the form that GNU has for them, and of that of pax."""
    name = "n" * length
    assert read(tarred([(name, b"x"), ("short", b"y")], form)) == [(name, b"x"), ("short", b"y")]
    deep = f"{'d' * 120}/{'f' * 90}"
    assert read(tarred([(deep, b"x")], tarfile.USTAR_FORMAT)) == [(deep, b"x")]


def test_folders_are_told_from_files() -> None:
    """R162: by their kind, or in old tars by a slash."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        folder = tarfile.TarInfo("a")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        old = tarfile.TarInfo("b/")
        old.type = tarfile.AREGTYPE
        archive.addfile(old)
    assert read(made.getvalue()) == [("a/", None), ("b/", None)]


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CONTTYPE,
        tarfile.GNUTYPE_SPARSE,
        b"K",
        b"D",
        b"V",
        b"Z",
    ],
)
def test_what_is_neither_file_nor_folder_is_refused(kind: bytes) -> None:
    """R163: links, devices, pipes, holes and whatever else, with the entry named."""
    with pytest.raises(BadPlugin) as refusal:
        read(tarred_as(kind))
    assert refusal.value.facts["where"] == "review/odd"


@pytest.mark.parametrize("form", FORMS)
def test_a_tar_that_is_cut_is_refused_wherever(form: int) -> None:
    """R163: also between two entries, where a half would pass for the whole."""
    whole = tarred([("a", b"x" * 700), ("n" * 90, b"y"), ("b", b"")], form)
    end = len(whole.rstrip(b"\0")) // BLOCK * BLOCK + BLOCK
    for length in range(0, end, 64):
        with pytest.raises(BadPlugin):
            read(whole[:length])
    assert len(read(whole[: end + BLOCK])) == 3
    with pytest.raises(BadPlugin) as refusal:
        read(whole[: BLOCK + 9])
    assert refusal.value.facts["where"] == "a"


def test_a_tar_that_is_damaged_is_refused() -> None:
    """R163: each byte of a header counts, and none is taken for the end."""
    whole = bytearray(tarred(FILES))
    second = BLOCK * 2
    for place in range(second, second + 345):
        damaged = bytearray(whole)
        damaged[place] ^= 0x01
        with pytest.raises(GreenroomError):
            read(bytes(damaged))


def test_what_goes_on_behind_the_end_is_refused() -> None:
    """R163: what one program reads there another would not."""
    with pytest.raises(BadPlugin, match="behind its end"):
        read(tarred(FILES) + tarred({"other": "x"}))


def header(name: bytes, kind: bytes, size: bytes, magic: bytes = b"ustar\x0000") -> bytes:
    """A header with a right sum, whatever stands in it."""
    block = bytearray(
        struct.pack(
            "100s8s8s8s12s12s8sc100s8s247x",
            name,
            b"",
            b"",
            b"",
            size,
            b"",
            b" " * 8,
            kind,
            b"",
            magic,
        )
    )
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


END = bytes(2 * BLOCK)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def pax(content: bytes, kind: bytes = b"x") -> bytes:
    return header(b"pax", kind, b"%o" % len(content)) + padded(content)


@pytest.mark.parametrize(
    "size",
    [
        b"\x80" + b"\xff" * 11,
        b"\xff" * 12,
        b"-1",
        b"8",
        b"",
        b" ",
        b"1 1",
        b"7" * 12,
        b"0x10",
        b"9",
    ],
)
def test_a_size_that_is_none_is_refused(size: bytes) -> None:
    """R163: never guessed, and never believed further than there is content."""
    with pytest.raises(BadPlugin):
        read(header(b"a", b"0", size) + END)


@pytest.mark.parametrize(
    "content",
    [
        b"8 path=a\n",
        b"99 path=a\n",
        b"0 path=a\n",
        b"-9 path=a\n",
        b"path=a\n",
        b"8 path\n\n",
        b"11 path=a\n",
        b"10 size=-\n",
        b"13 size=1e3\n\n",
        b"99999999999999999999 path=a\n",
        b"22 GNU.sparse.major=1\n",
        b"\0",
    ],
)
def test_a_long_header_that_is_damaged_is_refused(content: bytes) -> None:
    """R163: each record has its length, and says what it says once."""
    with pytest.raises(BadPlugin):
        read(pax(content) + header(b"a", b"0", b"0") + END)


def test_what_is_said_of_all_entries_moves_none() -> None:
    """R163: a comment is passed over, a path or a size for all is refused."""
    entry = header(b"a", b"0", b"1") + padded(b"x") + END
    assert read(pax(b"15 comment=abc\n", b"g") + entry) == [("a", b"x")]
    for content in (b"9 path=b\n", b"9 size=0\n"):
        with pytest.raises(BadPlugin):
            read(pax(content, b"g") + entry)


def test_a_long_header_speaks_of_the_next_entry_only() -> None:
    """R163: of its name and of its size, which is how much is read."""
    data = pax(b"9 path=b\n") + pax(b"9 size=2\n") + header(b"a", b"0", b"0") + padded(b"xy")
    assert read(data + header(b"c", b"0", b"0") + END) == [("b", b"xy"), ("c", b"")]
    with pytest.raises(BadPlugin):
        read(pax(b"12 size=9999\n") + header(b"a", b"0", b"0") + END)


def test_long_headers_have_a_bound_and_cost_nothing() -> None:
    """R194: a header of digits, over which some readers sit for hours, and one that is too long."""
    started = time.process_time()
    with pytest.raises(BadPlugin):
        read(pax(b"1" * LONG_NAME_MAX) + END)
    assert time.process_time() - started < 1
    for kind in (b"x", b"g", b"L"):
        with pytest.raises(TooLarge, match=f"{LONG_NAME_MAX:,}"):
            read(pax(b"1" * (LONG_NAME_MAX + 1), kind) + END)


@pytest.mark.parametrize("kind", [b"5", b"0"])
def test_a_folder_has_no_content(kind: bytes) -> None:
    """R163: what one program would read as content another takes for the next header."""
    with pytest.raises(BadPlugin):
        read(header(b"a/", kind, b"1") + padded(b"x") + END)


def test_a_name_is_utf8() -> None:
    """R194: its bytes are told as far as they can be."""
    with pytest.raises(BadPlugin, match="UTF-8"):
        read(header(b"a\xff", b"0", b"0") + END)


@pytest.mark.parametrize("data", [b"", b"hello", b"x" * 600, bytes(100), b"BZh9", b"\xfd7zXZ\0"])
def test_what_is_no_tar_is_refused(data: bytes) -> None:
    """R163: as what it is not."""
    with pytest.raises(BadPlugin, match=r"archive|tar"):
        read(data)


@given(data=st.binary(max_size=2_000), place=st.integers(0, 9_000))
def test_whatever_is_written_into_a_tar_ends_in_a_refusal_or_in_entries(
    data: bytes, place: int
) -> None:
    """R163: never in another error."""
    whole = bytearray(tarred(pairs(FILES)))
    whole[place : place + len(data)] = data
    with suppress(BadPlugin, TooLarge):
        read(bytes(whole))
