"""The digest that an approval is bound to: a tool and its exact arguments, without noise (R161).

Noise is what changes nothing of what is done: the order of an object's members and the spaces of
its JSON, and the arguments that the tool declares to be advisory (P139). All else is exact: numbers
as they were written, so that 1 is not 1.0; a member that is null and one that is missing; one that
stands twice. What is no JSON object keeps its exact text.
"""

import hashlib
import json
from collections.abc import Collection
from typing import Any, Final, NoReturn

import msgspec


class _Number(str):
    """A number exactly as it was written."""

    __slots__ = ()


class _Members(list[tuple[str, Any]]):
    """An object: each of its members, also where one stands twice."""

    __slots__ = ()


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON.")


# The other decoder of ours keeps the last of two equal members, and the value of a number.
_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_Members, parse_int=_Number, parse_float=_Number, parse_constant=_no_json
)
_FAULTS: Final = (ValueError, RecursionError, MemoryError)


def call_digest(tool: str, arguments: str, advisory: Collection[str] = ()) -> str:
    """What an approval is bound to; ``advisory`` are the arguments that are left out (P139).

    They are named in it, so that an approval is void once the tool says otherwise.
    """
    exact = _canonical(arguments, frozenset(advisory))
    bound = (tool, exact, sorted(advisory)) if advisory else (tool, exact)
    return hashlib.sha256(msgspec.json.encode(bound)).hexdigest()


def _canonical(arguments: str, advisory: frozenset[str]) -> str:
    try:
        told = _decoder.decode(arguments)
        if not isinstance(told, _Members):
            return arguments
        return _rendered(_Members([each for each in told if each[0] not in advisory]))
    except _FAULTS:
        return arguments


def _rendered(value: Any) -> str:
    """Canonical JSON: members by name, in the order they came in where the name is the same."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, _Members):
        members = sorted(value, key=_name_of)
        return f"{{{','.join([f'{_text(name)}:{_rendered(each)}' for name, each in members])}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_rendered, value))}]"
    return _text(value)


def _name_of(member: tuple[str, Any]) -> str:
    return member[0]


def _text(value: object) -> str:
    """A text, true, false or null."""
    return msgspec.json.encode(value).decode()
