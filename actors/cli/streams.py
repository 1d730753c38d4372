"""The standard streams of a command: always three, and output that is lost is told once.

A shell may start a program without one of them (``>&-``). The next file that is opened would get
its number, and what is meant for a person would be written into a store. Output that cannot be
written (a full disk, a reader that has left) would be told by Python in its own way, at its exit
once more. So the commands write through streams of their own.
"""

import os
import select
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any, Final, TextIO

_AS_MISSING: Final = ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY))
"""How the null device stands in for a stream: what is written to output without one still fails."""


class OutputLost(Exception):
    """Standard output takes nothing more."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"Standard output cannot be written: {error.strerror}.")
        self.reader_left = isinstance(error, BrokenPipeError)


class _Output(FileIO):
    """Standard output. Its first write that fails raises :class:`OutputLost`; later ones go
    nowhere, for the loss was told, and Python flushes once more at its exit.
    """

    def write(self, data: Any, /) -> int:
        try:
            # A pipe that is full, and that another program has made not to wait.
            while (written := super().write(data)) is None:
                select.select((), (self,), ())
            return written
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            raise OutputLost(error) from error


class _Errors(FileIO):
    """Standard error. If it cannot be written there is nobody left to tell; the exit code does."""

    def write(self, data: Any, /) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        return len(data) if written is None else written


def open_streams() -> None:
    """Put streams of our own in place of Python's: once, before any other file is opened."""
    for descriptor, mode in _AS_MISSING:
        if not _is_open(descriptor):
            # The lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, mode), True)  # noqa: FBT003
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Errors(2, "w", closefd=False), sys.stderr, by_line=True)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _text(raw: FileIO, before: TextIO | None, *, by_line: bool = False) -> TextIO:
    """A text stream over ``raw``; one that knows few letters gets what it can show."""
    return TextIOWrapper(
        BufferedWriter(raw),
        encoding=None if before is None else before.encoding,
        errors="replace",
        line_buffering=by_line or raw.isatty(),
    )
