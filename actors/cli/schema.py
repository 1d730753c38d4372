"""``greenroom schema``: what programs in other languages may rely on, as JSON Schema (R232).

Fields are only added. Errors are listed with their code, status and way out; a law holds that no
entry of an earlier release is gone or changed.
"""

import inspect
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from greenroom.protocol import errors, refusal
from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.event import Event, TextDelta, ToolProgress
from greenroom.protocol.hold import Hold
from greenroom.protocol.question import Answer, Question
from greenroom.protocol.receipt import Compaction, Outcome, Receipt

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TOLD: Final[dict[str, Any]] = {
    "Event": Event,
    "TextDelta": TextDelta,
    "ToolProgress": ToolProgress,
    "Receipt": Receipt,
    "Outcome": Outcome,
    "Question": Question,
    "Answer": Answer,
    "Compaction": Compaction,
    "Hold": Hold,
}
"""What is described, by the name under which it stands in ``types``."""


def schema() -> dict[str, Any]:
    """The whole description, as plain data."""
    types, definitions = msgspec.json.schema_components(
        TOLD.values(), ref_template="#/$defs/{name}"
    )
    kinds = list(error_kinds())
    return {
        "$schema": DIALECT,
        "types": dict(zip(TOLD, types, strict=True)) | {"Error": {"$ref": "#/$defs/Error"}},
        "errors": [_described(kind) for kind in kinds],
        "$defs": {**definitions, "Error": _error(kinds)},
    }


def error_kinds() -> Iterator[type[GreenroomError]]:
    """Every error that a caller can meet, in the order of their declaration."""
    for module in (errors, refusal):
        for value in vars(module).values():
            is_error = inspect.isclass(value) and issubclass(value, GreenroomError)
            if is_error and value.__module__ == module.__name__:
                yield value


def _described(kind: type[GreenroomError]) -> dict[str, Any]:
    return {
        "code": kind.code,
        "name": kind.__name__,
        "family": [base.code for base in kind.__mro__[1:] if issubclass(base, GreenroomError)],
        "status": kind.status,
        "way_out": kind.way_out,
        "about": inspect.getdoc(kind),
    }


def _error(kinds: list[type[GreenroomError]]) -> dict[str, Any]:
    """How an error stands in a frame: codes may come that a reader does not know yet."""
    properties = {
        "code": {"type": "string", "examples": [kind.code for kind in kinds]},
        "status": {"type": "integer", "description": "For HTTP."},
        "sentence": {"type": "string", "description": "Names what failed."},
        "way_out": {"type": "string", "description": "What to do now."},
        "facts": {"type": "object", "description": "The values that a person is shown."},
    }
    return {
        "title": "Error",
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def schema_text() -> str:
    """The description as JSON, in a stable order."""
    encoded = msgspec.json.encode(schema(), order="deterministic")
    return msgspec.json.format(encoded, indent=2).decode()
