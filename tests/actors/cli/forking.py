"""Runs commands in forks of a process that has imported them: a third of a second less for each.

Each is still a process of its own, from ``main`` to the interpreter's exit, with its arguments,
environment, folder, streams, signals and exit code. What Python itself reads when it starts
(``PYTHON...``) is not read again.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, Self

import attrs

from tests.actors.cli.forked import ASKED, NUMBER

PROGRAM: Final = Path(__file__).with_name("forked.py")
SECONDS: Final = 60.0
"""A command that takes longer hangs."""


@attrs.define(eq=False)
class Forking:
    """Our end of that process. It runs one command at a time."""

    _process: subprocess.Popen[bytes]
    _door: socket.socket
    _seconds: float = SECONDS
    _turn: threading.Lock = attrs.field(factory=threading.Lock)

    @classmethod
    def begin(cls, environment: Mapping[str, str], seconds: float = SECONDS) -> Self:
        """Begin it; it imports while we go on. A command may take ``seconds``."""
        ours, theirs = socket.socketpair()
        with theirs:
            # Without the folder of the program in the path: its neighbours are no modules here.
            program = [sys.executable, "-P", str(PROGRAM)]
            return cls(
                subprocess.Popen(program, env=environment, stdin=theirs.fileno()), ours, seconds
            )

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], given: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``greenroom ...`` to its end, with ``given`` as its input.

        Raises:
            TimeoutError: it took too long, and was killed.
        """
        about = json.dumps([arguments, {**environment}, os.getcwd()])  # noqa: PTH109 - a text
        with ExitStack() as opened:
            files = [opened.enter_context(TemporaryFile("w+")) for _ in range(4)]
            for file, text in zip(files, (about, given), strict=False):
                file.write(text)
                file.seek(0)
            code = self._code([file.fileno() for file in files])
            for file in files:
                file.seek(0)
            return subprocess.CompletedProcess(
                arguments, code, stdout=files[2].read(), stderr=files[3].read()
            )

    def _code(self, descriptors: Sequence[int]) -> int:
        with self._turn:
            socket.send_fds(self._door, [ASKED], descriptors)
            fork = self._number(None)
            try:
                return self._number(self._seconds)
            except TimeoutError:
                os.kill(fork, signal.SIGKILL)
                self._number(None)
                raise

    def _number(self, seconds: float | None) -> int:
        number: int
        self._door.settimeout(seconds)
        (number,) = NUMBER.unpack(self._door.recv(NUMBER.size, socket.MSG_WAITALL))
        return number

    def end(self) -> None:
        """Let it end, and wait for that."""
        self._door.close()
        self._process.wait()
