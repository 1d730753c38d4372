"""What a call asks, what an answer covers, and what becomes of it when the turn goes on."""

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from msgspec import structs
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session, Tool, Workspace, tool
from greenroom.actors.asking import approval_of, granted
from greenroom.actors.models.port import RequestedCall
from greenroom.actors.models.scripted import call
from greenroom.actors.tools import Ticket
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.call_digest import call_digest
from greenroom.protocol.identity import SessionId, call_key
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import Function, ToolCall
from greenroom.protocol.permission import PRESETS, Preset, PresetTable
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Result
from greenroom.protocol.record import Resumed
from tests.actors.asked import (
    asking,
    asks,
    calls_of,
    hosting,
    last_turn,
    open_of,
    parked,
    records_of,
)
from tests.actors.world import (
    AGENT,
    QUIET,
    Stage,
    check_conversation,
    check_requests,
    conversation,
    sent,
)

BY = Allow("kim")


async def settled(session: Session) -> str:
    """How the turn ended, once nothing of it runs any more."""
    await wait_all_tasks_blocked()
    return str((await last_turn(session)).end)


async def test_what_is_shown_is_what_runs(stage: Stage) -> None:
    """P137, R161, R223: the arguments exactly as the model wrote them, and a digest over them."""
    odd = '{ "cents" : 7 }'
    async with asking(stage, RequestedCall("i", "pay", odd), "Paid.") as session:
        [question] = await asks(session)
        assert (question.tool, question.arguments) == ("pay", odd)
        assert question.digest == call_digest("pay", odd)
        assert (question.session, question.turn, question.call) == (session.id, 1, "c1-0-0")
        await session._host.answer(question, BY)
        assert await settled(session) == "done"
    assert stage.effects == ["pay 7"]


async def test_a_grant_covers_one_call_once(stage: Stage) -> None:
    """P138, R161, P137: the same call again asks again, and so does any other."""
    pays = [call("pay", cents=1), call("pay", cents=1), call("pay", cents=2)]
    async with asking(stage, *pays, "Paid.") as session:
        [first] = await asks(session)
        await session._host.answer(first, BY)
        [second] = await _next(session, first)
        assert stage.effects == ["pay 1"]
        assert (second.digest, second.id) == (first.digest, second.id)
        assert second.id != first.id
        await session._host.answer(second, Deny("kim"))
        [third] = await _next(session, second)
        assert third.digest != first.digest
        await session._host.answer(third, BY)
        assert await settled(session) == "done"
    assert stage.effects == ["pay 1", "pay 2"]


async def _next(session: Session, before: Any) -> list[Any]:
    await wait_all_tasks_blocked()
    found = await parked(session)
    assert before.id not in {each.id for each in found}
    return found


async def test_a_grant_is_void_for_another_call(stage: Stage) -> None:
    """P137, R161: where another call would run now than the one that was shown, nothing runs."""
    shown = ToolCall("c1-0-0", Function("pay", '{"cents":1}'))
    pay = stage.tools()[1]
    ticket = Ticket(shown, pay, '{"cents":1}', "ask")
    asked = approval_of(SessionId("t", "k"), ticket, None)
    allowed = granted(ticket, asked, BY)
    assert allowed is not None
    assert allowed.may_run
    for other in (
        structs.replace(ticket, arguments='{"cents":2}'),
        structs.replace(ticket, tool=stage.tools()[3]),
        structs.replace(ticket, decision="refuse", reason="No."),
        structs.replace(ticket, tool=None),
    ):
        refused = granted(other, asked, BY)
        assert refused is not None
        assert not refused.may_run
        assert not refused.asks
        assert "kim" in refused.reason
    for answer in (Deny("kim"), Result("x", "kim"), Failure("x", "kim")):
        assert granted(ticket, asked, answer) is None


@pytest.mark.parametrize("how", ["live", "reopened"])
async def test_a_call_through_use_tool_is_asked_as_the_tool_it_names(
    stage: Stage, how: str
) -> None:
    """R216: tool, arguments, digest, intent and record are those of what really runs."""
    use = call("use_tool", name="pay", arguments={"cents": 7})
    later = call("use_tool", name="order", arguments={"what": "x"})
    agent = AgentDeclaration(name=AGENT, prompt="You help.", tools_on_demand=("pay", "order"))
    work = Workspace.build(agents=[agent])
    async with asking(stage, (use, later), "Paid.", workspace=work) as session:
        first, second = await asks(session)
        assert (first.tool, first.arguments) == ("pay", '{"cents":7}')
        assert first.digest == call_digest("pay", '{"cents":7}')
        assert (second.tool, second.arguments) == ("order", '{"what":"x"}')
        await session._host.answer(first, BY)
        if how == "live":
            await _answered_and_cancelled(session, second)
    if how == "reopened":
        async with asking(stage, workspace=work) as session:
            await _answered_and_cancelled(session, second)
    assert sorted(stage.effects) == ["order x", "pay 7"]
    [resumed] = [r for r in records_of(stage, session) if isinstance(r, Resumed)]
    assert resumed.intents == ("c1-0-0", "c1-0-1")
    async with asking(stage, workspace=work) as session:
        assert await calls_of(session) == [("pay", "done"), ("order", "unknown")]


