"""Quotas: what they may be, which days they count, and what is told of one that is used up."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.errors import InvalidInput, Refused
from greenroom.protocol.quota import (
    Per,
    Quota,
    QuotaState,
    Spent,
    day_after,
    day_of,
    first_day,
    over_quota,
    quota_state,
    used_up,
)


def day(text: str) -> int:
    """The day that a date is."""
    return day_of(int(datetime.fromisoformat(f"{text}T00:00:00+00:00").timestamp()) * 1_000)


@pytest.mark.parametrize(
    "count",
    [0, -1, True, 1.5, float("nan"), "7", 2**53 + 1, 2**20_000],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("what", ["tokens", "turns"])
def test_a_cap_is_a_whole_number_above_zero(what: str, count: Any) -> None:
    """R194, R233: it is named."""
    with pytest.raises(InvalidInput, match=rf"Quota\.{what} is a whole number") as caught:
        Quota(**{what: count})
    assert caught.value.facts["what"] == what


@pytest.mark.parametrize("per", ["week", "", None, 1, ["day"]])
def test_a_period_is_one_of_two(per: Any) -> None:
    """R194, R233."""
    with pytest.raises(InvalidInput, match="per 'day' or 'month'"):
        Quota(tokens=1, per=per)


def test_a_quota_caps_something() -> None:
    """R233: one without a cap is a mistake."""
    with pytest.raises(InvalidInput, match="tokens, turns or both"):
        Quota()


@pytest.mark.parametrize(
    ("at", "per", "first", "after"),
    [
        ("2026-03-17", "day", "2026-03-17", "2026-03-18"),
        ("2026-03-17", "month", "2026-03-01", "2026-04-01"),
        ("2026-12-31", "month", "2026-12-01", "2027-01-01"),
        ("2028-02-29", "month", "2028-02-01", "2028-03-01"),
        ("2026-02-01", "month", "2026-02-01", "2026-03-01"),
        ("1969-12-31", "month", "1969-12-01", "1970-01-01"),
    ],
)
def test_periods_are_those_of_utc(at: str, per: Per, first: str, after: str) -> None:
    """R233."""
    assert first_day(day(at), per) == day(first)
    assert day_after(day(at), per) == day(after)


@given(st.integers(-100_000, 1_000_000), st.sampled_from(["day", "month"]))
def test_each_day_is_in_one_period(one: int, per: Per) -> None:
    """R233: the next begins where this one ends."""
    first, after = first_day(one, per), day_after(one, per)
    assert first <= one < after
    assert first_day(after, per) == after
    assert first_day(after - 1, per) == first


def state(quota: Quota, charged: Spent = Spent(), reserved: Spent = Spent()) -> QuotaState:  # noqa: B008
    return QuotaState("a", quota, charged, reserved, day("2026-04-01") * 86_400_000)


def test_only_the_days_of_the_period_count() -> None:
    """R233: a day or a month, whatever was counted besides."""
    counted = {day(f"2026-{at}"): Spent(tokens) for at, tokens in DAYS.items()}
    now = day("2026-03-17")
    daily = quota_state("a", Quota(tokens=1), now, counted, {})
    monthly = quota_state("a", Quota(tokens=1, per="month"), now, counted, counted)
    assert (daily.charged.tokens, monthly.charged.tokens) == (100, 1_110)
    assert monthly.reserved.tokens == 1_110
    assert (daily.renews, monthly.renews) == (
        day("2026-03-18") * 86_400_000,
        day("2026-04-01") * 86_400_000,
    )


DAYS = {"02-28": 1, "03-01": 10, "03-17": 100, "03-31": 1_000, "04-01": 10_000}


def test_what_is_over_a_quota_is_told_with_its_figures() -> None:
    """R233, R232: who, what, how much, and when it renews; in words and as facts."""
    quota = Quota(tokens=1_000, per="month")
    assert over_quota(state(quota, Spent(600), Spent(300)), Spent(100)) is None
    refusal = over_quota(state(quota, Spent(600), Spent(300)), Spent(101))
    assert isinstance(refusal, Refused)
    assert refusal.sentence == (
        "The tenant 'a' may use 1,000 tokens a month: 600 are charged, 300 reserved for what runs, "
        "and this may take 101. It renews at 2026-04-01T00:00:00Z."
    )
    assert refusal.facts == {
        "tenant": "a",
        "of": "tokens",
        "cap": 1_000,
        "per": "month",
        "charged": 600,
        "reserved": 300,
        "needed": 101,
        "renews": int(datetime(2026, 4, 1, tzinfo=UTC).timestamp()) * 1_000,
    }


def test_turns_are_capped_beside_tokens() -> None:
    """R233: whichever is used up first; a request inside a turn needs no further turn."""
    quota = Quota(tokens=1_000, turns=2)
    refusal = over_quota(state(quota, Spent(10, 1), Spent(10, 1)), Spent(10, 1))
    assert refusal is not None
    assert refusal.facts["of"] == "turns"
    assert over_quota(state(quota, Spent(10, 2)), Spent(10)) is None


def test_a_quota_is_used_up_when_all_of_it_is_charged() -> None:
    """R233: what is only reserved may come back."""
    quota = Quota(tokens=100, turns=5)
    assert used_up(state(quota, Spent(99, 4), Spent(500, 9))) is None
    assert used_up(state(quota, Spent(100, 1))) is not None
    assert used_up(state(quota, Spent(1, 5))) is not None
