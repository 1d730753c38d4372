"""A request cut into the pieces that its bytes are made of, each with what owns it (R197).

The cuts follow from what the request was composed of: from its sections, the origins of its
messages, its declarations. Nothing takes a rendered string apart to find out what is what (R71).
A cut has the signs in front of it that lead to it, and what closes a list is a piece of its own, so
where one request ends and another goes on, the byte that differs is the first of what was added.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from greenroom.protocol.contributor import Owner
from greenroom.protocol.identity import TurnId
from greenroom.protocol.placement import Placement
from greenroom.protocol.projection import Origin
from greenroom.protocol.rebuild import SentRequest

PieceKind: TypeAlias = Literal["model", "section", "tool", "message", "parameters", "end"]
ENDS: Final = ("system string", "tools", "messages")
"""What may end, in order."""


class Piece(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One piece of a request: whose it is, and where it stands in the canonical bytes."""

    kind: PieceKind
    name: str
    """Of the model, section or tool; a message's role; of an end, what ends there."""
    start: int
    """Its first byte; the comma or the key in front of it is its own."""
    size: int
    placement: Placement | None = None
    """None: of what is no part of the kept prompt, or is the same wherever it stands."""
    owner: Owner | None = None
    contributor: str = ""
    """``id@version`` of what it says; empty: it is no contributor's."""
    origin: Origin | None = None
    """Of a message (R45)."""
    place: int | None = None
    """Of a message: which of the request's it is, from 0."""
    message: int | None = None
    """Of a message: which of the conversation's it is, from 0; None: it is not one of them."""
    turn: TurnId | None = None
    """Of a message: the turn in which it came."""


class Cut(NamedTuple):
    """A piece before it is asked whose it is."""

    kind: PieceKind
    place: int
    """Among those of its kind."""
    data: bytes


def cuts_of(sent: SentRequest) -> list[Cut]:
    """The pieces of a request in order; joined they are its canonical bytes."""
    request = sent.request
    sections = [msgspec.json.encode(text)[1:-1] for _, text in sent.sections]
    return [
        Cut("model", 0, b'{"model":' + msgspec.json.encode(request.model)),
        *_list("section", b',"system":"', sections, b"\\n\\n", Cut("end", 0, b'"')),
        *_tools(request.tools),
        *_list("message", b',"messages":[', request.messages, b",", Cut("end", 2, b"]")),
        Cut("parameters", 0, b',"parameters":' + request.parameters + b"}"),
    ]


def piece_at(sent: SentRequest, cuts: Sequence[Cut], byte: int) -> Piece:
    """The piece of a request that holds a byte of its canonical form."""
    start = 0
    for cut in cuts:
        if byte < start + len(cut.data):
            return _piece(sent, cut, start)
        start += len(cut.data)
    raise IndexError(byte)


def tool_names(data: bytes) -> list[str]:
    """The names of declared tools, in their order."""
    return [each.function.name for each in msgspec.json.decode(data, type=list[_Declared])]


def _list(
    kind: PieceKind, lead: bytes, items: Sequence[bytes], between: bytes, end: Cut
) -> Iterator[Cut]:
    """Each item with what leads to it, and what closes the list."""
    for place, item in enumerate(items):
        yield Cut(kind, place, lead + item)
        lead = between
    yield end if items else end._replace(data=lead + end.data)


def _tools(data: bytes) -> Iterator[Cut]:
    """The declarations one by one; as one piece, where a host's own composer wrote them apart."""
    found = [bytes(each) for each in msgspec.json.decode(data, type=list[msgspec.Raw])]
    if b"[%b]" % b",".join(found) == data:
        return _list("tool", b',"tools":[', found, b",", Cut("end", 1, b"]"))
    return iter([Cut("tool", 0, b',"tools":' + data)])


def _piece(sent: SentRequest, cut: Cut, start: int) -> Piece:
    size = len(cut.data)
    match cut.kind:
        case "section":
            return _section(sent, cut.place, start, size)
        case "message":
            return _message(sent, cut.place, start, size)
        case "tool":
            return Piece("tool", _tool_name(cut.data), start, size)
        case "end":
            return Piece("end", ENDS[cut.place], start, size)
        case _:
            name = sent.request.model if cut.kind == "model" else cut.kind
            return Piece(cut.kind, name, start, size)


def _section(sent: SentRequest, place: int, start: int, size: int) -> Piece:
    """A part of the kept prompt, or the live permissions, which are no contributor's (R17)."""
    name = sent.sections[place][0]
    kept = next((each for each in sent.composition.sections if each.name == name), None)
    if kept is None:
        return Piece("section", name, start, size)
    return Piece("section", name, start, size, kept.placement, kept.owner, kept.contributor)


def _message(sent: SentRequest, place: int, start: int, size: int) -> Piece:
    source = sent.sources[place]
    declared = {each.key: each for each in (*sent.composition.notes, *sent.composition.eager)}
    by = declared.get(source.contributor)
    return Piece(
        "message",
        msgspec.json.decode(sent.request.messages[place], type=_Role).role,
        start,
        size,
        None if by is None else by.placement,
        None if by is None else by.owner,
        source.contributor,
        source.origin,
        place,
        source.message,
        source.turn,
    )


class _Role(msgspec.Struct):
    role: str


class _Named(msgspec.Struct):
    name: str


class _Declared(msgspec.Struct):
    function: _Named


def _tool_name(data: bytes) -> str:
    """The name of a declaration; that of its part of the request, if there are several in it."""
    try:
        return msgspec.json.decode(data[data.find(b"{") :], type=_Declared).function.name
    except msgspec.MsgspecError:
        return "tools"
