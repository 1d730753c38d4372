"""What a tenant is charged: with the commit that tells of it, by day, and of months that count."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.identity import SessionId
from greenroom.protocol.quota import Charge, Spent, first_day
from greenroom.store import Commit, Committed, Delete, Fenced, HeadMismatch, Known, Store
from greenroom.store.charges import charge, charged
from greenroom.store.contract import KeyEntry
from greenroom.store.memory_tables import MemoryTables
from tests.store.offering import ANN, BEN, ask, ask_all, commit, made

MAY = 20_574
"""The first of May 2026, as a day."""
OTHER = SessionId("other", "ann")


def charging(*charges: tuple[int, int, int], head: int = 0, **told: Any) -> Commit:
    """A commit that charges (day, tokens, turns) each."""
    adds = tuple([Charge(day, Spent(tokens, turns)) for day, tokens, turns in charges])
    return commit(head=head, charges=adds, **told)


async def test_a_charge_is_added_with_its_commit(store: Store) -> None:
    """R233: sessions of a tenant share a count of each day; another tenant has its own."""
    await made(store)
    await made(store, BEN)
    await made(store, OTHER)
    assert store.charged("default") == {}
    verdicts = await ask_all(
        store,
        [
            charging((MAY, 10, 1)),
            charging((MAY, 5, 1), session=BEN),
            charging((MAY, 7, 1), session=OTHER),
            charging((MAY, -4, 0), (MAY + 1, 3, 0), head=1),
        ],
    )
    assert [type(each) for each in verdicts] == [Committed] * 4
    assert store.charged("default") == {MAY: Spent(11, 2), MAY + 1: Spent(3, 0)}
    assert store.charged("other") == {MAY: Spent(7, 1)}
    assert store.charged("nobody") == {}


async def test_a_commit_that_is_refused_charges_nothing(store: Store) -> None:
    """R83, R233: fenced, at another head, or with a key that was used; and offered again, once."""
    await made(store)
    entry = KeyEntry("k", b"d" * 16)
    first = charging((MAY, 10, 1), keys=(entry,))
    assert isinstance(await ask(store, first), Committed)
    refused = [
        charging((MAY, 10, 1), epoch=9, head=1),
        charging((MAY, 10, 1), head=5),
        charging((MAY, 10, 1), head=1, keys=(entry,)),
        first,
    ]
    verdicts = await ask_all(store, refused)
    assert [type(each) for each in verdicts] == [Fenced, HeadMismatch, Known, Committed]
    assert store.charged("default") == {MAY: Spent(10, 1)}


async def test_former_months_are_removed_with_the_first_charge_of_a_day(store: Store) -> None:
    """R233: what a quota may still ask for stays, and no count is kept for ever."""
    await made(store)
    days = [MAY - 40, MAY - 1, MAY, MAY + 30]
    charges = [charging((day, 1, 0), head=head) for head, day in enumerate(days)]
    await ask_all(store, charges)
    assert list(store.charged("default")) == [MAY, MAY + 30]
    # A clock that was put back finds no day of a month that is gone, and removes none to come.
    await ask(store, charging((MAY - 1, 1, 0), head=4))
    assert list(store.charged("default")) == [MAY - 1, MAY, MAY + 30]


async def test_what_was_too_much_never_leaves_less_than_nothing(store: Store) -> None:
    """R233: also where the day that it is taken from is gone."""
    await made(store)
    await ask_all(store, [charging((MAY, 5, 1)), charging((MAY, -9, -3), head=1)])
    assert store.charged("default") == {MAY: Spent(0, 0)}


async def test_deleting_a_session_spares_what_it_was_charged(store: Store) -> None:
    """R233, R192: a quota is not won back by it."""
    await made(store)
    await ask(store, charging((MAY, 5, 1)))
    await ask(store, Delete(ANN, b"[gone]"))
    assert store.charged("default") == {MAY: Spent(5, 1)}


async def test_a_commit_without_charges_writes_no_count(store: Store) -> None:
    """R233: tenants without a quota pay nothing for it."""
    await made(store)
    await ask(store, commit())
    assert store.charged("default") == {}


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(MAY, MAY + 90), st.integers(0, 2**60)),
        max_size=30,
    )
)
def test_counts_are_the_sums_of_their_days(told: list[tuple[str, int, int]]) -> None:
    """R233, P125: by tenant and day, of each month from the newest on."""
    tables = MemoryTables()
    for tenant, day, tokens in sorted(told, key=lambda each: each[1]):
        charge(tables, tenant, [Charge(day, Spent(tokens, 1))])
    for tenant in "ab":
        mine = [(day, tokens) for one, day, tokens in told if one == tenant]
        kept = first_day(max((day for day, _ in mine), default=0), "month")
        sums: dict[int, Spent] = {}
        for day, tokens in mine:
            if day >= kept:
                sums[day] = sums.get(day, Spent()) + Spent(tokens, 1)
        assert dict(charged(tables, tenant)) == sums
