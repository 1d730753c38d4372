"""The order of the queue: who steers, who waits, who waits behind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors.gateway import Behind, Gateway, Waiting
from greenroom.protocol.command import Pick, Submission
from greenroom.protocol.receipt import When
from greenroom.store.contract import KeyEntry

REFUNDS = Pick("skills/refunds", "refunds", "Refunds")


def submission(name: str, when: When = "steer", *, pick: bool = False) -> Submission:
    picks = (REFUNDS,) if pick else ()
    return Submission(name, b"{}", picks, when, "person", None, None)


def waiting(
    gateway: Gateway, name: str, seq: int | None, when: When = "steer", **how: bool
) -> None:
    """A message takes its place, as admission gives it one."""
    sent = submission(name, when, **how)
    own_turn = gateway.would_wait(sent)
    gateway.expect(sent)
    gateway.arrived(Waiting(sent, seq, 0, own_turn), front=when == "interrupt")


def names(entries: list[Waiting]) -> list[str]:
    return [entry.submission.message for entry in entries]


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


def test_plain_messages_in_front_of_the_first_waiting_one_steer(gateway: Gateway) -> None:
    """R116, R119, R120: what stands behind a pick or a queued message waits behind it."""
    for seq, name in enumerate("abpc"):
        waiting(gateway, name, seq, pick=name == "p")
    assert names(gateway.take_steers(9)) == ["a", "b"]
    assert names(gateway.take_steers(9)) == []
    taken = gateway.take_prompt()
    assert taken is not None
    assert taken.submission.message == "p"
    assert names(gateway.take_steers(9)) == ["c"]  # R121: behind it they steer into its turn


def test_asked_to_queue_is_to_wait(gateway: Gateway) -> None:
    """R119, R178: `when="queue"` waits for a turn of its own, like a pick."""
    waiting(gateway, "q", 1, "queue")
    waiting(gateway, "a", 2)
    assert gateway.take_steers(9) == []


@pytest.mark.parametrize(("behind", "steers"), [("steer", ["a", "b"]), ("own_turn", [])])
def test_behind_a_waiting_message(behind: Behind, steers: list[str]) -> None:
    """R121, P053: by policy the plain ones behind steer into its turn, or each has its own."""
    gateway = Gateway(behind)
    waiting(gateway, "p", 1, pick=True)
    waiting(gateway, "a", 2)
    waiting(gateway, "b", 3)
    gateway.take_prompt()
    assert names(gateway.take_steers(9)) == steers


def test_a_message_on_its_way_has_its_place_already(gateway: Gateway) -> None:
    """R115, R119: acceptance order holds from the offer on, not from the verdict."""
    pick, plain = submission("p", pick=True), submission("a")
    gateway.expect(pick)
    assert not gateway.would_steer(plain)
    assert (gateway.length, gateway.is_empty) == (1, False)
    assert (gateway.is_coming("p"), gateway.holds("p")) == (True, False)
    gateway.refused(pick)
    assert gateway.would_steer(plain)
    assert gateway.is_empty


def test_an_interruption_stands_in_front_of_all(gateway: Gateway) -> None:
    """R178: it is next, in front of what is queued, whose order stays."""
    waiting(gateway, "a", 1)
    waiting(gateway, "b", 2)
    waiting(gateway, "i", -1, "interrupt")
    waiting(gateway, "j", -2, "interrupt")
    assert [gateway.place_of(name) for name in "jiab"] == [0, 1, 2, 3]


def test_steers_that_were_not_committed_come_back(gateway: Gateway) -> None:
    """R123: once, at their old places, behind an interruption that came meanwhile."""
    for seq, name in enumerate("abc", 1):
        waiting(gateway, name, seq)
    taken = gateway.take_steers(2)
    waiting(gateway, "i", -1, "interrupt")
    gateway.put_back(taken)
    assert [gateway.place_of(name) for name in "iabc"] == [0, 1, 2, 3]


def test_steers_are_bounded(gateway: Gateway) -> None:
    """R128: a turn takes no more than it may; the rest stays where it stands."""
    for seq, name in enumerate("abc"):
        waiting(gateway, name, seq)
    assert names(gateway.take_steers(2)) == ["a", "b"]
    assert gateway.take_steers(0) == []
    assert len(gateway) == 1


def test_a_key_is_known_before_the_store_knows_it(gateway: Gateway) -> None:
    """R93, R177: with the queue in memory the second message of a key is found here."""
    entry = Waiting(submission("a"), None, 0, own_turn=False, keys=(KeyEntry("k", b"d"),))
    gateway.add(entry)
    assert gateway.of_key("k") is entry
    assert gateway.of_key("other") is None


# --- against a simple model -----------------------------------------------------------------------

STEP = st.one_of(
    st.tuples(st.just("plain"), st.just(0)),
    st.tuples(st.sampled_from(["pick", "queue", "interrupt"]), st.just(0)),
    st.tuples(st.just("prompt"), st.booleans()),
    st.tuples(st.just("steers"), st.integers(0, 3)),
    st.tuples(st.just("recall"), st.integers(0, 9)),
)


@given(st.lists(STEP, max_size=40), st.data())
def test_the_order_is_the_stores(steps: list[tuple[str, int]], data: st.DataObject) -> None:
    """R115, R119, R123, R127: whatever is taken and comes back, the order is that of `seq`.

    The model is a sorted list of (seq, waits): what the store would serve after a restart.
    """
    gateway, model = Gateway(), list[tuple[int, bool]]()
    back = front = 0
    for what, number in steps:
        if what in ("plain", "pick", "queue", "interrupt"):
            back, front = back + (what != "interrupt"), front + (what == "interrupt")
            seq = -front if what == "interrupt" else back
            when: When = what if what in ("queue", "interrupt") else "steer"  # type: ignore[assignment]
            waiting(gateway, str(seq), seq, when, pick=what == "pick")
            model = sorted([*model, (seq, what != "plain")])
        elif what == "prompt":
            taken = gateway.take_prompt()
            assert (taken.seq if taken else None) == (model[0][0] if model else None)
            if taken is not None and number:
                gateway.put_back([taken])
            model = model if number else model[1:]
        elif what == "steers":
            steers = gateway.take_steers(number)
            plain = next((i for i, (_, waits) in enumerate(model) if waits), len(model))
            assert [entry.seq for entry in steers] == [s for s, _ in model[: min(plain, number)]]
            if data.draw(st.booleans()):
                gateway.put_back(steers)
            else:
                model = model[len(steers) :]
        elif model:
            recalled = model.pop(number % len(model))
            place = gateway.place_of(str(recalled[0]))
            assert place is not None
            assert gateway.take_at(place).seq == recalled[0]
        assert [entry.seq for entry in gateway._line] == [seq for seq, _ in model]
