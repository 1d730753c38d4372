"""Conditions: what must have happened since the last turn for a note to be told (R151).

A condition is data, and that it holds follows from facts that are given: when the last settled turn
ended, what time it is, and what moved since the kept prompt was composed. Which day a moment falls
on in a time zone is asked of whoever calls, since tables of zones are files.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Final, TypeAlias

import msgspec

from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.identity import check_name
from greenroom.protocol.quoting import quoted

SECONDS_MAX: Final = 315_576_000
"""Ten years: a longer wait is a slip."""
CHANGES_MAX: Final = 1_000
"""Names that one condition may list."""

_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9][A-Za-z0-9_+-]{0,31}){0,3}")


class TimeElapsed(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="time_elapsed"
):
    """So much time has passed since the last settled turn ended."""

    seconds: int


class DateCrossed(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag="date_crossed",
):
    """It is another day than when the last settled turn ended."""

    zone: str = "UTC"
    """The IANA name of the time zone whose days are meant."""


class VersionChanged(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
    tag="version_changed",
):
    """Something that the kept prompt was composed with stands at another version now."""

    of: tuple[str, ...] = ()
    """Ids of contributors and skills, built-in ones by their names; empty: any of them."""


Condition: TypeAlias = TimeElapsed | DateCrossed | VersionChanged

DayIn: TypeAlias = Callable[[str, int], date]
"""The day on which a moment (milliseconds since 1970, UTC) falls in a time zone."""


class Since(msgspec.Struct, frozen=True):
    """What is known before a turn."""

    settled: int | None
    """When the last settled turn ended, in milliseconds since 1970 (UTC); None: there was none."""
    now: int
    """The same clock, now."""
    moved: frozenset[str] = frozenset()
    """Ids of what stands at another version than in the kept prompt, or came, or went."""


def holds(condition: Condition, since: Since, day_in: DayIn) -> bool:
    """Whether a note with this condition is due.

    Nothing has elapsed and no date was crossed in a conversation without a settled turn, nor under
    a clock that went back.
    """
    if isinstance(condition, VersionChanged):
        return bool(since.moved & set(condition.of) if condition.of else since.moved)
    if since.settled is None:
        return False
    if isinstance(condition, TimeElapsed):
        return since.now - since.settled >= condition.seconds * 1_000
    return day_in(condition.zone, since.now) > day_in(condition.zone, since.settled)


def check_condition(condition: Condition) -> None:
    """Refuse what can never hold, or what is no name.

    Whether a time zone of that name exists is not known here.

    Raises:
        InvalidInput: seconds out of bounds, a zone that is spelled like none, or a name to watch
            that is none or stands twice.
    """
    if isinstance(condition, TimeElapsed):
        if not 0 < condition.seconds <= SECONDS_MAX:
            raise InvalidInput(
                f"Its seconds are {condition.seconds:,}; they go from 1 to {SECONDS_MAX:,}.",
                what="seconds",
            )
    elif isinstance(condition, DateCrossed):
        if not _ZONE.fullmatch(condition.zone):
            raise InvalidInput(f"No time zone is called {quoted(condition.zone)}.", what="zone")
    else:
        for name in condition.of:
            check_name(name, "name that its condition watches")
        if len(condition.of) > CHANGES_MAX or len(set(condition.of)) < len(condition.of):
            raise InvalidInput(
                f"Its condition names one thing twice, or more than {CHANGES_MAX:,}.", what="of"
            )
