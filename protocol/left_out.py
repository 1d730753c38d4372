"""What is installed and did not come into a composition, and why: as a turn record tells it too."""

from typing import Literal, TypeAlias

import msgspec

Why: TypeAlias = Literal["over_budget", "skill_not_bound", "no_such_file", "tool_refused"]


class LeftOut(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A contribution that is not in a composition although it is installed, and why."""

    contributor: str
    """``id@version``."""
    why: Why
    sentence: str
    """For whoever installed it; with the figures, if it is over its budget (R103)."""
    tokens: int = 0
    """What it needs, if it is over its budget."""
    budget: int = 0
