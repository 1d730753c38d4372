"""llama.cpp's server as a child process of ours: on this machine only, gone when we are.

A process and not a thread, since a fault in it must not end the host, and its work must not hold
the loop. It has a session of its own, so Ctrl-C in a terminal reaches the host alone, which then
closes it. It serves on a free port of the loopback address.
"""

import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE
from typing import IO, Final

import attrs
import trio

from greenroom.protocol.errors import EngineFailed, ExtraMissing

_CHILD: Final = Path(__file__).with_name("engine_process.py")
_CLOSE_SECONDS: Final = 3.0
_ADDRESS_BYTES_MAX: Final = 4_096
_LOG_SHOWN: Final = 600


@attrs.frozen(kw_only=True)
class EngineOptions:
    """How the engine runs."""

    path: Path
    """The weights, a gguf file."""
    slots: int = 4
    """Answers that are computed at once; each slot keeps one conversation's tokens."""
    slot_tokens: int = 8_192
    """The window of each slot."""
    answer_tokens: int = 512
    """No answer is longer, whatever the request says nothing about."""
    threads: int = attrs.field(factory=lambda: max(1, (os.cpu_count() or 2) // 2))
    """Half of the machine: its threads wait for each other by spinning, and where the host or its
    tools take a core away from one of them, all of them stand still."""
    temperature: float = 0.2
    repeat_penalty: float = 1.1
    """Both for requests that ask for nothing else: so small a model repeats itself without end."""
    start_seconds: float = 120.0

    def for_child(self) -> str:
        """The options as the child's argument, in the engine's own names."""
        return json.dumps(
            {
                "path": str(self.path),
                "threads": self.threads,
                "hostnames": ["127.0.0.1"],
                "port": 0,
                "n_parallel": self.slots,
                "n_ctx": self.slots * self.slot_tokens,
                "n_predict": self.answer_tokens,
                "sampling": {
                    "temp": self.temperature,
                    "penalty_repeat": self.repeat_penalty,
                    "penalty_last_n": 256,
                },
                # Parked prompts can come back in a foreign conversation.
                "cache_ram_mib": 0,
                "fit_params": False,
                "offline": True,
                "ui": False,
                "verbosity": 1,
            }
        )


@attrs.define(eq=False)
class Engine:
    """A running engine."""

    url: str
    """Without a path, such as ``http://127.0.0.1:8080``."""
    _process: trio.Process = attrs.field(repr=False)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the child is still there."""
        return self._process.poll() is None

    async def aclose(self) -> None:
        """End the child, kindly and then for certain; safe to call again and under a cancel."""
        await _end(self._process)


def check_engine_installed() -> None:
    """Raise :class:`ExtraMissing` unless the engine is there."""
    if find_spec("xllamacpp") is None:
        raise ExtraMissing(
            "A local model needs xllamacpp: pip install 'greenroom[local]'.", extra="local"
        )


async def start_engine(options: EngineOptions) -> Engine:
    """Start the engine and wait until it serves; the caller closes it.

    Raises:
        EngineFailed: it ended, or did not serve in time; with the last lines that it wrote.
        ExtraMissing: it is not installed.
    """
    check_engine_installed()
    with tempfile.TemporaryFile() as log:
        process = await trio.lowlevel.open_process(
            # -P: beside the child's file stand modules with the names of packages.
            [sys.executable, "-P", str(_CHILD), options.for_child()],
            stdin=PIPE,
            stdout=PIPE,
            stderr=log,
            start_new_session=True,
        )
        try:
            with trio.move_on_after(options.start_seconds):
                url = await _first_line(process)
                if url.startswith("http://127.0.0.1:"):
                    return Engine(url, process)
                raise EngineFailed(f"The engine ended: {_end_of(log)}", path=str(options.path))
            raise EngineFailed(
                f"The engine did not serve within {options.start_seconds:g} s: {_end_of(log)}",
                path=str(options.path),
            )
        except BaseException:
            await _end(process)
            raise


@asynccontextmanager
async def open_engine(options: EngineOptions) -> AsyncGenerator[Engine]:
    """An engine for the length of a block; see :func:`start_engine`."""
    engine = await start_engine(options)
    try:
        yield engine
    finally:
        await engine.aclose()


async def _first_line(process: trio.Process) -> str:
    assert process.stdout is not None
    line = b""
    while b"\n" not in line and len(line) < _ADDRESS_BYTES_MAX:
        received = await process.stdout.receive_some(_ADDRESS_BYTES_MAX)
        if not received:
            return ""
        line += received
    return line.partition(b"\n")[0].decode(errors="replace")


async def _end(process: trio.Process) -> None:
    with trio.CancelScope(shield=True):
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                await stream.aclose()
        with trio.move_on_after(_CLOSE_SECONDS):
            await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


def _end_of(log: IO[bytes]) -> str:
    """What the engine said last."""
    log.seek(0)
    text = log.read().decode(errors="replace").strip()
    return " ".join(text[-_LOG_SHOWN:].split()) or "it said nothing."
