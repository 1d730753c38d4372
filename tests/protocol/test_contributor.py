"""Laws of the declaration: data in a fixed vocabulary, no wider than what it varies by."""

import msgspec
import pytest

from greenroom.protocol.contributor import (
    PLACEHOLDERS,
    Text,
    check_contribution,
    filled,
    standing,
    varies_by,
)
from greenroom.protocol.errors import InvalidInput, TooLarge, WrongPlacement
from greenroom.protocol.limits import Limits
from tests.protocol.prompt_samples import text

WIRE = {
    "kind": "text",
    "id": "voice",
    "version": "2",
    "owner": "person",
    "placement": "person",
    "text": "Be brief.",
}


def test_a_contributor_is_data_of_a_known_kind() -> None:
    """R131: it is decoded from plain data, and says what it is."""
    assert msgspec.convert(WIRE, Text).key == "voice@2"
    assert msgspec.to_builtins(msgspec.convert(WIRE, Text)) == WIRE


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "code"},
        {"run": "os.system"},
        {"owner": "stranger"},
        {"placement": "message"},
        {"placement": "everywhere"},
        {"text": print},
    ],
    ids=str,
)
def test_anything_outside_the_vocabulary_is_refused(change: dict[str, object]) -> None:
    """R131, R133: unknown kinds, fields, owners and placements, and callables, are refused."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**WIRE, **change}, Text)


def test_a_contributor_without_a_placement_does_not_load() -> None:
    """P194: a placement is part of every declaration."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({k: v for k, v in WIRE.items() if k != "placement"}, Text)


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        ("platform", "You are {agent}."),
        ("agent", "It is {now}."),
        ("agent", "You talk with {person}."),
        ("person", "This is {session}."),
        ("person", "Today is {today}."),
    ],
)
def test_a_text_that_varies_more_narrowly_than_it_stands_is_refused(
    placement: str, words: str
) -> None:
    """P066, R134: what a text varies by is computed from its placeholders."""
    with pytest.raises(WrongPlacement) as refusal:
        check_contribution(text("t", words, placement=placement))
    assert refusal.value.facts["varies_by"] == varies_by(words)


@pytest.mark.parametrize(
    ("placement", "words"),
    [("agent", "You are {agent}."), ("person", "{agent} and {person}"), ("platform", "{x} {}")],
)
def test_a_text_that_varies_no_more_than_it_may_is_taken(placement: str, words: str) -> None:
    """R134: the widest placement at which it is the same for all is allowed."""
    contribution = text("t", words, placement=placement)
    assert check_contribution(contribution) is contribution


def test_every_placeholder_says_by_what_it_varies() -> None:
    """R134: the narrowest of a text's placeholders decides."""
    assert {varies_by(f"a {{{name}}}") for name in PLACEHOLDERS} == set(PLACEHOLDERS.values())
    assert varies_by("{agent} {now} {person}") == "message"


def test_a_text_that_does_not_reach_every_turn_stands_at_the_person() -> None:
    """R137: elsewhere its coming and going would move what others share."""
    check_contribution(text("voice", placement="person", reach="replies_to_the_person"))
    with pytest.raises(WrongPlacement):
        check_contribution(text("voice", placement="agent", reach="turns_with_a_person"))


def test_what_cannot_be_stored_is_refused() -> None:
    """R194: a name or text that UTF-8 cannot carry never gets in, nor one that is too large."""
    for bad in (text(""), text("a\ud800"), text("t", "x\0"), text("t", heading="\udc00")):
        with pytest.raises(InvalidInput):
            check_contribution(bad)
    with pytest.raises(TooLarge):
        check_contribution(text("t", "four"), Limits(message_bytes_max=3))


def test_what_is_filled_in_is_not_filled_again() -> None:
    """R4: a name that looks like a placeholder is a name, and other braces are words."""
    values = {"agent": "{person}", "person": "Ada"}
    assert filled("{agent} {person} {json} {{agent}}", values) == "{person} Ada {json} {{person}}"


def test_priority_comes_before_owner_and_owner_before_id() -> None:
    """R63: the order inside a group depends on nothing else."""
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
