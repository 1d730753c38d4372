"""From what a model answered to what is stored of it."""

import msgspec
import pytest

from greenroom.actors.models.port import ModelResponse, RequestedCall
from greenroom.actors.response import Reply, answer_of, checked, is_empty
from greenroom.protocol.encoding import decode_message
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.message import AssistantMessage, OpaquePart
from greenroom.protocol.usage import Usage

SIGNED = OpaquePart("m", b"\x00\xff signed")


def answered(response: ModelResponse, turn: int = 1, round_: int = 0) -> Reply:
    return answer_of(response, turn, round_, 0, 0, DEFAULT_LIMITS)


@pytest.mark.parametrize("id_", ["", "call_0"])
def test_ids_of_calls_are_ours(id_: str) -> None:
    """R181, P011, P012: a provider's ids may repeat or be empty; ours never do."""
    response = ModelResponse(calls=(RequestedCall(id_, "look", "{}"),) * 2)
    answers = [answered(response, turn, round_) for turn in (1, 2) for round_ in (0, 1)]
    ids = [call.id for answer in answers for call in answer.calls]
    assert len(set(ids)) == 8
    assert all(ids)
    assert [one.provider for one in answers[0].record.provider_ids] == [id_, id_]


def test_text_that_cannot_be_stored_is_made_valid_and_marked() -> None:
    """R194, P127: a lone surrogate becomes a replacement; nothing later fails on it."""
    call = RequestedCall("i", "look", '{"what":"\ud83d"}')
    answer = answered(ModelResponse("\ud83d!", (call,)))
    assert answer.record.mended
    assert answer.text == "�!"
    assert answer.calls[0].function.arguments == '{"what":"�"}'
    assert isinstance(decode_message(answer.body), AssistantMessage)
    assert not answered(ModelResponse("fine")).record.mended


def test_opaque_blocks_stand_before_the_text_byte_for_byte() -> None:
    """R176, P014: stored as they came."""
    message = decode_message(answered(ModelResponse("so", opaque=(SIGNED,))).body)
    assert isinstance(message, AssistantMessage)
    assert message.content[0] == SIGNED
    alone = decode_message(answered(ModelResponse("  ", opaque=(SIGNED,))).body)
    assert isinstance(alone, AssistantMessage)
    assert alone.content == (SIGNED,)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_answer_without_anything_is_empty(text: str) -> None:
    """R182, P016: white space is nothing that a provider would take back."""
    assert is_empty(ModelResponse(text))
    assert not is_empty(ModelResponse(text, opaque=(SIGNED,)))
    assert not is_empty(ModelResponse(text, (RequestedCall("", "look", ""),)))


def test_no_arguments_are_an_empty_object() -> None:
    """R182: a provider refuses arguments that are no JSON at all."""
    answer = answered(ModelResponse(calls=(RequestedCall("i", "look", " "),)))
    assert answer.calls[0].function.arguments == "{}"


def test_answers_are_bounded() -> None:
    """R128: more calls, or longer arguments, than the bounds allow end the turn."""
    limits = msgspec.structs.replace(DEFAULT_LIMITS, calls_max=1, arguments_bytes_max=4)
    one = RequestedCall("i", "look", "{}")
    with pytest.raises(ModelFailed, match="2 calls"):
        answer_of(ModelResponse(calls=(one, one)), 1, 0, 0, 0, limits)
    with pytest.raises(ModelFailed, match="arguments of 5"):
        answer_of(ModelResponse(calls=(RequestedCall("i", "look", "12345"),)), 1, 0, 0, 0, limits)
    named = ModelResponse(calls=(RequestedCall("i", "n" * 70_000, "{}"),))
    with pytest.raises(ModelFailed, match="named a call with 70,000"):
        answered(named)


@pytest.mark.parametrize(
    "response",
    [
        ModelResponse("é" * 51),
        ModelResponse("\ud800" * 34),
        ModelResponse("x" * 99, opaque=(OpaquePart("m", b"xx"),)),
        ModelResponse("x" * 98, (RequestedCall("", "n", "{}"),)),
        ModelResponse("x" * 98, (RequestedCall("id", "n", ""),)),
    ],
)
def test_all_of_an_answer_counts(response: ModelResponse) -> None:
    """R128: whatever it is made of, in bytes as it came; so what is stored of it fits a commit."""
    limits = msgspec.structs.replace(DEFAULT_LIMITS, response_bytes_max=100)
    with pytest.raises(ModelFailed, match=r"10[12] bytes"):
        answer_of(response, 1, 0, 0, 0, limits)
    wider = msgspec.structs.replace(limits, response_bytes_max=102)
    assert answer_of(response, 1, 0, 0, 0, wider).body


def test_an_answer_that_is_one_is_returned_as_it_is() -> None:
    """R194: what the port promises passes, with the widest counts that it allows."""
    widest = Usage(2**53, 2**53, 0, 2**53, 0, 1.5)
    for response in (
        ModelResponse(),
        ModelResponse("\ud83d", (RequestedCall("", "n", "{"),), (SIGNED,), widest, "filter"),
        ModelResponse("t", usage=Usage(1, cost=0)),
    ):
        assert checked(response, "m") is response


def test_an_answer_that_no_commit_could_hold_fails() -> None:
    """R128, R206: else its turn could never be saved, and its session would be stuck."""
    with pytest.raises(ModelFailed, match="as JSON"):
        answered(ModelResponse("\x01" * 8_000_000))
    assert answered(ModelResponse("x" * 8_000_000)).body
