"""What all tests share: processes that a test starts import the very greenroom that it tests."""

import os
import sys

# From the checkout or an installed wheel, whichever this run has put on its path.
os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
