"""``python -m greenroom.actors.cli`` is ``greenroom``."""

import sys

from greenroom.actors.cli import main

if __name__ == "__main__":
    sys.exit(main())
