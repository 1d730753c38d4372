"""Laws of the standard streams: a command never trips over one, and says so if it can."""

import fcntl
import os
import shlex
import subprocess
import sys
import threading

import pytest

from tests.actors.cli.commands import command, environment
from tests.actors.cli.conftest import Kept

KEY = "demo-0-0003"
HELP, USAGE = ("--help",), ("nix",)
READING = (("sessions",), ("sessions", "--json"), ("show", KEY), ("request", KEY, 1))


def typed(kept: Kept, arguments: tuple[object, ...], redirected: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command line with something redirected."""
    store = ("--store", kept.store) if arguments in READING else ()
    line = shlex.join(command(*arguments, *store))
    done = subprocess.run(
        ["/bin/sh", "-c", f"{line} {redirected}"],
        env=environment(kept.folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"])
@pytest.mark.parametrize(
    "arguments",
    [HELP, ("--version",), ("schema",), *READING, ("chat", "--model", "scripted")],
    ids=lambda given: given[0],
)
def test_output_that_cannot_be_written_is_told_once(
    kept: Kept, arguments: tuple[object, ...], redirected: str
) -> None:
    """R232: one sentence and code 1, from every command, and nothing more at Python's exit."""
    code, output, errors = typed(kept, arguments, redirected)
    assert (code, output) == (1, "")
    assert errors.startswith("greenroom: Standard output cannot be written: ")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("arguments", [HELP, ("schema",), ("demo", "--sessions=1", "--turns=1")])
def test_a_reader_that_has_left_is_no_error(kept: Kept, arguments: tuple[str, ...]) -> None:
    """``greenroom --help | head -1``: the code that a shell expects, and no word."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command(*arguments),
        env=environment(kept.folder),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(("arguments", "code"), [(USAGE, 2), (("show", "nobody"), 1)])
def test_errors_that_nobody_can_read_are_told_by_the_code(
    kept: Kept, arguments: tuple[str, ...], code: int, redirected: str
) -> None:
    """R232: nothing of them gets into the output, and the code is what it would be."""
    assert typed(kept, arguments, redirected) == (code, "", "")


def test_bytes_stay_whole_without_a_place_for_errors(kept: Kept) -> None:
    """R196: what ``request`` says of its bytes never gets among them."""
    assert typed(kept, ("request", KEY, 1), "2>&-") == (
        *typed(kept, ("request", KEY, 1), "2>/dev/null")[:2],
        "",
    )


@pytest.mark.parametrize("redirected", ["<&-", "0>/dev/null"])
def test_without_input_nothing_was_typed(kept: Kept, redirected: str) -> None:
    """A chat whose input is missing, or cannot be read, ends as at the end of one."""
    code, output, errors = typed(kept, ("chat", "--model", "scripted"), redirected)
    assert (code, errors) == (0, "")
    assert "to go on: " in output


@pytest.mark.parametrize("missing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_no_file_that_is_opened_takes_the_place_of_a_stream(kept: Kept, missing: str) -> None:
    """R92: what is meant for a person never gets into a store, which would have its number."""
    program = (
        "import os, sys; from greenroom.actors.cli.streams import open_streams; open_streams();"
        " sys.exit(os.open(os.devnull, os.O_RDONLY))"
    )
    line = shlex.join([sys.executable, "-c", program])
    done = subprocess.run(
        ["/bin/sh", "-c", f"{line} {missing}"], env=environment(kept.folder), check=False
    )
    assert done.returncode == 3


def test_a_pipe_that_does_not_wait_is_waited_for(kept: Kept) -> None:
    """What another program did to a shared pipe loses no byte: ``schema`` is larger than it."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4_096)
    os.set_blocking(writing, False)
    received: list[bytes] = []

    def read() -> None:
        with os.fdopen(reading, "rb") as stream:
            received.append(stream.read())

    reader = threading.Thread(target=read)
    with subprocess.Popen(
        command("schema"), env=environment(kept.folder), stdout=writing, stderr=subprocess.PIPE
    ) as process:
        os.close(writing)
        reader.start()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        reader.join()
    assert process.returncode == 0
    assert len(received[0]) > 20_000
