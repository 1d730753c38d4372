"""Laws of what a turn commits to: read live when it begins or goes on, and held to to its end."""

from typing import Any

import pytest
from msgspec import structs

from greenroom.actors import tool
from greenroom.actors.committing import commit
from greenroom.actors.models.scripted import call
from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.gate import Egress
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.question import Allow, Deny
from greenroom.protocol.record import Dispatched, Resumed
from greenroom.store import open_memory
from tests.actors.policy import (
    FULL,
    committed,
    fates,
    gate,
    last_result,
    last_turn,
    put_in_force,
    tools,
    until_asked,
)
from tests.actors.stage import agent, messages, package, stage, workspace
from tests.actors.world import QUIET

READ_ONLY = "read-only"


# --- committed for the turn ----------------------------------------------------------------------


async def test_a_gate_that_is_tightened_between_rounds_holds_from_the_next_turn_on() -> None:
    """P140, R155, R156, R157: the turn is held to what it committed to; the next call is refused,
    with the reason, though the prompt is the same to the byte."""
    done: list[str] = []
    steps = [call("pay", cents=1), call("pay", cents=2), "Paid.", call("pay", cents=3), "No."]
    async with stage(*steps, tools=tools(done)) as on:
        session = await on.session(preset=FULL)

        def tighten(request: Any, _: Any) -> Any:
            put_in_force(on.host, gate())
            return call("pay", cents=2)

        on.model._steps[1] = tighten
        await session.ask("Pay twice.")
        assert done == ["pay 1", "pay 2"]
        await session.ask("Pay again.")
        assert done == ["pay 1", "pay 2"]
        assert (await fates(session))[-1] == ("pay", "refused")
        told = await last_result(session)
        assert "a gate of the workspace refuses this call of pay now" in told
        assert "policy is read anew with each turn" in told
        assert "pay: refuse." in told
        assert len({request.system for request in on.model.requests}) == 1
        assert len({bytes(request.tools) for request in on.model.requests}) == 1


async def test_a_grant_is_void_where_the_gate_was_tightened_meanwhile() -> None:
    """P140, R157: a turn that goes on after a park commits anew, and the result says so."""
    done: list[str] = []
    async with open_memory() as store:
        async with stage(call("pay"), store=store, tools=tools(done)) as on:
            session = await on.session(preset=READ_ONLY)
            await session.prompt("Pay.")
            await until_asked(on)
        gates = [gate()]
        work = workspace(gates=gates)
        async with stage("Well.", store=store, tools=tools(done), work=work) as on:
            [question] = await on.host.questions().all()
            await on.host.answer(question, Allow("ben"))
            session = await on.session()
            await session.outcome((await last_turn(session)).message)
            assert done == []
            told = await last_result(session)
            assert "ben had approved it; that is void now" in told
            assert "pay: refuse." in told
            record = await last_turn(session)
            before, after = record.gates
            assert before == ""
            assert committed(on, after).gates[0].gate == gates[0]


async def test_loosening_counts_from_the_next_turn_on_too() -> None:
    # R155, R157
    done: list[str] = []
    steps = [call("pay", cents=1), "No.", call("pay", cents=2), "Paid."]
    async with stage(*steps, tools=tools(done), work=workspace(gates=[gate()])) as on:
        session = await on.session(preset=FULL)
        await session.ask("Pay.")
        put_in_force(on.host)
        await session.ask("Pay.")
        assert done == ["pay 2"]
        assert [bool(digest) async for t in session.turns() for digest in t.gates] == [True, False]


async def test_a_turn_that_is_begun_again_commits_anew() -> None:
    """R157: a message that was not sent is tried again under the policy of then."""
    done: list[str] = []
    async with stage(call("pay"), "No.", tools=tools(done)) as on:
        session = await on.session(preset=FULL)
        models = dict(on.host.services.models)
        on.host.services.models.clear()  # type: ignore[attr-defined]
        receipt = await session.prompt("Pay.")
        assert (await session.outcome(receipt)).end == "not_sent"
        on.host.services.models.update(models)  # type: ignore[attr-defined]
        put_in_force(on.host, gate())
        await session.retry(receipt)
        await session.outcome(receipt)
        assert (done, await fates(session)) == ([], [("pay", "refused")])


# --- questions of gates --------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS.ids)
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_gate_asks_under_every_preset(preset: str, *, allowed: bool) -> None:
    """R7, R160: through the same question as any other, with what the gate says to who is asked."""
    done: list[str] = []
    work = workspace(gates=[gate("ask", tool="look")])
    async with stage(
        (call("look"), call("fetch", url="a")), "Ok.", tools=tools(done), work=work
    ) as on:
        session = await on.session(preset=preset)
        receipt = await session.prompt("Look.")
        await until_asked(on)
        assert done == ["fetch a"]
        [question] = await on.host.questions().all()
        assert (question.tool, question.text, question.kind) == ("look", "look: ask.", "approval")
        await on.host.answer(question, Allow("ben") if allowed else Deny("ben", "No."))
        await session.outcome(receipt)
        assert done == ["fetch a", "look"][: 1 + allowed]
        assert ("look", "done" if allowed else "declined") in await fates(session)


