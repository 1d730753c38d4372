"""Laws of cutting: joined the pieces are the request, and each is what it is called."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.composition import ToolDeclaration, canonical_tools
from greenroom.protocol.encoding import encode
from greenroom.protocol.pieces import Piece, cuts_of, piece_at, tool_names
from greenroom.protocol.rebuild import SentRequest
from tests.protocol.prompt_samples import composition, note, skill, text
from tests.protocol.request_samples import beside, said, sent, talk

TOOLS = canonical_tools(
    [ToolDeclaration(name, f"Does {name}.", {"type": "object"}) for name in ("look", "ask")]
)
KEPT = composition(
    bound=(skill("plan", "Plan é, then “act”.\n\n## Not a section"),),
    extra=(text("money"), note("pause")),
    person="ada",
    person_text="Ada counts.",
    tools=TOOLS,
    parameters=b'{"temperature":0}',
)
REQUEST = sent(
    said("Hi.", 0),
    said("Hello.", 1, by="assistant"),
    beside("note", "[platform note] An hour passed.", "pause@1", turn=2),
    said("Again", 2, turn=2),
    kept=KEPT,
    person="ada",
)


def pieces_of(request: SentRequest) -> list[Piece]:
    """Every piece, each found by its first byte and by its last."""
    cuts = cuts_of(request)
    found, start = [], 0
    for cut in cuts:
        first = piece_at(request, cuts, start)
        assert first == piece_at(request, cuts, start + len(cut.data) - 1)
        assert (first.start, first.size) == (start, len(cut.data))
        start += len(cut.data)
        found.append(first)
    return found


def holds(request: SentRequest, piece: Piece) -> bool:
    """Whether the bytes of a piece are what it is called."""
    data = request.request.canonical()[piece.start : piece.start + piece.size]
    match piece.kind:
        case "section":
            words = encode(dict(request.sections)[piece.name])[1:-1]
        case "message":
            assert piece.place is not None
            words = request.request.messages[piece.place]
        case "tool":
            declared = msgspec.json.decode(request.request.tools, type=list[msgspec.Raw])
            words = bytes(declared[tool_names(request.request.tools).index(piece.name)])
        case "end":
            words = {"system string": b'"', "tools": b"]", "messages": b"]"}[piece.name]
        case "model":
            words = encode(request.request.model)
        case _:
            words = request.request.parameters + b"}"
    return data.endswith(words)


def test_the_pieces_of_a_request_are_all_of_it_in_order() -> None:
    """R197: none is missing, none overlaps, each holds what it is called."""
    assert b"".join(cut.data for cut in cuts_of(REQUEST)) == REQUEST.request.canonical()
    pieces = pieces_of(REQUEST)
    assert [(piece.kind, piece.name) for piece in pieces] == [
        ("model", "m1"),
        ("section", "preamble"),
        ("section", "agent"),
        ("section", "skill:skills/plan"),
        ("section", "text:money"),
        ("section", "person"),
        ("section", "permissions"),
        ("end", "system string"),
        ("tool", "ask"),
        ("tool", "look"),
        ("end", "tools"),
        ("message", "user"),
        ("message", "assistant"),
        ("message", "user"),
        ("message", "user"),
        ("end", "messages"),
        ("parameters", "parameters"),
    ]
    assert all(holds(REQUEST, piece) for piece in pieces)


def test_a_piece_is_told_with_its_owner_placement_and_version() -> None:
    """R197: of the kept prompt, of a note; of the live permissions and of words there is none."""
    whose = {
        (piece.name, piece.place): (piece.contributor, piece.owner, piece.placement)
        for piece in pieces_of(REQUEST)
        if piece.kind in ("section", "message")
    }
    assert whose["text:money", None] == ("money@1", "workspace", "agent")
    assert whose["skill:skills/plan", None][1:] == ("author", "agent")
    assert whose["person", None][1:] == ("person", "person")
    assert whose["permissions", None] == ("", None, None)
    assert whose["user", 0] == ("", None, None)
    assert whose["user", 2] == ("pause@1", "workspace", "message")


def test_a_message_is_told_with_its_origin_number_and_turn() -> None:
    """R45, R197: its place among the request's messages is not its place in the conversation."""
    told = [
        (piece.origin, piece.place, piece.message, piece.turn)
        for piece in pieces_of(REQUEST)
        if piece.kind == "message"
    ]
    assert told == [
        ("history", 0, 0, 1),
        ("history", 1, 1, 1),
        ("note", 2, None, 2),
        ("history", 3, 2, 2),
    ]


@given(words=st.lists(st.text(max_size=20), max_size=4), system=st.text(max_size=40))
def test_whatever_the_words_are_the_pieces_are_the_request(words: list[str], system: str) -> None:
    """R197, R194: signs that JSON escapes move no cut."""
    request = sent(*talk(*words), kept=composition(preamble=f"x{system}"))
    assert b"".join(cut.data for cut in cuts_of(request)) == request.request.canonical()
    assert all(holds(request, piece) for piece in pieces_of(request))


@pytest.mark.parametrize("tools", [b"[]", json.dumps(json.loads(TOOLS), indent=1).encode()])
def test_tools_that_are_none_or_written_otherwise_are_cut_too(tools: bytes) -> None:
    """R197: a host's own composer may write them with blanks; then they are one piece."""
    request = sent(kept=composition(tools=tools))
    assert b"".join(cut.data for cut in cuts_of(request)) == request.request.canonical()
    names = [piece.name for piece in pieces_of(request) if piece.kind == "tool"]
    assert names == ([] if tools == b"[]" else ["tools"])


def test_there_is_no_piece_behind_the_last_byte() -> None:
    """R197: a place is asked for that there is."""
    with pytest.raises(IndexError):
        piece_at(REQUEST, cuts_of(REQUEST), len(REQUEST.request.canonical()))
