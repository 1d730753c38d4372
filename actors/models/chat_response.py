"""From the events of a chat-completions stream to one whole response (R181, R190).

Nothing that was received half is ever returned: :meth:`Answer.whole` refuses unless the provider
said why it stopped. Text that UTF-8 cannot carry is kept as it came, for the turn to mend and mark
(P127); halves of one character that came in two events are joined.
"""

import json
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import attrs
import msgspec

from greenroom.actors.models.port import ModelResponse, RequestedCall, Sink
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.identity import made_valid
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.message import OpaquePart
from greenroom.protocol.usage import Usage

Finish: TypeAlias = Literal["stop", "calls", "length", "filter"]

DONE: Final = "[DONE]"
_FINISH: Final[dict[str, Finish]] = {
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "filter",
}


class _FunctionDelta(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _FunctionDelta = msgspec.field(default_factory=_FunctionDelta)


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's word for what others call cached."""


class _Fault(msgspec.Struct):
    message: str = ""
    type: str | None = None
    code: str | int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: _Fault | str | None = None


_chunks: Final = msgspec.json.Decoder(_Chunk)


@attrs.define(eq=False)
class _Call:
    index: int | None
    id: str
    name: str = ""
    arguments: list[str] = attrs.field(factory=list)
    size: int = 0


@attrs.define(eq=False)
class Answer:
    """A response while it comes."""

    model: str
    keep_reasoning: bool = False
    limits: Limits = DEFAULT_LIMITS
    hide: Callable[[str], str] = str
    """Takes secrets out of what the provider says about a fault."""
    _text: list[str] = attrs.field(factory=list, init=False)
    _reasoning: list[str] = attrs.field(factory=list, init=False)
    _calls: list[_Call] = attrs.field(factory=list, init=False)
    _usage: Usage = attrs.field(default=Usage(), init=False)
    _finish: str | None = attrs.field(default=None, init=False)
    _half: str = attrs.field(default="", init=False)

    def take(self, data: str, sink: Sink) -> bool:
        """Take the data of one event; True at the end of the stream.

        Raises:
            ModelFailed: no event of this wire, a fault that the provider reports in it, or more
                than the limits allow.
        """
        if data == DONE:
            return True
        chunk = _read(data)
        if chunk.error is not None:
            raise _reported(chunk.error, self.hide)
        if chunk.usage is not None:
            self._usage = usage_of(chunk.usage)
        for choice in chunk.choices:
            self._add(choice.delta, sink)
            self._finish = choice.finish_reason or self._finish
        return False

    def whole(self, sink: Sink) -> ModelResponse:
        """Return the response.

        Raises:
            ModelFailed: temporary: the stream ended before the provider said that it is whole.
        """
        if self._finish is None:
            raise ModelFailed("The answer was cut off.", temporary=True)
        if self._half:
            sink.text("\N{REPLACEMENT CHARACTER}")
        calls = tuple(
            RequestedCall(call.id, call.name, _joined(call.arguments)) for call in self._calls
        )
        finish = _FINISH.get(self._finish, "stop")
        return ModelResponse(
            _joined(self._text),
            calls,
            self._opaque(),
            self._usage,
            "calls" if calls and finish == "stop" else finish,
        )

    def _add(self, delta: _Delta, sink: Sink) -> None:
        if piece := delta.content or delta.refusal:
            self._text.append(piece)
            if shown := self._shown(piece):
                sink.text(shown)
        if delta.reasoning_content and self.keep_reasoning:
            self._reasoning.append(delta.reasoning_content)
        for call in delta.tool_calls or ():
            self._add_call(call)

    def _add_call(self, delta: _CallDelta) -> None:
        call = self._called(delta)
        call.name += delta.function.name or ""
        piece = delta.function.arguments or ""
        call.arguments.append(piece)
        call.size += len(piece)
        if call.size > self.limits.arguments_bytes_max:
            bound = self.limits.arguments_bytes_max
            raise _too_large("The arguments of a call", "arguments_bytes_max", bound)

    def _called(self, delta: _CallDelta) -> _Call:
        """The call that a delta belongs to. Some servers leave out the index, some repeat it."""
        known = [call for call in self._calls if delta.index in (None, call.index)]
        if known and delta.id in (None, "", known[-1].id):
            return known[-1]
        if len(self._calls) >= self.limits.calls_max:
            raise _too_large("The response asks for more calls than", "calls_max", len(self._calls))
        self._calls.append(_Call(delta.index, delta.id or ""))
        return self._calls[-1]

    def _shown(self, piece: str) -> str:
        """What a reader may see of a piece: valid text, no half of a character before the other."""
        piece, self._half = self._half + piece, ""
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return made_valid(piece)[0]

    def _opaque(self) -> tuple[OpaquePart, ...]:
        if not self._reasoning:
            return ()
        text, _ = made_valid(_joined(self._reasoning))
        data = msgspec.json.encode({"reasoning_content": text})
        return (OpaquePart(self.model, data),)


def usage_of(told: _Usage) -> Usage:
    """Return a provider's count in buckets that do not overlap and sum to its total (R190, P182).

    Most providers count cached tokens inside the prompt and reasoning inside the completion, some
    beside them; their own total tells which.
    """
    prompt, completion = told.prompt_tokens or 0, told.completion_tokens or 0
    details = told.prompt_tokens_details or _PromptDetails()
    read = details.cached_tokens or told.prompt_cache_hit_tokens or 0
    written = details.cache_write_tokens or 0
    reasoning = (told.completion_tokens_details or _CompletionDetails()).reasoning_tokens or 0
    beside = max(0, (told.total_tokens or 0) - prompt - completion)
    if not (beside and beside in {read + written, read + written + reasoning}):
        read = min(read, prompt)
        written = min(written, prompt - read)
        prompt -= read + written
    if not (beside and beside in {reasoning, read + written + reasoning}):
        reasoning = min(reasoning, completion)
        completion -= reasoning
    return Usage(prompt, read, written, completion, reasoning)


def _read(data: str) -> _Chunk:
    try:
        return _chunks.decode(data)
    except (msgspec.MsgspecError, UnicodeError, ValueError, RecursionError):
        pass
    try:
        # Half a character, written as an escape, is JSON for Python and not for msgspec.
        return msgspec.convert(json.loads(data), _Chunk)
    except (msgspec.MsgspecError, UnicodeError, ValueError, RecursionError):
        raise ModelFailed("The provider sent what is no chat completion.") from None


def _reported(fault: _Fault | str, hide: Callable[[str], str]) -> ModelFailed:
    """A fault in the stream: the provider's own, unless its code says that the request is wrong."""
    if isinstance(fault, str):
        fault = _Fault(fault)
    code = fault.code if isinstance(fault.code, int) else 500
    temporary = code in {408, 409, 425, 429} or code >= 500  # noqa: PLR2004 - HTTP's own numbers
    told = hide(made_valid(fault.message)[0])[:300]
    return ModelFailed(f"The provider reports: {told}", temporary=temporary, type=fault.type)


def _joined(pieces: list[str]) -> str:
    """The pieces as one text in which the two halves of a character are one character."""
    text = "".join(pieces)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _too_large(what: str, limit: str, bound: int) -> ModelFailed:
    return ModelFailed(f"{what} is over Limits.{limit}: {bound:,}.", limit=limit, bound=bound)
