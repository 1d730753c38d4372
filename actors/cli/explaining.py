"""``greenroom explain``: where two stored requests part, whose part that is, and why (R197)."""

import re
import sys
from typing import Final

import attrs
from rich.console import Console

from greenroom.actors.cli.faults import BadOption
from greenroom.actors.cli.looking import found, open_reading, print_json
from greenroom.actors.cli.options import Stored as Options
from greenroom.actors.cli.words import counted, named, plain, short
from greenroom.actors.cli.wrapping import wrapped
from greenroom.protocol.account import turns_of
from greenroom.protocol.errors import Missing
from greenroom.protocol.explain import Comparison, explain
from greenroom.protocol.identity import SessionId, TurnId, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.protocol.movement import Moved, Movement
from greenroom.protocol.pieces import Piece
from greenroom.protocol.rebuild import SentRequest, request_at
from greenroom.store import Store, Stored

MOVED_SHOWN: Final = 12
"""Lines of what moved; with --json all of it."""
VERSION_SHOWN: Final = 12
WORDS_SHOWN: Final = 58
"""Characters of a place, in a line of 80."""
_NUMBERS: Final = re.compile(r"(:-?\d+){1,2}$")


@attrs.frozen
class Place:
    """Which request is meant."""

    key: str
    turn: TurnId | None = None
    """None: the last one that was sent."""
    round: int = -1


async def explained(
    console: Console, options: Options, one: str, other: str, *, as_json: bool = False
) -> int:
    """Compare two requests; 1 if one of them is not rebuilt as it was sent (R196)."""
    async with open_reading(options) as store:
        sent = [
            _request(store, options.tenant, _place(store, options.tenant, p)) for p in (one, other)
        ]
    comparison = explain(*sent)
    if as_json:
        print_json(comparison)
    else:
        _print(console, sent, comparison)
    for place, each in zip((one, other), sent, strict=True):
        if not each.is_exact:
            print(f"{plain(place)} is NOT rebuilt as the model was given it.", file=sys.stderr)
    return 0 if all(each.is_exact for each in sent) else 1


def _place(store: Store, tenant: str, text: str) -> Place:
    """``SESSION[:TURN[:ROUND]]``; a key that has colons itself is taken whole if there is one."""
    check_text(text, "session's key", DEFAULT_LIMITS.name_bytes_max)
    for numbers in range(3):
        key, *rest = text.rsplit(":", numbers)
        if len(rest) < numbers:
            break
        if isinstance(store.look(SessionId(tenant, key)), Stored):
            return Place(key, *(_number(part, text) for part in rest))
    return Place(_NUMBERS.sub("", text))


def _number(text: str, place: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadOption(
            f"{place!r} is to be SESSION, SESSION:TURN or SESSION:TURN:ROUND, in numbers."
        ) from None


def _request(store: Store, tenant: str, place: Place) -> SentRequest:
    session = found(store, tenant, place.key)
    turn = place.turn
    if turn is None:
        turns = turns_of(session.records, session.summary.agent)
        if not turns:
            raise Missing(f"The session {place.key} sent no request yet.", session=place.key)
        turn = turns[-1].turn
    return request_at(session.records, turn, place.round, store.blob, SessionId(tenant, place.key))


def _print(console: Console, sent: list[SentRequest], comparison: Comparison) -> None:
    for which, each, size in zip(("first", "second"), sent, comparison.sizes, strict=True):
        _line(console, which, _head(each, size))
    console.print()
    _line(console, "why", f"{comparison.sentence} [{comparison.why}]", style="bold")
    if comparison.part is not None:
        _line(console, "part", whose(comparison.part))
    shares = " and ".join(
        f"{comparison.common / size:.1%} of the {which}"
        for which, size in zip(("first", "second"), comparison.sizes, strict=True)
    )
    _line(console, "equal", f"the first {comparison.common:,} bytes: {shares}")
    if comparison.sides is not None:
        _line(console, "both", _tail(comparison.before))
        for which, side in zip(("first", "second"), comparison.sides, strict=True):
            _line(console, which, f"…{short(side.shown, WORDS_SHOWN)}")
    _moved(console, comparison.moved)


def _line(console: Console, name: str, text: str, style: str | None = None) -> None:
    """A name, and behind it what it is of, on as many lines as that takes."""
    lead = f"{name:<8}"
    for line in wrapped(console, text, len(lead)):
        console.print(f"{lead}{line}", style=style)
        lead = " " * len(lead)


def _head(sent: SentRequest, size: int) -> str:
    key = named(sent.session.key) if sent.session is not None else ""
    told = [key, f"turn {sent.turn}", f"round {sent.round}", f"agent {named(sent.agent)}"]
    told += [f"person {named(sent.person)}"] if sent.person is not None else []
    told += [f"model {named(sent.request.model)}", f"preset {named(sent.preset)}"]
    return " · ".join([*told, f"{size:,} bytes"])


def whose(piece: Piece) -> str:
    """What a piece is, and whose."""
    match piece.kind:
        case "section":
            told = [f"section {piece.name}", *([] if piece.contributor else ["live"])]
        case "tool":
            told = [f"declaration of {piece.name}"]
        case "message":
            kind = (
                piece.name if piece.origin == "history" else (piece.origin or "").replace("_", " ")
            )
            number = "" if piece.message is None else f" {piece.message}"
            told = [f"{kind} message{number}"]
            told += ["imported"] if piece.turn is None else [f"turn {piece.turn}"]
        case "end":
            told = [f"end of the {piece.name}"]
        case _:
            told = [piece.name]
    told += [_key(piece.contributor)] if piece.contributor else []
    told += [f"of the {piece.owner}"] if piece.owner is not None else []
    told += [f"placement {piece.placement}"] if piece.placement is not None else []
    return " · ".join(named(each) for each in told)


def _key(contributor: str) -> str:
    id_, _, version = contributor.rpartition("@")
    return f"{id_}@{version[:VERSION_SHOWN]}"


def _tail(text: str) -> str:
    """The end of a text, on one line."""
    return f"…{short(text, len(text) or 1)[-WORDS_SHOWN:]}"


def _moved(console: Console, movement: Movement) -> None:
    lines = [
        f"{each.what} {named(each.id)}: {_versions(each)}"
        for each in (*movement.changed, *movement.added, *movement.removed)
    ]
    lines += ["the order of what is in both"] if movement.reordered else []
    if not lines:
        _line(console, "moved", "nothing of the kept prompt")
        return
    for number, line in enumerate(lines[:MOVED_SHOWN]):
        _line(console, "" if number else "moved", line)
    if len(lines) > MOVED_SHOWN:
        left = counted(len(lines) - MOVED_SHOWN, "more part")
        _line(console, "", f"and {left}; --json tells them")


def _versions(moved: Moved) -> str:
    before, after = moved.before[:VERSION_SHOWN], moved.after[:VERSION_SHOWN]
    if not before:
        return f"added, {after}"
    if not after:
        return f"taken away, {before}"
    return f"{before}, then {after}" if before != after else f"{after}, with other words"
