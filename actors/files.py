"""File tools: list, read and write inside the workspace's folder, and nowhere else.

They run on threads, since a disk may be slow, and open every path component by component (see
:mod:`greenroom.actors.confined`), so that no link, however placed, leads out (S8, S9).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from greenroom.actors.confined import list_folder, read_bytes, write_bytes
from greenroom.actors.text_range import LENGTH_DEFAULT, LENGTH_MAX, range_of, shown_range
from greenroom.actors.tool import Output, Tool, ToolContext, tool
from greenroom.protocol.errors import Refused, ToolFailed

FILE_BYTES_MAX: Final = 16_777_216
"""The largest file that is read."""
WRITTEN_BYTES_MAX: Final = 1_048_576
"""The largest content that one call writes."""
ENTRIES_MAX: Final = 2_000
"""Entries of one folder that are listed."""


def file_tools() -> tuple[Tool[object], ...]:
    """The three file tools; the folder is the calling context's."""
    return (list_files, read_file, write_file)


@tool(effect="read")
def list_files(context: ToolContext[object], path: str = ".") -> str:
    """List a folder of the workspace: one entry a line, folders with a slash, files with bytes.

    Args:
        path: the folder, relative to the workspace's files.
    """
    with _told():
        entries = list_folder(_folder(context), path, ENTRIES_MAX)
    shown = {"folder": "{0}/", "file": "{0}  {1}", "link": "{0}  (link, not followed)"}
    lines = [shown.get(each.kind, "{0}  (not a file)") for each in entries]
    listed = (line.format(each.name, each.size) for line, each in zip(lines, entries, strict=True))
    return "\n".join(listed) or "The folder is empty."


@tool(effect="read")
def read_file(
    context: ToolContext[object],
    path: str,
    start: Annotated[int, Meta(ge=0)] = 0,
    length: Annotated[int, Meta(ge=1, le=LENGTH_MAX)] = LENGTH_DEFAULT,
) -> Output:
    """Read a text file of the workspace, or a part of it.

    Args:
        path: the file, relative to the workspace's files.
        start: the byte to begin at.
        length: how many bytes to read.
    """
    with _told():
        data = read_bytes(_folder(context), path, FILE_BYTES_MAX)
    part = range_of(data, start, length, path)
    return Output(shown_range(part, path), part.mended)


@tool(effect="write", confined=True)
def write_file(context: ToolContext[object], path: str, content: str) -> str:
    """Write a text file of the workspace: create it, or replace all of it.

    Args:
        path: the file, relative to the workspace's files; folders on the way are created.
        content: the whole new text of the file.
    """
    data = content.encode()
    if len(data) > WRITTEN_BYTES_MAX:
        raise ToolFailed(
            f"The content has {len(data):,} bytes; one call writes {WRITTEN_BYTES_MAX:,} at most."
        )
    with _told():
        new = write_bytes(_folder(context), path, data)
    return f"{'Created' if new else 'Replaced'} {path}: {len(data)} bytes."


def _folder(context: ToolContext[object]) -> Path:
    if context.folder is None:
        raise ToolFailed("This workspace has no folder of files.")
    return context.folder


@contextmanager
def _told() -> Iterator[None]:
    """A refusal of the folder as one sentence for the model."""
    try:
        yield
    except Refused as refusal:
        raise ToolFailed(refusal.sentence) from refusal
