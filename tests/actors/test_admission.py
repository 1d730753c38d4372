"""From what a caller sends to a durable message."""

from contextlib import suppress
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import (
    Busy,
    EmptyMessage,
    InvalidInput,
    KeyReused,
    Missing,
    QueueFull,
    Refused,
    SkillNotGiven,
    StoreUnavailable,
    TooLarge,
)
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import Image, ImagePart, TextPart
from greenroom.protocol.receipt import Receipt
from greenroom.protocol.record import Accepted
from tests.actors.world import STILL, Stage, conversation, is_enqueue, queue_of

IMAGE = Image("image/png", b"\x89PNG")


@pytest.mark.parametrize("content", ["", " \n\t", ()])
async def test_nothing_is_no_message(stage: Stage, content: Any) -> None:
    """R24, P017: refused, unless a skill is picked with it."""
    stage.skills.publish("refunds", "Give it back.")
    stage.plays("One.")
    async with stage.session() as session:
        before = stage.store.last_number()
        with pytest.raises(EmptyMessage):
            await session.prompt(content)
        assert stage.store.last_number() == before
        assert (await session.ask(content, skills=["refunds"])).end == "done"
        last = stage.model.requests[0].messages[0]
    assert b"Give it back." in last


@pytest.mark.parametrize(
    ("content", "how", "error"),
    [
        ("\ud83d", {}, InvalidInput),
        ("a\0b", {}, InvalidInput),
        ("x" * 2_000_000, {}, TooLarge),
        (7, {}, InvalidInput),
        ([TextPart("x"), "y"], {}, InvalidInput),
        ([TextPart("x")] * 300, {}, TooLarge),
        ("Hi", {"when": "never"}, InvalidInput),
        ("Hi", {"skills": "refunds"}, InvalidInput),
        ("Hi", {"skills": ["none"]}, SkillNotGiven),
        ("Hi", {"skills": ["x"] * 9}, Refused),
        ("Hi", {"key": ""}, InvalidInput),
        ("Hi", {"key": "a\0"}, InvalidInput),
    ],
)
async def test_what_is_not_valid_is_refused_at_the_border(
    stage: Stage,
    content: Any,
    how: dict[str, Any],
    error: type[Exception],
) -> None:
    """R177, R194, R20: a typed error, nothing stored, no key used up."""
    stage.plays("One.")
    async with stage.session() as session:
        before = stage.store.last_number()
        with pytest.raises(error):
            await session.prompt(content, **{"key": "k", **how})
        assert stage.store.last_number() == before
        assert not (await session.prompt("Hi", key="k")).repeated


async def test_content_is_stored_as_typed(stage: Stage) -> None:
    """R23, R1: with picks beside it, words and blocks are equal byte for byte."""
    stage.skills.publish("refunds", "Give it back.")
    stage.plays("One.", "Two.")
    async with stage.session() as session:
        outcome = await session.ask([TextPart(" $refunds  now "), IMAGE])
        assert outcome.end == "done", outcome.reason
        await session.ask("  <skill> ünder ")
        messages = (await session.state()).messages
        [pick] = [e.picks async for e in session.transcript() if e.picks]
    content = messages[0].content
    assert not isinstance(content, str)
    words, image = content
    assert words == TextPart(" $refunds  now ")
    assert isinstance(image, ImagePart)
    assert stage.store.blob(image.digest) == IMAGE.data
    assert messages[2].content == "  <skill> ünder "
    assert [(one.id, one.slug, one.name) for one in pick] == [
        ("skills/refunds", "refunds", "refunds")
    ]


async def test_every_way_to_pick_is_the_same(stage: Stage) -> None:
    """R18, R22, P054: by id, by slug, by name in the text; the record is one."""
    stage.skills.publish("refunds", "Give it back.")
    stage.plays("One.", "Two.", "Three.")
    async with stage.session() as session:
        await session.ask("Now", skills=["skills/refunds"])
        await session.ask("Now", skills=["refunds", "skills/refunds"])
        await session.ask("$refunds now \\$refunds $HOME $5")
        picks = [e.picks async for e in session.transcript() if e.origin == "person"]
        contexts = await session.get_runtime_contexts()
    assert picks[0] == picks[1] == picks[2]
    assert len({context.skills for context in contexts}) == 1
    assert [context.user_turn for context in contexts] == [0, 1, 2]


