"""A tenant's quota: what it may spend in a day or a month, what it did, when that renews (R233).

Days and months are those of UTC. A day is a number, counted from 1970; what was spent is counted by
day, so that a quota by the month can become one by the day and the other way round.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import structs

from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.quoting import quoted
from greenroom.protocol.refusal import OverQuota

Per: TypeAlias = Literal["day", "month"]
_DAY_MS: Final = 86_400_000
_EPOCH: Final = date(1970, 1, 1).toordinal()
_CAP_MAX: Final = 2**53
"""The largest whole number that every reader of JSON reads exactly."""


class Quota(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The most that the sessions of one tenant may spend together, in a day or a month of UTC.

    Raises:
        InvalidInput: no whole number above zero, another period, or no cap at all.
    """

    tokens: int | None = None
    """Of all buckets of usage: input, read from a cache or written to one, output, reasoning."""
    turns: int | None = None
    """Turns that were dispatched, whatever became of them."""
    per: Per = "day"

    def __post_init__(self) -> None:
        for what, cap in (("tokens", self.tokens), ("turns", self.turns)):
            if cap is not None and (type(cap) is not int or not 0 < cap <= _CAP_MAX):
                raise InvalidInput(
                    f"Quota.{what} is a whole number from 1 to {_CAP_MAX:,}; None: no cap.",
                    what=what,
                )
        if self.per not in get_args(Per):
            raise InvalidInput("A quota is per 'day' or 'month', both of UTC.", what="per")
        if self.tokens is None and self.turns is None:
            raise InvalidInput(
                "A quota caps tokens, turns or both; None is no quota.", what="quota"
            )


class Spent(msgspec.Struct, frozen=True, gc=False):
    """What is counted against a quota."""

    tokens: int = 0
    turns: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.turns + other.turns)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens - other.tokens, self.turns - other.turns)


NOTHING: Final = Spent()


class Charge(msgspec.Struct, frozen=True, gc=False):
    """What a commit adds to its tenant's count of a day; below zero where that had too much."""

    day: int
    spent: Spent


class QuotaState(msgspec.Struct, frozen=True, gc=False):
    """A tenant's quota and how much of it is left (R233)."""

    tenant: str
    quota: Quota
    charged: Spent
    """In the period that runs."""
    reserved: Spent
    """The worst case of the requests that are out now."""
    renews: int
    """When the next period begins: milliseconds since 1970, UTC."""


def day_of(at: int) -> int:
    """The day of UTC at which ``at`` milliseconds since 1970 are."""
    return at // _DAY_MS


def first_day(day: int, per: Per) -> int:
    """The first day of the period in which a day is."""
    if per == "day":
        return day
    return date.fromordinal(_EPOCH + day).replace(day=1).toordinal() - _EPOCH


def day_after(day: int, per: Per) -> int:
    """The first day behind that period."""
    # No month is longer, and each is longer than the few days behind the first.
    return day + 1 if per == "day" else first_day(first_day(day, per) + 31, per)


def quota_state(
    tenant: str,
    quota: Quota,
    day: int,
    charged: Mapping[int, Spent],
    reserved: Mapping[int, Spent],
) -> QuotaState:
    """What stands of a quota on a day, of what was counted by days."""
    days = range(first_day(day, quota.per), day_after(day, quota.per))

    def within(counted: Mapping[int, Spent]) -> Spent:
        return sum([spent for each, spent in counted.items() if each in days], NOTHING)

    return QuotaState(tenant, quota, within(charged), within(reserved), days.stop * _DAY_MS)


def used_up(state: QuotaState) -> OverQuota | None:
    """Why nothing at all may be begun any more, whatever becomes of what is reserved."""
    return over_quota(structs.replace(state, reserved=NOTHING), Spent(1, 1))


def over_quota(state: QuotaState, needed: Spent) -> OverQuota | None:
    """Why no more may be spent than is charged and reserved; None where it may."""
    quota, charged, reserved = state.quota, state.charged, state.reserved
    for what, cap, more, told, held in (
        ("tokens", quota.tokens, needed.tokens, charged.tokens, reserved.tokens),
        ("turns", quota.turns, needed.turns, charged.turns, reserved.turns),
    ):
        if cap is not None and more and told + held + more > cap:
            renews = datetime.fromtimestamp(state.renews // 1_000, UTC)
            return OverQuota(
                f"The tenant {quoted(state.tenant)} may use {cap:,} {what} a {quota.per}: "
                f"{told:,} are charged, {held:,} reserved for what runs, and this may take "
                f"{more:,}. It renews at {renews:%Y-%m-%dT%H:%M:%SZ}.",
                tenant=state.tenant,
                of=what,
                cap=cap,
                per=quota.per,
                charged=told,
                reserved=held,
                needed=more,
                renews=state.renews,
            )
    return None
