"""Laws of conditions: data, and a pure answer to whether a note is due."""

from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest

from greenroom.protocol.condition import (
    SECONDS_MAX,
    Condition,
    DateCrossed,
    Since,
    TimeElapsed,
    VersionChanged,
    check_condition,
    holds,
)
from greenroom.protocol.errors import InvalidInput

HOUR = 3_600_000
MIDNIGHT = int(datetime(2026, 3, 14, tzinfo=UTC).timestamp() * 1_000)


def day_in(zone: str, at: int) -> date:
    """A world of two zones, one of which is an hour ahead."""
    ahead = timedelta(hours=1) if zone == "Ahead" else timedelta()
    return (datetime.fromtimestamp(at / 1_000, UTC) + ahead).date()


def due(condition: Condition, settled: int | None, now: int, *moved: str) -> bool:
    return holds(condition, Since(settled, now, frozenset(moved)), day_in)


@pytest.mark.parametrize(("passed", "expected"), [(59_999, False), (60_000, True), (HOUR, True)])
def test_time_elapses_from_the_last_settled_turn(passed: int, expected: bool) -> None:
    """R151: seconds since it ended, the bound included."""
    assert due(TimeElapsed(60), MIDNIGHT, MIDNIGHT + passed) is expected


def test_a_date_is_crossed_in_the_declared_zone() -> None:
    """R151: another day there, UTC unless said otherwise."""
    before, behind = MIDNIGHT - HOUR // 2, MIDNIGHT + HOUR // 2
    assert due(DateCrossed(), before, behind)
    assert not due(DateCrossed("Ahead"), before, behind)
    assert due(DateCrossed("Ahead"), before - HOUR, behind - HOUR)
    assert not due(DateCrossed(), behind, behind + HOUR)


def test_nothing_passed_without_a_turn_or_under_a_clock_that_went_back() -> None:
    """R151, P042: neither the first turn of a conversation nor a clock set back makes news."""
    for condition in (TimeElapsed(1), DateCrossed()):
        assert not due(condition, None, MIDNIGHT)
        assert not due(condition, MIDNIGHT, MIDNIGHT - 48 * HOUR)


def test_a_change_is_watched_by_id_or_of_everything() -> None:
    """R69, R151: of which contributors or skills; without names, of any."""
    assert due(VersionChanged(), None, 0, "catalog")
    assert not due(VersionChanged(), None, 0)
    assert due(VersionChanged(("a", "b")), None, 0, "b", "c")
    assert not due(VersionChanged(("a",)), None, 0, "b")


@pytest.mark.parametrize(
    "condition",
    [
        TimeElapsed(0),
        TimeElapsed(-5),
        TimeElapsed(SECONDS_MAX + 1),
        DateCrossed(""),
        DateCrossed("../etc/passwd"),
        DateCrossed("/UTC"),
        DateCrossed("Europe//Berlin"),
        DateCrossed("x" * 1_000),
        VersionChanged(("",)),
        VersionChanged(("a\ud800",)),
        VersionChanged(("a", "a")),
        VersionChanged(tuple(str(n) for n in range(1_001))),
    ],
    ids=repr,
)
def test_what_can_never_hold_is_refused(condition: Condition) -> None:
    """R151, R194: an impossible wait, a zone that is spelled like none, names that are none."""
    with pytest.raises(InvalidInput):
        check_condition(condition)


@pytest.mark.parametrize(
    "condition",
    [
        TimeElapsed(1),
        DateCrossed(),
        DateCrossed("America/Argentina/Buenos_Aires"),
        DateCrossed("Etc/GMT+5"),
        VersionChanged(("skills/refunds", "catalog")),
    ],
    ids=repr,
)
def test_a_condition_is_plain_data(condition: Condition) -> None:
    """R131, R151: it says its kind, and comes back from what it is written as."""
    check_condition(condition)
    written = msgspec.to_builtins(condition)
    assert written["kind"]
    assert msgspec.convert(written, Condition) == condition
