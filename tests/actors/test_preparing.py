"""Reading skills and composing: once, and then what was read is what is shown."""

import pytest
import trio

from greenroom.actors import Session
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.encoding import decode_message
from greenroom.protocol.errors import SkillNotGiven, SkillUnavailable
from greenroom.protocol.event import MessageNotSent, SkillsLoaded
from greenroom.protocol.message import UserMessage, text_of
from tests.actors.world import Stage, check_requests, conversation


def words(stage: Stage, request: int, message: int) -> str:
    """The text of one message of one request."""
    decoded = decode_message(stage.model.requests[request].messages[message])
    assert isinstance(decoded, UserMessage)
    return text_of(decoded.content)


async def loaded(session: Session) -> list[SkillsLoaded]:
    """The `skills_loaded` events so far."""
    last = (await session.state()).cursor.number
    found = []
    async for event in session.events():
        if isinstance(event, SkillsLoaded):
            found.append(event)
        if getattr(getattr(event, "cursor", None), "number", 0) >= last:
            break
    return found


async def test_a_pick_is_pinned_once_and_shown_for_ever(stage: Stage) -> None:
    """R25, R34, R54, P059, P060: edited, deleted, reopened: turn 1 shows what it showed."""
    stage.skills.publish("refunds", "Version A.")
    stage.plays("One.", "Two.", "Three.")
    async with stage.session() as session:
        await session.ask("Now", skills=["refunds"])
        assert stage.skills.reads == ["skills/refunds"]
        stage.skills.publish("refunds", "Version B.")
        await session.ask("Again")
        assert stage.skills.reads == ["skills/refunds"]
    shown = words(stage, 0, 0)
    assert "Version A." in shown
    stage.skills.packages.clear()
    async with stage.session() as session:
        await session.ask("Third")
        await check_requests(session, stage.model.requests)
    assert [words(stage, place, 0) for place in range(3)] == [shown] * 3


async def test_a_skill_outside_the_prompt_is_shown_at_each_revision(stage: Stage) -> None:
    """R52: picked twice with an edit between, two snapshots hold two revisions."""
    stage.skills.publish("refunds", "Version A.")
    stage.plays("One.", "Two.")
    async with stage.session() as session:
        await session.ask("Now", skills=["refunds"])
        [first] = await session.get_runtime_contexts()
        stage.skills.publish("refunds", "Version B.")
        await session.ask("Now", skills=["refunds"])
        again, second = await session.get_runtime_contexts()
        uses = [turn.skills async for turn in session.turns()]
    assert again == first
    assert first.skills[0].revision != second.skills[0].revision
    assert "Version A." in words(stage, 1, 0)
    assert "Version B." in words(stage, 1, 2)
    # R76, P058: the record of each turn names slug, revision, and who chose it.
    assert [(use.slug, use.revision, use.source) for turn in uses for use in turn] == [
        ("refunds", first.skills[0].revision, "person"),
        ("refunds", second.skills[0].revision, "person"),
    ]


async def test_a_bound_skill_stays_at_its_kept_revision(stage: Stage) -> None:
    """R26, R52, R57, R60, R76: edited or gone, until another composition; nothing is read."""
    stage.skills.publish("refunds", "Version A.")
    stage.bound = ("skills/refunds",)
    stage.plays("One.", "Two.")
    async with stage.session() as session:
        await session.ask("Hi")
        stage.skills.publish("refunds", "Version B.")
        reads = len(stage.skills.reads)
        await session.ask("Now", skills=["refunds"])
        assert len(stage.skills.reads) == reads
        [context] = await session.get_runtime_contexts()
        turns = [turn async for turn in session.turns()]
        await check_requests(session, stage.model.requests)
    assert "Version A." in stage.model.requests[1].system
    assert stage.model.requests[0].system == stage.model.requests[1].system
    assert "Version" not in words(stage, 1, 2)
    kept = context.skills[0].revision
    assert [(use.revision, use.source) for use in turns[1].skills] == [
        (kept, "composition"),
        (kept, "person"),
    ]
    assert [(use.revision, use.source) for use in turns[0].skills] == [(kept, "composition")]


