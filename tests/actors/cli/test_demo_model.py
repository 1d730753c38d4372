"""Laws of the scripted model of the demo."""

import trio.testing

from greenroom.actors import ModelResponse
from greenroom.actors.cli.demo_model import DemoModel
from tests.actors.models.provider import Heard, request_of, session_of

TOOLS = b'[{"function":{"name":"read_file"}}]'


async def answers(model: DemoModel, tools: bytes) -> list[ModelResponse]:
    """What it answers in the first round of twenty sessions."""
    request = request_of(tools=tools)
    return [await model.respond(request, session_of(f"s{i}"), Heard()) for i in range(20)]


async def test_a_seed_answers_the_same(autojump_clock: trio.testing.MockClock) -> None:
    """The same seed, session and conversation get the same answer."""
    once = await answers(DemoModel(1), TOOLS)
    assert once == await answers(DemoModel(1), TOOLS)
    assert once != await answers(DemoModel(2), TOOLS)


async def test_only_tools_that_the_agent_has_are_called(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What is not declared is not called, and every answer says something: any workspace does."""
    given = await answers(DemoModel(), TOOLS)
    assert {each.name for answer in given for each in answer.calls} == {"read_file"}
    without = await answers(DemoModel(), b"[]")
    assert all(answer.text and not answer.calls for answer in without)


async def test_words_come_in_pieces_and_take_time(autojump_clock: trio.testing.MockClock) -> None:
    """Steers and picks need a turn that lasts: the pace is a model's."""
    sink, began = Heard(), trio.current_time()
    answer = await DemoModel().respond(request_of(), session_of(), sink)
    assert sink.heard == answer.text
    assert len(sink.told) > 1
    assert trio.current_time() - began > 0.1
