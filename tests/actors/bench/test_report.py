"""Laws of what a report says against a composer."""

from greenroom.actors.bench import Contender, Report, contender, run
from greenroom.actors.bench.composing import Composition, Ingredients
from tests.actors.bench import varying
from tests.actors.bench.scenes import prompt, workspace


def by_person(ingredients: Ingredients) -> Composition:
    """Puts a person's name behind the first text of the platform."""
    return varying.told(ingredients, ingredients.person or "")


def report(one: Contender) -> Report:
    """A run of two people."""
    lines = [prompt(0, "a"), prompt(1, "b", person="ben")]
    return run(lines, workspace=workspace(), composers=[one])


def test_a_level_that_is_short_is_a_failure() -> None:
    """By its name, with the first bytes that differ."""  # R217 P079
    failures = report(contender("mine", by_person)).failures(goal=0)
    assert [failure.partition(" in ")[0] for failure in failures] == [
        "mine: the level platform is short",
        "mine: the level agent is short",
    ]
    assert "'ada" in failures[0]


def test_a_contrast_fails_nothing() -> None:
    """It is there to be seen."""
    one = Contender("mine", contender("", by_person).make, contrast=True)
    assert report(one).failures() == []


def test_a_goal_that_is_not_reached_is_a_failure_for_each_cache() -> None:
    """With both figures."""
    failures = report(contender("mine", varying.pure)).failures(goal=1.01)
    assert len(failures) == 4
    assert all("101% is the goal" in failure for failure in failures)
