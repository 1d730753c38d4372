"""Laws of imported histories: reported, accepted, and sent whole."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.encoding import decode_message, encode_message
from greenroom.protocol.message import (
    AssistantMessage,
    Function,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from greenroom.protocol.repair import repair, report
from greenroom.protocol.wording import CURRENT


def ask(*ids: str) -> AssistantMessage:
    return AssistantMessage("", tuple(ToolCall(id_, Function("look", "{}")) for id_ in ids))


def result(id_: str, content: str = "found") -> ToolMessage:
    return ToolMessage(id_, content)


HI, BYE = UserMessage("Hi."), AssistantMessage("Bye.")


def encoded(*messages: Message) -> list[bytes]:
    return [encode_message(message) for message in messages]


def kinds(*messages: Message) -> list[tuple[str, int]]:
    return [(fault.kind, fault.message) for fault in report(encoded(*messages))]


def sent(*messages: Message) -> list[Message]:
    return [decode_message(body) for body in repair(encoded(*messages))[0]]


def is_whole(messages: Sequence[Message]) -> bool:
    """What a provider checks: each call has one result, right behind its message."""
    seen: set[str] = set()
    open_: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_:
                return False
            open_.remove(message.tool_call_id)
            continue
        if open_:
            return False
        if isinstance(message, AssistantMessage):
            ids = [call.id for call in message.tool_calls]
            if "" in ids or len(set(ids)) < len(ids) or seen & set(ids):
                return False
            seen |= set(ids)
            open_ = set(ids)
    return not open_


def test_a_whole_history_is_sent_as_it_came() -> None:
    """R48: nothing to report, the same bytes, all of it history; results in any order."""
    history = encoded(HI, ask("a", "b"), result("b"), result("a"), BYE)
    bodies, sources = repair(history)
    assert report(history) == ()
    assert all(one is other for one, other in zip(bodies, history, strict=True))
    assert [(source.origin, source.message) for source in sources] == [
        ("history", index) for index in range(5)
    ]


def test_an_unanswered_call_gets_a_result_of_ours() -> None:
    """R48, P004: only in the request, and marked so in the map."""
    history = encoded(HI, ask("a", "b"), result("a"), HI)
    bodies, sources = repair(history)
    assert kinds(HI, ask("a", "b"), result("a"), HI) == [("unanswered", 1)]
    assert decode_message(bodies[3]) == ToolMessage("b", CURRENT.no_result)
    assert [source.origin for source in sources] == ["history"] * 3 + ["tool_repair", "history"]
    assert [source.message for source in sources] == [0, 1, 2, None, 3]


def test_a_misplaced_result_is_moved_behind_its_call() -> None:
    """R48, P010: where it came after the next user message."""
    messages = (ask("a"), HI, result("a"), BYE)
    assert kinds(*messages) == [("misplaced", 2)]
    assert sent(*messages) == [ask("a"), result("a"), HI, BYE]
    assert [source.origin for source in repair(encoded(*messages))[1]] == [
        "history",
        "tool_repair",
        "history",
        "history",
    ]


def test_a_doubled_result_is_left_out() -> None:
    """R48: the first one stands; one that answers nothing is left out too."""
    messages = (HI, ask("a"), result("a", "1"), result("a", "2"), result("z"), BYE)
    assert kinds(*messages) == [("stray", 3), ("stray", 4)]
    assert sent(*messages) == [HI, ask("a"), result("a", "1"), BYE]


def test_an_id_that_comes_again_is_sent_as_one_of_its_own() -> None:
    """P011: the same id in two rounds, and twice in one; each keeps its own result."""
    messages = (
        ask("call_0"),
        result("call_0", "1"),
        ask("call_0", "call_0"),
        result("call_0", "2"),
        result("call_0", "3"),
    )
    assert kinds(*messages) == [("doubled_id", 2), ("doubled_id", 2)]
    assert sent(*messages) == [
        ask("call_0"),
        result("call_0", "1"),
        ask("imported-2-0", "imported-2-1"),
        result("imported-2-0", "2"),
        result("imported-2-1", "3"),
    ]


def test_empty_ids_are_sent_as_ids() -> None:
    """P012: two calls without an id, each with its result."""
    messages = (HI, ask("", ""), result("", "1"), result("", "2"))
    assert kinds(*messages) == [("empty_id", 1), ("empty_id", 1)]
    assert sent(*messages)[2:] == [result("imported-1-0", "1"), result("imported-1-1", "2")]


def test_an_id_of_ours_never_meets_one_of_theirs() -> None:
    """P011: also where a history holds the very id that would be made."""
    messages = (ask("imported-1-0"), ask(""), result("imported-1-0"), result(""))
    assert is_whole(sent(*messages))


def test_empty_messages_are_left_out() -> None:
    """R182: whatever came, nothing empty is sent."""
    messages = (HI, AssistantMessage(""), UserMessage(" "), BYE)
    assert kinds(*messages) == [("empty_message", 1), ("empty_message", 2)]
    assert sent(*messages) == [HI, BYE]


parts = st.one_of(
    st.just(HI),
    st.just(BYE),
    st.just(AssistantMessage("")),
    st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=3).map(lambda ids: ask(*ids)),
    st.sampled_from(["a", "b", "c", ""]).map(result),
)


@given(st.lists(parts, max_size=12))
def test_any_history_is_sent_whole(messages: list[Message]) -> None:
    """R48, P013: every call one result, all ids one of a kind, and nothing more to repair."""
    history = encoded(*messages)
    before = list(history)
    bodies, sources = repair(history)
    assert history == before
    assert is_whole([decode_message(body) for body in bodies])
    assert report(bodies) == ()
    assert len(bodies) == len(sources)
    for body, source in zip(bodies, sources, strict=True):
        if source.origin == "history":
            assert source.message is not None
            assert body is history[source.message]


@given(st.lists(parts, max_size=8))
def test_what_comes_later_moves_nothing_before(messages: list[Message]) -> None:
    """R34: turns that follow an import leave the bytes of the repaired history as they were."""
    later = encoded(HI, ask("new"), result("new"), BYE)
    before, _ = repair(encoded(*messages))
    after, _ = repair([*encoded(*messages), *later])
    assert after == (*before, *later)


@pytest.mark.parametrize("messages", [[], [HI]])
def test_little_is_nothing_to_repair(messages: list[Message]) -> None:
    """R48: no call, no fault."""
    assert report(encoded(*messages)) == ()
