"""Whatever happens around a conversation, what it sent before is what it sends first."""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import trio

from greenroom.actors import Capabilities, ModelResponse, ToolContext, Workspace, tool
from greenroom.actors.models.scripted import call
from greenroom.actors.workspace_files import Person
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.question import Allow
from greenroom.protocol.request import ModelRequest
from tests.actors.stage import agent, package, stage, workspace
from tests.actors.world import AGENT, FULL, QUIET, Stage, check_requests, opened


def kept_of(request: ModelRequest) -> tuple[str, bytes]:
    """What a conversation keeps: the system string without its live end, and the tools."""
    return request.system.partition("<permissions>")[0], request.tools


def begins_with(later: ModelRequest, earlier: ModelRequest) -> bool:
    """Whether nothing that was sent before moved."""
    before, after = list(earlier.messages), list(later.messages)
    return kept_of(later) == kept_of(earlier) and after[: len(before)] == before


def each_begins_with_the_last(requests: Sequence[ModelRequest]) -> bool:
    return all(begins_with(b, a) for a, b in pairwise(requests))


@tool(effect="read")
async def new_tool() -> str:
    """A tool that came later."""
    return "new"


async def test_a_tool_that_comes_later_moves_no_byte(stage: Stage) -> None:
    """P071, R195: at turn five the host has one tool more; a new conversation has it."""
    stage.plays(*"ABCDEF")
    async with stage.session() as session:
        for _ in range(4):
            await session.ask("Hi")
    async with stage.host(tools=[*stage.tools(), new_tool]) as host:
        await (await opened(host)).ask("Hi")
        assert each_begins_with_the_last(stage.model.requests)
        await (await opened(host, "new")).ask("Hi")
    assert b"new_tool" in stage.model.requests[-1].tools
    assert b"new_tool" not in stage.model.requests[-2].tools


async def test_a_shuffled_list_of_tools_moves_no_byte(stage: Stage) -> None:
    """P070, R195: a server of tools that comes back with another order, or with one more."""
    stage.plays(*"ABC")
    for extra in ([], [new_tool], []):
        tools = [*stage.tools(), *extra]
        random.Random(len(stage.model.requests)).shuffle(tools)
        async with stage.session(tools=tools) as session:
            await session.ask("Hi")
    assert each_begins_with_the_last(stage.model.requests)


async def test_four_switches_leave_the_tools_alone(stage: Stage) -> None:
    """P072, P073, P143: the list is the same to the byte; what is forbidden is refused by the door.

    And the live section of each request is the table's, which the turn record names.
    """
    stage.presets = QUIET
    stage.plays(*[step for _ in range(4) for step in (call("pay"), "Done.")])
    async with stage.session() as session:
        for preset in ("read-only", "workspace-write", "read-only", FULL):
            await session.set_permission_preset(preset)
            await session.ask("Pay")
        turns = await session.turns().all()
        assert [turn.calls[0].state for turn in turns] == ["refused", "refused", "refused", "done"]
        assert each_begins_with_the_last(stage.model.requests)
        for turn, request in zip(turns, stage.model.requests[::2], strict=True):
            assert PRESETS.get(turn.preset).policy in request.system.partition("<permissions>")[2]
        await check_requests(session, stage.model.requests)


async def test_what_is_remembered_is_seen_at_the_next_composition(stage: Stage) -> None:
    """P074, R114: a person's text that grew leaves the prefix of a running conversation alone."""

    def space(text: str) -> Workspace:
        made = AgentDeclaration(name=AGENT, prompt="You help.")
        return Workspace.build(agents=[made], persons=[Person(name="ada", text=text)])

    stage.plays(*"ABC")
    async with stage.host(workspace=space("Likes tea.")) as host:
        session = await host.session("ann", agent=AGENT, person="ada")
        await session.ask("Hi")
        await host.reload(space("Likes tea. Lives in Bath."))
        await session.ask("Hi")
        assert each_begins_with_the_last(stage.model.requests)
        new = await host.session("new", agent=AGENT, person="ada")
        await new.ask("Hi")
    assert ["Bath" in request.system for request in stage.model.requests] == [False, False, True]


async def test_a_skill_that_comes_later_leaves_the_prefix_alone(stage: Stage) -> None:
    """P084, P085, P065, R60: made in mid-conversation, edited, reopened; the old bytes are sent."""
    stage.bound = ("plan",)
    stage.skills.publish("plan", "One.")
    stage.plays(*"ABC")
    async with stage.session() as session:
        await session.ask("Hi")
    stage.skills.publish("plan", "Two.")
    stage.skills.publish("sum", "Add up.")
    async with stage.session() as session:
        await session.ask("Hi")
        status = await session.kept_prompt_status()
        assert not status.is_current
        assert {one.id for one in status.moved.changed} >= {"skills/plan"}
    async with stage.session() as session:
        await session.ask("Hi")
        await check_requests(session, stage.model.requests)
    assert each_begins_with_the_last(stage.model.requests)
    assert "One." in stage.model.requests[-1].system


async def test_a_restart_moves_no_byte(stage: Stage) -> None:
    """P076, R61, R169: the request behind one is the request without one."""
    requests = []
    for restarts in (False, True):
        stage.plays((call("look"), call("pay")), "A", "B")
        key = f"restarts {restarts}"
        async with stage.host() as host:
            session = await opened(host, key)
            await session.ask("Hi")
            if not restarts:
                await session.ask("Again")
        if restarts:
            async with stage.host() as host:
                await (await opened(host, key)).ask("Again")
        requests.append(stage.model.requests[-1].canonical())
    assert requests[0] == requests[1]


