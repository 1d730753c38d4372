"""Entries of the journal as frames: golden, and the same value after a journey."""

from typing import get_args

import pytest

from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.hold import Hold
from greenroom.protocol.identity import SessionId
from greenroom.protocol.journal import (
    AnyIntervention,
    HoldLifted,
    HoldPlaced,
    ModelPut,
    PresetPut,
    QuestionAnswered,
    SessionsMarked,
    decode_intervention,
    encode_intervention,
    entry_of,
)
from greenroom.protocol.question import Allow, Deny, Failure, Result
from greenroom.protocol.recomposition import Recomposition
from greenroom.protocol.record import Answered, ModelChanged, PresetChanged

HOLD = Hold(
    id="h1",
    at=7,
    by="ann",
    reason="It pays twice.",
    running="stop",
    tenant="shop",
    skill="skills/refunds",
    agent="support",
    labels={"team": "a"},
)
SHOP = SessionId("shop", "a")
MARKED = Recomposition(
    number=3, at=7, by="ann", reason="It is wrong.", contributor="money@1", preset="full"
)
FRAMES: list[tuple[AnyIntervention, bytes]] = [
    (
        HoldPlaced(7, "ann", "It pays twice.", HOLD),
        (
            b'{"is":"hold_placed","at":7,"by":"ann","reason":"It pays twice.","hold":'
            b'{"tenant":"shop","skill":"skills/refunds","agent":"support","labels":{"team":"a"},'
            b'"id":"h1","at":7,"by":"ann","reason":"It pays twice.","running":"stop"}}'
        ),
    ),
    (
        HoldLifted(9, "ben", "Mended.", "h1", withdrawn=True),
        (b'{"is":"hold_lifted","at":9,"by":"ben","reason":"Mended.","hold":"h1","withdrawn":true}'),
    ),
    (
        HoldLifted(9, "ben", "Mended.", "h1"),
        b'{"is":"hold_lifted","at":9,"by":"ben","reason":"Mended.","hold":"h1"}',
    ),
    (
        SessionsMarked(7, "ann", "It is wrong.", MARKED),
        (
            b'{"is":"sessions_marked","at":7,"by":"ann","reason":"It is wrong.","recomposition":'
            b'{"contributor":"money@1","preset":"full","number":3,"at":7,"by":"ann",'
            b'"reason":"It is wrong."}}'
        ),
    ),
    (
        PresetPut(7, "ann", "", SHOP, "full", "read-only"),
        (
            b'{"is":"preset_put","at":7,"by":"ann","reason":"","session":'
            b'{"tenant":"shop","key":"a"},"preset":"full","before":"read-only"}'
        ),
    ),
    (
        ModelPut(7, "", "", SHOP, "m", ""),
        (
            b'{"is":"model_put","at":7,"by":"","reason":"","session":'
            b'{"tenant":"shop","key":"a"},"model":"m","before":""}'
        ),
    ),
    (
        QuestionAnswered(7, "ben", "Too much.", SHOP, "q1", "deny"),
        (
            b'{"is":"question_answered","at":7,"by":"ben","reason":"Too much.","session":'
            b'{"tenant":"shop","key":"a"},"question":"q1","answer":"deny"}'
        ),
    ),
]
EARLIER = (
    b'{"is":"hold_placed","at":7,"by":"ann","reason":"It pays twice.","hold":'
    b'{"id":"h1","at":7,"by":"ann","reason":"It pays twice.","running":"stop",'
    b'"tenant":"shop","skill":"skills/refunds","agent":"support","labels":{"team":"a"}}}'
)
"""As a hold was entered before it could name more."""


@pytest.mark.parametrize(("entry", "frame"), FRAMES)
def test_an_entry_has_a_golden_frame(entry: AnyIntervention, frame: bytes) -> None:
    """R242: who, why and when; a frame is never changed, for the journal is kept for good."""
    assert encode_intervention(entry) == frame
    assert decode_intervention(frame) == entry


def test_what_an_earlier_release_entered_is_read_as_it_was() -> None:
    # R242
    assert decode_intervention(EARLIER) == HoldPlaced(7, "ann", "It pays twice.", HOLD)


@pytest.mark.parametrize(
    ("record", "entry"),
    [
        (PresetChanged(7, "full", "read-only", "ann"), FRAMES[4][0]),
        (ModelChanged(7, "m", ""), FRAMES[5][0]),
        (Answered(7, 1, "q1", Deny("ben", "Too much.")), FRAMES[6][0]),
        (Answered(7, 1, "q", Allow("ben")), QuestionAnswered(7, "ben", "", SHOP, "q", "allow")),
        (
            Answered(7, 1, "q", Result("Secret.", "ben")),
            QuestionAnswered(7, "ben", "", SHOP, "q", "result"),
        ),
        (
            Answered(7, 1, "q", Failure("Lost.", "ben")),
            QuestionAnswered(7, "ben", "Lost.", SHOP, "q", "failure"),
        ),
    ],
)
def test_what_is_entered_with_a_record_says_who_and_why(
    record: PresetChanged | ModelChanged | Answered, entry: AnyIntervention
) -> None:
    """R242: and not what a result holds, which is the session's."""
    assert decode_intervention(entry_of(SHOP, record)) == entry


def test_every_kind_of_entry_has_a_frame() -> None:
    # R242
    assert {type(entry) for entry, _ in FRAMES} == set(get_args(AnyIntervention))


@pytest.mark.parametrize("data", [b"", b"{}", b'{"is":"other"}', b"\xff"])
def test_what_is_no_entry_is_damage(data: bytes) -> None:
    # R92
    with pytest.raises(StoreDamaged, match="entry of the journal"):
        decode_intervention(data)
