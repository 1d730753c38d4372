"""``greenroom export`` and ``import``: a session as a file, out of one store and into another."""

import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import trio
from cyclopts import Parameter
from rich.console import Console

from greenroom.actors import Policy, Workspace, open_host
from greenroom.actors.cli.chat_input import STDIN
from greenroom.actors.cli.faults import BadOption
from greenroom.actors.cli.looking import found, open_reading
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.places import data_folder, own_sample
from greenroom.actors.cli.running import run
from greenroom.actors.cli.stores import open_store
from greenroom.actors.cli.words import console, counted, named, size
from greenroom.actors.exporting import exported
from greenroom.actors.models.scripted import scripted
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import DEFAULT_LIMITS

READ_BYTES: Final = 1_048_576


def export(
    session: Annotated[str, Parameter(help="Its key, as `greenroom sessions` lists it.")],
    /,
    *,
    to: Annotated[
        Path | None, Parameter(help="The file to write; by default standard output.")
    ] = None,
    overwrite: Annotated[
        bool, Parameter(negative=(), help="Replace the file if it is there.")
    ] = False,
    options: Stored | None = None,
) -> int:
    """Write all of a session as lines of JSON: records, content, a digest over them.

    Every prompt that it sent can be rebuilt from them; `greenroom import` makes it a session again.
    """
    options = options or Stored()
    command = partial(_export, options, session, to, overwrite=overwrite)
    return run(command, debug=options.debug)


def import_(
    file: Annotated[
        str,
        Parameter(
            allow_leading_hyphen=True, help="What `greenroom export` wrote; - for standard input."
        ),
    ],
    /,
    *,
    session: Annotated[str, Parameter(help="The key that it is to have here; it must be free.")],
    workspace: Annotated[
        Path | None, Parameter(help="Its folder of agents and skills; by default the sample.")
    ] = None,
    options: Stored | None = None,
) -> int:
    """Make an exported session again, whole or not at all, in a store that no host holds.

    It goes on as it was: conversation, prompt, turns and keys; no model is called.
    """
    options = options or Stored()

    async def go() -> int:
        folder = own_sample(data_folder()) if workspace is None else workspace
        loaded = await trio.to_thread.run_sync(Workspace.folder, folder)
        return await _import(console(), loaded, options, file, session)

    return run(go, debug=options.debug)


# --- export ---------------------------------------------------------------------------------------


async def _export(options: Stored, key: str, to: Path | None, *, overwrite: bool) -> int:
    async with open_reading(options) as store:
        found(store, options.tenant, key)  # told with the keys that are like it
        lines = exported(store, SessionId(options.tenant, key))
        place = nullcontext(sys.stdout.buffer) if to is None else _made(to, overwrite=overwrite)
        count = written = 0
        with place as file:
            for line in lines:
                file.write(line + b"\n")
                count, written = count + 1, written + len(line) + 1
                await trio.lowlevel.checkpoint()
            file.flush()
    print(f"{named(key)}: {counted(count, 'line')}, {size(written)}", file=sys.stderr)
    return 0


@contextmanager
def _made(to: Path, *, overwrite: bool) -> Generator[BinaryIO]:
    """A new file at that place once it is whole; one cut short never stands there."""
    if to.exists() and not overwrite:
        raise BadOption(f"{str(to)!r} is there already.", way_out="Add --overwrite to replace it.")
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".export-") as beside:
        part = Path(beside) / "part"
        with part.open("wb") as file:
            yield file
        part.replace(to)


# --- import ---------------------------------------------------------------------------------------


async def _import(
    console: Console, workspace: Workspace, options: Stored, file: str, key: str
) -> int:
    keys = {"default", *(agent.model for agent in workspace.agents.values())}
    source = nullcontext(STDIN) if file == "-" else _opened(Path(file))
    with source as descriptor:
        async with (
            open_store(options.path) as kept,
            open_host(
                kept,
                workspace=workspace,
                models=dict.fromkeys(keys, scripted()),
                policy=Policy(revive=False),
            ) as host,
            aclosing(_lines(descriptor)) as lines,
        ):
            session = await host.tenant(options.tenant).import_session(key, lines)
            state = await session.state()
            turns = await session.turns().count()
    console.print(
        f"{named(key)}: agent {named(state.agent)} · {counted(turns, 'turn')}"
        f" · {counted(len(state.messages), 'message')}"
    )
    return 0


@contextmanager
def _opened(path: Path) -> Generator[int]:
    with path.open("rb") as file:
        yield file.fileno()


async def _lines(descriptor: int) -> AsyncGenerator[bytes]:
    """The lines of a file, read in a thread: it may be a pipe that nobody writes into."""
    read: Callable[[], bytes] = partial(os.read, descriptor, READ_BYTES)
    buffer = bytearray()
    while len(buffer) <= DEFAULT_LIMITS.export_line_bytes_max:
        received = await trio.to_thread.run_sync(read, abandon_on_cancel=True)
        if not received:
            break
        start = len(buffer)
        buffer += received
        while (end := buffer.find(b"\n", start)) >= 0:
            yield bytes(buffer[:end])
            del buffer[: end + 1]
            start = 0
    if buffer:
        yield bytes(buffer)
