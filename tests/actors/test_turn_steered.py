"""Messages that come in mid-turn: handed over at a boundary, or waiting for a turn of their own."""

import pytest
import trio

from greenroom.actors import Policy, Session
from greenroom.actors.models.scripted import Stalled, Step, call, scripted
from greenroom.protocol.errors import SaveFailed
from greenroom.protocol.event import MessageAbsorbed
from greenroom.protocol.message import Image, ImagePart, TextPart
from greenroom.protocol.receipt import Receipt, When
from tests.actors.world import (
    Stage,
    check_conversation,
    check_requests,
    conversation,
    queue_of,
    sent,
)


async def in_tool(stage: Stage, session: Session, *after: Step) -> Receipt:
    """A turn that stands in a reading tool until the gate opens, then answers ``after``."""
    stage.plays(call("watch"), *after)
    receipt = await session.prompt("Hi")
    await stage.gate.reached.wait()
    return receipt


async def test_a_steer_is_handed_over_once(stage: Stage) -> None:
    """R116, R122, P050: behind the results of the round; the tool is not cut off."""
    async with stage.session() as session:
        first = await in_tool(stage, session, "Done.", "Next.")
        before = stage.store.last_number()
        steer = await session.prompt("Also this")
        assert (steer.status, steer.turn) == ("steered", 1)
        stage.gate.open.set()
        absorbed = await session.outcome(steer)
        assert (absorbed.absorbed, absorbed.turn, absorbed.text) == (True, 1, "Done.")
        assert not (await session.outcome(first)).absorbed
        assert (await session.ask("More")).turn == 2
        assert await conversation(session) == [
            "Hi", "", "[watched]", "Also this", "Done.", "More", "Next.",
        ]  # fmt: skip
        told = [event async for event in _all(session) if isinstance(event, MessageAbsorbed)]
        assert [(one.message, one.turn) for one in told] == [(steer.message, 1)]
        assert told[0].cursor.number > before
        await check_requests(session, stage.model.requests)
    assert stage.effects == ["watch"]


async def _all(session: Session):  # type: ignore[no-untyped-def]  # noqa: ANN202 - events
    """The events that are there now."""
    last = (await session.state()).cursor
    async for event in session.events():
        yield event
        if getattr(event, "cursor", last).number >= last.number and type(event).__name__ in (
            "TurnEnded",
            "MessageNotSent",
        ):
            return


@pytest.mark.parametrize("durable", [True, False])
async def test_steers_keep_their_order_and_their_blocks(stage: Stage, durable: bool) -> None:
    """R126: several at one boundary are messages of their own, attachments and all."""
    image = Image("image/png", b"\x89PNG")
    async with stage.session(policy=Policy(durable_intake=durable)) as session:
        first = await in_tool(stage, session, "Done.")
        await session.prompt("one")
        await session.prompt([TextPart("two"), image])
        stage.gate.open.set()
        await session.outcome(first)
        messages = (await session.state()).messages
        await check_requests(session, stage.model.requests)
    one, two = [message.content for message in messages[3:5]]
    assert one == "one"
    assert two[0] == TextPart("two")
    assert isinstance(two[1], ImagePart)
    assert stage.store.blob(two[1].digest) == image.data


async def test_an_image_does_not_steer_where_none_is_taken(stage: Stage) -> None:
    """R116, R80, R127: it is refused in a turn of its own, and the conversation can be sent on."""
    stage.model = scripted()
    async with stage.session() as session:
        first = await in_tool(stage, session, "Done.", "Next.")
        plain = await session.prompt("plain")
        image = await session.prompt([TextPart("see"), Image("image/png", b"\x89PNG")])
        stage.gate.open.set()
        assert (await session.outcome(first)).end == "done"
        assert (await session.outcome(plain)).absorbed
        assert (await session.outcome(image)).end == "not_sent"
        assert (await session.ask("More")).end == "done"
        await check_requests(session, stage.model.requests)


async def test_a_message_after_the_last_boundary_is_the_next_prompt(stage: Stage) -> None:
    """R125, R124, R115: it is in no request of the turn that ends; none is lost or sent twice."""
    late = Stalled(trio.Event(), "One.")
    stage.plays(late, "Two.")
    async with stage.session() as session:
        first = await session.prompt("Hi")
        await late.reached.wait()
        steer = await session.prompt("Also this")
        late.until.set()
        assert (await session.outcome(first)).messages == 2
        own = await session.outcome(steer)
        assert (own.turn, own.absorbed) == (2, False)
        assert await conversation(session) == ["Hi", "One.", "Also this", "Two."]
    assert sent(stage.model.requests[0]) == [("user", "Hi")]


@pytest.mark.parametrize("entry", ["ids", "slug", "name", "queue"])
async def test_a_pick_waits_for_its_own_turn(stage: Stage, entry: str) -> None:
    """R117, R118, R119, R121, P053, P054: also what stands behind it; that steers into its turn."""
    stage.skills.publish("refunds", "Give it back.")
    async with stage.session() as session:
        first = await in_tool(stage, session, call("watch"), call("look"), "Two.")
        match entry:
            case "ids":
                waits = await session.prompt("Now", skills=["skills/refunds"])
            case "slug":
                waits = await session.prompt("Now", skills=["refunds"])
            case "name":
                waits = await session.prompt("$refunds now")
            case _:
                waits = await session.prompt("Now", when="queue")
        behind = await session.prompt("behind")
        assert (waits.status, behind.status) == ("queued", "queued")
        stage.model._steps[1] = "One."
        stage.gate.open.set()
        assert (await session.outcome(first)).turn == 1
        assert (await session.outcome(waits)).turn == 2
        absorbed = await session.outcome(behind)
        assert (absorbed.turn, absorbed.absorbed) == (2, True)
        roles = [role for role, _ in sent(stage.model.requests[1])]
        assert roles == ["user", "assistant", "tool"]
        await check_requests(session, stage.model.requests)


