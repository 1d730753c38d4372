"""What all tests share.

Processes that a test starts import the very greenroom that it tests, and no clock decides over a
property: it says nothing of speed, and the machine may be busy.
"""

import os
import sys

from hypothesis import HealthCheck, settings

# From the checkout or an installed wheel, whichever this run has put on its path.
os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)

settings.register_profile(
    "unhurried",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unhurried")