async def test_a_receipt_is_durable_and_says_where_it_stands(stage: Stage) -> None:
    """R177, R93: started, to steer, queued at n; each is in the store when the receipt is there."""
    stage.plays(call("watch"), "One.", "Two.")
    async with stage.session() as session:
        receipts = [await session.prompt("Hi")]
        await stage.gate.reached.wait()
        receipts.append(await session.prompt("steer"))
        receipts.append(await session.prompt("queue", when="queue"))
        receipts.append(await session.prompt("behind"))
        stored = [
            record.message
            for entry in stage.store.read(session.id)
            for record in decode_records(entry.records)
            if isinstance(record, Accepted)
        ]
        assert stored == [receipt.message for receipt in receipts]
        assert [(r.status, r.position, r.turn) for r in receipts] == [
            ("started", 0, 1),
            ("steered", 0, 1),
            ("queued", 1, None),
            ("queued", 2, None),
        ]
        with pytest.raises(Busy):
            await session.prompt("Now", when="reject")


async def test_a_key_gives_one_turn(stage: Stage) -> None:
    """R177: the first receipt again, marked; over a restart too; other content is refused."""
    stage.plays("One.")
    async with stage.session() as session:
        first = await session.prompt("Hi", key="k")
        again = await session.prompt("Hi", key="k")
        assert (again.message, again.turn, again.repeated) == (first.message, 1, True)
        assert again.cursor == first.cursor
        assert (await session.ask("Hi", key="k")).text == "One."
        with pytest.raises(KeyReused):
            await session.prompt("Other", key="k")
    async with stage.session() as session:
        assert (await session.prompt("Hi", key="k")).repeated
        assert await conversation(session) == ["Hi", "One."]
    assert len(stage.model.requests) == 1


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("busy", [False, True])
async def test_a_key_used_by_two_at_once_gives_one_turn(
    stage: Stage, durable: bool, busy: bool
) -> None:
    """R177: whether it starts its turn at once or is queued, and wherever the queue is."""
    if busy:
        stage.plays(call("watch"), "One.")
    stage.plays("Two.", "Three.")
    messages: set[str] = set()
    async with stage.session(policy=Policy(durable_intake=durable)) as session:
        if busy:
            await session.prompt("First")
            await stage.gate.reached.wait()

        async def send() -> None:
            messages.add((await session.prompt("Hi", key="k", when="queue")).message)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(send)
        stage.gate.open.set()
        [message] = messages
        assert (await session.outcome(message)).end == "done"
        await wait_all_tasks_blocked()
        assert (await conversation(session)).count("Hi") == 1
        assert (await session.prompt("Hi", key="k")).message == message


async def test_two_that_ask_at_once_are_never_mixed(stage: Stage) -> None:
    """R115, P029: one turn at a time, in the order of acceptance."""
    stage.plays("One.", "Two.")
    texts: dict[str, str] = {}
    async with stage.session() as session:
        await session._host.activate(session.id)

        async def ask(words: str) -> None:
            texts[words] = (await session.ask(words)).text

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "a")
            nursery.start_soon(ask, "b")
        said = await conversation(session)
    assert said == [said[0], texts[said[0]], said[2], texts[said[2]]]
    assert {said[0], said[2]} == {"a", "b"}


@pytest.mark.parametrize("durable", [True, False])
async def test_a_full_queue_refuses(stage: Stage, durable: bool) -> None:
    """R128: with a typed error; nothing is dropped silently, and room is room again."""
    stage.plays(call("watch"), "One.", *["Next."] * 9)
    policy, limits = Policy(durable_intake=durable), Limits(queued_messages_max=2)
    async with stage.session(policy=policy, limits=limits) as session:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        queued = [await session.prompt(text, when="queue") for text in "ab"]
        with pytest.raises(QueueFull):
            await session.prompt("c", key="k")
        assert await queue_of(session) == (["a", "b"] if durable else [])
        assert (await session.state()).queued == 2
        await session.recall(queued[0])
        assert not (await session.prompt("c", when="queue", key="k")).repeated
        stage.gate.open.set()
        await session.outcome(first)


async def test_an_enqueue_of_unknown_fate_is_read_back(stage: Stage) -> None:
    """R86, R85: stored after all, it is accepted and served once; not stored, it is refused."""
    stage.plays(call("watch"), "One.", "Two.")
    async with stage.session() as session:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        stage.fails(where=is_enqueue, unknown=True)
        with pytest.raises(StoreUnavailable):
            await session.prompt("lost", when="queue")
        stage.fails(where=is_enqueue, unknown=True, applied=True)
        queued = await session.prompt("kept", when="queue")
        stage.gate.open.set()
        await session.outcome(first)
        assert (await session.outcome(queued)).text == "Two."
        assert "lost" not in await conversation(session)


