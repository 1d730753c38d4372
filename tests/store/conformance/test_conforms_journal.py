"""The journal, and what stands in a store as a whole: one step, appended, of no session."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.errors import SaveFailed
from greenroom.store import (
    Absent,
    Committed,
    Create,
    Delete,
    Done,
    Enter,
    Failed,
    Standing,
    Store,
    transaction,
)
from greenroom.store.schema import standing_key
from tests.store.offering import ANN, ask, ask_all, commit, made


def rows(store: Store, kind: str = "hold") -> list[tuple[str, bytes | None]]:
    return [(each.key, each.value) for each in store.standing(kind)]


async def test_an_entry_and_what_stands_are_one_step(store: Store) -> None:
    """R242: in the journal's own order, whatever the keys are; and taken away with an entry too."""
    setting = [
        Enter(b"%d" % n, (Standing("hold", key, b"v%d" % n),)) for n, key in enumerate("zab")
    ]
    assert await ask_all(store, setting) == [Done(1), Done(2), Done(3)]
    assert rows(store) == [("z", b"v0"), ("a", b"v1"), ("b", b"v2")]
    assert await ask(store, Enter(b"lifted", (Standing("hold", "a", None),))) == Done(4)
    assert rows(store) == [("z", b"v0"), ("b", b"v2")]
    assert [(each.number, each.entry) for each in store.journal()] == [
        (1, b"0"),
        (2, b"1"),
        (3, b"2"),
        (4, b"lifted"),
    ]
    assert [each.number for each in store.journal(1, limit=2)] == [2, 3]
    assert store.journal(4) == []


async def test_an_entry_with_a_commit_is_of_that_commit(store: Store) -> None:
    """R242: both or neither, and once, however often it is offered again."""
    await made(store)
    with_entry = commit(entry=b"put")
    assert await ask(store, Enter(b"before")) == Done(1)
    first = await ask(store, with_entry)
    assert await ask(store, with_entry) == first
    assert await ask(store, commit(head=5, entry=b"fenced")) != first
    assert await ask(store, commit(epoch=0, head=1, entry=b"fenced")) != first
    too_long = commit(head=1, entry=b"x" * (transaction.RECORD_BYTES_MAX + 1))
    assert isinstance(await ask(store, too_long), Failed)
    assert isinstance(await ask(store, commit(head=1)), Committed)
    assert [each.entry for each in store.journal()] == [b"before", b"put"]


async def test_what_does_not_stand_is_not_taken_away(store: Store) -> None:
    """R242: of two who lift one hold the second is told so, and enters nothing."""
    place, lift = (Enter(b"e", (Standing("hold", "a", value),)) for value in (b"", None))
    assert await ask_all(store, [place, lift, lift]) == [Done(1), Done(2), Absent()]
    both = Enter(b"e", (Standing("hold", "b", b"v"), Standing("hold", "a", None)))
    assert await ask(store, both) == Absent()
    assert (rows(store), len(store.journal())) == ([], 2)


async def test_what_stands_is_replaced_under_its_key(store: Store) -> None:
    """R242: the newest counts, at the place of the newest entry."""
    keys = [("hold", "a", b"1"), ("hold", "b", b"2"), ("hold", "a", b"3"), ("other", "a", b"4")]
    await ask_all(store, [Enter(b"", (Standing(*each),)) for each in keys])
    assert rows(store) == [("b", b"2"), ("a", b"3")]
    assert rows(store, "other") == [("a", b"4")]
    assert rows(store, "none") == []


async def test_an_entry_alone_changes_nothing_else(store: Store) -> None:
    """R222, R242: no session, no list and no feed has it."""
    await made(store)
    before = (store.last_number(), store.feed(), list(store.sessions()))
    assert await ask(store, Enter(b"e")) == Done(1)
    assert (store.last_number(), store.feed(), list(store.sessions())) == before
    assert (await ask(store, commit())).head == 1


async def test_deleting_sessions_spares_the_journal(store: Store) -> None:
    """R242, R192: who deleted what and why stays readable."""
    await made(store)
    await ask(store, Enter(b"e", (Standing("hold", "a", b"v"),)))
    await ask(store, Delete(ANN, b"[gone]"))
    assert (rows(store), len(store.journal())) == ([("a", b"v")], 1)


async def test_an_entry_over_its_bound_fails_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R84: and takes no number."""
    monkeypatch.setattr(transaction, "RECORD_BYTES_MAX", 10)
    large: Sequence[Enter] = [Enter(b"x" * 11), Enter(b"", (Standing("hold", "a", b"x" * 11),))]
    verdicts = await ask_all(store, [*large, Enter(b"ok"), Create(ANN, b"", b"[]")])
    assert [type(each) for each in verdicts[:2]] == [Failed, Failed]
    assert isinstance(verdicts[0].error, SaveFailed)
    assert verdicts[2] == Done(1)
    assert rows(store) == []


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_no_two_kinds_and_keys_have_one_place(one: tuple[str, str], other: tuple[str, str]) -> None:
    """P125: whatever they are split at."""
    assert (standing_key(*one) == standing_key(*other)) == (one == other)
