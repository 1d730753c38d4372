"""The queue and the idempotency keys."""

from greenroom.protocol.errors import SaveFailed
from greenroom.store import Committed, Enqueue, Failed, KeyEntry, Known, Queued, QueueIsFull, Store
from tests.store.offering import ANN, BEN, ask, ask_all, commit, made, texts


async def test_a_message_is_queued_without_an_epoch(store: Store) -> None:
    """R177: durable behind the queue, in the order of the offers, also while nobody holds it."""
    await made(store)
    assert await ask_all(store, [Enqueue(ANN, b"[a]"), Enqueue(ANN, b"[b]")]) == [
        Queued(1, 2),
        Queued(2, 3),
    ]
    assert [(e.seq, e.number, e.records) for e in store.queued(ANN)] == [
        (1, 2, b"[a]"),
        (2, 3, b"[b]"),
    ]
    assert texts(store) == [b"[0]", b"[a]", b"[b]"]


async def test_front_entries_stand_before_all_others(store: Store) -> None:
    """R91: what is put back in front is served first, the newest of them foremost."""
    await made(store)
    for records, front in ((b"[a]", False), (b"[b]", True), (b"[c]", True), (b"[d]", False)):
        await ask(store, Enqueue(ANN, records, front=front))
    assert [entry.records for entry in store.queued(ANN)] == [b"[c]", b"[b]", b"[a]", b"[d]"]
    assert len({entry.seq for entry in store.queued(ANN)}) == 4


async def test_a_commit_consumes_what_it_took(store: Store) -> None:
    """R83: the entry leaves the queue in the commit that takes it, its records stay."""
    await made(store)
    await ask_all(store, [Enqueue(ANN, b"[a]"), Enqueue(ANN, b"[b]")])
    assert isinstance(await ask(store, commit(consumed=(1,))), Committed)
    assert [entry.seq for entry in store.queued(ANN)] == [2]
    assert getattr(store.look(ANN), "queued", None) == 1
    assert b"[a]" in texts(store)


async def test_a_message_is_consumed_once(store: Store) -> None:
    """R83, R84: a commit that takes what is not in the queue fails whole, and alone."""
    await made(store, ANN)
    await made(store, BEN)
    await ask_all(store, [Enqueue(ANN, b"[a]"), Enqueue(ANN, b"[b]")])
    bad, good = commit(ANN, consumed=(1, 9)), commit(BEN)
    failed, committed = await ask_all(store, [bad, good])
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, SaveFailed)
    assert not failed.unknown
    assert isinstance(committed, Committed)
    assert [entry.seq for entry in store.queued(ANN)] == [1, 2]
    assert texts(store) == [b"[0]", b"[a]", b"[b]"]


async def test_a_full_queue_takes_nothing(store: Store) -> None:
    """R128: the bound is the operation's, and a refusal writes nothing."""
    await made(store)
    offers = [Enqueue(ANN, b"[]", KeyEntry(f"k{n}", b"d"), queue_max=2) for n in range(3)]
    verdicts = await ask_all(store, list(offers))
    assert verdicts[2] == QueueIsFull(2)
    assert store.known(ANN, "k2") is None
    assert store.last_number() == 3


async def test_a_key_is_used_once(store: Store) -> None:
    """R177: the same key answers Known, with place and digest of the first; nothing is written."""
    await made(store)
    first = Enqueue(ANN, b"[a]", KeyEntry("key", b"digest"))
    other = Enqueue(ANN, b"[b]", KeyEntry("key", b"other"))
    verdicts = await ask_all(store, [first, first, other])
    assert verdicts == [Queued(1, 2), Known(2, b"digest"), Known(2, b"digest")]
    late = commit(keys=(KeyEntry("new", b"n"), KeyEntry("key", b"digest")))
    assert await ask(store, late) == Known(2, b"digest")
    assert store.known(ANN, "new") is None
    assert store.known(ANN, "key") == Known(2, b"digest")
    assert texts(store) == [b"[0]", b"[a]"]


async def test_a_commit_registers_the_keys_of_what_it_accepts(store: Store) -> None:
    """R177: accepted and dispatched in one commit, the key is known after it."""
    await made(store)
    keyed = commit(keys=(KeyEntry("key", b"digest"),))
    assert await ask(store, keyed) == Committed(1, 2)
    assert await ask(store, keyed) == Committed(1, 2)
    assert await ask(store, Enqueue(ANN, b"[]", KeyEntry("key", b"digest"))) == Known(2, b"digest")


async def test_a_key_is_its_sessions_own(store: Store) -> None:
    """R218: the same key in another session is another key."""
    await made(store, ANN)
    await made(store, BEN)
    await ask(store, Enqueue(ANN, b"[]", KeyEntry("key", b"d")))
    assert store.known(BEN, "key") is None
    assert isinstance(await ask(store, Enqueue(BEN, b"[]", KeyEntry("key", b"d"))), Queued)
