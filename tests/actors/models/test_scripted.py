"""Scripted models play their script, say when it is at its end, and keep what they were asked."""

import pytest
import trio
import trio.testing

from greenroom.actors.models.port import Model, ModelResponse, RequestedCall
from greenroom.actors.models.scripted import (
    CutOff,
    Looping,
    Scripted,
    Stalled,
    Streamed,
    call,
    pieces_of,
    round_of,
    scripted,
)
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.message import OpaquePart
from greenroom.protocol.request import Messages
from greenroom.protocol.usage import Usage
from tests.actors.models.provider import USER, Heard, request_of, session_of

CALLING = b'{"role":"assistant","tool_calls":[]}'
RESULT = b'{"role":"tool","tool_call_id":"c1-0-0","content":"5"}'


async def played(model: Model, *messages: bytes, sink: Heard | None = None) -> ModelResponse:
    return await model.respond(request_of(*messages), session_of(), sink or Heard())


async def test_steps_are_played_in_order(sink: Heard) -> None:
    model = scripted(call("refund", order=7), "Done.")
    first = await played(model, sink=sink)
    assert first.calls == (RequestedCall("call_refund", "refund", '{"order":7}'),)
    assert (first.finish, sink.heard) == ("calls", "")
    second = await played(model, USER, CALLING, RESULT, sink=sink)
    assert (second.text, second.finish, sink.heard) == ("Done.", "stop", "Done.")
    assert [len(request.messages) for request in model.requests] == [1, 3]
    assert model.sessions == [session_of(), session_of()]


async def test_a_script_that_is_at_its_end_says_so() -> None:
    model = scripted("Only.")
    await played(model)
    with pytest.raises(ModelFailed, match="has 1 steps and this is request 2"):
        await played(model)


async def test_steps_that_nobody_asked_for_are_told() -> None:
    model = scripted("One.", "Two.")
    await played(model)
    with pytest.raises(AssertionError, match="1 of the 2 steps"):
        model.check_done()
    await played(model)
    model.check_done()


async def test_a_step_may_be_an_error() -> None:
    """P005, P019: a permanent and a temporary fault."""
    busy = ModelFailed("Busy.", temporary=True)
    with pytest.raises(ModelFailed) as caught:
        await played(scripted(busy))
    assert caught.value is busy


async def test_a_step_may_wait(sink: Heard) -> None:
    go = trio.Event()
    step = Stalled(go, "Late.")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scripted(step).respond, request_of(), session_of(), sink)
        await step.reached.wait()
        assert sink.heard == ""
        go.set()
    assert sink.heard == "Late."


async def test_a_step_may_be_made_from_the_request(sink: Heard) -> None:
    model = scripted(lambda request, session: f"{session.id} {len(request.messages)}")
    assert (await played(model, USER, USER, sink=sink)).text == "s 2" == sink.heard


async def test_text_may_come_in_pieces(sink: Heard) -> None:
    """P025: streamed or not, the response is the same."""
    streamed = await played(scripted(Streamed("abcdefg", 3)), sink=sink)
    assert sink.told == ["abc", "def", "g"]
    assert streamed == await played(scripted("abcdefg"))


async def test_a_lost_stream_is_taken_back_or_raised(sink: Heard) -> None:
    """P024: what was streamed before a retry is no part of the answer."""
    assert (await played(scripted(CutOff("Hal", "Whole.")), sink=sink)).text == "Whole."
    assert (sink.heard, sink.restarts) == ("Whole.", 1)
    lost = ModelFailed("Lost.", temporary=True)
    with pytest.raises(ModelFailed):
        await played(scripted(CutOff("Hal", lost)), sink=sink)
    assert sink.heard == "Whole.Hal"


async def test_odd_answers_come_as_they_are() -> None:
    """P012, P014, P016, P127: empty and repeated ids, opaque blocks, nothing, half characters."""
    odd = ModelResponse(
        "\ud83d", (RequestedCall("", "a", "{"),) * 2, (OpaquePart("m", b"\0x"),), finish="length"
    )
    assert await played(scripted(odd)) is odd
    assert await played(scripted("")) == ModelResponse()


async def test_usage_is_given_to_answers_that_have_none() -> None:
    model = Scripted(["a", ModelResponse("b", usage=Usage(input=9))], usage=Usage(input=1))
    assert (await played(model)).usage == Usage(input=1)
    assert (await played(model)).usage == Usage(input=9)


async def test_looping_plays_its_script_in_every_turn(sink: Heard) -> None:
    model = Looping((("Looking. ", call("look")), Streamed("Seen it.", 2)))
    for history in ([USER], [USER, CALLING, RESULT, CALLING, USER]):
        assert (await played(model, *history)).calls
        assert not (await played(model, *history, CALLING, RESULT, sink=sink)).calls
    assert sink.told == ["Seen", " it."] * 2


@pytest.mark.parametrize(
    ("messages", "round_"),
    [
        ([], 0),
        ([USER], 0),
        ([USER, CALLING, RESULT, RESULT], 1),
        ([USER, CALLING, RESULT, CALLING, RESULT], 2),
        ([USER, *[CALLING, RESULT] * 9], 3),
        ([USER, CALLING, RESULT, USER], 0),
    ],
)
def test_the_round_is_read_off_the_end(messages: list[bytes], round_: int) -> None:
    assert round_of(Messages(messages, len(messages)), 3) == round_


def test_a_looping_model_needs_an_answer() -> None:
    with pytest.raises(ValueError, match="needs an answer"):
        Looping(())


def test_pieces_are_never_empty() -> None:
    assert pieces_of("", 3) == []
    assert pieces_of("ab", 5) == ["a", "b"]
    assert pieces_of("abc", 0) == ["abc"]


async def test_a_checkpoint_stands_in_every_call() -> None:
    """R185: a model without a wait still lets others run, and can be cancelled."""
    for model in (scripted("a"), Looping(("a",))):
        with trio.testing.assert_checkpoints():
            await played(model)