async def test_behind_a_pick_each_may_have_its_own_turn(stage: Stage) -> None:
    """R121, P053: `behind="own_turn"`."""
    stage.skills.publish("a", "Do a.")
    async with stage.session(policy=Policy(behind="own_turn")) as session:
        first = await in_tool(stage, session, "One.", call("look"), "Two.", "Three.")
        pick = await session.prompt(skills=["a"])
        behind = await session.prompt("b")
        stage.gate.open.set()
        assert [(await session.outcome(r)).turn for r in (first, pick, behind)] == [1, 2, 3]


async def test_plain_messages_before_the_waiting_one_still_steer(stage: Stage) -> None:
    """R120: and the waiting one is next, alone."""
    async with stage.session() as session:
        first = await in_tool(stage, session, "One.", "Two.")
        plain = await session.prompt("plain")
        queued = await session.prompt("queued", when="queue")
        stage.gate.open.set()
        outcomes = [await session.outcome(r) for r in (first, plain, queued)]
    assert [(o.turn, o.absorbed) for o in outcomes] == [(1, False), (1, True), (2, False)]


async def test_an_interruption(stage: Stage) -> None:
    """R178, P055, P056: the running turn is settled as cancelled, this is next, the order stays."""
    async with stage.session() as session:
        first = await in_tool(stage, session, "Urgent.", "Rest.")
        queued = await session.prompt("queued", when="queue")
        urgent = await session.prompt("urgent", when="interrupt")
        assert (urgent.status, urgent.position) == ("queued", 0)
        ended = await session.outcome(first)
        assert (ended.end, ended.turn) == ("cancelled", 1)
        assert [(await session.outcome(r)).turn for r in (urgent, queued)] == [2, 3]
        await check_conversation(session)
        await check_requests(session, stage.model.requests)
    assert stage.effects == ["watch"]


async def test_interruptions_are_served_as_after_a_restart(stage: Stage) -> None:
    """R178, R115: the live queue and the stored one have one order."""
    stage.plays("Hello.")
    async with stage.session() as session:
        stage.fails(skip=1)  # the end of a turn: nothing runs until the flush
        with pytest.raises(SaveFailed):
            await session.ask("first")
        whens: list[tuple[str, When]] = [("a", "steer"), ("i", "interrupt"), ("j", "interrupt")]
        for text, when in whens:
            await session.prompt(text, when=when)
        live = [
            e.submission.message for e in session._host.services.actors[session.id].gateway._line
        ]
    async with stage.session(policy=Policy(revive=False)) as session:
        await session._host.activate(session.id)
        assert len(live) == 3
        entries = {e.id: e.message.content async for e in session.transcript()}
        assert [entries[message] for message in live] == ["j", "i", "a"]
        session._host.services.closing = True


async def test_a_waiting_message_can_be_taken_back(stage: Stage) -> None:
    """R127: only what is still queued; what a turn has is not."""
    async with stage.session() as session:
        first = await in_tool(stage, session, "Done.")
        queued = await session.prompt("queued", when="queue")
        assert await session.recall(queued)
        assert not await session.recall(queued)
        assert not await session.recall(first)
        assert (await session.outcome(queued)).end == "recalled"
        stage.gate.open.set()
        await session.outcome(first)
        assert await queue_of(session) == []
        assert "queued" not in await conversation(session)


@pytest.mark.parametrize("end", ["cancel", "fail"])
async def test_after_a_bad_end_the_queue_goes_on(stage: Stage, end: str) -> None:
    """R127, R123: steers that no boundary took are prompts of their own, once."""
    stall = Stalled(trio.Event(), ValueError("odd"))
    stage.plays(stall, "Next.")
    async with stage.session() as session:
        first = await session.prompt("Hi")
        await stall.reached.wait()
        steer = await session.prompt("plain")
        if end == "cancel":
            assert await session.cancel()
        else:
            stall.until.set()
        assert (await session.outcome(first)).end == ("cancelled" if end == "cancel" else "failed")
        assert (await session.outcome(steer)).turn == 2
        assert await conversation(session) == ["Hi", "plain", "Next."]


async def test_ordinals_are_given_at_the_entrance(stage: Stage) -> None:
    """R51: by dispatch or hand-over; queued and recalled ones have none, absorbed ones do."""
    async with stage.session() as session:
        first = await in_tool(stage, session, "One.", "Two.")
        recalled = await session.prompt("recalled", when="queue")
        queued = await session.prompt("queued", when="queue")
        await session.recall(recalled)
        entries = [entry async for entry in session.transcript()]
        assert {e.ordinal for e in entries if e.mark in ("queued", "recalled")} == {None}
        stage.gate.open.set()
        await session.outcome(queued)
        await session.outcome(first)
        ordinals = {
            str(e.message.content): e.ordinal
            async for e in session.transcript()
            if e.origin == "person"
        }
    assert ordinals == {"Hi": 0, "recalled": None, "queued": 1}
