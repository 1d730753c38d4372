"""Runs the commands as a person does: as processes."""

import os
import subprocess
import sys
from pathlib import Path

import greenroom.protocol

HOME = str(Path(next(iter(greenroom.protocol.__path__))).parents[1])
WITHOUT = "import sys; sys.modules[{missing!r}] = None; from greenroom.actors.cli import main; "
ESCAPE = "\x1b"
TABLE_WIDTH = 80


def command(*arguments: object) -> list[str]:
    """The command line of ``greenroom ...``."""
    return [sys.executable, "-m", "greenroom.actors.cli", *map(str, arguments)]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """An environment in which nothing of this machine's own is read or written."""
    own = {"PYTHONPATH": HOME, "XDG_DATA_HOME": str(folder), "PYTHONWARNINGS": "error"}
    own |= {"XDG_CACHE_HOME": str(folder), "TMPDIR": str(folder), "COLUMNS": str(TABLE_WIDTH)}
    return os.environ | own | more


def ran(
    folder: Path, *arguments: object, given: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run ``greenroom ...`` to its end, with ``given`` typed into it."""
    return subprocess.run(
        command(*arguments),
        env=environment(folder, **more),
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def ran_without(folder: Path, missing: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``greenroom ...`` as if the package ``missing`` were not installed."""
    program = WITHOUT.format(missing=missing) + f"sys.argv[1:] = {arguments!r}; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
