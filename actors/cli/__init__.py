"""The commands: ``greenroom demo``, ``chat``, ``sessions``, ``show``, ``request``, ``schema``.

They are the one part of greenroom that needs cyclopts and rich (the extra ``cli``), so nothing of
either is imported until a command runs.
"""

import sys
from importlib.util import find_spec as _find_spec


def main() -> int:
    """Run the command that was typed; returns its exit code (0 done, 1 refused, 2 wrong usage)."""
    if _find_spec("cyclopts") is None or _find_spec("rich") is None:
        print(
            "greenroom: The commands need an extra: pip install 'greenroom[cli]'", file=sys.stderr
        )
        return 1
    from greenroom.actors.cli.app import run_command  # noqa: PLC0415 - an extra

    return run_command(sys.argv[1:])
