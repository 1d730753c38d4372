"""Laws of what moved: by id and version, and nothing where nothing did."""

from typing import Any

import pytest

from greenroom.protocol.composition import Composition
from greenroom.protocol.contributor import ToolFacts
from greenroom.protocol.eager import Given
from greenroom.protocol.movement import TOLD_BYTES_MAX, Moved, Movement, moved_between, told
from greenroom.protocol.wording import CURRENT
from tests.protocol.prompt_samples import composition, load, note, run, skill, summary, text

GIVEN = Given(tools={"look": ToolFacts("read"), "rows": ToolFacts("read", on_demand=True)})


def made(**fields: Any) -> Composition:
    return composition(
        **{
            "bound": (skill("alpha"), skill("zeta")),
            "catalog": (summary("wiki"),),
            "person": "ada",
            "extra": (text("money"), run("clock"), note("hours")),
            "given": GIVEN,
            **fields,
        }
    )


def test_nothing_moved_between_equal_prompts() -> None:
    """R67: current."""
    movement = moved_between(made(), made())
    assert movement == Movement()
    assert movement.is_current
    assert movement.ids == frozenset()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"extra": (text("money"), run("clock"), note("hours"), text("tone"))}),
        ({}, {"extra": (text("money"), run("clock"))}),
        ({}, {"bound": (skill("alpha"), skill("zeta", "Otherwise."))}),
        ({}, {"bound": (skill("zeta"), skill("alpha"))}),
    ],
    ids=["came", "went", "changed", "another order"],
)
def test_whatever_moved_alone_leaves_a_prompt_behind(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """R67: each way by itself, and back again."""
    one, other = made(**before), made(**after)
    assert not moved_between(one, other).is_current
    assert not moved_between(other, one).is_current


def test_each_thing_that_moved_is_named_with_its_versions() -> None:
    """R67: skills and contributors that came, went or changed, in the order of sharing."""
    before, edited = skill("alpha"), skill("alpha", "Otherwise.")
    now = made(
        bound=(edited, skill("zeta")),
        extra=(
            text("money", "Money is in EUR.", version="2"),
            text("tone", placement="conversation"),
            load("tables", tools=("rows",)),
            note("hours", version="1.1"),
        ),
    )
    movement = moved_between(made(), now)
    assert movement.changed == (
        Moved("skill", "skills/alpha", before.revision, edited.revision),
        Moved("contributor", "money", "1", "2"),
        Moved("contributor", "hours", "1", "1.1"),
    )
    assert movement.added == (
        Moved("contributor", "tone", "", "1"),
        Moved("contributor", "tables", "", "1"),
    )
    assert movement.removed == (Moved("contributor", "clock", "1", ""),)
    assert movement.ids == {"skills/alpha", "money", "hours", "tone", "tables", "clock"}
    assert not movement.is_current
    assert not movement.reordered


def test_what_is_built_in_moves_alike() -> None:
    """R67, R69, R139: an edited prompt and another catalog are changes of a version too."""
    movement = moved_between(made(), made(preamble="Be good.", catalog=(summary("mail"),)))
    assert [(each.what, each.id) for each in movement.changed] == [
        ("contributor", "preamble"),
        ("contributor", "catalog"),
    ]
    assert all(each.before != each.after for each in movement.changed)
    assert [each.id for each in moved_between(made(), made(catalog=())).removed] == ["catalog"]


def test_tools_model_and_parameters_are_parts() -> None:
    """R67: neither skill nor contributor, and behind all the same."""
    now = made(tools=b"[1]", parameters=b'{"a":1}', model="m2")
    movement = moved_between(made(), now)
    assert [(each.what, each.id) for each in movement.changed] == [
        ("part", "tools"),
        ("part", "parameters"),
        ("part", "model"),
    ]


def test_another_order_is_a_movement_of_nothing_in_particular() -> None:
    """R67: bound skills in another order make another prompt."""
    movement = moved_between(made(), made(bound=(skill("zeta"), skill("alpha"))))
    assert movement == Movement(reordered=True)
    assert not movement.is_current


def test_a_skill_and_a_contributor_of_one_name_are_two_things() -> None:
    """R67: each is told as what it is."""
    both = made(extra=(text("skills/alpha"),))
    movement = moved_between(made(extra=()), both)
    assert movement.added == (Moved("contributor", "skills/alpha", "", "1"),)


def test_what_is_left_out_has_gone() -> None:
    """R67, R103: installed and over its budget, it is not in the prompt."""
    movement = moved_between(made(), made(extra=(text("money", budget=1),)))
    assert Moved("contributor", "money", "1", "") in movement.removed


def test_one_version_may_say_something_else() -> None:
    """R67, R145: what is filled in, and what was used most, is no version of it."""
    usage = (load("usage", most_used=1),)
    known = Given(tools=GIVEN.tools, most_called=("rows",))
    movement = moved_between(made(extra=usage), made(extra=usage, given=known))
    assert movement.changed == (Moved("contributor", "usage", "1", "1"),)


def test_a_movement_is_told_in_words() -> None:
    """R69, R151: what changed, came and went; of another order alone that it is another."""
    movement = moved_between(
        made(), made(bound=(skill("zeta", "Otherwise."), skill("new")), catalog=())
    )
    words = told(movement, CURRENT)
    places = [
        words.index(template.format(what="skill", name=f"skills/{name}"))
        for template, name in (
            (CURRENT.moved_changed, "zeta"),
            (CURRENT.moved_added, "new"),
            (CURRENT.moved_removed, "alpha"),
        )
    ]
    assert places == sorted(places)
    other = moved_between(made(), made(bound=(skill("zeta"), skill("alpha"))))
    assert told(other, CURRENT) == CURRENT.moved_order


def test_of_very_much_that_moved_the_first_is_told_and_how_much_more() -> None:
    """R69, R103: the note keeps to its budget, whatever was edited."""
    many = tuple(skill(f"skill-{number:04}") for number in range(500))
    words = told(moved_between(made(), made(bound=many)), CURRENT)
    assert len(words.encode()) < TOLD_BYTES_MAX + 100
    first, *_, last = words.split("; ")
    assert "was added" in first
    assert last.startswith("and ")
    movement = moved_between(made(), made(bound=many))
    moved = len(movement.changed) + len(movement.added) + len(movement.removed)
    assert int(last.split()[1]) + words.count("; ") == moved
    long = told(moved_between(made(), made(bound=(skill("x" * 3_000),))), CURRENT)
    assert "x" * 100 in long
