"""Laws of reading what a package holds: names before contents, and bounds while reading."""

from collections.abc import Callable

import pytest

from greenroom.actors.package_entries import Entry, read_entries
from greenroom.protocol.errors import SameName, TooLarge
from greenroom.protocol.limits import Limits
from greenroom.protocol.refusal import BadPlugin

LIMITS = Limits(plugin_files_max=4, plugin_file_bytes_max=6, plugin_bytes_max=10)


def giving(data: bytes) -> Callable[[int], bytes]:
    return lambda most: data[:most]


def untouched(_: int) -> bytes:
    raise AssertionError("read before all names were looked at")


def test_files_are_read_by_their_paths() -> None:
    """R162: what is hidden is neither read nor there."""
    entries = [
        Entry("a", giving(b"1")),
        Entry("b/", None),
        Entry("./b//c", giving(b"2")),
        Entry("b/.git", untouched),
    ]
    assert read_entries(entries, LIMITS) == {("a",): b"1", ("b", "c"): b"2"}


@pytest.mark.parametrize(
    ("name", "error"),
    [("../x", BadPlugin), ("/x", BadPlugin), ("A", SameName), ("a/b", SameName), ("a", SameName)],
)
def test_every_name_is_looked_at_before_anything_is_read(name: str, error: type[Exception]) -> None:
    """R163: the last one of them too, and what is hidden alike."""
    with pytest.raises(error):
        read_entries([Entry("a", untouched), Entry(name, untouched)], LIMITS)
    with pytest.raises(BadPlugin):
        read_entries([Entry("a", untouched), Entry(".x/../../y", untouched)], LIMITS)


def test_entries_are_counted_as_they_come() -> None:
    """R194: what has no end is left at the bound."""

    def endless() -> object:
        number = 0
        while True:
            number += 1
            assert number <= 5
            yield Entry(f"folder-{number}", None)

    with pytest.raises(TooLarge, match="4"):
        read_entries(endless(), LIMITS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sizes", "where"),
    [((7,), "0"), ((6, 5), "1"), ((5, 5, 1), "2"), ((1, 1 << 40), "1")],
)
def test_bytes_are_counted_as_they_are_read(sizes: tuple[int, ...], where: str) -> None:
    """R194: never more is asked for than one byte over what is allowed; the entry is named."""
    asked: list[int] = []

    def endless(size: int) -> Callable[[int], bytes]:
        def read(most: int) -> bytes:
            asked.append(most)
            return b"x" * min(most, size)

        return read

    entries = [Entry(str(number), endless(size)) for number, size in enumerate(sizes)]
    with pytest.raises(TooLarge) as refusal:
        read_entries(entries, LIMITS)
    assert refusal.value.facts["where"] == where
    assert max(asked) <= 7
    allowed = [Entry("a", endless(6)), Entry("b", endless(4))]
    assert sum(map(len, read_entries(allowed, LIMITS).values())) == 10
