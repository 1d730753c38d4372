"""One turn: draft, dispatch, rounds, settle; each boundary one commit."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Host
from greenroom.actors.models.port import (
    Capabilities,
    ModelResponse,
    RequestedCall,
    SessionInfo,
)
from greenroom.actors.models.scripted import CutOff, Scripted, Stalled, Streamed, call
from greenroom.protocol.composition import Composition, Ingredients, compose
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import ModelFailed, SessionFailed
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import OpaquePart
from greenroom.protocol.record import Accepted, Dispatched, Ended, Opened, Responded, Returned
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage
from tests.actors.world import (
    Stage,
    check_conversation,
    check_requests,
    conversation,
    opened,
    sent,
)

CALLS = ("Let me see.", call("look", what="a"))


async def test_one_turn_with_a_reading_tool_is_three_commits(stage: Stage) -> None:
    """R83, R79: accept and dispatch, round, settle; a response that only reads shares its round."""
    stage.plays(CALLS, "Done.")
    async with stage.session() as session:
        outcome = await session.ask("Hi")
        commits = [
            [type(record) for record in decode_records(entry.records)]
            for entry in stage.store.read(session.id)
        ]
    assert commits == [
        [Opened],
        [Accepted, Dispatched],
        [Responded, Returned],
        [Responded, Ended],
    ]
    assert (outcome.end, outcome.text, outcome.messages) == ("done", "Done.", 4)
    assert sent(stage.model.requests[1]) == [
        ("user", "Hi"),
        ("assistant", 'Let me see. look({"what":"a"})'),
        ("tool", "saw a"),
    ]


async def test_a_writing_tool_starts_behind_its_intent(stage: Stage) -> None:
    """R172, R83: response and intent durable before it starts, its outcome before the next ask."""
    stage.plays(call("send"), "Done.")
    async with stage.session() as session:
        receipt = await session.prompt("Send it")
        await stage.gate.reached.wait()
        last = decode_records(stage.store.read(session.id)[-1].records)[-1]
        assert isinstance(last, Responded)
        assert len(last.intents) == 1
        stage.memory.faults.hold()
        stage.gate.open.set()
        await wait_all_tasks_blocked()
        assert len(stage.model.requests) == 1
        stage.memory.faults.release()
        assert (await session.outcome(receipt)).end == "done"


async def test_no_request_before_its_commit(stage: Stage) -> None:
    """R83, R79: with the dispatch held back the model is not asked."""
    stage.plays("Hello.")
    async with stage.session() as session, trio.open_nursery() as nursery:
        stage.memory.faults.hold()
        nursery.start_soon(session.ask, "Hi")
        await wait_all_tasks_blocked()
        assert stage.model.requests == []
        stage.memory.faults.release()
    assert len(stage.model.requests) == 1


async def test_an_empty_answer(stage: Stage) -> None:
    """R182, P016: the turn ends as `empty`, and nothing of it is sent later."""
    stage.plays(" \n", "Hello.")
    async with stage.session() as session:
        assert (await session.ask("Hi")).end == "empty"
        assert (await session.ask("Again")).end == "done"
        await check_conversation(session)
    assert sent(stage.model.requests[1]) == [("user", "Hi"), ("user", "Again")]


@pytest.mark.parametrize("error", [ModelFailed("429", temporary=True), ValueError("odd")])
async def test_a_failed_model_leaves_the_session_open(stage: Stage, error: Exception) -> None:
    """R82, R175, P019: it ends `failed`, what was dispatched stays, the next one has it all."""
    stage.plays(CALLS, error, "Hello.")
    async with stage.session() as session:
        failed = await session.ask("Hi")
        assert failed.end == "failed"
        assert failed.reason
        assert (await session.ask("Again")).end == "done"
        await check_conversation(session)
        await check_requests(session, stage.model.requests)
    assert [role for role, _ in sent(stage.model.requests[-1])] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]


async def test_a_partial_stream_is_never_committed(stage: Stage) -> None:
    """R179, P024: a retry streams anew; the conversation is question and answer."""
    stage.plays(CutOff("Half an ans", then="Whole."))
    async with stage.session() as session:
        assert (await session.ask("Hi")).text == "Whole."
        assert await conversation(session) == ["Hi", "Whole."]
        await check_requests(session, stage.model.requests)


async def test_streamed_or_not_the_same_is_stored(stage: Stage) -> None:
    """R1, P025: one path: however the text came, the stored bytes are equal."""
    stage.plays("A longer answer.", Streamed("A longer answer.", pieces=7))
    async with stage.session() as session:
        await session.ask("Hi")
        await session.ask("Hi")
        bodies = [
            bytes(record.body)
            for entry in stage.store.read(session.id)
            for record in decode_records(entry.records)
            if isinstance(record, Responded)
        ]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize(("finish", "end"), [("filter", "refused"), ("length", "done")])
async def test_how_an_answer_finished(stage: Stage, finish: str, end: str) -> None:
    """R175: a withheld answer is a refusal, one that was cut says so."""
    stage.plays(ModelResponse("Hm", finish=finish), "Fine.")  # type: ignore[arg-type]
    async with stage.session() as session:
        outcome = await session.ask("Hi")
        assert outcome.end == end
        assert outcome.reason
        assert (await session.ask("And now?")).end == "done"
        await check_conversation(session)


async def test_a_turn_is_bounded(stage: Stage) -> None:
    """R175: a model that never stops asking for tools is stopped, with a result for each call."""
    stage.plays(call("look"), call("look"), "Fine.")
    async with stage.session(limits=Limits(rounds_max=2)) as session:
        outcome = await session.ask("Hi")
        assert outcome.end == "failed"
        assert "2 times" in outcome.reason
        assert stage.effects == ["look it"] * 2
        await check_conversation(session)
        assert (await session.ask("Go on")).end == "done"


async def test_a_continuation_that_does_not_fit(stage: Stage) -> None:
    """R89, R105, R102: results are kept and not made again; the reason is the table of spends."""
    window = Capabilities(context_tokens=8_000)
    stage.model = Scripted([call("look", what="x" * 3_000)] * 9, capabilities=window)
    async with stage.session(limits=Limits(output_tokens_reserve=100)) as session:
        outcome = await session.ask("Hi")
        assert outcome.end == "context_full"
        assert "window" in outcome.reason
        looked = len(stage.effects)
        assert looked == len(stage.model.requests) > 1
        await check_conversation(session)
        await session.flush()
        assert (await session.ask("x" * 19_000)).end == "context_full"
        assert len(stage.effects) == looked


async def test_ids_that_repeat_are_told_apart(stage: Stage) -> None:
    """R181, P011, P012: twice in one answer and again in the next turn."""
    twice = ModelResponse(calls=(RequestedCall("", "look", "{}"),) * 2, finish="calls")
    stage.plays(twice, "One.", twice, "Two.")
    async with stage.session() as session:
        await session.ask("Hi")
        await session.ask("Hi")
        calls = [made.id async for turn in session.turns() for made in turn.calls]
        assert len(set(calls)) == len(calls) == 4
        await check_conversation(session)
        await check_requests(session, stage.model.requests)


async def test_opaque_blocks_return_to_their_model_only(stage: Stage) -> None:
    """R176, P014: byte for byte over a restart; another model is sent the message without them."""
    signed = OpaquePart("scripted", b"\x00\xff signed")
    stage.plays(ModelResponse("So.", opaque=(signed,)), "Two.")
    stage.other._steps.extend(["Three."])
    async with stage.session() as session:
        await session.ask("Hi")
        stored = stage.store.read(session.id)[-1].records
    async with stage.session() as session:
        await session.ask("Hi")
        assert stage.store.read(session.id)[2].records == stored
        first = list(stage.model.requests[1].messages)[1]
        await session.set_model("other")
        await session.ask("Hi")
        await check_requests(session, stage.model.requests)
    assert b'"opaque"' in first
    assert first in stored
    assert b'"opaque"' not in stage.other.requests[0].messages.joined()
    assert ("assistant", '[{"type": "text", "text": "So."}]') in sent(stage.other.requests[0])


async def test_odd_bytes_do_not_stop_a_turn(stage: Stage) -> None:
    """R194, P127: a model's broken text is sent back as it was stored, marked."""
    stage.plays(("\ud83d", RequestedCall("i", "look", '{"what":"\ud83d"}')), "Done.")
    async with stage.session() as session:
        assert (await session.ask("Hi")).end == "done"
        await check_conversation(session)
        await check_requests(session, stage.model.requests)
    assert stage.effects == ["look �"]


