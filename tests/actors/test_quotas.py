"""Reserving and charging, whatever happens in between: never over the cap, and nothing is left."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import Policy, quotas
from greenroom.actors.quotas import Bill, Quotas, Reservation
from greenroom.actors.world import World, simulated
from greenroom.protocol.errors import InvalidInput, ModelFailed
from greenroom.protocol.quota import NOTHING, Quota, Spent, day_of
from greenroom.protocol.refusal import OverQuota, QuotaFailed
from greenroom.protocol.usage import Usage

DAY = day_of(simulated(0).now())
FAILED = ModelFailed("Cut off.")
REFUSED = ModelFailed("Busy.", begun=False)


class Bare(ModelFailed):
    """An error of somebody who left out what an error is made of."""

    def __init__(self) -> None:
        Exception.__init__(self)


@attrs.define(eq=False)
class Counts:
    """What a store would answer; and how often it was asked."""

    kept: dict[str, dict[int, Spent]] = attrs.field(factory=dict)
    asked: list[str] = attrs.field(factory=list)

    def charged(self, tenant: str, /) -> dict[int, Spent]:
        self.asked.append(tenant)
        return dict(self.kept.get(tenant, {}))

    def take(self, tenant: str, bill: Bill) -> None:
        """Commit what a bill has to be charged."""
        days = self.kept.setdefault(tenant, {})
        for charge in bill.take():
            days[charge.day] = days.get(charge.day, NOTHING) + charge.spent


def made(rule: Any, counts: Counts | None = None, world: World | None = None) -> Quotas:
    """Quotas over such counts."""
    store: Any = counts or Counts()
    return Quotas(rule, store, world or simulated(0))


def bill_of(these: Quotas, tenant: str = "a") -> Bill:
    """A bill of a tenant that has a quota."""
    bill = these.bill(tenant)
    assert bill is not None
    return bill


def stands(these: Quotas, tenant: str = "a") -> tuple[Spent, Spent]:
    """What is charged and reserved."""
    state = these.state(tenant)
    assert state is not None
    return state.charged, state.reserved


ENDS: dict[str, Callable[[Reservation, int], Any]] = {
    "answered": lambda one, tokens: one.answered(Usage(input=tokens)),
    "without usage": lambda one, _: one.answered(Usage()),
    "cut off": lambda one, _: one.failed(FAILED),
    "cancelled": lambda one, _: one.failed(KeyboardInterrupt()),
    "bare": lambda one, _: one.failed(Bare()),
    "refused": lambda one, _: one.failed(REFUSED),
    "never sent": lambda one, _: one.release(),
    "made again": lambda one, _: one.again(),
}


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(1, 400), st.sampled_from(sorted(ENDS)), st.booleans()
        ),
        max_size=40,
    ),
    st.integers(1, 1_000),
)
def test_whatever_happens_no_cap_is_passed_and_nothing_stays_reserved(
    steps: list[tuple[int, int, str, bool]], cap: int
) -> None:
    """P191, R233: by any number of bills at once; and the store has what memory has."""
    counts = Counts()
    these = made(Quota(tokens=cap), counts)
    bills = [bill_of(these) for _ in range(4)]
    open_: list[tuple[Reservation, int] | None] = [None] * 4
    for place, tokens, end, commits in steps:
        reserved = open_[place]
        try:
            if reserved is None:
                open_[place] = bills[place].reserve(tokens), tokens
            else:
                open_[place] = reserved if end == "made again" else None
                ENDS[end](reserved[0], min(tokens, reserved[1]))
        except OverQuota:
            open_[place] = None
        charged, held = stands(these)
        assert charged.tokens + held.tokens <= cap
        if commits:
            counts.take("a", bills[place])
    for reserved in open_:
        if reserved is not None:
            reserved[0].failed(FAILED)
    for bill in bills:
        counts.take("a", bill)
        assert bill.close() == ()
    charged, held = stands(these)
    assert held == NOTHING
    assert counts.kept.get("a", {}).get(DAY, NOTHING) == charged
    # A host that is opened over it finds the same.
    assert stands(made(Quota(tokens=cap), counts)) == (charged, NOTHING)


@pytest.mark.parametrize(
    ("end", "tokens"),
    [
        ("answered", 7),
        ("without usage", 100),
        ("cut off", 100),
        ("cancelled", 100),
        ("bare", 100),
        ("refused", 0),
        ("never sent", None),
    ],
)
def test_what_is_charged_of_a_request_by_how_it_ended(end: str, tokens: int | None) -> None:
    """R233, R190: what is not known counts as the worst case; a turn that began is one."""
    these = made(Quota(tokens=1_000))
    reserved = bill_of(these).reserve(100, 1)
    assert stands(these) == (NOTHING, Spent(100, 1))
    ENDS[end](reserved, 7)
    assert stands(these) == (NOTHING if tokens is None else Spent(tokens, 1), NOTHING)
    reserved.release()
    reserved.failed(FAILED)
    assert stands(these) == (NOTHING if tokens is None else Spent(tokens, 1), NOTHING)


def test_a_request_that_is_made_again_is_paid_beside_the_first() -> None:
    """R233, R179: what was cut off counts with its worst case, and is no further turn."""
    these = made(Quota(tokens=250))
    reserved = bill_of(these).reserve(100, 1)
    reserved.again()
    assert stands(these) == (Spent(100, 1), Spent(100, 0))
    with pytest.raises(OverQuota):
        reserved.again()
    assert stands(these) == (Spent(200, 1), NOTHING)
    # A port that goes on all the same is charged what it reports.
    reserved.answered(Usage(output=30))
    assert stands(these) == (Spent(230, 1), NOTHING)


def test_a_request_counts_on_the_day_on_which_it_was_reserved() -> None:
    """R233: whatever the clock says when its answer comes; the new day begins with nothing."""
    now = [1_700_000_000.0]
    counts = Counts()
    these = made(Quota(tokens=150), counts, World(wall=lambda: now[0]))
    bill = bill_of(these)
    first = bill.reserve(100)
    with pytest.raises(OverQuota):
        bill.reserve(100)
    now[0] += 86_400
    second = bill.reserve(100)
    first.answered(Usage(input=90))
    second.answered(Usage(input=80))
    counts.take("a", bill)
    assert counts.kept["a"] == {DAY: Spent(90), DAY + 1: Spent(80)}
    assert stands(these) == (Spent(80), NOTHING)


def test_days_of_former_months_are_forgotten() -> None:
    """R128: memory holds no more than a quota may ask for."""
    now = [1_700_000_000.0]
    these = made(Quota(tokens=150), None, World(wall=lambda: now[0]))
    bill = bill_of(these)
    for _ in range(100):
        bill.reserve(100).answered(Usage(input=1))
        now[0] += 86_400
    assert len(these._account("a").charged) <= 31
    assert these._account("a").reserved == {}


def test_a_quota_is_asked_for_whenever_something_is_to_be_spent() -> None:
    """R233: one that is raised, lowered or given meanwhile counts at once."""
    caps: dict[str, Quota | None] = {"a": Quota(tokens=100)}
    these = made(caps.get)
    bill = bill_of(these)
    bill.reserve(100)
    with pytest.raises(OverQuota):
        bill.reserve(1)
    caps["a"] = Quota(tokens=500, per="month")
    bill.reserve(100)
    caps["a"] = None
    bill.reserve(10_000)
    assert (these.bill("b"), these.state("b")) == (None, None)


def test_tenants_do_not_share() -> None:
    """R218, R233."""
    these = made(Quota(tokens=100))
    bill_of(these, "a").reserve(100)
    bill_of(these, "b").reserve(100)
    with pytest.raises(OverQuota) as caught:
        bill_of(these, "b").reserve(1)
    assert caught.value.facts["tenant"] == "b"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda tenant: {}[tenant], "KeyError"),
        (lambda _: 1 / 0, "ZeroDivisionError"),
        (lambda _: 7, "gave a int"),
        (lambda _: "x", "gave a str"),
        (lambda: None, "TypeError"),
    ],
)
def test_the_hosts_own_code_is_named_where_it_fails(rule: Any, words: str) -> None:
    """R233, R232: it is refused, and nobody spends uncounted."""
    these = made(rule)
    for ask in (these.of, these.check_left, these.state, these.bill):
        with pytest.raises(QuotaFailed, match=f"The host's quota.*'a'.*|{words}") as caught:
            ask("a")
        assert words in caught.value.sentence


def test_ctrl_c_is_no_failure_of_the_host() -> None:
    """R168: whoever stops the program is not told of a quota."""

    def rule(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(rule).of("a")


@pytest.mark.parametrize("quota", [7, "1000", {"tokens": 1}, True])
def test_a_policy_takes_a_quota_or_what_gives_one(quota: Any) -> None:
    """R194, R233."""
    with pytest.raises(InvalidInput, match=r"Policy\.quota") as caught:
        Policy(quota=quota)
    assert caught.value.facts["what"] == "quota"


def test_without_a_quota_no_count_is_read() -> None:
    """R233: a host that has none pays nothing for it, nor does a tenant that has none."""
    counts = Counts()
    for these in (made(None, counts), made(lambda _: None, counts)):
        these.check_left("a")
        assert (these.bill("a"), these.state("a")) == (None, None)
    assert counts.asked == []


def test_counts_of_tenants_that_are_still_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """R128: never of one that has a bill open, whose counts are ahead of the store."""
    monkeypatch.setattr(quotas, "ACCOUNTS_MAX", 2)
    counts = Counts()
    these = made(Quota(tokens=100), counts)
    bill = bill_of(these)
    bill.reserve(60)
    for tenant in ("b", "c", "d", "e"):
        these.state(tenant)
    assert stands(these)[1] == Spent(60)
    assert len(these._accounts) == 2
    these.state("b")
    assert (counts.asked.count("a"), counts.asked.count("b")) == (1, 2)