async def _answered_and_cancelled(session: Session, second: Any) -> None:
    await session._host.answer(second, BY)
    await wait_all_tasks_blocked()
    [result] = await parked(session)
    assert (result.kind, result.tool, result.arguments) == ("result", "order", '{"what":"x"}')
    assert result.id == call_key(session.id, "c1-0-1")
    await session.cancel()
    await wait_all_tasks_blocked()


STRICT = PresetTable((structs.replace(PRESETS.presets[0], write="refuse"),))
"""The preset of that name forbids by now what it asked about."""
LOOSE = PresetTable(
    (Preset(id="read-only", label="Loose", policy="Do it.", confined_write="ask", write="allow"),)
)


async def test_a_grant_that_is_refused_now_is_void(stage: Stage) -> None:
    """R157, P140, P144: the turn commits anew; what is refused is not run, and says why."""
    async with asking(stage, (call("pay"), call("look")), "Not paid.", "Next.") as session:
        [question] = await asks(session)
        before = (await session.request(1)).request
    stage.presets = STRICT
    async with asking(stage) as session:
        await session._host.answer(question, BY)
        assert await settled(session) == "done"
        assert stage.effects == ["look it"]
        assert await calls_of(session) == [("look", "done"), ("pay", "refused")]
        [told] = [words for words in await conversation(session) if "void" in words]
        assert told.startswith("[kim had approved it; that is void now. Not run: pay would change")
        request = (await session.request(1)).request
        # What was kept moves by no byte; the live section says what is in force now.
        assert list(request.messages)[: len(before.messages)] == list(before.messages)
        assert (request.tools, request.parameters) == (before.tools, before.parameters)
        assert request.system == before.system
        await session.ask("Next")
        await check_requests(session, stage.model.requests)


async def test_what_is_in_force_now_is_rendered_behind_a_park(stage: Stage) -> None:
    """R157, R11, R70, R72: the request behind it has the section, and can be rebuilt."""
    async with asking(stage, call("pay"), "Paid.", "Next.") as session:
        [question] = await asks(session)
        before = (await session.request(1)).request
    stage.presets = LOOSE
    async with asking(stage) as session:
        await session._host.answer(question, Deny("kim"))
        assert await settled(session) == "done"
        request = (await session.request(1)).request
        kept = before.system.partition("<permissions>")[0]
        assert request.system.startswith(kept)
        assert "Preset: read-only (Loose). Do it." in request.system
        assert len(await session.get_system_prompt_checkpoints()) == 2
        await session.ask("Next")
        assert len(await session.get_system_prompt_checkpoints()) == 2
        await check_requests(session, stage.model.requests)
        # Looser by now, but nobody allowed it.
        assert stage.effects == []


async def test_nobody_is_asked_where_nothing_is(stage: Stage) -> None:
    """R7: what a preset that does not ask forbids is refused without a question."""
    stage.presets = QUIET
    async with asking(stage, call("pay"), "No.") as session:
        assert (await session.ask("Hi")).end == "done"
        assert await calls_of(session) == [("pay", "refused")]
        assert await open_of(session) == []


GONE: dict[str, tuple[str, str]] = {
    "tool": ("done", "refused"),
    "agent": ("failed", "not_run"),
    "model": ("failed", "not_run"),
    "deps": ("failed", "not_run"),
}


@pytest.mark.parametrize("what", GONE)
async def test_what_a_turn_needs_may_be_gone_when_it_goes_on(stage: Stage, what: str) -> None:
    """R157, R195, R175: it ends with every result, and what was answered stands."""
    calls = (call("pay"), call("fetch"), call("pay", cents=2))
    async with asking(stage, calls, "Done.") as session:
        questions = await asks(session)
    end, state = GONE[what]
    options: dict[str, Any] = {}
    if what == "tool":
        options["tools"] = stage.tools()[:1]
    elif what == "agent":
        options["workspace"] = Workspace.build(agents=[AgentDeclaration(name="other", prompt="x")])
    elif what == "model":
        stage.model.name = "renamed"
    else:
        options["deps"] = lambda _: 1 / 0
    async with hosting(stage, **options) as host:
        session = await host.session("ann")
        for question in questions:
            answer: Answer = Result("It came.", "shop") if question.kind == "result" else BY
            if question.arguments == '{"cents":2}':
                answer = Deny("kim")
            await host.answer(question, answer)
        assert await settled(session) == end
        assert await calls_of(session) == [("pay", state), ("fetch", "done"), ("pay", "declined")]
        assert "[It came.]" in await conversation(session)
        assert await open_of(session) == []
        await check_conversation(session)
    assert stage.effects == ["fetch it"]


