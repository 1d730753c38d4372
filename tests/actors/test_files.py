"""Laws of the file tools: what a model can do with them, and what it is told."""

from pathlib import Path

import msgspec
import pytest

from greenroom.actors.files import WRITTEN_BYTES_MAX, file_tools
from greenroom.actors.tool import Output, ToolContext
from greenroom.protocol.errors import ToolFailed
from greenroom.protocol.identity import SessionId

TOOLS = {each.name: each for each in file_tools()}


async def call(name: str, folder: Path | None, **arguments: object) -> Output:
    context = ToolContext(
        session=SessionId("t", "k"), person=None, turn=1, call="c1-0-0", deps=None, folder=folder
    )
    return await TOOLS[name].run(context, msgspec.json.encode(arguments).decode())


def test_only_writing_writes() -> None:
    """R172: the effects by which calls are decided."""
    effects = {name: (each.effect, each.confined) for name, each in TOOLS.items()}
    assert effects == {
        "list_files": ("read", False),
        "read_file": ("read", False),
        "write_file": ("write", True),
    }
    assert all(each.on_thread for each in TOOLS.values())


async def test_what_is_written_is_read_and_listed(tmp_path: Path) -> None:
    """A file goes through as it is; a long one in parts."""
    told = await call("write_file", tmp_path, path="notes/a.md", content="héllo\n")
    assert told.text == "Created notes/a.md: 7 bytes."
    assert (await call("read_file", tmp_path, path="notes/a.md")).text == (
        "[notes/a.md: whole]\nhéllo\n"
    )
    part = await call("read_file", tmp_path, path="notes/a.md", start=1, length=1)
    assert part.text == "[notes/a.md: bytes 1 to 3 of 7; go on with start=3]\né"
    (tmp_path / "way").symlink_to(tmp_path / "notes")
    assert (await call("list_files", tmp_path)).text == "notes/\nway  (link, not followed)"
    assert (await call("list_files", tmp_path, path="notes")).text == "a.md  7"


async def test_names_that_are_no_text_are_mended(tmp_path: Path) -> None:
    """R194, P128: a file name of any bytes does not end a turn."""
    (tmp_path / "a").mkdir()
    with open(str(tmp_path / "a").encode() + b"/\xff.txt", "wb"):  # noqa: PTH123, ASYNC230
        pass
    listed = await call("list_files", tmp_path, path="a")
    assert listed == Output("\ufffd.txt  0", mended=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "../secret"}),
        ("read_file", {"path": "gone"}),
        ("read_file", {"path": "binary"}),
        ("list_files", {"path": "/etc"}),
        ("write_file", {"path": "../secret", "content": ""}),
        ("write_file", {"path": "big", "content": "é" * (WRITTEN_BYTES_MAX // 2 - 50) + "é" * 60}),
        ("write_file", {"path": ".", "content": ""}),
    ],
)
async def test_a_refusal_is_a_sentence_for_the_model(
    tmp_path: Path, name: str, arguments: dict[str, str]
) -> None:
    """S8: no path of the machine in it, and nothing was touched."""
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "binary").write_bytes(b"\x89PNG\0")
    (tmp_path / "secret").write_text("kept")
    with pytest.raises(ToolFailed) as failed:
        await call(name, folder, **arguments)
    assert str(tmp_path) not in failed.value.sentence
    assert (tmp_path / "secret").read_text() == "kept"


async def test_without_a_folder_there_are_no_files() -> None:
    """A workspace without files says so."""
    with pytest.raises(ToolFailed, match="no folder"):
        await call("list_files", None)
