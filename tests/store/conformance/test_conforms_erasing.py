"""Deleting, forking, and the content that sessions share."""

from hashlib import sha256

import pytest

from greenroom.protocol.errors import SaveFailed
from greenroom.store import (
    Absent,
    Claim,
    Committed,
    Create,
    Delete,
    Done,
    Enqueue,
    Exists,
    Failed,
    ForkFrom,
    Gone,
    KeyEntry,
    Release,
    Store,
    erasure,
)
from tests.store.offering import ANN, BEN, ask, ask_all, commit, made, texts

CONTENT = b"a large result"
DIGEST = sha256(CONTENT).hexdigest()


async def test_a_tombstone_refuses_late_writes(store: Store) -> None:
    """R192: whatever comes after a delete answers Gone, creating it again too."""
    await made(store)
    assert await ask(store, Delete(ANN, b"[gone]")) == Done(2)
    late = [Create(ANN, b"", b"[]"), Claim(ANN), commit(), Enqueue(ANN, b"[]"), Release(ANN, 1)]
    assert await ask_all(store, [*late, Delete(ANN, b"[]")]) == [Gone()] * 6
    assert store.look(ANN) == Gone()
    assert store.read(ANN) == []
    assert store.queued(ANN) == []


async def test_a_delete_leaves_one_entry_for_the_feed(store: Store) -> None:
    """R192, R222: of the session only its last word stays; other sessions are whole."""
    await made(store, ANN, terms=frozenset({("person", "p")}))
    await made(store, BEN)
    await ask_all(store, [commit(ANN), commit(BEN)])
    await ask(store, Enqueue(ANN, b"[q]", KeyEntry("key", b"d")))
    await ask(store, Delete(ANN, b"[gone]"))
    assert [(e.session, e.records) for e in store.feed()] == [
        (BEN, b"[0]"),
        (BEN, b"[1]"),
        (ANN, b"[gone]"),
    ]
    assert list(store.find("person", "p")) == []
    assert [stored.session for stored in store.sessions()] == [BEN]
    assert store.known(ANN, "key") is None


async def test_a_number_is_never_given_again(store: Store) -> None:
    """P041: also when the newest entries were deleted the next number is a new one."""
    await made(store)
    await ask_all(store, [commit(head=head) for head in range(3)])
    before = store.last_number()
    await ask(store, Delete(ANN, b"[gone]"))
    assert store.last_number() == before + 1
    await made(store, BEN)
    assert store.last_number() == before + 2


async def test_a_long_session_is_erased_in_steps(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R192: a delete of any length goes on in bounded steps until nothing is left."""
    monkeypatch.setattr(erasure, "STEP_ROWS_MAX", 7)
    await made(store)
    await ask_all(store, [commit(head=head) for head in range(40)])
    await ask_all(store, [Enqueue(ANN, b"[]", KeyEntry(f"k{n}", b"")) for n in range(20)])
    before = store.statistics().transactions
    assert await ask(store, Delete(ANN, b"[gone]")) == Done(62)
    assert store.statistics().transactions - before > 10
    assert [entry.records for entry in store.feed()] == [b"[gone]"]


async def test_a_fork_has_its_parents_records_up_to_there(store: Store) -> None:
    """R191: the records, its own first entry behind them, and nothing else of the parent."""
    await made(store)
    await ask_all(store, [commit(head=0, records=b"[a]"), commit(head=1, records=b"[b]")])
    await ask(store, Enqueue(ANN, b"[q]", KeyEntry("key", b"d")))
    forked = await ask(store, ForkFrom(BEN, ANN, 2, b"forked", b"[child]"))
    assert isinstance(forked, Done)
    assert texts(store, BEN) == [b"[0]", b"[a]", b"[child]"]
    assert store.queued(BEN) == []
    assert store.known(BEN, "key") is None
    assert (await ask(store, Claim(BEN))).header == b"forked"
    assert await ask(store, commit(BEN, records=b"[c]")) == Committed(1, forked.number + 1)
    assert texts(store, ANN) == [b"[0]", b"[a]", b"[b]", b"[q]"]


@pytest.mark.parametrize(("deleted", "left"), [(ANN, BEN), (BEN, ANN)])
async def test_deleting_either_leaves_the_other_whole(
    store: Store, deleted: object, left: object
) -> None:
    """R191: parent and child share nothing that a delete could take away, blobs neither."""
    await made(store)
    await ask(store, commit(records=b"[a]", blobs={DIGEST: CONTENT}))
    await ask(store, ForkFrom(BEN, ANN, 2, b"", b"[child]"))
    whole = texts(store, left)  # type: ignore[arg-type]
    await ask(store, Delete(deleted, b"[]"))  # type: ignore[arg-type]
    assert texts(store, left) == whole  # type: ignore[arg-type]
    assert store.blob(DIGEST) == CONTENT


async def test_what_a_fork_copied_is_no_news(store: Store) -> None:
    """R222: the feed tells each event once: the copies were told under the parent."""
    await made(store)
    await ask(store, commit(records=b"[a]"))
    await ask(store, ForkFrom(BEN, ANN, 2, b"", b"[child]"))
    assert [entry.records for entry in store.feed()] == [b"[0]", b"[a]", b"[child]"]


async def test_a_fork_is_refused_where_it_cannot_be(store: Store) -> None:
    """R191: no such parent, no such commit of it, a name that is taken or was deleted."""
    carl = type(ANN)("default", "carl")
    assert await ask(store, ForkFrom(BEN, ANN, 1, b"", b"[]")) == Absent()
    await made(store, ANN)
    await made(store, BEN)
    assert await ask(store, ForkFrom(BEN, ANN, 1, b"", b"[]")) == Exists(b"header")
    failed = await ask(store, ForkFrom(carl, ANN, 2, b"", b"[]"))
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, SaveFailed)
    assert store.look(carl) == Absent()
    await ask(store, Delete(BEN, b"[]"))
    assert await ask(store, ForkFrom(BEN, ANN, 1, b"", b"[]")) == Gone()


async def test_content_is_kept_once_and_as_long_as_somebody_holds_it(store: Store) -> None:
    """R193: it goes with its last holder, and not before."""
    await made(store, ANN)
    await made(store, BEN)
    await ask(store, commit(ANN, blobs={DIGEST: CONTENT}))
    assert isinstance(await ask(store, commit(BEN, holds=frozenset({DIGEST}))), Committed)
    await ask(store, Delete(ANN, b"[]"))
    assert store.blob(DIGEST) == CONTENT
    await ask(store, Delete(BEN, b"[]"))
    assert store.blob(DIGEST) is None


async def test_content_that_is_not_there_cannot_be_held(store: Store) -> None:
    """R193, R194: a dangling hold would make a later read fail, so the commit does."""
    await made(store)
    failed = await ask(store, commit(holds=frozenset({DIGEST})))
    assert isinstance(failed, Failed)
    assert failed.error.facts["digest"] == DIGEST
    assert isinstance(await ask(store, commit(blobs={"no digest": b""})), Failed)
    assert texts(store) == [b"[0]"]
