"""Histories from elsewhere, made sendable: every call one result, right behind its message.

A history that greenroom wrote is always whole. An imported one may lack a result, hold one twice
or in the wrong place, or use an id twice or leave it empty. Its stored bytes stay as they came;
what is mended is only what is sent, and the map says so (R48, P010, P011, P012).
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

import attrs
import msgspec
from msgspec import structs

from greenroom.protocol.encoding import decode_message, encode_message
from greenroom.protocol.identity import CallId
from greenroom.protocol.message import AssistantMessage, Message, ToolMessage
from greenroom.protocol.projection import Source, is_sendable
from greenroom.protocol.wording import CURRENT, Wording

FaultKind: TypeAlias = Literal[
    "unanswered",  # a call without a result
    "misplaced",  # a result that does not stand right behind its message
    "stray",  # a result that answers no call, or one that has its result
    "doubled_id",  # a call under an id that an earlier one has
    "empty_id",  # a call under no id
    "empty_message",  # a message that says nothing
]


class Fault(msgspec.Struct, frozen=True, gc=False):
    """One thing that a provider would refuse, by its place in the imported history."""

    kind: FaultKind
    message: int
    """Index in the history."""
    call: CallId = ""
    """The id as it was imported."""


@attrs.define(eq=False)
class _Call:
    """One call of the history, the id it is sent under, and where its result was found."""

    message: int
    imported: CallId
    sent: CallId
    result: int | None = None


@attrs.define(eq=False)
class _History:
    """A history read once: its messages, its calls by message, and what is wrong with it."""

    messages: list[Message]
    calls: dict[int, list[_Call]] = attrs.field(factory=dict)
    answers: dict[int, _Call] = attrs.field(factory=dict)
    """The call that each used result answers."""
    faults: list[Fault] = attrs.field(factory=list)


def report(messages: Sequence[bytes]) -> tuple[Fault, ...]:
    """What is wrong with an imported history, in its order; nothing, if it can be sent (R48).

    Raises:
        StoreDamaged: one of ``messages`` is no message at all.
    """
    return tuple(_read(messages).faults)


def repair(
    messages: Sequence[bytes], wording: Wording = CURRENT
) -> tuple[tuple[bytes, ...], tuple[Source, ...]]:
    """The history as it can be sent, and the origin of each message of that (R45, R48).

    A missing result is added, a misplaced one is moved behind its call, strays and empty messages
    are left out, calls get ids of their own. What needs nothing is the same bytes as before.
    """
    history = _read(messages)
    if not history.faults:
        return tuple(messages), tuple(Source("history", index) for index in range(len(messages)))
    bodies: list[bytes] = []
    sources: list[Source] = []
    for body, source in _mended(history, messages, wording):
        bodies.append(body)
        sources.append(source)
    return tuple(bodies), tuple(sources)


def _read(messages: Sequence[bytes]) -> _History:
    """Match every result with the call that it answers, and note what does not fit."""
    history = _History([decode_message(body) for body in messages])
    used: set[CallId] = set()
    waiting: dict[CallId, list[_Call]] = {}
    behind = -1  # the message whose results may stand here
    for index, message in enumerate(history.messages):
        if isinstance(message, ToolMessage):
            _match(history, index, message.tool_call_id, waiting, behind)
            continue
        behind = index
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = list(_calls_of(index, message, used, history.faults))
            history.calls[index] = calls
            for call in reversed(calls):
                waiting.setdefault(call.imported, []).append(call)
        elif not is_sendable(messages[index]):
            history.faults.append(Fault("empty_message", index))
    history.faults += [
        Fault("unanswered", call.message, call.imported)
        for calls in history.calls.values()
        for call in calls
        if call.result is None
    ]
    history.faults.sort(key=lambda fault: fault.message)
    return history


def _calls_of(
    index: int, message: AssistantMessage, used: set[CallId], faults: list[Fault]
) -> Iterator[_Call]:
    """The calls of a message, each under an id that no other has."""
    for place, call in enumerate(message.tool_calls):
        sent = call.id
        if not sent or sent in used:
            faults.append(Fault("doubled_id" if sent else "empty_id", index, sent))
            sent = f"imported-{index}-{place}"
            while sent in used:
                sent += "-"
        used.add(sent)
        yield _Call(index, call.id, sent)


def _match(
    history: _History,
    index: int,
    id_: CallId,
    waiting: dict[CallId, list[_Call]],
    behind: int,
) -> None:
    """Give the result at ``index`` to the newest message that waits for one of its id."""
    fitting = waiting.get(id_)
    if not fitting:
        history.faults.append(Fault("stray", index, id_))
        return
    call = fitting.pop()
    call.result = index
    history.answers[index] = call
    if call.message != behind:
        history.faults.append(Fault("misplaced", index, id_))


def _mended(
    history: _History, messages: Sequence[bytes], wording: Wording
) -> Iterator[tuple[bytes, Source]]:
    """Every message as it is sent, each call's result behind it in the order of the calls."""
    empty = {fault.message for fault in history.faults if fault.kind == "empty_message"}
    for index, message in enumerate(history.messages):
        if isinstance(message, ToolMessage) or index in empty:
            continue
        calls = history.calls.get(index, [])
        if isinstance(message, AssistantMessage) and any(c.sent != c.imported for c in calls):
            tool_calls = tuple(
                structs.replace(asked, id=call.sent)
                for asked, call in zip(message.tool_calls, calls, strict=True)
            )
            body = encode_message(structs.replace(message, tool_calls=tool_calls))
            yield body, Source("tool_repair", index)
        else:
            yield messages[index], Source("history", index)
        for call in sorted(calls, key=_place_of_result):
            yield _result_of(call, history, messages, wording)


_LAST: Final = 1 << 62


def _place_of_result(call: _Call) -> int:
    """Results keep the order in which they came; those that are added stand behind them."""
    return _LAST if call.result is None else call.result


def _result_of(
    call: _Call, history: _History, messages: Sequence[bytes], wording: Wording
) -> tuple[bytes, Source]:
    """The one result of a call: as it came, under its new id, moved, or ours."""
    if call.result is None:
        return encode_message(ToolMessage(call.sent, wording.no_result)), Source("tool_repair")
    moved = any(
        fault.kind == "misplaced" and fault.message == call.result for fault in history.faults
    )
    result = history.messages[call.result]
    assert isinstance(result, ToolMessage)
    if call.sent != call.imported:
        body = encode_message(structs.replace(result, tool_call_id=call.sent))
        return body, Source("tool_repair", call.result)
    origin: Literal["tool_repair", "history"] = "tool_repair" if moved else "history"
    return messages[call.result], Source(origin, call.result)
