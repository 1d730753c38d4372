"""Laws of days: the same moment falls on another day elsewhere."""

from datetime import UTC, date, datetime

import pytest

from greenroom.actors.zones import check_zone, day_in
from greenroom.protocol.errors import InvalidInput

LATE = int(datetime(2026, 3, 14, 23, 30, tzinfo=UTC).timestamp() * 1_000)


@pytest.mark.parametrize(
    ("zone", "day"),
    [("UTC", 14), ("Europe/Berlin", 15), ("America/New_York", 14), ("Pacific/Kiritimati", 15)],
)
def test_a_day_is_that_of_the_zone(zone: str, day: int) -> None:
    """R151: by the tables of the machine, summer time included."""
    check_zone(zone)
    assert day_in(zone, LATE) == date(2026, 3, day)


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "America", "../etc/passwd", ""])
def test_a_zone_that_is_not_known_is_refused(zone: str) -> None:
    """R151: with its name, wherever one can be declared."""
    with pytest.raises(InvalidInput, match="time zone"):
        check_zone(zone)
