"""From what a model answered to what is stored of it: ids of ours, valid text, bounds."""

import msgspec

from greenroom.actors.models.port import ModelResponse, RequestedCall
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.identity import TurnId, call_id, made_valid
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import (
    AssistantMessage,
    Content,
    Function,
    TextPart,
    ToolCall,
)
from greenroom.protocol.record import ProviderId, Responded


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A model's whole answer, encoded once: its record, and the calls that it asks for."""

    record: Responded
    body: bytes
    text: str
    calls: tuple[ToolCall, ...]


def is_empty(response: ModelResponse) -> bool:
    """Whether nothing came that could be sent back to a provider (R182)."""
    if response.finish == "filter":
        # The calls of an answer that the provider withheld are not asked for any more.
        return not response.text.strip()
    return not (response.calls or response.opaque or response.text.strip())


def answer_of(
    response: ModelResponse, turn: TurnId, round_: int, block: int, at: int, limits: Limits
) -> Answer:
    """The answer as it is stored: valid text, and calls under ids of ours (R181, R194).

    Raises:
        ModelFailed: more calls or longer arguments than the bounds allow.
    """
    _check_size(response, limits)
    text, mended = made_valid(response.text)
    calls: list[ToolCall] = []
    names: list[ProviderId] = []
    asked = () if response.finish == "filter" else response.calls
    if asked:
        _check_calls(asked, limits)
    for place, requested in enumerate(asked):
        name, name_mended = made_valid(requested.name)
        arguments, arguments_mended = made_valid(requested.arguments)
        mended = mended or name_mended or arguments_mended
        own = call_id(turn, round_, place)
        calls.append(ToolCall(own, Function(name, arguments if arguments.strip() else "{}")))
        names.append(ProviderId(own, made_valid(requested.id)[0]))
    content: Content = text
    if response.opaque:
        content = (*response.opaque, TextPart(text)) if text.strip() else response.opaque
    body = encode_message(AssistantMessage(content, tuple(calls)))
    record = Responded(
        at,
        turn,
        round_,
        block,
        msgspec.Raw(body),
        response.usage,
        (),
        tuple(names),
        mended,
    )
    return Answer(record, body, text, tuple(calls))


def _check_size(response: ModelResponse, limits: Limits) -> None:
    size = len(response.text) + sum(len(part.data) for part in response.opaque)
    if size > limits.response_bytes_max:
        raise ModelFailed(
            f"The model answered {size:,} characters; the bound is {limits.response_bytes_max:,} "
            "bytes."
        )


def _check_calls(calls: tuple[RequestedCall, ...], limits: Limits) -> None:
    if len(calls) > limits.calls_max:
        raise ModelFailed(
            f"The model asked for {len(calls)} calls at once; the bound is {limits.calls_max}."
        )
    longest = max(len(call.arguments) for call in calls)
    if longest > limits.arguments_bytes_max:
        raise ModelFailed(
            f"The model wrote arguments of {longest:,} characters; the bound is "
            f"{limits.arguments_bytes_max:,} bytes."
        )
