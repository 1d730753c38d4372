"""The commands: ``greenroom demo``, ``chat``, ``sessions``, ``show``, ``hold`` and the others.

They are the one part of greenroom that needs cyclopts and rich (the extra ``cli``), so nothing of
either is imported until a command runs.
"""

import sys
from importlib.util import find_spec as _find_spec

from greenroom.actors.cli.exits import FAILED as _FAILED
from greenroom.actors.cli.exits import INTERRUPTED as _INTERRUPTED
from greenroom.actors.cli.streams import open_streams as _open_streams


def main() -> int:
    """Run the command that was typed; returns its exit code (0 done, 1 refused, 2 wrong usage)."""
    try:
        _open_streams()
        return _run()
    except KeyboardInterrupt:  # before there was a loop: importing takes a moment
        return _INTERRUPTED


def _run() -> int:
    if _find_spec("cyclopts") is None or _find_spec("rich") is None:
        print(
            "greenroom: The commands need an extra: pip install 'greenroom[cli]'", file=sys.stderr
        )
        return _FAILED
    from greenroom.actors.cli.app import run_command  # noqa: PLC0415 - an extra

    return run_command(sys.argv[1:])
