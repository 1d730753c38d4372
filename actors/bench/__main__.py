"""``python -m greenroom.actors.bench``."""

import sys

from greenroom.actors.bench.command import main

if __name__ == "__main__":
    sys.exit(main())