async def test_what_is_used_is_counted(stage: Stage) -> None:
    """R190: every model call of a turn is in its record, and their sum in the outcome."""
    stage.model = Scripted([call("look"), "Done."], usage=Usage(input=5, output=2))
    async with stage.session() as session:
        outcome = await session.ask("Hi")
        [turn] = [turn async for turn in session.turns()]
    assert (outcome.usage.input, outcome.usage.output) == (10, 4)
    assert [made.usage.input for made in turn.model_calls] == [5, 5]
    assert turn.usage == outcome.usage


async def test_a_failure_of_ours_is_the_sessions_alone(stage: Stage) -> None:
    """R168, R87: a broken actor tells its waiters and is gone; the others run on."""
    hosts: list[Host] = []

    def breaking(_: ModelRequest, session: SessionInfo) -> str:
        actor = hosts[0].live(session.id)
        assert actor is not None
        actor.header = None  # type: ignore[assignment]
        return "Never told."

    stalled = Stalled(trio.Event(), "Fine.")
    stage.plays(stalled, breaking, "Hello again.")
    async with stage.host() as host, trio.open_nursery() as nursery:
        hosts.append(host)
        other = await host.session("ben", agent="support")
        waiting = await other.prompt("Hi")
        await stalled.reached.wait()
        session = await host.session("ann", agent="support")
        with pytest.raises(SessionFailed, match="NoneType"):
            await session.ask("Hi")
        stalled.until.set()
        assert (await other.outcome(waiting)).end == "done"
        assert (await session.ask("Again")).end == "done"
        await check_conversation(session)
        nursery.cancel_scope.cancel()


