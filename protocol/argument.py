"""An argument of a call: where it stands, and whether it is what a condition says.

A path is a name, or several with dots between them; it goes into objects by name, and into every
element of a list. Conditions are data and compare, nothing more: no pattern language is run on what
a model wrote.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec


class Like(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A text of that shape: ``*`` stands for any run of characters, all else for itself."""

    like: str


Scalar: TypeAlias = str | int | float | bool | None
Condition: TypeAlias = Scalar | tuple[Scalar, ...] | Like
"""What an argument has to be: that value, one of several, or like that."""


def values_at(arguments: Mapping[str, Any], path: str) -> Iterator[Any]:
    """What stands at a path: nothing, one value, or one of each element of a list."""
    return _values_below(arguments, path.split("."))


def _values_below(value: object, path: list[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for element in value:
            yield from _values_below(element, path)
    elif not path:
        yield value
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _values_below(value[path[0]], path[1:])


def fits(value: object, condition: Condition) -> bool:
    """Whether an argument is what a condition says."""
    if isinstance(condition, Like):
        return isinstance(value, str) and _is_like(value, condition.like)
    if isinstance(condition, tuple):
        return any(_is_same(value, one) for one in condition)
    return _is_same(value, condition)


def _is_same(value: object, expected: Scalar) -> bool:
    """Equal as JSON has it: 7 is 7.0, and true is no number."""
    return isinstance(value, bool) == isinstance(expected, bool) and value == expected


def _is_like(text: str, shape: str) -> bool:
    """Whether a text has a shape, in one pass: a shape of many ``*`` cannot take long."""
    first, *others = shape.split("*")
    if not others:
        return text == shape
    *middle, last = others
    if len(text) < len(first) + len(last) or not text.startswith(first):
        return False
    end, place = len(text) - len(last), len(first)
    for part in middle:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return text.endswith(last)
