"""Names, tenants, lists, the feed; and how verdicts are delivered."""

import unicodedata

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.protocol.errors import StoreClosed
from greenroom.protocol.identity import SessionId
from greenroom.store import Absent, Claim, Create, Enqueue, Failed, KeyEntry, Store
from greenroom.store.schema import idempotency_key, name_key, number_key, queue_key, queue_seq, term
from tests.store.offering import ANN, BEN, ask, ask_all, commit, made, texts

ALIKE = [
    *("a:b", "a_b", "a/b", "A:b", "a b", "a"),
    unicodedata.normalize("NFC", "é"),
    unicodedata.normalize("NFD", "é"),
    *("日本語", "קֶבֶר", "🎭" * 4_000, "k" * 65_536, "k" * 65_535),
]


async def test_names_that_look_alike_stay_apart(store: Store) -> None:
    """P125, R194: any script, any length, and no two names are one."""
    names = [SessionId("default", name) for name in ALIKE]
    await ask_all(store, [Create(name, name.key.encode(), b"[]") for name in names])
    assert [store.look(name).header for name in names] == [n.encode() for n in ALIKE]  # type: ignore[union-attr]
    assert [stored.session for stored in store.sessions()] == names


async def test_a_key_does_not_reach_into_another_tenant(store: Store) -> None:
    """R218: tenant and key are told apart however they are split, and lists hold one tenant's."""
    names = [SessionId("a", "b/c"), SessionId("a/b", "c"), SessionId("a", "x")]
    terms = frozenset({("agent", "support")})
    await ask_all(store, [Create(name, b"", b"[]", terms) for name in names])
    assert {stored.session for stored in store.sessions("a")} == {names[0], names[2]}
    assert [stored.session for stored in store.sessions("a/b")] == [names[1]]
    assert list(store.sessions("none")) == []
    assert set(store.find("agent", "support", tenant="a")) == {names[0], names[2]}
    assert set(store.find("agent", "support")) == set(names)
    assert store.look(SessionId("a/b", "b/c")) == Absent()


async def test_terms_are_replaced_by_a_commit(store: Store) -> None:
    """R219: find answers from an index what the last commit said, and None leaves it."""
    await made(store, terms=frozenset({("agent", "a"), ("label", "x")}))
    await ask(store, commit(head=0))
    assert list(store.find("agent", "a")) == [ANN]
    await ask(store, commit(head=1, terms=frozenset({("agent", "b"), ("label", "x")})))
    assert list(store.find("agent", "a")) == []
    assert list(store.find("agent", "b")) == list(store.find("label", "x")) == [ANN]
    assert list(store.find("agen", "tb")) == []
    await ask(store, commit(head=2, terms=frozenset()))
    assert list(store.find("label", "x")) == []


async def test_a_list_is_walked_while_the_store_is_written(store: Store) -> None:
    """R170: a walk over more than a page holds nothing open, and meets each session once."""
    names = [SessionId("default", str(number)) for number in range(250)]
    await ask_all(store, [Create(name, b"", b"[]") for name in names])
    met = []
    for stored in store.sessions():
        met.append(stored.session)
        if len(met) % 50 == 0:
            await ask(store, Claim(stored.session))
    assert met == names
    assert {stored.session for stored in store.sessions("default")} == set(names)


async def test_the_feed_is_every_commit_in_order(store: Store) -> None:
    """R222: in pages, from any number, each once."""
    await made(store, ANN)
    await made(store, BEN)
    for head in range(10):
        await ask_all(store, [commit(ANN, head, b"[a]"), commit(BEN, head, b"[b]")])
    numbers, after = [], 0
    while page := store.feed(after, limit=7):
        assert len(page) <= 7
        numbers += [entry.number for entry in page]
        after = page[-1].number
    assert numbers == list(range(1, store.last_number() + 1))
    assert numbers[-1] == 22


async def test_verdicts_come_in_order_and_never_inside_offer(store: Store) -> None:
    """R170: in the order in which the operations were applied, before any waiter wakes."""
    order: list[object] = []
    store.offer(Create(ANN, b"", b"[]"), lambda _: order.append("created"))
    store.offer(Claim(ANN), lambda _: order.append("claimed"))
    done = trio.Event()
    for number in range(5):
        store.offer(Enqueue(ANN, b"[]"), lambda _, number=number: order.append(number))  # type: ignore[misc]
    store.offer(Claim(ANN), lambda _: done.set())
    assert order == []
    await done.wait()
    assert order == ["created", "claimed", 0, 1, 2, 3, 4]


