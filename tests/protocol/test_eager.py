"""Laws of what is eager: what the agent was not given is left out whole, and named."""

from typing import Any

import pytest

from greenroom.protocol.composition import Composition, encode_composition
from greenroom.protocol.contributor import EagerLoad, EagerRun, ToolFacts
from greenroom.protocol.eager import Given
from tests.protocol.prompt_samples import composition, load, run, skill

TOOLS = {
    "look": ToolFacts("read"),
    "pay": ToolFacts("write"),
    "rows": ToolFacts("read", on_demand=True),
    "sums": ToolFacts("write", on_demand=True),
    "plot": ToolFacts("read", on_demand=True),
}
GUIDE = skill("guide", "See a.md", {"a.md": b"A", "b/c.md": b"C"})


def made(*extra: Any, **known: Any) -> Composition:
    return composition(bound=(GUIDE,), extra=extra, given=Given(tools=TOOLS, **known))


def test_what_can_be_made_is_kept_as_it_was_declared() -> None:
    """R142, R143, R146: whole declarations, at their versions, loads before runs."""
    ready = (
        load("b", tools=("plot", "rows"), skill="skills/guide", files=("a.md", "b/c.md")),
        run("a", "look", arguments={"what": "it"}, about="What it looked like"),
    )
    kept = made(*reversed(ready))
    assert kept.eager == ready
    assert kept.left_out == ()
    assert kept.contributors[-3:] == ("b@1", "a@1", "version-changed@1")


@pytest.mark.parametrize(
    ("declared", "why", "named"),
    [
        (load("x", skill="skills/other"), "skill_not_bound", "skills/other"),
        (load("x", skill="skills/guide", files=("a.md", "z.md")), "no_such_file", "z.md"),
        (load("x", tools=("look",)), "tool_refused", "look"),
        (load("x", tools=("gone",)), "tool_refused", "gone"),
        (run("x", "gone"), "tool_refused", "gone"),
        (run("x", "pay"), "tool_refused", "pay"),
    ],
    ids=lambda value: getattr(value, "tool", getattr(value, "skill", value)),
)
def test_what_the_agent_was_not_given_is_left_out_and_named(
    declared: EagerLoad | EagerRun, why: str, named: str
) -> None:
    """R144, R149: it does nothing, the composition says so, and the rest stands."""
    kept = made(declared, run("y", "look"))
    assert [each.id for each in kept.eager] == ["y"]
    [left] = kept.left_out
    assert (left.contributor, left.why) == ("x@1", why)
    assert named in left.sentence


def test_a_run_that_was_approved_says_so() -> None:
    """R149: of exactly that version; what only reads needs none."""
    kept = made(run("x", "pay"), run("y", "look"), approved=frozenset({"x@1", "gone@1"}))
    assert [each.key for each in kept.eager] == ["x@1", "y@1"]
    assert kept.approved == ("x@1",)
    assert made(run("x", "pay"), approved=frozenset({"x@2"})).eager == ()


def test_the_most_used_tools_are_chosen_when_it_is_composed() -> None:
    """R145, R214: as many as are declared, of those on demand; their order moves no byte."""
    declared = load("usage", tools=("plot",), most_used=2)

    def chosen(*called: str) -> tuple[str, ...]:
        [kept] = made(declared, most_called=called).eager
        assert isinstance(kept, EagerLoad)
        return kept.tools

    assert chosen("look", "gone", "sums", "rows", "plot") == ("plot", "rows", "sums")
    assert chosen("rows", "sums") == chosen("sums", "rows")
    assert chosen("plot", "rows", "sums") == ("plot", "rows")
    assert chosen() == ("plot",)


def test_equal_arguments_have_equal_bytes() -> None:
    """R56, R195: whatever the order of their keys, at any depth."""
    one = run("x", "look", arguments={"a": [{"x": 1, "y": 2}], "b": 1})
    other = run("x", "look", arguments={"b": 1, "a": [{"y": 2, "x": 1}]})
    assert encode_composition(made(one)) == encode_composition(made(other))


def test_without_tools_nothing_of_them_is_run() -> None:
    """R149: what is not known of a tool allows nothing."""
    assert composition(extra=(run("x", "look"),)).eager == ()
