"""Time zones: which day a moment falls on there, from the tables of this machine."""

import importlib
from datetime import UTC, date, datetime, tzinfo

from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.quoting import quoted


def day_in(zone: str, at: int) -> date:
    """The day on which ``at`` (milliseconds since 1970, UTC) falls in a zone.

    Raises:
        InvalidInput: this machine knows no zone of that name.
    """
    return datetime.fromtimestamp(at / 1_000, _zone(zone)).date()


def check_zone(zone: str) -> None:
    """Refuse a zone that this machine does not know. Raises :class:`InvalidInput`."""
    _zone(zone)


def _zone(zone: str) -> tzinfo:
    if zone == "UTC":
        return UTC  # known without any table
    try:
        # Looked up when it is wanted: few hosts want it, and it loads half of what builds Python.
        found: tzinfo = importlib.import_module("zoneinfo").ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise InvalidInput(
            f"This machine knows no time zone {quoted(zone)}.", what="zone"
        ) from None
    return found
