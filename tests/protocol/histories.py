"""Histories as records: turns with calls, steers, notes, questions; imported and legacy parts."""

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec
from hypothesis import strategies as st
from msgspec import Raw

from greenroom.protocol.composition import Composition
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.identity import call_id
from greenroom.protocol.message import (
    AssistantMessage,
    Function,
    ToolCall,
    ToolMessage,
)
from greenroom.protocol.projector import Projector
from greenroom.protocol.record import (
    Accepted,
    AnyRecord,
    Asked,
    Compacted,
    Dispatched,
    Ended,
    Imported,
    LegacyContext,
    Responded,
    Returned,
)
from greenroom.protocol.record_parts import CallResult, PlatformNote, Steer, SummaryCall
from greenroom.protocol.runtime_context import RuntimeContextSnapshot, snapshot_of
from greenroom.protocol.wording import CURRENT
from tests.protocol.prompt_samples import composition, pick, skill, user

KEPT: Composition = composition()
MODEL = KEPT.model

ROUND = st.fixed_dictionaries(
    {
        "calls": st.integers(1, 3),
        "steers": st.integers(0, 2),
        "note": st.booleans(),
        "asked": st.integers(0, 2),
        "size": st.integers(0, 200),
    }
)
TURN = st.fixed_dictionaries(
    {
        "rounds": st.lists(ROUND, max_size=3),
        "pick": st.booleans(),
        "note": st.booleans(),
        "ended": st.booleans(),
        "size": st.integers(0, 200),
    }
)
IMPORTED = st.lists(
    st.sampled_from(["user", "legacy", "answer", "calls", "result", "stray", "empty"]), max_size=8
)


@attrs.define
class Writing:
    """Writes records as a session would."""

    records: list[AnyRecord] = attrs.field(factory=list)
    users: int = 0
    turns: int = 0

    def message(self, text: str, number: str) -> None:
        self.records.append(Accepted(0, number, Raw(user(text)), "queued", 0, None))

    def turn(self, told: Mapping[str, Any]) -> None:
        """One whole turn."""
        self.turns += 1
        turn, picked = self.turns, skill("deploy")
        number = f"m{turn}"
        picks = (pick(picked),) if told["pick"] else ()
        body = Raw(user(f"turn {turn} " + "x" * told["size"]))
        self.records.append(Accepted(0, number, body, "queued", 0, None, picks))
        snapshot = snapshot_of(self.users, [picked], 0, CURRENT) if picks else None
        notes = (_note("before"),) if told["note"] else ()
        self.records.append(
            Dispatched(0, turn, number, self.users, 1, MODEL, "p", "c", "d", snapshot, notes=notes)
        )
        self.users += 1
        for place, round_ in enumerate(told["rounds"]):
            self._round(turn, place, round_)
        if told["ended"]:
            last = AssistantMessage(f"answer {turn}")
            self.records.append(Responded(0, turn, 9, 0, Raw(encode_message(last))))
        self.records.append(Ended(0, turn, "done"))

    def _round(self, turn: int, place: int, told: Mapping[str, Any]) -> None:
        ids = [call_id(turn, place, n) for n in range(told["calls"])]
        asks = AssistantMessage("", tuple(ToolCall(i, Function("look", "{}")) for i in ids))
        self.records.append(Responded(0, turn, place, 0, Raw(encode_message(asks))))
        results = [_result(i, "r" * told["size"]) for i in ids]
        early, late = results[: told["asked"]], results[told["asked"] :]
        if early:
            self.records.append(Asked(0, turn, place, (), tuple(early)))
        steers = []
        for n in range(told["steers"]):
            number = f"s{turn}-{place}-{n}"
            self.message(f"steer {number}", number)
            steers.append(Steer(number, self.users))
            self.users += 1
        notes = (_note("behind"),) if told["note"] else ()
        self.records.append(Returned(0, turn, place, tuple(late), "d", tuple(steers), notes))

    def imported(self, kinds: list[str]) -> None:
        """A run of imported messages, broken or not."""
        for n, kind in enumerate(kinds):
            if kind == "legacy":
                if self.users:
                    context = RuntimeContextSnapshot(self.users - 1, f"legacy {n}", 0)
                    self.records.append(LegacyContext(context))
                continue
            ordinal = None
            if kind in ("user", "empty"):
                ordinal, self.users = self.users, self.users + 1
            self.records.append(Imported(0, Raw(_imported(kind, n)), ordinal))

    def compacted(self, before: int, summary: str = "What happened.") -> None:
        """A summary stands for what is before that user message."""
        calls = (SummaryCall("d", 0, summary=summary),)
        self.records.append(Compacted(0, before, "c", MODEL, calls))

    def projected(self) -> Projector:
        """What is sent of it, with the map."""
        return Projector(KEPT, MODEL, mapped=True).take(self.records)


def _imported(kind: str, n: int) -> bytes:
    match kind:
        case "user":
            return user(f"imported {n}")
        case "empty":
            return user("")
        case "answer":
            return encode_message(AssistantMessage(f"imported answer {n}"))
        case "calls":
            calls = (
                ToolCall(f"i{n}", Function("look", "{}")),
                ToolCall("same", Function("a", "{}")),
            )
            return encode_message(AssistantMessage("", calls))
        case "result":
            return encode_message(ToolMessage(f"i{n - 1}", "found"))
        case _:
            return encode_message(ToolMessage("same", "whose?"))


def _note(text: str) -> PlatformNote:
    return PlatformNote("approvals", Raw(user(f"[platform note] {text}")))


def _result(call: str, text: str) -> CallResult:
    return CallResult(call, Raw(encode_message(ToolMessage(call, f"result {call} {text}"))))


@st.composite
def written(draw: st.DrawFn) -> Writing:
    """Any history: an import, and turns behind it."""
    writing = Writing()
    writing.imported(draw(IMPORTED))
    for told in draw(st.lists(TURN, max_size=6)):
        writing.turn(told)
    return writing


def assert_paired(bodies: list[bytes]) -> None:
    """Every call has exactly one result, right behind its message, and there is no other (P013)."""
    waiting: list[str] = []
    for body in bodies:
        message = msgspec.json.decode(body)
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        calls = [call["id"] for call in message.get("tool_calls", ())]
        assert len(set(calls)) == len(calls)
        waiting = calls
        assert message["role"] == "user" or message.get("content") or calls
    assert not waiting