async def test_a_queue_in_memory_is_lost_with_the_host(stage: Stage) -> None:
    """R93: where the host wants that; what its turn takes is durable with it."""
    stage.plays(call("watch"), "One.", "Two.")
    async with stage.session(policy=Policy(durable_intake=False)) as session:
        first = await session.prompt("Hi")
        await stage.gate.reached.wait()
        before = stage.store.last_number()
        steers = [await session.prompt(text, key=f"key {text}") for text in "ab"]
        queued = await session.prompt("queue", when="queue")
        assert stage.store.last_number() == before
        stage.gate.open.set()
        await session.outcome(first)
        assert [(await session.outcome(s)).absorbed for s in steers] == [True, True]
        assert (await session.outcome(queued)).turn == 2
        assert (await session.prompt("a", key="key a")).message == steers[0].message
        stall = Stalled(trio.Event(), "Three.")
        stage.plays(stall)
        await session.prompt("Hi")
        await stall.reached.wait()
        await session.prompt("lost", when="queue")
    async with stage.session(policy=STILL) as session:
        assert (await session.state()).queued == 0
        said = await conversation(session)
    assert said[:6] == ["Hi", "", "[watched]", "a", "b", "One."]
    assert "lost" not in said


async def test_what_was_not_sent_is_sent_again_once(stage: Stage) -> None:
    """R81: under the same id; what was sent, or is on its way again, is not."""
    stage.skills.publish("refunds", "Give it back.")
    stage.plays(call("watch"), "One.", "Two.")
    async with stage.session() as session:
        package = stage.skills.packages["skills/refunds"]
        stage.skills.withdraw("refunds")
        unsent = await session.prompt("Hi", skills=["refunds"])
        assert (await session.outcome(unsent)).end == "not_sent"
        stage.skills.packages["skills/refunds"] = package
        first = await session.prompt("Wait")
        await stage.gate.reached.wait()
        again = await session.retry(unsent)
        assert (again.message, again.status) == (unsent.message, "queued")
        with pytest.raises(Missing):
            await session.retry(unsent)
        with pytest.raises(Missing):
            await session.retry(first)
        stage.gate.open.set()
        assert (await session.outcome(again)).text == "Two."
        ordinals = [e.ordinal async for e in session.transcript() if e.id == unsent.message]
        assert ordinals == [None, 1]
        with pytest.raises(Missing):
            await session.retry(unsent)


async def test_a_retry_that_waits_is_one_message(stage: Stage) -> None:
    """R81, R213: two at once are one; after a restart its outcome is that of the retry."""
    stage.skills.publish("refunds", "Give it back.")
    package = stage.skills.packages["skills/refunds"]
    retried: list[str] = []
    stage.plays(call("watch"), "Sent.")
    async with stage.session() as session:
        stage.skills.withdraw("refunds")
        unsent = await session.prompt("Hi", skills=["refunds"])
        assert (await session.outcome(unsent)).end == "not_sent"
        stage.skills.packages["skills/refunds"] = package
        await session.prompt("Wait")
        await stage.gate.reached.wait()

        async def retry() -> None:
            with suppress(Missing):
                retried.append((await session.retry(unsent)).status)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(retry)
            nursery.start_soon(retry)
        assert retried == ["queued"]
    async with stage.session(policy=STILL) as session:
        assert (await session.outcome(unsent)).text == "Sent."
        assert (await conversation(session)).count("Hi") == 1


async def test_what_nobody_sent_has_no_outcome(stage: Stage) -> None:
    """R213: a name of no message is refused, and not waited for."""
    async with stage.session() as session:
        with pytest.raises(Missing):
            await session.outcome("nothing")


async def test_a_full_host_makes_a_message_durable_all_the_same(stage: Stage) -> None:
    """R177, R185: where no turn may start yet, the receipt does not wait for one that ends."""
    stage.plays(call("watch"), "Done.", "Mine.")
    async with stage.host(limits=Limits(running_turns_max=1)) as host:
        busy = await host.session("busy", agent="support")
        first = await busy.prompt("Hi")
        await stage.gate.reached.wait()
        session = await host.session("ann", agent="support")
        receipt = await session.prompt("Hello")
        assert (receipt.status, receipt.repeated) == ("queued", False)
        assert [entry.id async for entry in session.transcript()] == [receipt.message]
        stage.gate.open.set()
        assert (await busy.outcome(first)).end == "done"
        assert (await session.outcome(receipt)).text == "Mine."


async def test_a_receipt_of_the_first_tick_names_the_turn(stage: Stage) -> None:
    """R177: a message sent before the turn's task ran steers into that very turn."""
    stage.plays(call("look"), "Done.")
    receipts: list[Receipt] = []
    async with stage.session() as session:
        await session.state()

        async def send(text: str) -> None:
            receipts.append(await session.prompt(text))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, "one")
            nursery.start_soon(send, "two")
        assert {receipt.turn for receipt in receipts} == {1}
        for receipt in receipts:
            await session.outcome(receipt)
