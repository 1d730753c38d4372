"""From what a model answered to what is stored of it: checked, ids of ours, valid text, bounds."""

from collections.abc import Callable
from typing import Any, Final, get_args, get_type_hints

import msgspec

from greenroom.actors.models.port import ModelResponse, RequestedCall
from greenroom.protocol.encoding import decode_message, encode_message
from greenroom.protocol.errors import ModelFailed, StoreDamaged
from greenroom.protocol.identity import TurnId, call_id, made_valid
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.message import (
    AssistantMessage,
    Content,
    Function,
    OpaquePart,
    TextPart,
    ToolCall,
    text_of,
)
from greenroom.protocol.record import Responded
from greenroom.protocol.record_parts import ProviderId
from greenroom.protocol.usage import Usage

_NO_USAGE: Final = ModelResponse().usage
_FINISHES: Final = get_args(get_type_hints(ModelResponse)["finish"])
_BODY_BYTES_MAX: Final = DEFAULT_LIMITS.record_bytes_max // 4
"""Of an answer as it is stored: a commit may hold it twice, and the results of its calls."""
_COUNT_MAX: Final = 2**53
"""The largest whole number that every reader of JSON reads exactly."""


class Reply(msgspec.Struct, frozen=True, gc=False):
    """A model's whole answer, encoded once: its record, and the calls that it asks for."""

    record: Responded
    body: bytes
    text: str
    calls: tuple[ToolCall, ...]


def answer_from(record: Responded) -> Reply:
    """An answer as it was stored. Raises :class:`StoreDamaged` if it is none."""
    body = bytes(record.body)
    message = decode_message(body)
    if not isinstance(message, AssistantMessage):
        raise StoreDamaged("What stands for a model's answer is another message.")
    return Reply(record, body, text_of(message.content), message.tool_calls)


def checked(response: object, model: str) -> ModelResponse:
    """What a model port returned, if it is what the port promises; nothing else is ever stored.

    Raises:
        ModelFailed: another type anywhere in it, or a count that none can be (R194).
    """
    if not isinstance(response, ModelResponse):
        fault = f"a {type(response).__name__} in place of a ModelResponse"
    else:
        fault = _fault_of(response)
        if not fault:
            return response
    raise ModelFailed(made_valid(f"The model {model} answered {fault}.")[0])


def _fault_of(response: ModelResponse) -> str:
    """What in it is of another type than declared: a port's author may not use a type checker."""
    if type(response.text) is not str:
        return f"a {type(response.text).__name__} in place of text"
    if not _are(response.calls, _is_call):
        return "calls that are no tuple of RequestedCall with each field a text"
    if not _are(response.opaque, _is_opaque):
        return "opaque blocks that are no tuple of OpaquePart with a model's name and bytes"
    if response.usage is not _NO_USAGE and not _is_usage(response.usage):
        return "a usage that does not count tokens from 0 to 2**53, and money if any"
    if type(response.finish) is not str or response.finish not in _FINISHES:
        return f"an unknown finish, which is none of {', '.join(_FINISHES)}"
    return ""


def _are(values: object, is_one: Callable[[Any], bool]) -> bool:
    return type(values) is tuple and all(map(is_one, values))


def _is_call(call: RequestedCall) -> bool:
    if type(call) is not RequestedCall:
        return False
    return type(call.id) is type(call.name) is type(call.arguments) is str


def _is_opaque(part: OpaquePart) -> bool:
    if type(part) is not OpaquePart or type(part.model) is not str:
        return False
    return type(part.data) is bytes and not made_valid(part.model)[1]


def _is_usage(usage: object) -> bool:
    if type(usage) is not Usage:
        return False
    for count in (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning):
        if type(count) is not int or not 0 <= count <= _COUNT_MAX:
            return False
    cost = usage.cost
    # Not a number is in no range, and infinity not in this one.
    return cost is None or (type(cost) in (int, float) and 0 <= cost <= _COUNT_MAX)


def is_empty(response: ModelResponse) -> bool:
    """Whether nothing came that could be sent back to a provider (R182)."""
    if response.finish == "filter":
        # The calls of an answer that the provider withheld are not asked for any more.
        return not response.text.strip()
    return not (response.calls or response.opaque or response.text.strip())


def answer_of(
    response: ModelResponse, turn: TurnId, round_: int, block: int, at: int, limits: Limits
) -> Reply:
    """The answer as it is stored: valid text, and calls under ids of ours (R181, R194).

    Raises:
        ModelFailed: larger, more calls or longer arguments than the bounds allow.
    """
    _check_size(response, limits.response_bytes_max)
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
    if len(body) > _BODY_BYTES_MAX:
        # Control characters take six bytes each: as JSON an answer may be far longer than it was.
        raise ModelFailed(
            f"The model's answer takes {len(body):,} bytes as JSON; the bound is "
            f"{_BODY_BYTES_MAX:,}."
        )
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
    return Reply(record, body, text, tuple(calls))


def _check_size(response: ModelResponse, bound: int) -> None:
    """All that was received counts, so that what is stored of it fits a commit."""
    texts = [response.text]
    for call in response.calls:
        texts += (call.id, call.name, call.arguments)
    size = sum([len(part.data) for part in response.opaque])
    # UTF-8 takes four bytes for a character at most: short answers are not measured.
    if size + 4 * sum(map(len, texts)) <= bound:
        return
    size += sum([len(text.encode(errors="surrogatepass")) for text in texts])
    if size > bound:
        raise ModelFailed(f"The model answered {size:,} bytes; the bound is {bound:,}.")


def _check_calls(calls: tuple[RequestedCall, ...], limits: Limits) -> None:
    if len(calls) > limits.calls_max:
        raise ModelFailed(
            f"The model asked for {len(calls)} calls at once; the bound is {limits.calls_max}."
        )
    longest = max([len(call.arguments) for call in calls])
    if longest > limits.arguments_bytes_max:
        raise ModelFailed(
            f"The model wrote arguments of {longest:,} characters; the bound is "
            f"{limits.arguments_bytes_max:,} bytes."
        )
    # A name that long is none of a tool, and would stand in every request from now on.
    longest = max([max(len(call.name), len(call.id)) for call in calls])
    if longest > limits.name_bytes_max:
        raise ModelFailed(
            f"The model named a call with {longest:,} characters; the bound is "
            f"{limits.name_bytes_max:,} bytes."
        )