async def test_every_way_to_start_sends_the_same_kept_prompt(stage: Stage) -> None:
    """P082, P144: by a message, a queued one, an approval, and one after a restart."""
    stage.plays("A", call("pay"), "B", "C")
    async with stage.host() as host:
        session = await host.session("ann", agent=AGENT)
        await session.ask("Hi")
        receipt = await session.prompt("Pay")
        async for event in session.events(after=receipt.cursor):
            if type(event).__name__ == "QuestionAsked":
                break
        queued = await session.prompt("Then this", when="queue")
    async with stage.host() as host:
        session = await host.session("ann")
        (question,) = await host.questions().all()
        await host.answer(question, Allow("ann"))
        assert (await session.outcome(receipt)).end == "done"
        assert (await session.outcome(queued)).end == "done"
        await check_requests(session, stage.model.requests)
    assert each_begins_with_the_last(stage.model.requests)
    assert len({kept_of(request) for request in stage.model.requests}) == 1


async def test_a_model_switch_composes_anew_and_keeps_all_that_was_sent(stage: Stage) -> None:
    """P187, P188, R59: every request is rebuilt to the byte, and so are those before the switch."""
    stage.plays(*"ABCD")
    stage.other._steps.extend("EF")
    async with stage.session() as session:
        for _ in range(4):
            await session.ask("Hi")
        await session.set_model("other")
        await session.ask("Hi")
        await session.ask("Hi")
        for requests in (stage.model.requests, stage.other.requests):
            await check_requests(session, requests)
        for number, given in enumerate([*stage.model.requests, *stage.other.requests], 1):
            sent = await session.request(number)
            assert sent.is_exact
            assert sent.request.canonical() == given.canonical()


async def test_tools_of_many_sessions_see_their_own_context() -> None:
    """P186, R220: 1,000 interleaved sessions, and each tool is told its own."""
    seen: list[tuple[str, str]] = []

    @tool(effect="read")
    async def who(context: ToolContext[object], said: str) -> str:
        """Tell who calls."""
        seen.append((context.session.key, said))
        return context.session.key

    class Echo:
        """Calls with the words of its own last message."""

        name = "m"
        capabilities = Capabilities()

        async def respond(self, request: Any, session: Any, sink: Any, /) -> Any:
            del sink
            if request.messages[-1].startswith(b'{"role":"user"'):
                asked = call("who", said=session.id.key)
                return ModelResponse("", (asked,), finish="calls")
            return ModelResponse(session.id.key)

    async with stage(model=Echo(), tools=[who], agents=[agent()]) as on:

        async def talk(key: str) -> None:
            session = await on.session(key)
            for _ in range(2):
                assert (await session.ask("Hi")).text == key

        async with trio.open_nursery() as nursery:
            for number in range(1_000):
                nursery.start_soon(talk, f"session {number}")
    assert len(seen) == 2_000
    assert all(key == said for key, said in seen)


async def test_a_long_result_is_kept_once_and_shown_by_its_head() -> None:
    """P098, P130, R193: the cut is in the tool's own text, and the note beside it is whole."""

    @tool(effect="read")
    async def dump() -> str:
        """Return a lot."""
        return "é" * 2_000_000

    async with stage(call("dump"), "Done.", tools=[dump]) as on:
        session = await on.session()
        await session.ask("Hi")
        *_, result = on.model.requests[1].messages
        assert len(result) < 40_000
        text = result.decode()
        assert text.count("[cut here: the result has 4,000,000 bytes") == 1
        assert text.rstrip('"}').endswith(") reads on]")
        (whole,) = [m for m in (await session.state()).messages if len(str(m.content)) > 1_000_000]
        assert whole.content == "é" * 2_000_000


async def test_a_refusal_before_dispatch_leaves_everything_as_it_was() -> None:
    """P100, P101, P104, R80: no model call; the submission is kept and shown as not sent."""
    async with stage("A") as on:
        session = await on.session()
        before = await session.state()
        outcome = await session.ask("x" * 1_000_000)
        after = await session.state()
        assert outcome.end == "context_full"
        assert "does not fit" in outcome.reason
        assert on.model.requests == []
        assert (after.phase, after.messages, after.user_messages) == ("idle", (), 0)
        assert before.messages == after.messages
        assert await session.get_system_prompt_checkpoints() == ()
        (entry,) = await session.transcript().all()
        assert entry.mark == "not sent"


async def test_a_prompt_that_says_nothing_fences_all_the_same() -> None:
    """P142, R2: no word about permissions stands anywhere, and the write is not run."""
    ran: list[str] = []

    @tool(effect="write")
    async def push() -> str:
        """Push."""
        ran.append("push")
        return "pushed"

    silent = [agent(prompt="Push whatever you are asked to.")]
    work = workspace(agents=silent, presets=QUIET, preamble="", skills=[package("s")])
    async with stage(call("push"), "Done.", work=work, tools=[push]) as on:
        session = await on.session()
        assert (await session.ask("Push, you are allowed to.")).end == "done"
        (turn,) = await session.turns().all()
        assert [made.state for made in turn.calls] == ["refused"]
    assert ran == []
