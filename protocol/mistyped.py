"""What is wrong with a declaration that somebody wrote, and what would do in its place.

The converter names a value and its place; whoever typed it needs the choices too (R131).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect

_PLACE: Final = re.compile(r" - at `\$([^`]*)`$")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_BARE: Final = re.compile(r"Expected `str`, got `(?:int|float|bool|date|datetime|time)`")
_KEY: Final = "Expected `str` - at `key`", "Expected `str`, got `bool` - at `key`"
_UNKNOWN: Final = "Object contains unknown field"


def mistyped(
    error: msgspec.ValidationError, value: object, type_: Any, given: Iterable[str] = ()
) -> str:
    """The sentence of ``error``, which came of converting ``value`` to ``type_``, with the choices.

    Args:
        given: fields that are not written there, such as a name that is a file's.
    """
    sentence = str(error)
    if sentence.startswith(_KEY):
        return f"{sentence}; YAML reads on, off, yes and no as true and false: put it in quotes"
    if _BARE.match(sentence):
        return f"{sentence}; put it in quotes"
    place = _PLACE.search(sentence)
    steps = () if place is None else tuple(_STEP.findall(place[1]))
    if sentence.startswith("Invalid "):
        choices = _choices(type_, value, steps)
        return f"{sentence}; it is one of: {', '.join(choices)}" if choices else sentence
    if sentence.startswith(_UNKNOWN):
        here = _at(inspect.type_info(type_), value, steps)
        names = _fields(here, frozenset(given))
        return f"{sentence}; there are: {', '.join(names)}" if names else sentence
    return sentence


def _choices(type_: Any, value: object, steps: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What may stand there, for a word that is one of a few or names a kind."""
    if not steps:
        return ()
    whole = inspect.type_info(type_)
    last = steps[-1][0]
    kinds = [
        str(one.tag)
        for one in _flat(_at(whole, value, steps[:-1], chosen=False))
        if isinstance(one, inspect.StructType) and one.tag_field == last
    ]
    words = [
        str(each)
        for one in _flat(_at(whole, value, steps))
        if isinstance(one, inspect.LiteralType)
        for each in one.values
    ]
    return tuple(dict.fromkeys(kinds or words))


def _fields(types: Sequence[inspect.Type], given: frozenset[str]) -> tuple[str, ...]:
    structs = [one for one in types if isinstance(one, inspect.StructType)]
    names = [each.encode_name for one in structs for each in one.fields]
    return tuple(sorted(dict.fromkeys(name for name in names if name not in given)))


def _at(
    whole: inspect.Type, value: object, steps: Sequence[tuple[str, str]], *, chosen: bool = True
) -> list[inspect.Type]:
    """The types that a place may have: of several kinds that which the value says it is."""
    types = list(_flat([whole]))
    for name, number in steps:
        types = list(_flat(_below(_said(types, value), name)))
        value = _inside(value, name, number)
    return _said(types, value) if chosen else types


def _flat(types: Iterable[inspect.Type]) -> Iterator[inspect.Type]:
    for one in types:
        if isinstance(one, inspect.UnionType):
            yield from _flat(one.types)
        else:
            yield one


def _said(types: list[inspect.Type], value: object) -> list[inspect.Type]:
    if not isinstance(value, Mapping):
        return types
    said: list[inspect.Type] = [
        one
        for one in types
        if isinstance(one, inspect.StructType)
        and one.tag_field is not None
        and value.get(one.tag_field) == one.tag
    ]
    return said or types


def _below(types: Iterable[inspect.Type], name: str) -> Iterator[inspect.Type]:
    for one in types:
        match one:
            case inspect.StructType() if name:
                yield from (each.type for each in one.fields if each.encode_name == name)
            case inspect.DictType() if not name:
                yield one.value_type
            case inspect.VarTupleType() | inspect.ListType() if not name:
                yield one.item_type
            case _:
                pass


def _inside(value: object, name: str, number: str) -> object:
    match value:
        case Mapping() if name:
            return value.get(name)
        case list() | tuple() if number.isdigit() and int(number) < len(value):
            return value[int(number)]
        case _:
            return None
