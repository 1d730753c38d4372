"""Laws of ``greenroom schema``: complete, and only ever added to."""

import json
from pathlib import Path
from typing import Any

import msgspec

from greenroom.actors.cli.schema import DIALECT, error_kinds, schema, schema_text
from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.event import Event
from tests.actors.cli.commands import ran

GOLDEN = Path(__file__).with_name("schema.json")
"""What was promised. To add to it: ``greenroom schema > tests/actors/cli/schema.json``."""
TOLD = ("description", "about", "examples")
"""Words for people; they may be bettered."""


def gone(before: object, now: object, place: str = "") -> list[str]:
    """Where ``now`` lacks what ``before`` promised, or says it otherwise."""
    if isinstance(before, dict) and isinstance(now, dict):
        kept = [key for key in before if key not in TOLD]
        lost = [f"{place}/{key}" for key in kept if key not in now]
        both = [key for key in kept if key in now]
        return lost + [x for key in both for x in gone(before[key], now[key], f"{place}/{key}")]
    if isinstance(before, list) and isinstance(now, list):
        return [f"{place}: {item}" for item in before if item not in now]
    return [] if before == now else [f"{place}: {before} is {now}"]


def errors_by_code(value: dict[str, Any]) -> dict[str, Any]:
    """With errors by their codes, whose order is no promise."""
    return value | {"errors": {each["code"]: each for each in value["errors"]}}


def test_nothing_that_was_promised_is_gone() -> None:
    """R232: fields, events, errors, codes, statuses and ways out are only added."""
    promised, now = json.loads(GOLDEN.read_text("utf-8")), json.loads(schema_text())
    assert gone(errors_by_code(promised), errors_by_code(now)) == []


def test_a_lost_field_would_be_found() -> None:
    """The law above sees a field that is gone, a value that changed, and a kind that is missing."""
    assert gone({"a": {"b": 1, "about": "x"}}, {"a": {}}) == ["/a/b"]
    assert gone({"a": [1, 2]}, {"a": [2, 3]}) == ["/a: 1"]
    assert gone({"status": 400}, {"status": 404}) == ["/status: 400 is 404"]


def test_every_event_and_error_is_there() -> None:
    """R232: events, receipts, questions and errors; an event's tag names it."""
    described = schema()
    assert set(described["types"]) >= {"Event", "Receipt", "Outcome", "Question", "Error"}
    kinds = {kind.__name__ for kind in Event.__args__}
    assert kinds <= set(described["$defs"])
    codes = {each["code"] for each in described["errors"]}
    assert codes >= {kind.code for kind in every(GreenroomError) if _is_protocol(kind)}


def every(kind: type[GreenroomError]) -> set[type[GreenroomError]]:
    """A class and all below it."""
    return {kind}.union(*(every(below) for below in kind.__subclasses__()))


def _is_protocol(kind: type[GreenroomError]) -> bool:
    return kind.__module__ == "greenroom.protocol.errors"


def test_every_error_can_be_told_apart_and_acted_upon() -> None:
    """R232: a stable code of its own, a status, a way out, and what it is about."""
    kinds = list(error_kinds())
    assert len({kind.code for kind in kinds}) == len(kinds)
    for each in schema()["errors"]:
        assert 400 <= each["status"] < 600
        assert each["way_out"].endswith(".")
        assert each["about"]


def test_it_is_printed_as_json_schema_and_the_same_each_time(tmp_path: Path) -> None:
    """The command prints valid JSON whose references all lead somewhere."""
    done = ran(tmp_path, "schema")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", schema_text() + "\n")
    told = json.loads(done.stdout)
    assert told["$schema"] == DIALECT
    for reference in _references(told):
        assert reference.removeprefix("#/$defs/") in told["$defs"]


def _references(value: object) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


def test_the_error_frame_takes_what_errors_are() -> None:
    """A frame with an error's own values has every field that the schema requires."""
    frame = {"code": "missing", "status": 404, "sentence": "No.", "way_out": "Look.", "facts": {}}
    required = schema()["$defs"]["Error"]["required"]
    assert set(frame) == set(required)
    assert msgspec.json.encode(frame)
