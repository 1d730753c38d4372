"""The exit codes of the commands."""

from signal import SIGINT, SIGPIPE
from typing import Final

FAILED: Final = 1
USAGE: Final = 2
"""What was typed cannot be meant."""
SIGNALLED: Final = 128
"""Those of a signal stand above this: 130 for SIGINT, 143 for SIGTERM."""
INTERRUPTED: Final = SIGNALLED + SIGINT
READER_LEFT: Final = SIGNALLED + SIGPIPE
"""Whoever read the output has left (``| head``)."""
