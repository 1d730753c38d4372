"""Laws of the vocabulary: four kinds of data, and what is computed from them."""

from typing import Any, get_args

import msgspec
import pytest

from greenroom.protocol.condition import DateCrossed
from greenroom.protocol.contributor import (
    KINDS,
    PLACEHOLDERS,
    PRIORITY_MIN,
    Declaration,
    EagerLoad,
    EagerRun,
    Note,
    Text,
    declaration_of,
    filled,
    personality,
    stance,
    standing,
    varies_by,
)
from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.placement import PLACEMENTS
from tests.protocol.prompt_samples import text

COMMON = {"id": "c", "version": "2", "owner": "workspace"}
WIRE: dict[str, dict[str, Any]] = {
    "text": {**COMMON, "kind": "text", "placement": "person", "text": "Be brief."},
    "eager_load": {**COMMON, "kind": "eager_load", "placement": "conversation", "skill": "x"},
    "eager_run": {
        **COMMON,
        "kind": "eager_run",
        "placement": "conversation",
        "tool": "look",
        "arguments": {"at": ["a", 1, None]},
    },
    "note": {
        **COMMON,
        "kind": "note",
        "placement": "message",
        "condition": {"kind": "date_crossed", "zone": "Europe/Lisbon"},
        "text": "It is {today}.",
    },
}
"""One of each kind, as a file has it."""


def test_the_vocabulary_has_four_kinds() -> None:
    """R132: text, eager load, eager run, note; each says in its data what it is."""
    assert KINDS == get_args(Declaration) == (Text, EagerLoad, EagerRun, Note)
    assert [type(declaration_of(wire)) for wire in WIRE.values()] == list(KINDS)


@pytest.mark.parametrize("kind", WIRE)
def test_a_contributor_is_data_of_a_known_kind(kind: str) -> None:
    """R131: it is decoded from plain data, is written as it was read, and has a name for good."""
    declared = declaration_of(WIRE[kind])
    assert msgspec.to_builtins(declared) == WIRE[kind]
    assert msgspec.json.decode(msgspec.json.encode(declared), type=type(declared)) == declared
    assert declared.key == "c@2"


@pytest.mark.parametrize(
    ("kind", "change", "named"),
    [
        ("text", {"kind": "code"}, "code"),
        ("text", {"kind": 7}, "kind"),
        ("text", {"run": "os.system"}, "run"),
        ("text", {"owner": "stranger"}, "owner"),
        ("text", {"placement": "message"}, "placement"),
        ("text", {"placement": "everywhere"}, "placement"),
        ("text", {"text": print}, "text"),
        ("text", {"priority": "high"}, "priority"),
        ("text", {"priority": True}, "priority"),
        ("text", {"budget": 1.5}, "budget"),
        ("text", {"reach": "everybody"}, "reach"),
        ("text", {"framing": "higher"}, "framing"),
        ("eager_load", {"placement": "agent"}, "placement"),
        ("eager_load", {"tools": "look"}, "tools"),
        ("eager_run", {"placement": "person"}, "placement"),
        ("eager_run", {"arguments": [1]}, "arguments"),
        ("eager_run", {"approved": True}, "approved"),
        ("note", {"placement": "conversation"}, "placement"),
        ("note", {"condition": "always"}, "condition"),
        ("note", {"condition": {"kind": "always"}}, "condition"),
        ("note", {"condition": {"kind": "date_crossed", "run": "x"}}, "condition"),
    ],
    ids=str,
)
def test_anything_outside_the_vocabulary_is_refused(
    kind: str, change: dict[str, object], named: str
) -> None:
    """R131, R133: unknown kinds, fields, owners and placements, and callables; it is named."""
    with pytest.raises(InvalidInput, match=named):
        declaration_of({**WIRE[kind], **change})


@pytest.mark.parametrize("kind", WIRE)
@pytest.mark.parametrize("field", ["placement", "id", "version", "owner"])
def test_a_contributor_without_a_placement_does_not_load(kind: str, field: str) -> None:
    """P194, R131: placement, owner and version are part of every declaration."""
    with pytest.raises(InvalidInput, match=field):
        declaration_of({key: value for key, value in WIRE[kind].items() if key != field})


@pytest.mark.parametrize("value", [None, [], "text", 3, print, {}, {1: 2}])
def test_what_is_no_declaration_at_all_is_refused(value: object) -> None:
    """R131: whatever a file may hold."""
    with pytest.raises(InvalidInput):
        declaration_of(value)


def test_each_kind_takes_the_placements_that_suit_it() -> None:
    """R133: text all but message, what is eager the conversation, notes the message."""
    taken: dict[str, list[str]] = {kind: [] for kind in WIRE}
    for kind, wire in WIRE.items():
        for placement in PLACEMENTS:
            try:
                declaration_of({**wire, "placement": placement})
            except InvalidInput:
                continue
            taken[kind].append(placement)
    assert taken == {
        "text": ["platform", "agent", "person", "conversation"],
        "eager_load": ["conversation"],
        "eager_run": ["conversation"],
        "note": ["message"],
    }


def test_every_placeholder_says_by_what_it_varies() -> None:
    """R134: the narrowest of a text's placeholders decides."""
    assert {varies_by(f"a {{{name}}}") for name in PLACEHOLDERS} == set(PLACEHOLDERS.values())
    assert varies_by("{agent} {now} {person}") == "message"
    assert varies_by("{x} {} {{agent") == "platform"


def test_what_is_filled_in_is_not_filled_again() -> None:
    """R4: a name that looks like a placeholder is a name, and other braces are words."""
    values = {"agent": "{person}", "person": "Ada"}
    assert filled("{agent} {person} {json} {{agent}}", values) == "{person} Ada {json} {{person}}"


def test_priority_comes_before_owner_and_owner_before_id() -> None:
    """R63, R136: the order inside a group depends on nothing else."""
    texts = [
        text("b", priority=1),
        text("a", priority=1, owner="person"),
        text("z", priority=1, owner="operator"),
        text("a", priority=1),
        text("y", priority=2, owner="person"),
    ]
    ordered = [(t.id, t.owner) for t in sorted(texts, key=standing)]
    assert ordered == [
        ("y", "person"),
        ("z", "operator"),
        ("a", "workspace"),
        ("b", "workspace"),
        ("a", "person"),
    ]


def test_a_personality_is_the_persons_lowest_and_for_replies_only() -> None:
    """R140: it says how something is said, and that everything else outranks it."""
    voice = personality("pirate", "1", "Talk like a pirate.")
    assert (voice.owner, voice.placement, voice.reach) == (
        "person",
        "person",
        "replies_to_the_person",
    )
    assert voice.priority == PRIORITY_MIN
    assert voice.is_lower


def test_a_stance_belongs_to_the_agent() -> None:
    """R140: at the agent, owned by its author, in every turn, not framed as somebody's taste."""
    reviewer = stance("reviewer", "1", "Challenge premises.")
    assert (reviewer.owner, reviewer.placement, reviewer.reach) == ("author", "agent", "every_turn")
    assert not reviewer.is_lower


def test_what_a_person_owns_ranks_lower_whatever_it_says() -> None:
    """R136: a voice cannot leave its frame off; others ask for it."""
    assert text("t", owner="person", placement="person").is_lower
    assert text("t", framing="lower").is_lower
    assert not text("t").is_lower


def test_a_condition_is_read_with_its_note() -> None:
    """R151: as one of its kinds."""
    declared = declaration_of(WIRE["note"])
    assert isinstance(declared, Note)
    assert declared.condition == DateCrossed("Europe/Lisbon")