async def test_gates_look_at_arguments() -> None:
    """R155: one call of an answer is refused, one is asked about, one runs."""
    done: list[str] = []
    gates = [gate(cents=(3, 4)), gate("ask", cents=2)]
    calls = tuple(call("pay", cents=cents) for cents in (1, 2, 3))
    async with stage(calls, "Ok.", tools=tools(done), work=workspace(gates=gates)) as on:
        session = await on.session(preset=FULL)
        receipt = await session.prompt("Pay.")
        await until_asked(on)
        assert done == ["pay 1"]
        [question] = await on.host.questions().all()
        await session.answer(question.id, Allow("ben"))
        await session.outcome(receipt)
        assert done == ["pay 1", "pay 2"]
        assert sorted(state for _, state in await fates(session)) == ["done", "done", "refused"]


@pytest.mark.parametrize("named", ["order", "ord*", "*"])
@pytest.mark.parametrize("path", ["why", "why.kind"])
async def test_a_gate_looks_at_nothing_that_is_advisory(named: str, path: str) -> None:
    """P139, R2: the model could pass it by other words, and no approval would be bound to them."""

    @tool(effect="write", advisory=["why"])
    async def order(what: str, why: dict[str, str] | None = None) -> str:
        """Order something."""
        return what

    work = workspace(gates=[gate("ask", named, **{path: "x"})])
    with pytest.raises(InvalidInput, match="which is advisory in order: it changes nothing") as at:
        async with stage(tools=[order], work=work):
            pass
    assert at.value.facts == {"tool": "order", "argument": path}
    work = workspace(gates=[gate("ask", named, what="x"), gate("ask", "other_*", why="x")])
    async with stage(tools=[order], work=work):
        pass


async def test_a_default_counts_as_if_it_was_written() -> None:
    """R155: an argument cannot be kept from a gate by leaving it out."""
    done: list[str] = []
    work = workspace(gates=[gate(cents=1)])
    async with stage(call("pay"), "No.", tools=tools(done), work=work) as on:
        await (await on.session(preset=FULL)).ask("Pay.")
        assert done == []


@pytest.mark.parametrize("arguments", ['{"cents":', "[1]", '{"cents":' * 100])
async def test_what_no_gate_can_read_is_not_run(arguments: str) -> None:
    """R155: no gate can tell what such a call would do."""
    done: list[str] = []
    bad = structs.replace(call("pay"), arguments=arguments)
    async with stage(bad, "No.", tools=tools(done), work=workspace(gates=[gate(cents=7)])) as on:
        session = await on.session(preset=FULL)
        await session.ask("Pay.")
        assert (done, await fates(session)) == ([], [("pay", "refused")])


async def test_a_call_through_use_tool_is_decided_as_the_tool_that_it_names() -> None:
    """R216: with the inner arguments; what is said of use_tool itself has no part in it."""
    done: list[str] = []
    calls = tuple(call("use_tool", name="pay", arguments={"cents": cents}) for cents in (1, 2, 3))
    work = workspace(
        agents=[agent(tools_on_demand=("pay",))], gates=[gate(cents=2), gate("ask", cents=3)]
    )
    async with stage(calls, "Ok.", tools=tools(done), work=work) as on:
        session = await on.session(preset=FULL)
        receipt = await session.prompt("Pay.")
        await until_asked(on)
        [question] = await on.host.questions().all()
        assert (question.tool, question.arguments) == ("pay", '{"cents":3}')
        await session.answer(question.id, Deny("ben"))
        await session.outcome(receipt)
        assert done == ["pay 1"]
        assert sorted(await fates(session)) == [
            ("pay", "declined"),
            ("pay", "done"),
            ("pay", "refused"),
        ]


# --- egress, and text ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt", ["You help.", "Every host may be reached: https://evil.example."]
)
async def test_a_host_outside_the_list_is_not_reached(prompt: str) -> None:
    """R158, R2: whatever the prompt says, and behind use_tool too."""
    done: list[str] = []
    urls = ["https://api.shop.example/1", "https://evil.example", "https://api.shop.example@evil"]
    steps = [tuple(call("fetch", url=url) for url in urls), "Ok."]
    work = workspace(agents=[agent(prompt=prompt)], egress=["*.shop.example"])
    async with stage(*steps, tools=tools(done), work=work) as on:
        session = await on.session(preset=FULL)
        await session.ask("Fetch https://evil.example.")
        assert done == ["fetch https://api.shop.example/1"]
        assert [state for _, state in await fates(session)] == ["done", "refused", "refused"]
        assert "url names no host" in await last_result(session)
        assert committed(on, (await last_turn(session)).gates[0]).egress == Egress(
            ("*.shop.example",)
        )


async def test_a_prompt_that_says_nothing_fences_as_well() -> None:
    """P142, R2: the write is refused under read-only, and no text is needed for it."""
    done: list[str] = []
    work = workspace(agents=[agent(prompt="")], presets=QUIET, preamble="")
    async with stage(call("pay"), "No.", tools=tools(done), work=work) as on:
        session = await on.session(preset=READ_ONLY)
        await session.ask("Pay.")
        assert (done, await fates(session)) == ([], [("pay", "refused")])


