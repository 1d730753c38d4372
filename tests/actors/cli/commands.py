"""Runs the commands as a person does: as processes."""

import atexit
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import greenroom.protocol
from tests.actors.cli.forking import Forking

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


@cache
def forking() -> Forking:
    """The process of this run of tests that commands are forked from."""
    begun = Forking.begin(os.environ | {"PYTHONPATH": HOME, "PYTHONWARNINGS": "error"})
    atexit.register(begun.end)
    return begun


def ran(
    folder: Path, *arguments: object, given: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run ``greenroom ...`` to its end, with ``given`` typed into it, without importing it anew."""
    assert not any(name.startswith("PYTHON") for name in more), "read only by a real start"
    return forking().run([*map(str, arguments)], environment(folder, **more), given)


def ran_anew(folder: Path, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """Run ``greenroom ...`` to its end as a person does: from the start of Python on."""
    return _done(command(*arguments), environment(folder, **more))


def ran_without(folder: Path, missing: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``greenroom ...`` as if the package ``missing`` were not installed."""
    program = WITHOUT.format(missing=missing) + f"sys.argv[1:] = {arguments!r}; sys.exit(main())"
    return _done([sys.executable, "-c", program], environment(folder))


def _done(line: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line, env=variables, capture_output=True, text=True, check=False, timeout=60
    )
