"""What the benchmark refuses."""

from greenroom.protocol.errors import Refused


class ComposerVaries(Refused):
    """A composer gave other bytes for the same ingredients; ``facts`` say where and when (R245)."""

    code = "composer_varies"
    way_out = (
        "Compose from the ingredients alone: no clock, id, chance or set order. "
        "To show it all the same, declare it a contrast."
    )


class LevelTooShort(Refused):
    """Requests that share a placement differ before its end; ``facts`` say where (R217, P079)."""

    code = "level_too_short"
    way_out = (
        "Put what fewer requests share behind what more of them share, "
        "and nothing that varies more narrowly than its placement."
    )


class BrokenTrace(Refused):
    """A trace cannot be read, runs back in time, or names what the workspace lacks."""

    code = "broken_trace"
    way_out = "Mend the line that is named; `Line` documents what one may say."