async def test_a_skill_permits_nothing_by_its_gates() -> None:
    """R3: a gate that allows is heard, and the call is asked about all the same."""
    done: list[str] = []
    claims = package(
        "claims", "You may pay.", {"gates.yaml": b"gates: [{tool: pay, decision: allow}]"}
    )
    async with stage(call("pay"), tools=tools(done), skills=[claims]) as on:
        session = await on.session(preset=READ_ONLY)
        await session.prompt("Pay.", skills=["claims"])
        await until_asked(on)
        assert done == []
        assert (await last_turn(session)).gates != ("",)


async def test_the_permissions_section_is_the_table_that_is_enforced() -> None:
    """P143: after a switch while idle; the record of each turn names its preset and gate set."""
    done: list[str] = []
    steps = [call("pay", cents=1), "No.", call("pay", cents=2), "Paid."]
    work = workspace(presets=QUIET, gates=[gate(tool="fetch")])
    async with stage(*steps, tools=tools(done), work=work) as on:
        session = await on.session(preset=READ_ONLY)
        await session.ask("Pay.")
        await session.set_permission_preset(FULL)
        await session.ask("Pay.")
        assert done == ["pay 2"]
        for turn, request, preset in zip(
            await session.turns().all(), on.model.requests[::2], (READ_ONLY, FULL), strict=True
        ):
            assert turn.preset == preset
            enforced = committed(on, turn.gates[0]).preset
            assert enforced == QUIET.get(preset)
            assert enforced.policy in request.system


# --- the record ----------------------------------------------------------------------------------


async def test_what_a_turn_committed_to_is_stored_once_and_read_later() -> None:
    """R77, R155: under the digest that the records name; the bytes stand in one place."""
    work = workspace(gates=[gate("ask", cents=7)], egress=["a.example"])
    async with stage("Hi.", "Hi.", "Hi.", work=work, tools=tools([])) as on:
        for key in ("ann", "ben"):
            session = await on.session(key)
            await session.ask("Hi.")
        await session.ask("Hi.")
        digests = {digest async for turn in session.turns() for digest in turn.gates}
        [digest] = digests
        found = committed(on, digest)
        assert found.preset == PRESETS.get(READ_ONLY)
        assert found.egress == Egress(("a.example",))
        assert [(each.source, each.gate) for each in found.gates] == [
            ("workspace", gate("ask", cents=7))
        ]
        # The next turn names what the session holds already, and brings no bytes with it.
        actor = on.host.live(session.id)
        assert actor is not None
        assert commit(actor, actor.kept).digest == digest
        assert commit(actor, actor.kept).blobs(actor.header) == {}


async def test_a_turn_without_gates_records_none() -> None:
    """R155: it costs nothing: no digest, no content, no other object than that of the preset."""
    async with stage("Hi.", "Hi.", tools=tools([])) as on:
        session = await on.session()
        await session.ask("Hi.")
        [start] = [
            record
            for entry in on.store.read(session.id)
            for record in decode_records(entry.records)
            if isinstance(record, Dispatched)
        ]
        assert start.gates == ""
        assert not any(b"gates" in entry.records for entry in on.store.read(session.id))
        assert (await last_turn(session)).gates == ("",)
        one, other = (
            on.host.services.commitments.of(
                on.host.services.workspace.gate_table, PRESETS.strictest, frozenset()
            )
            for _ in range(2)
        )
        assert one is other
        assert one.blobs(on.host.live(session.id).header) == {}  # type: ignore[union-attr]


def test_records_of_before_are_read() -> None:
    """R77: a record without a gate set is one of a turn that committed to a preset alone."""
    told = (
        b'[{"is":"dispatched","at":1,"turn":1,"message":"m","ordinal":0,"attempt":1,"model":"m",'
        b'"preset":"p","composition":"c","request":"r"},{"is":"resumed","at":1,"turn":1,"preset":"p"}]'
    )
    start, resumed = decode_records(told)
    assert isinstance(start, Dispatched)
    assert isinstance(resumed, Resumed)
    assert start.gates == resumed.gates == ""


async def test_an_eager_run_passes_the_same_gates_and_hosts() -> None:
    """R158, R155: a run that nobody chose is refused like a call of the model."""
    done: list[str] = []
    runs = [
        EagerRun(
            id=f"r{number}",
            version="1",
            owner="workspace",
            placement="conversation",
            tool=name,
            arguments=arguments,
        )
        for number, (name, arguments) in enumerate(
            [
                ("fetch", {"url": "https://evil.example"}),
                ("fetch", {"url": "a.example"}),
                ("look", {}),
            ]
        )
    ]
    work = workspace(contributors=runs, egress=["a.example"], gates=[gate(tool="look")])
    async with stage("Hi.", tools=tools(done), work=work) as on:
        session = await on.session(preset=FULL)
        await session.ask("Hi.")
        assert done == ["fetch a.example"]
        told = str(messages(on.model.requests[0]))
        assert "evil.example is not among the hosts that may be reached now" in told
        assert "a gate of the workspace refuses this call of look now" in told
