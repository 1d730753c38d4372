"""Histories from elsewhere: stored as they came, reported, and sent so that no provider refuses."""

from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.actors.importing import import_history
from greenroom.actors.models.scripted import Looping
from greenroom.protocol.errors import BrokenMetadata, InvalidInput, Mismatch
from greenroom.protocol.message import (
    AssistantMessage,
    Function,
    ImagePart,
    Message,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.store import open_memory
from tests.actors.stage import messages, stage


def asks(*ids: str, text: str = "") -> AssistantMessage:
    """An answer that asks for a call under each of these ids."""
    return AssistantMessage(text, tuple(ToolCall(id_, Function("look", "{}")) for id_ in ids))


def legacy(ordinal: int, text: str) -> RuntimeContextSnapshot:
    """A version-2 snapshot."""
    return RuntimeContextSnapshot(ordinal, text, 0)


ORPHAN: list[Message] = [
    UserMessage("one"),
    asks("t1"),
    ToolMessage("t1", "found"),
    AssistantMessage("Done."),
    ToolMessage("t9", "nobody asked"),
    UserMessage("two"),
    asks("t2"),
]
"""P004: an orphan at index 4, and a call without a result at the end."""

MISPLACED: list[Message] = [
    UserMessage("one"),
    asks("t1"),
    UserMessage("two"),
    ToolMessage("t1", "late"),
    AssistantMessage("Done."),
]
"""P010: the result comes after the next user message."""


def assert_sendable(sent: list[dict[str, Any]]) -> None:
    """Every call has exactly one result, right behind its message, and there is no other result."""
    waiting: list[str] = []
    for message in sent:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls", ())]
    assert not waiting


@pytest.mark.parametrize(
    ("history", "kinds", "origins"),
    [
        (
            ORPHAN,
            {"stray", "unanswered"},
            ["history"] * 4 + ["history", "history", "tool_repair", "history"],
        ),
        (MISPLACED, {"misplaced"}, ["history", "history", "tool_repair"] + ["history"] * 3),
    ],
)
async def test_a_broken_history_is_mended_in_the_request_only(
    history: list[Message], kinds: set[str], origins: list[str]
) -> None:
    """R48, R45, P004, P010: the session runs on, the map says what was mended, the store stays."""
    async with stage("On we go.") as on:
        session, faults = await import_history(on.host, "ann", agent="support", messages=history)
        assert {fault.kind for fault in faults} == kinds
        assert (await session.state()).messages == tuple(history)
        before = on.store.read(session.id)[0].records
        assert (await session.ask("three")).end == "done"
        assert_sendable(messages(on.model.requests[0]))
        shown = await session.model_input_projection()
        assert shown is not None
        assert [source.origin for source in shown.sources] == origins
        assert on.store.read(session.id)[0].records == before
        assert (await session.state()).messages[: len(history)] == tuple(history)
        assert (await session.request(1)).is_exact


async def test_an_imported_history_goes_on_with_the_same_bytes_when_it_is_opened_again() -> None:
    """R48, R169: a request after reopening begins as the one before it did."""
    async with open_memory() as store:
        async with stage("Three.", store=store) as on:
            session, _ = await import_history(on.host, "ann", agent="support", messages=ORPHAN)
            await session.ask("three")
            first = list(on.model.requests[0].messages)
        async with stage("Four.", store=store) as on:
            session = await on.session()
            await session.ask("four")
            second = list(on.model.requests[0].messages)
            assert second[: len(first)] == first
            for turn in (1, 2):
                assert (await session.request(turn)).is_exact


async def test_legacy_contexts_stand_behind_the_messages_that_they_are_anchored_to() -> None:
    """R43, R44, R45: several may share an anchor, in stored order; the stored bytes stay."""
    history: list[Message] = [
        UserMessage("one"),
        AssistantMessage("1"),
        UserMessage("two"),
        AssistantMessage("2"),
    ]
    contexts = [legacy(0, "about one"), legacy(1, "about two"), legacy(1, "more about two")]
    async with stage("Three.", "Four.") as on:
        session, faults = await import_history(
            on.host, "ann", agent="support", messages=history, contexts=contexts
        )
        assert faults == ()
        stored = on.store.read(session.id)[0].records
        await session.ask("three")
        sent = [m["content"] for m in messages(on.model.requests[0])]
        assert sent == ["one", "about one", "1", "two", "about two", "more about two", "2", "three"]
        shown = await session.model_input_projection()
        assert shown is not None
        assert [s.origin for s in shown.sources].count("legacy_context") == 3
        await session.ask("four")
        assert on.store.read(session.id)[0].records == stored
        assert [c.content for c in await session.get_runtime_contexts()] == [
            "about one",
            "about two",
            "more about two",
        ]
        said = [m.content for m in (await session.state()).messages]
        assert said == ["one", "1", "two", "2", "three", "Three.", "four", "Four."]


@pytest.mark.parametrize(
    "contexts",
    [
        [legacy(1, "b"), legacy(0, "a")],
        [legacy(5, "beyond")],
        [legacy(0, "")],
        [msgspec.structs.replace(legacy(0, "x"), placement="user")],
        [msgspec.structs.replace(legacy(0, "x"), placement="nowhere")],
    ],
    ids=["unordered", "beyond", "empty", "placed", "unknown"],
)
async def test_contexts_that_do_not_fit_are_refused(
    contexts: list[RuntimeContextSnapshot],
) -> None:
    """R55: before anything is stored."""
    async with stage() as on:
        history: list[Message] = [UserMessage("one"), UserMessage("two")]
        with pytest.raises(BrokenMetadata):
            await import_history(
                on.host, "ann", agent="support", messages=history, contexts=contexts
            )
        assert await on.host.sessions().count() == 0


@pytest.mark.parametrize(
    "message",
    [UserMessage("a\0b"), AssistantMessage("\ud800"), ToolMessage("\0", "x"), asks("\0"), "text"],
    ids=["nul", "surrogate", "result", "call", "type"],
)
async def test_what_cannot_be_stored_is_refused(message: Any) -> None:
    """R194: at the border, and nothing is stored."""
    async with stage() as on:
        with pytest.raises(InvalidInput):
            await import_history(on.host, "ann", agent="support", messages=[message])
        assert await on.host.sessions().count() == 0


async def test_a_history_makes_a_new_session() -> None:
    """R48: nothing is imported into a session that is there."""
    async with stage() as on:
        await on.session()
        with pytest.raises(Mismatch):
            await import_history(on.host, "ann", agent="support", messages=ORPHAN)


IDS = st.sampled_from(["t1", "t2", ""])
MESSAGES = st.one_of(
    st.builds(UserMessage, st.sampled_from(["hello", "", " "])),
    st.builds(AssistantMessage, st.sampled_from(["well", ""])),
    st.lists(IDS, min_size=1, max_size=3).map(lambda ids: asks(*ids)),
    st.builds(ToolMessage, IDS, st.just("result")),
)


@settings(max_examples=60)
@given(history=st.lists(MESSAGES, max_size=10))
def test_any_history_at_all_can_be_imported_and_gone_on_with(history: list[Message]) -> None:
    """R48, R1: two turns run on it, each request can be rebuilt, and what was imported stays."""

    async def drill() -> None:
        async with stage(model=Looping(("Hi.",))) as on:
            session, _ = await import_history(on.host, "ann", agent="support", messages=history)
            for turn in (1, 2):
                assert (await session.ask("go on")).end == "done"
                sent = await session.request(turn)
                assert sent.is_exact
                assert_sendable(messages(sent.request))
            state = await session.state()
            assert state.messages[: len(history)] == tuple(history)
            assert state.user_messages == 2 + sum(isinstance(m, UserMessage) for m in history)
            assert (await on.host.sessions().all())[0].messages == len(history) + 4

    trio.run(drill)


async def test_an_image_of_a_history_is_refused() -> None:
    """R218: whoever knows a digest gets at nothing that another session holds."""
    history: list[Message] = [UserMessage((TextPart("See"), ImagePart("image/png", "0" * 64, 1)))]
    async with stage() as on:
        with pytest.raises(InvalidInput, match="no images"):
            await import_history(on.host, "ann", agent="support", messages=history)
        assert await on.host.sessions().count() == 0