async def test_a_turn_may_be_asked_about_all_its_calls(stage: Stage) -> None:
    """R160, R223: as many as an answer may have, each with its own, in the order of the calls."""
    calls = tuple(call("pay", cents=n) for n in range(128))
    async with asking(stage, calls, "Paid.") as session:
        questions = await asks(session)
        assert [msgspec.json.decode(q.arguments)["cents"] for q in questions] == list(range(128))
        assert len({q.id for q in questions}) == 128
        for number, question in enumerate(reversed(questions)):
            await session._host.answer(question, BY if number % 2 else Deny("kim"))
        assert await settled(session) == "done"
        assert sorted(stage.effects) == sorted(f"pay {n}" for n in range(0, 128, 2))
        await check_requests(session, stage.model.requests)
        await check_conversation(session)


async def test_arguments_at_their_bound_are_asked_whole(stage: Stage) -> None:
    """R223, R194: a digest and the exact bytes of the largest call that a model may make."""
    limits = Limits()
    words = "\\\\" * ((limits.arguments_bytes_max - 20) // 2)
    arguments = f'{{"what":"{words}"}}'
    calls = tuple(RequestedCall(str(n), "order", arguments) for n in range(7))
    async with asking(stage, calls, "Done.", limits=limits) as session:
        questions = await asks(session)
        assert [q.arguments for q in questions] == [arguments] * 7
    async with asking(stage, "Next.") as session:
        for question in questions:
            assert question in await open_of(session)
            await session._host.answer(question, Deny("kim"))
        assert await settled(session) in ("done", "context_full")
        await check_conversation(session)
    assert stage.effects == []


async def test_a_preset_may_ask_about_reading_too(stage: Stage) -> None:
    """R160, R172: a call that reads runs with its approval, and leaves no intent."""
    careful = structs.replace(PRESETS.presets[0], read="ask")
    stage.presets = PresetTable((careful,))
    async with asking(stage, (call("look"), call("fetch")), "Seen.") as session:
        first, second = await asks(session)
        assert stage.effects == []
        await session._host.answer(first, BY)
        await session._host.answer(second, BY)
        await wait_all_tasks_blocked()
        [result] = await parked(session)
        assert result.kind == "result"
        await session._host.answer(result, Failure("lost", "shop"))
        assert await settled(session) == "done"
        assert await calls_of(session) == [("look", "done"), ("fetch", "failed")]
        [one, two] = [r for r in records_of(stage, session) if isinstance(r, Resumed)]
        assert (one.intents, two.intents) == ((), ())
    assert [role for role, _ in sent(stage.model.requests[1])].count("user") == 2


def worded(stage: Stage) -> Tool[Any]:
    """A tool that pays, and is told why."""

    @tool(effect="write", advisory=["why"])
    async def settle(cents: int, why: str = "") -> str:
        """Settle a bill."""
        stage.effects.append(f"settle {cents} {why}")
        return "settled"

    return settle


@pytest.mark.parametrize("on_demand", [False, True])
async def test_a_question_shows_what_is_advisory_and_is_not_bound_to_it(
    stage: Stage, *, on_demand: bool
) -> None:
    """P139, P137, R216: whole, as it runs; behind ``use_tool`` the fields of the inner tool."""
    given = {"cents": 7, "why": "the rent"}
    asked = (
        call("use_tool", name="settle", arguments=given) if on_demand else call("settle", **given)
    )
    agent = AgentDeclaration(name=AGENT, prompt="x", tools_on_demand=("settle",) * on_demand)
    work = Workspace.build(agents=[agent])
    async with asking(stage, asked, "Ok.", workspace=work, tools=[worded(stage)]) as session:
        [question] = await asks(session)
        assert (question.tool, question.arguments) == ("settle", '{"cents":7,"why":"the rent"}')
        assert question.digest == call_digest("settle", '{"cents":7}', ("why",))
        await session._host.answer(question, BY)
        assert await settled(session) == "done"
    assert stage.effects == ["settle 7 the rent"]


async def test_a_question_of_an_older_release_is_answered(stage: Stage) -> None:
    """P139, R240, R161: it keeps its digest, and its call runs once it is allowed."""
    odd = RequestedCall("i", "settle", '{ "why":"rent", "cents":7 }')
    async with asking(stage, odd, "Ok.", tools=[worded(stage)]) as session:
        [question] = await asks(session)
    old = sha256(msgspec.json.encode((question.tool, question.arguments))).hexdigest()
    async with asking(stage, tools=[worded(stage)]) as session:
        actor = await session._host.activate(session.id)
        assert actor.turn is not None
        assert actor.turn.asked is not None
        asked = [structs.replace(one, digest=old) for one in actor.turn.asked.questions]
        actor.turn.asked = structs.replace(actor.turn.asked, questions=tuple(asked))
        assert (await session._host.answer(question.id, BY)).digest == old
        assert await settled(session) == "done"
    assert stage.effects == ["settle 7 rent"]