async def test_a_taker_that_fails_takes_nobody_with_it(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """R168: the other verdicts are delivered, the store lives, and the failure is told."""

    def fail(verdict: object) -> None:
        raise ValueError(verdict)

    store.offer(Create(ANN, b"", b"[]"), fail)
    assert (await ask(store, Claim(ANN))).epoch == 1
    assert "The taker of a verdict failed" in caplog.text


async def test_many_share_a_transaction(store: Store) -> None:
    """R170: what is offered in one tick is one flush, or very few."""
    names = [SessionId("default", str(number)) for number in range(500)]
    await ask_all(store, [Create(name, b"", b"[]") for name in names])
    told = store.statistics()
    assert (told.transactions, told.largest_group, told.waiting) == (1, 500, 0)
    await ask_all(store, [Claim(name) for name in names])
    await ask_all(store, [commit(name, records=b"[12]") for name in names])
    told = store.statistics()
    assert (told.operations, told.commits, told.transactions, told.failed) == (1_500, 500, 3, 0)
    assert told.records_bytes == 500 * (2 + 4)


async def test_as_many_records_as_were_acknowledged(store: Store) -> None:
    """P022, P112: after a busy run of many sessions nothing that was acknowledged is missing."""
    names = [SessionId("default", str(number)) for number in range(64)]
    acknowledged: dict[SessionId, list[int]] = {name: [] for name in names}

    async def run(name: SessionId) -> None:
        acknowledged[name].append((await ask(store, Create(name, b"", b"[]"))).number)
        await ask(store, Claim(name))
        for head in range(12):
            verdicts = await ask_all(
                store, [commit(name, head), Enqueue(name, b"[]", KeyEntry(str(head), b""))]
            )
            acknowledged[name] += [verdict.number for verdict in verdicts]

    async with trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(run, name)
    for name, numbers in acknowledged.items():
        assert [entry.number for entry in store.read(name)] == numbers
        assert len(store.queued(name)) == 12
    count = sum(map(len, acknowledged.values()))
    assert len(store.feed(limit=10_000)) == store.last_number() == count == 64 * 25


async def test_closing_finishes_what_was_offered(store: Store) -> None:
    """R170: what was offered before gets its verdict, what comes after is refused."""
    verdicts: list[object] = []
    for number in range(50):
        store.offer(Create(SessionId("default", str(number)), b"", b"[]"), verdicts.append)
    await store.aclose()
    assert len(verdicts) == 50
    assert not any(isinstance(verdict, Failed) for verdict in verdicts)
    late = await ask(store, Claim(ANN))
    assert isinstance(late, Failed)
    assert isinstance(late.error, StoreClosed)
    with pytest.raises(StoreClosed):
        store.look(ANN)
    await store.aclose()


async def test_a_read_answers_copies(store: Store) -> None:
    """R170: what was read stands still while the store goes on."""
    await made(store)
    read = store.read(ANN)
    await ask_all(store, [commit(head=head) for head in range(20)])
    assert [entry.records for entry in read] == [b"[0]"]
    assert len(texts(store)) == 21


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_no_two_names_have_one_key(one: tuple[str, str], other: tuple[str, str]) -> None:
    """P125, R218: keys of equal names are equal, of others not; so for terms."""
    assert (name_key(SessionId(*one)) == name_key(SessionId(*other))) == (one == other)
    assert (term(*one) == term(*other)) == (one == other)
    assert len(name_key(SessionId(*one))) == 32
    assert len(idempotency_key(number_key(1), one[1])) == 24


@given(st.lists(st.integers(-(2**62), 2**62), min_size=2))
@settings(max_examples=50)
def test_the_order_of_the_queue_is_the_order_of_its_keys(seqs: list[int]) -> None:
    """R91: front entries (below zero) sort before all others."""
    session = number_key(7)
    keys = sorted(queue_key(session, seq) for seq in seqs)
    assert [queue_seq(key) for key in keys] == sorted(seqs)