async def test_a_skill_that_went_while_its_message_waited(stage: Stage) -> None:
    """R27, R80, R29: its turn fails in preflight with SkillUnavailable, and the queue goes on."""
    stage.skills.publish("refunds", "Version A.")
    stage.plays(call("watch"), "One.", "Three.")
    async with stage.session() as session:
        await session.prompt("Hi")
        await stage.gate.reached.wait()
        picked = await session.prompt("Now", skills=["refunds"])
        behind = await session.prompt("behind")
        stage.skills.withdraw("refunds")
        stage.gate.open.set()
        outcome = await session.outcome(picked)
        assert outcome.end == "not_sent"
        assert "refunds" in outcome.reason
        assert (await session.outcome(behind)).text == "Three."
        assert await session.get_runtime_contexts() == ()
        assert await loaded(session) == []
        told = []
        async for event in session.events():
            if isinstance(event, MessageNotSent):
                told.append(event.code)
                break
        assert told == [SkillUnavailable.code]
        assert await conversation(session) == [
            "Hi", "", "[watched]", "One.", "behind", "Three.",
        ]  # fmt: skip


async def test_a_dispatched_pick_is_told(stage: Stage) -> None:
    """R29, R50: one event with ordinal, ids and revisions; answers do not count."""
    stage.skills.publish("refunds", "Version A.")
    stage.plays("One.", "Two.")
    async with stage.session() as session:
        await session.ask("Hi")
        await session.ask("Now", skills=["refunds"])
        [told] = await loaded(session)
        [context] = await session.get_runtime_contexts()
    assert told.ordinal == context.user_turn == 1
    assert [(s.id, s.revision) for s in told.skills] == [
        ("skills/refunds", context.skills[0].revision)
    ]


async def test_a_selection_can_be_checked(stage: Stage) -> None:
    """R28: sources are read; no model is called and nothing is written."""
    stage.skills.publish("refunds", "Version A.")
    async with stage.session() as session:
        before = stage.store.last_number()
        await session.validate_skill_selection(["refunds"])
        assert stage.skills.reads == ["skills/refunds"]
        with pytest.raises(SkillNotGiven):
            await session.validate_skill_selection(["other"])
        stage.skills.withdraw("refunds")
        with pytest.raises(SkillUnavailable):
            await session.validate_skill_selection(["refunds"])
        assert stage.store.last_number() == before
    assert stage.model.requests == []


async def test_expanded_text_stays_out_of_the_conversation(stage: Stage) -> None:
    """R1, R23, P061: what a title would be made of are the words that were typed."""
    stage.skills.publish("long", "x" * 16_000)
    stage.plays("One.")
    async with stage.session() as session:
        await session.ask("do it", skills=["long"])
        assert await conversation(session) == ["do it", "One."]


async def test_an_edit_moves_no_byte_of_a_running_conversation(stage: Stage) -> None:
    """R60, R61, R64: it reaches a new conversation at once; of equal ones the prompts are equal."""
    stage.skills.publish("refunds", "Version A.")
    stage.bound = ("skills/refunds",)
    stage.plays(*["Fine."] * 9)
    async with stage.host() as host:
        ann = await host.session("ann", agent="support")
        ben = await host.session("ben", agent="support")
        await ann.ask("Hi")
        await ben.ask("Hi")
    stage.skills.publish("refunds", "Version B.")
    async with stage.host() as host:
        await (await host.session("ann")).ask("Hi")
        await (await host.session("cyd", agent="support")).ask("Hi")
        compositions = [
            turn.composition for key in ("ann", "ben", "cyd") async for turn in (
                await host.session(key)
            ).turns()
        ]  # fmt: skip
    systems = [request.system for request in stage.model.requests]
    assert systems[0] == systems[1] == systems[2] != systems[3]
    assert "Version B." in systems[3]
    assert len(set(compositions[:3])) == 1


async def test_pending_metadata_is_shown(stage: Stage) -> None:
    """R53, R75: what a running turn or a failed save accepted is in the answer already."""
    stage.skills.publish("refunds", "Version A.")
    stall = Stalled(trio.Event(), "One.")
    stage.plays(stall)
    async with stage.session() as session:
        receipt = await session.prompt("Now", skills=["refunds"])
        await stall.reached.wait()
        contexts = await session.get_runtime_contexts()
        assert len(contexts) == len(await session.get_system_prompt_checkpoints()) == 1
        stage.fails()
        stall.until.set()
        with pytest.raises(Exception, match="cannot be saved"):
            await session.outcome(receipt)
        assert await session.get_runtime_contexts() == contexts
        assert await conversation(session) == ["Now", "One."]
