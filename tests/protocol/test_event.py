"""Events, receipts and questions as frames: golden, and the same value after a journey."""

from typing import Any, get_args

import msgspec
import pytest

from greenroom.protocol.command import Pick
from greenroom.protocol.event import (
    ConversationCompacted,
    EagerRunMade,
    Event,
    MessageAbsorbed,
    MessageAccepted,
    MessageNotSent,
    MessageRecalled,
    ModelSwitched,
    PermissionChanged,
    PrefixMoved,
    PromptRecomposed,
    QuestionAsked,
    QuestionSettled,
    Replied,
    SessionDeleted,
    SessionOpened,
    SkillsLoaded,
    TextDelta,
    TitleChanged,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from greenroom.protocol.identity import SessionId
from greenroom.protocol.message import ImagePart, TextPart
from greenroom.protocol.question import Allow, Question
from greenroom.protocol.receipt import Cursor, Outcome, Receipt
from greenroom.protocol.turn import SkillUse
from greenroom.protocol.usage import Usage

HEAD: dict[str, Any] = {"session": SessionId("t", "k"), "cursor": Cursor("i", 7, 2), "at": 5}
HEAD_JSON = (
    '"session":{"tenant":"t","key":"k"},"cursor":{"incarnation":"i","number":7,"index":2},"at":5'
)
OUTCOME = Outcome(1, "done", "", "Hi.", 2, Usage(input=3, output=4))
OUTCOME_JSON = (
    '{"turn":1,"end":"done","reason":"","text":"Hi.","messages":2,"usage":USAGE,"absorbed":false}'
)

FRAMES: list[tuple[Event, str]] = [
    (
        SessionOpened(**HEAD, agent="a", person=None, preset="p"),
        '{"event":"session_opened",HEAD,"agent":"a","person":null,"preset":"p"}',
    ),
    (
        MessageAccepted(
            **HEAD,
            message="m",
            content=(TextPart("x"), ImagePart("image/png", "d", 9)),
            picks=(Pick("skills/p", "p", "P"),),
            by="person",
            person="kim",
        ),
        (
            '{"event":"message_accepted",HEAD,"message":"m","content":[{"type":"text","text":"x"},'
            '{"type":"image","media_type":"image/png","digest":"d","size":9}],'
            '"picks":[{"id":"skills/p","slug":"p","name":"P"}],"by":"person","person":"kim"}'
        ),
    ),
    (MessageRecalled(**HEAD, message="m"), '{"event":"message_recalled",HEAD,"message":"m"}'),
    (
        MessageAbsorbed(**HEAD, message="m", turn=1),
        '{"event":"message_absorbed",HEAD,"message":"m","turn":1}',
    ),
    (
        MessageNotSent(**HEAD, message="m", turn=1, reason="r", code="c"),
        '{"event":"message_not_sent",HEAD,"message":"m","turn":1,"reason":"r","code":"c"}',
    ),
    (
        TurnStarted(**HEAD, turn=1, message="m", ordinal=0, model="n", preset="p"),
        '{"event":"turn_started",HEAD,"turn":1,"message":"m","ordinal":0,"model":"n","preset":"p"}',
    ),
    (
        PrefixMoved(**HEAD, turn=2, common=7),
        '{"event":"prefix_moved",HEAD,"turn":2,"common":7}',
    ),
    (
        SkillsLoaded(**HEAD, turn=1, ordinal=0, skills=(SkillUse("i", "s", "r", "person"),)),
        (
            '{"event":"skills_loaded",HEAD,"turn":1,"ordinal":0,'
            '"skills":[{"id":"i","slug":"s","revision":"r","source":"person"}]}'
        ),
    ),
    (
        Replied(**HEAD, turn=1, round=0, block=0, text="Hi.", usage=Usage(input=3, output=4)),
        '{"event":"replied",HEAD,"turn":1,"round":0,"block":0,"text":"Hi.","usage":USAGE}',
    ),
    (
        ToolCalled(**HEAD, turn=1, call="c", tool="t", arguments="{}"),
        '{"event":"tool_called",HEAD,"turn":1,"call":"c","tool":"t","arguments":"{}"}',
    ),
    (
        ToolReturned(**HEAD, turn=1, call="c", state="done", content="é\n"),
        '{"event":"tool_returned",HEAD,"turn":1,"call":"c","state":"done","content":"é\\n"}',
    ),
    (
        EagerRunMade(
            **HEAD, contributor="clock@1", call="e1-0", tool="now", state="done", content="Noon."
        ),
        (
            '{"event":"eager_run_made",HEAD,"contributor":"clock@1","call":"e1-0","tool":"now",'
            '"state":"done","content":"Noon."}'
        ),
    ),
    (
        QuestionAsked(
            **HEAD,
            question=Question(
                "q", "approval", SessionId("t", "k"), 1, "c1-0-0", "pay", "{}", "d", 5
            ),
        ),
        (
            '{"event":"question_asked",HEAD,"question":{"id":"q","kind":"approval",'
            '"session":{"tenant":"t","key":"k"},"turn":1,"call":"c1-0-0","tool":"pay",'
            '"arguments":"{}","digest":"d","asked":5,"expires":null,"text":"","answer":null,'
            '"answered":null}}'
        ),
    ),
    (
        QuestionSettled(**HEAD, turn=1, question="q", answer=Allow("ann")),
        (
            '{"event":"question_settled",HEAD,"turn":1,"question":"q",'
            '"answer":{"type":"allow","by":"ann"}}'
        ),
    ),
    (
        TurnEnded(**HEAD, turn=1, outcome=OUTCOME),
        f'{{"event":"turn_ended",HEAD,"turn":1,"outcome":{OUTCOME_JSON}}}',
    ),
    (
        PermissionChanged(**HEAD, preset="b", before="a"),
        '{"event":"permission_changed",HEAD,"preset":"b","before":"a"}',
    ),
    (
        ModelSwitched(**HEAD, model="b", before="a"),
        '{"event":"model_switched",HEAD,"model":"b","before":"a"}',
    ),
    (
        TitleChanged(**HEAD, title="t", made=True),
        '{"event":"title_changed",HEAD,"title":"t","made":true}',
    ),
    (
        ConversationCompacted(
            **HEAD, turn=None, before=4, summary="s", usage=Usage(input=3, output=4)
        ),
        (
            '{"event":"conversation_compacted",HEAD,"turn":null,"before":4,"summary":"s",'
            '"usage":USAGE}'
        ),
    ),
    (
        PromptRecomposed(**HEAD, composition="d", model="m"),
        '{"event":"prompt_recomposed",HEAD,"composition":"d","model":"m"}',
    ),
    (SessionDeleted(**HEAD), '{"event":"session_deleted",HEAD}'),
]


def whole(frame: str) -> bytes:
    """A golden frame with what all frames share filled in."""
    usage = msgspec.json.encode(Usage(input=3, output=4)).decode()
    return frame.replace("HEAD", HEAD_JSON).replace("USAGE", usage).encode()


@pytest.mark.parametrize(("event", "frame"), FRAMES, ids=lambda value: type(value).__name__)
def test_a_frame_stays_as_it_is_and_reads_back(event: Event, frame: str) -> None:
    """R232: fields are only added; what was written reads back as the same event."""
    assert msgspec.json.encode(event) == whole(frame)
    assert msgspec.json.decode(whole(frame), type=Event) == event


@pytest.mark.parametrize(("event", "frame"), FRAMES, ids=lambda value: type(value).__name__)
def test_a_frame_of_a_later_release_can_be_read(event: Event, frame: str) -> None:
    """R232: a reader passes over fields that it does not know."""
    later = whole(frame)[:-1] + b',"new_field":{"x":[1]}}'
    assert msgspec.json.decode(later, type=Event) == event


def test_each_event_has_a_golden_frame() -> None:
    """R232: none is told before its frame was agreed on."""
    assert {type(event) for event, _ in FRAMES} == set(get_args(Event))


def test_receipts_outcomes_and_deltas_go_through_json() -> None:
    """R232: the same value comes back, in the agreed shape."""
    receipt = Receipt("m", "queued", 2, None, repeated=False, cursor=Cursor("i", 7))
    assert msgspec.json.encode(receipt) == (
        b'{"message":"m","status":"queued","position":2,"turn":null,"repeated":false,'
        b'"cursor":{"incarnation":"i","number":7,"index":0}}'
    )
    delta = TextDelta(1, 0, 3, "words")
    assert msgspec.json.encode(delta) == b'{"turn":1,"block":0,"start":3,"text":"words"}'
    assert msgspec.json.encode(OUTCOME) == whole(OUTCOME_JSON)
    for value in (receipt, delta, OUTCOME):
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_a_schema_can_be_made_of_all_that_is_told() -> None:
    """R232: events, receipts and outcomes have a JSON Schema."""
    _, parts = msgspec.json.schema_components([Event, Receipt, Outcome, TextDelta])
    assert {"TurnEnded", "Receipt", "Outcome", "Cursor", "TextDelta"} <= parts.keys()