async def test_failing_deps_fail_the_turn(stage: Stage) -> None:
    """R82, R175, R220: what the host makes for its tools may fail; the call has a result."""

    def broken(_: object) -> object:
        raise ZeroDivisionError

    stage.plays(call("look"), "Hello again.")
    async with stage.host(deps=broken) as host:
        session = await host.session("ann", agent="support")
        outcome = await session.ask("Hi")
        assert (outcome.end, "ZeroDivisionError" in outcome.reason) == ("failed", True)
        assert (await session.ask("Again")).end == "done"
        await check_conversation(session)


@pytest.mark.parametrize("failure", [ZeroDivisionError, SystemExit, GeneratorExit])
async def test_a_broken_composer_leaves_the_message_unsent(
    stage: Stage, failure: type[BaseException]
) -> None:
    """R80, R81, R168: what a host brings may fail; the message is kept and can be sent again."""
    broken = [True]

    def composing(ingredients: Ingredients) -> Composition:
        if broken:
            broken.clear()
            raise failure
        return compose(ingredients)

    stage.plays("Hello.")
    async with stage.host(composer=composing) as host:
        session = await opened(host)
        receipt = await session.prompt("Hi")
        outcome = await session.outcome(receipt)
        assert (outcome.end, failure.__name__ in outcome.reason) == ("not_sent", True)
        assert (await session.outcome(await session.retry(receipt))).text == "Hello."
