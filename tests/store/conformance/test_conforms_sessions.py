"""Creating, claiming, releasing, committing: each verdict by name."""

from hashlib import sha256

from greenroom.store import (
    Absent,
    Claim,
    Claimed,
    Committed,
    Copied,
    Create,
    Created,
    Delete,
    Done,
    Enqueue,
    Exists,
    Failed,
    Fenced,
    HeadMismatch,
    KeyEntry,
    Known,
    Release,
    Store,
    Stored,
)
from greenroom.store.transaction import RECORD_BYTES_MAX
from tests.store.offering import ANN, BEN, ask, ask_all, commit, made, texts


async def test_a_session_is_created_once_however_many_ask(store: Store) -> None:
    """R219, P112: one Created, the others Exists with the header as it stands."""
    verdicts = await ask_all(store, [Create(ANN, b"%d" % n, b"[]") for n in range(64)])
    assert isinstance(verdicts[0], Created)
    assert verdicts[1:] == [Exists(b"0")] * 63
    assert store.look(ANN) == Stored(ANN, 0, 0, 1, b"0", 0)


async def test_what_does_not_exist_is_absent(store: Store) -> None:
    """R219: nothing but Create makes a session."""
    operations = [Claim(ANN), commit(), Enqueue(ANN, b"[]"), Release(ANN, 1)]
    assert await ask_all(store, operations) == [Absent()] * 4
    assert store.look(ANN) == Absent()
    assert store.read(ANN) == []
    assert store.last_number() == 0


async def test_a_claim_raises_the_epoch_and_fences_the_former_holder(store: Store) -> None:
    """R207: what a former holder still offers is Fenced, and nothing is written."""
    assert await made(store) == 1
    claimed = await ask(store, Claim(ANN))
    assert claimed == Claimed(2, 0, b"header", 1, stalled=1)
    assert await ask(store, commit(epoch=1)) == Fenced(2)
    assert await ask(store, Release(ANN, 1)) == Fenced(2)
    assert texts(store) == [b"[0]"]
    assert await ask(store, commit(epoch=2)) == Committed(1, 2)


async def test_claims_without_a_commit_are_counted(store: Store) -> None:
    """R174: a session that fails each time is told by its claims; a commit or release ends it."""
    await made(store)
    assert [(await ask(store, Claim(ANN))).stalled for _ in range(3)] == [1, 2, 3]
    await ask(store, commit(epoch=4))
    assert (await ask(store, Claim(ANN))).stalled == 0
    assert await ask(store, Release(ANN, 5)) == Done()
    assert (await ask(store, Claim(ANN))).stalled == 0


async def test_a_commit_is_whole_and_in_order(store: Store) -> None:
    """R170: head and number count up, the header is replaced, or left as it stands."""
    await made(store)
    verdicts = await ask_all(
        store, [commit(head=0, records=b"[1]", header=b"new"), commit(head=1, records=b"[2]")]
    )
    assert verdicts == [Committed(1, 2), Committed(2, 3)]
    assert texts(store) == [b"[0]", b"[1]", b"[2]"]
    assert store.look(ANN) == Stored(ANN, 1, 2, 3, b"new", 0)
    assert [entry.number for entry in store.read(ANN, after=2)] == [3]
    entry = store.entry(3)
    assert entry is not None
    assert (entry.session, entry.records) == (ANN, b"[2]")
    assert store.entry(4) is None


async def test_the_same_commit_again_is_committed_once(store: Store) -> None:
    """R85: offered again unchanged it answers Committed with the same place, even in one group."""
    await made(store)
    verdicts = await ask_all(store, [commit(), commit(), commit()])
    assert verdicts == [Committed(1, 2)] * 3
    await ask(store, Enqueue(ANN, b"[q]"))
    assert await ask(store, commit()) == Committed(1, 2)
    assert texts(store) == [b"[0]", b"[1]", b"[q]"]


async def test_another_commit_at_a_head_that_passed_is_a_mismatch(store: Store) -> None:
    """P020, R91: of two commits at one head one wins; the other is told where it stands."""
    await made(store)
    verdicts = await ask_all(store, [commit(records=b"[a]"), commit(records=b"[b]")])
    assert verdicts == [Committed(1, 2), HeadMismatch(1)]
    assert await ask(store, commit(head=7)) == HeadMismatch(1)
    assert texts(store) == [b"[0]", b"[a]"]


async def test_sessions_keep_apart(store: Store) -> None:
    """R170: commits of two sessions interleave, their histories do not."""
    await made(store, ANN)
    await made(store, BEN)
    for head in range(5):
        told = b"[%d]" % head
        await ask_all(store, [commit(ANN, head, b"[1]" + told), commit(BEN, head, b"[2]" + told)])
    assert texts(store, ANN) == [b"[0]"] + [b"[1][%d]" % head for head in range(5)]
    assert texts(store, BEN) == [b"[0]"] + [b"[2][%d]" % head for head in range(5)]


async def test_a_session_that_comes_with_its_history_is_made_whole(store: Store) -> None:
    """R191, R177, R193: its commits in order, their keys, its content; no news but its first."""
    content, digest = b"content", sha256(b"content").hexdigest()
    key = KeyEntry("k", b"d" * 16)
    behind = (Copied(b"[1]"), Copied(b"[2]", (key,)), Copied(b"[3]"))
    operation = Create(ANN, b"header", b"[0]", behind=behind, blobs={digest: content})
    created = await ask(store, operation)
    assert created == Created(4)
    assert texts(store) == [b"[0]", b"[1]", b"[2]", b"[3]"]
    assert store.look(ANN) == Stored(ANN, 0, 0, 4, b"header", 0)
    assert store.known(ANN, "k") == Known(3, key.digest)
    assert (store.held(ANN), store.blob(digest)) == ([digest], content)
    assert [entry.records for entry in store.feed()] == [b"[0]"]
    assert await ask(store, operation) == Exists(b"header")
    assert isinstance(await ask(store, Claim(ANN)), Claimed)
    assert await ask(store, commit()) == Committed(1, 5)
    assert await ask(store, Delete(ANN, b"[]")) == Done(6)
    assert (store.held(ANN), store.blob(digest)) == ([], None)


async def test_a_history_of_which_one_commit_is_too_large_is_not_there(store: Store) -> None:
    """R191: whole or not at all, whichever part of it cannot be written."""
    behind = (Copied(b"[1]"), Copied(b"x" * (RECORD_BYTES_MAX + 1)))
    assert isinstance(await ask(store, Create(ANN, b"", b"[0]", behind=behind)), Failed)
    blobs = {"no digest": b""}
    assert isinstance(await ask(store, Create(ANN, b"", b"[0]", blobs=blobs)), Failed)
    assert (store.look(ANN), store.last_number(), store.read(ANN)) == (Absent(), 0, [])
    assert await ask(store, Create(ANN, b"", b"[0]")) == Created(1)
