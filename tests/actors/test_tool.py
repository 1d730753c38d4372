"""Laws of tools: declared from hints, checked by the same hints, run where they belong."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import pytest
import trio
from msgspec import Meta, Struct

import greenroom.actors
from greenroom.actors.start import Start
from greenroom.actors.tool import (
    Later,
    Tool,
    ToolContext,
    declarations,
    tool,
)
from greenroom.protocol.errors import BadArguments, BadTool, ToolFailed
from greenroom.protocol.gate import ToolFacts
from greenroom.protocol.identity import SessionId, call_key


class Shop:
    """What the tools of these tests work with."""

    password = "canary-7261"


class Line(Struct):
    """One line of an order."""

    pieces: Annotated[int, Meta(gt=0)]
    kind: Literal["tool", "part"] = "tool"


@tool(effect="write", timeout=5)
async def refund(
    ctx: ToolContext[Shop], order: int, cents: Annotated[int, Meta(gt=0)], lines: list[Line]
) -> str:
    """Give money back
    for an order.

    Not for a model.

    Args:
        order: the number
            of the order
        cents: how much
    """
    return f"{order}:{cents}:{lines[0].pieces}"


def context(deps: object = None, **more: object) -> ToolContext[Any]:
    facts: dict[str, Any] = {"turn": 3, "call": "c3-0-0"} | more
    return ToolContext(session=SessionId("t", "k"), person="ada", deps=deps, **facts)


async def test_a_tool_is_declared_by_its_hints_and_docstring() -> None:
    """R220: the context is not in the schema; bounds, references and words are."""
    assert refund.name == "refund"
    assert refund.description == "Give money back for an order."
    assert refund.parameters == {
        "type": "object",
        "properties": {
            "order": {"type": "integer", "description": "the number of the order"},
            "cents": {"type": "integer", "exclusiveMinimum": 0, "description": "how much"},
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "description": "One line of an order.",
                    "properties": {
                        "pieces": {"type": "integer", "exclusiveMinimum": 0},
                        "kind": {"enum": ["part", "tool"], "default": "tool"},
                    },
                    "required": ["pieces"],
                },
            },
        },
        "required": ["order", "cents", "lines"],
        "additionalProperties": False,
    }
    assert (refund.effect, refund.timeout, refund.on_thread) == ("write", 5, False)
    output = await refund.run(context(Shop()), '{"order":7,"cents":5,"lines":[{"pieces":2}]}')
    assert output.text == "7:5:2"


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "no json",
        "[]",
        '{"order":"7","cents":5,"lines":[]}',
        '{"order":7,"cents":0,"lines":[]}',
        '{"order":7,"cents":5,"lines":[],"more":1}',
        '{"order":7,"cents":5,"lines":[],"\\ud83d":1}',
        '{"order":7,"cents":5,"lines":[],"' + "x" * 9_000 + '\\u0000":1}',
        "\ud83d",
        '{"order":' + "9" * 5_000 + "}",
        "[" * 500_000,
        '{"order":7,"cents":5,"lines":' + "[" * 64 + "]" * 64 + "}",
        '"' + "x" * 1_100_000 + '"',
    ],
)
async def test_bad_arguments_are_one_typed_error(arguments: str) -> None:
    """R194: whatever a model writes, the function is not called and the sentence is short."""
    with pytest.raises(BadArguments) as caught:
        await refund.run(context(Shop()), arguments)
    assert len(caught.value.sentence) < 700
    assert "\0" not in caught.value.sentence


async def test_no_arguments_may_be_written_as_nothing() -> None:
    """Some providers send an empty text where a tool takes no arguments."""

    @tool(effect="read")
    async def ping() -> str:
        return "pong"

    assert (await ping.run(context(), "")).text == "pong"


@pytest.mark.parametrize("seed", range(20))
def test_declarations_do_not_depend_on_order(seed: int) -> None:
    """P067, R195: tools registered in any order are the same bytes."""
    tools = [_made(f"tool_{number}") for number in range(12)]
    shuffled = list(tools)
    Random(seed).shuffle(shuffled)
    assert declarations(shuffled) == declarations(tools)


def _made(name: str, parameters: dict[str, Any] | None = None) -> Tool[object]:
    async def body(_: ToolContext[object], arguments: str) -> object:
        return arguments

    return Tool(name, "", parameters or {"type": "object"}, "read", body)


def test_declarations_do_not_depend_on_hash_order() -> None:
    """P068: nested dicts and sets in a schema are the same bytes under any hash seed."""
    program = (
        "from greenroom.actors.tool import Tool, declarations\n"
        "words = {'alpha', 'beta', 'gamma', 'delta'}\n"
        "schema = {'properties': {w: {'enum': words} for w in words}, 'required': words}\n"
        "print(declarations([Tool(w, '', schema, 'read', None) for w in words]).decode())\n"
    )
    home = str(Path(next(iter(greenroom.actors.__path__))).parents[1])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": home},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 100


def test_two_tools_of_one_name_are_refused() -> None:
    """R195: a declaration names one tool."""
    with pytest.raises(BadTool, match="same"):
        declarations([_made("same"), _made("same")])


def test_the_key_of_a_call_is_its_own() -> None:
    """R220: equal for the same call, and for no other whatever the names are cut at."""
    assert context().key == context(deps=Shop(), turn=9).key
    calls = [("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("a", "b", "d")]
    keys = {call_key(SessionId(tenant, key), call) for tenant, key, call in calls}
    assert len(keys) == len(calls)


def test_a_context_shows_ids_only() -> None:
    """R220: nothing of the dependencies is in a repr."""
    assert repr(context(Shop())) == "<ToolContext t/k turn=3 call=c3-0-0>"
    assert Shop.password not in repr(context(Shop.password))


async def test_a_plain_function_runs_in_a_thread() -> None:
    """R189, P162: it blocks its thread and not the loop, and may tell its progress."""
    gate = threading.Event()
    told: list[str] = []

    @tool(effect="read")
    def wait(ctx: ToolContext[None]) -> str:
        ctx.progress("half\0way")
        gate.wait()
        return threading.current_thread().name

    assert wait.on_thread
    async with trio.open_nursery() as nursery:

        async def run() -> None:
            output = await wait.run(context(tell=told.append), "{}")
            assert output.text != threading.main_thread().name

        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked(0.01)
        gate.set()
    assert told == ["half\N{REPLACEMENT CHARACTER}way"]


async def test_a_cancelled_turn_leaves_a_stuck_thread_behind() -> None:
    """R180: a tool that does not return holds its own thread, never the turn."""
    gate, begun = threading.Event(), trio.Event()

    @tool(effect="read")
    def stuck(ctx: ToolContext[None]) -> None:
        ctx.progress("begun")
        gate.wait(5)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stuck.run, context(tell=lambda _: begun.set()), "{}")
        await begun.wait()
        nursery.cancel_scope.cancel()
    assert nursery.cancel_scope.cancelled_caught
    assert not gate.is_set()
    gate.set()


async def test_a_thread_that_comes_too_late_runs_nothing() -> None:
    """R175: a call that was told as not run does not run afterwards."""
    ran: list[int] = []

    @tool(effect="write")
    def late() -> None:
        ran.append(1)

    given_up, fresh = Start(), Start()
    assert given_up.give_up()
    await late.run(context(start=given_up), "{}")
    assert ran == []
    await late.run(context(start=fresh), "{}")
    assert ran == [1]
    assert not fresh.give_up()


async def test_progress_from_the_loop_is_told_at_once() -> None:
    """R220: an async tool tells without leaving its task."""
    told: list[str] = []
    context(tell=told.append).progress("half")
    assert told == ["half"]


async def test_what_a_tool_raises_passes_through() -> None:
    """The door decides what a failure means; the tool does not hide it."""

    @tool(effect="read")
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail.run(context(), "{}")


async def test_a_result_may_come_later() -> None:
    """R224: the shape of a parked result is a value that a tool returns."""

    @tool(effect="write")
    async def ask() -> Later:
        return Later("Is it paid?", expires=5)

    output = await ask.run(context(), "{}")
    assert output.later == Later("Is it paid?", expires=5)


async def test_keyword_only_parameters_and_defaults_work() -> None:
    """What Python lets a caller leave out, a model may leave out."""

    @tool(effect="read", loop="host", name="add", description="Adds.")
    def plus(a: int, *, b: int = 2) -> int:
        return a + b

    assert (plus.name, plus.description, plus.on_thread) == ("add", "Adds.", False)
    assert (await plus.run(context(), '{"a":1}')).text == "3"


def starred(*values: int) -> None: ...
def bare(value) -> None: ...  # type: ignore[no-untyped-def] # noqa: ANN001
def strange(value: complex) -> None: ...
def unresolved(value: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821
def odd_default(value: list[int] = [1]) -> None: ...  # noqa: B006
def two_lists(value: list[int] | set[int]) -> None: ...


class Tree(Struct):
    kids: list["Tree"]


def endless(tree: Tree) -> None: ...


@pytest.mark.parametrize(
    "function", [starred, bare, strange, unresolved, odd_default, two_lists, endless]
)
def test_what_cannot_be_declared_is_refused_with_its_reason(
    function: Callable[..., object],
) -> None:
    """A tool that no model could call is refused where it is written."""
    with pytest.raises(BadTool):
        tool(effect="read")(function)


def test_names_effects_and_loops_are_checked() -> None:
    """Providers take few characters in a name; effects and loops are a closed set."""

    async def work() -> None: ...

    with pytest.raises(BadTool):
        tool(effect="read", name="a b")(work)
    with pytest.raises(BadTool):
        tool(effect="maybe")(work)  # type: ignore[arg-type]
    with pytest.raises(BadTool):
        tool(effect="read", loop="thread")(work)


async def test_a_result_that_is_no_value_is_a_typed_failure() -> None:
    """R194: what no text can be made of does not end a turn."""

    @tool(effect="read")
    async def give() -> object:
        return object()

    with pytest.raises(ToolFailed):
        await give.run(context(), "{}")


def test_a_tool_says_which_arguments_name_a_host() -> None:
    """R158: such as there are; what the door decides by is made of the declaration."""

    async def fetch(url: str, to: str | None = None, times: int = 2) -> None: ...

    made = tool(effect="idempotent", confined=True, hosts=["url", "to"])(fetch)
    assert made.facts == ToolFacts(
        "fetch", "idempotent", True, ("url", "to"), {"to": None, "times": 2}
    )
    with pytest.raises(BadTool, match="fetch has no argument 'uri' that could name a host"):
        tool(effect="read", hosts=["uri"])(fetch)


async def pays(cents: int, to: str = "ann", description: str = "", why: str | None = None) -> None:
    """Pay somebody."""


def test_a_tool_says_which_arguments_are_advisory() -> None:
    """P139: a model and the door see no difference."""
    made = tool(effect="write", advisory=["description", "why"])(pays)
    assert made.advisory == ("description", "why")
    plain = tool(effect="write")(pays)
    assert plain.advisory == ()
    assert declarations([made]) == declarations([plain])
    assert made.facts == plain.facts


@pytest.mark.parametrize(
    ("advisory", "told"),
    [
        (["reason"], "pays has no argument 'reason' that could be advisory"),
        (["why", "to", "why"], "pays names 'why' twice"),
        (["why", "to"], "'to' of pays names a host: it cannot be advisory"),
        (["cents", "description", "why", "to"], "'to' of pays names a host"),
    ],
)
def test_what_cannot_be_advisory_is_refused(advisory: list[str], told: str) -> None:
    """P139, R158: what there is not, or what decides where a call goes."""
    with pytest.raises(BadTool, match=told):
        tool(effect="write", hosts=["to"], advisory=advisory)(pays)


def test_not_everything_is_advisory() -> None:
    """P139: an approval would be bound to nothing."""
    with pytest.raises(BadTool, match="All that pays is given is advisory"):
        tool(effect="write", advisory=["cents", "to", "description", "why"])(pays)
