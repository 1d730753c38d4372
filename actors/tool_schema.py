"""From a function's type hints to what a model is shown of it, and to what its arguments must be.

The same Struct gives both: msgspec makes the JSON Schema that is declared and the decoder that
checks a call, so the two cannot differ. The schema is canonical: references are put in place,
titles that only repeat a class name are left out, and nothing depends on hash order (R195).
"""

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from greenroom.protocol.errors import BadTool

_PARAMETER: Final = re.compile(r"^(\s+)\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")
_PARAMETERS_BEGIN: Final = re.compile(r"^(Args|Arguments|Parameters):\s*$")
_SECTION: Final = re.compile(r"^\w[\w ]*:\s*$")
_REFERENCE: Final = "#/$defs/"


def hints_of(function: Callable[..., object]) -> dict[str, Any]:
    """The resolved type hints of a function. Raises :class:`BadTool` if one cannot be resolved."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise BadTool(
            f"The type hints of {_name(function)} cannot be resolved: {error}. Types that a tool "
            "names must be importable from its module, not local to a function."
        ) from error


def arguments_struct(
    function: Callable[..., object], parameters: list[inspect.Parameter]
) -> type[msgspec.Struct]:
    """A Struct with one field for each parameter, which no other field may join.

    Raises:
        BadTool: a parameter without a type, a starred or positional-only one, or a type or default
            that JSON cannot say.
    """
    hints = hints_of(function)
    fields: list[tuple[str, Any, Any]] = []
    for parameter in parameters:
        name, kind = parameter.name, parameter.kind
        if kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise BadTool(
                f"The parameter {name} of {_name(function)} has no name in JSON: "
                "use plain named parameters."
            )
        if name not in hints:
            raise BadTool(f"The parameter {name} of {_name(function)} has no type.")
        default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
        fields.append((name, hints[name], default))
    try:
        return msgspec.defstruct(
            _name(function), fields, kw_only=True, frozen=True, forbid_unknown_fields=True
        )
    except (TypeError, ValueError) as error:
        raise BadTool(f"The parameters of {_name(function)} do not fit: {error}") from error


def schema_of(struct: type[msgspec.Struct], about: Mapping[str, str]) -> dict[str, Any]:
    """The JSON Schema of a Struct, references in place; ``about`` describes its fields.

    Raises:
        BadTool: a type that JSON Schema cannot say, or one that contains itself.
    """
    try:
        raw = msgspec.json.schema(struct)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise BadTool(f"The parameters of {struct.__name__} have no schema: {error}") from error
    placed = _placed(raw, raw.get("$defs", {}), ())
    for name, text in about.items():
        if name in placed["properties"]:
            placed["properties"][name].setdefault("description", text)
    return placed


def _placed(
    node: Mapping[str, Any], known: Mapping[str, Any], above: tuple[str, ...]
) -> dict[str, Any]:
    """A schema node with every reference in it replaced by what it names."""
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix(_REFERENCE)
        if name in above:
            raise BadTool(f"The type {name} contains itself, which no schema in one piece can say.")
        beside = {key: value for key, value in node.items() if key != "$ref"}
        named = {
            key: value for key, value in known[name].items() if (key, value) != ("title", name)
        }
        node, above = named | beside, (*above, name)

    def within(value: object) -> object:
        if isinstance(value, dict):
            return _placed(value, known, above)
        return [within(item) for item in value] if isinstance(value, list) else value

    return {key: within(value) for key, value in node.items() if key != "$defs"}


def described(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """A docstring as a model reads it: its first paragraph, and what it says of each parameter.

    Parameters are read from a section ``Args:`` with one indented ``name: text`` for each.
    """
    lines = (inspect.getdoc(function) or "").splitlines()
    first = " ".join(line.strip() for line in _until_blank(lines))
    begin = next((i for i, line in enumerate(lines) if _PARAMETERS_BEGIN.match(line)), len(lines))
    about: dict[str, str] = {}
    name, margin = "", 0
    for line in lines[begin + 1 :]:
        if _SECTION.match(line):
            break
        found = _PARAMETER.match(line)
        if found and (not about or len(found[1]) <= margin):
            margin, name = len(found[1]), found[2]
            about[name] = found[3].strip()
        elif name and line.strip():
            about[name] = f"{about[name]} {line.strip()}".strip()
    return first, about


def _until_blank(lines: list[str]) -> list[str]:
    blank = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    return lines[:blank]


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", type(function).__name__)
