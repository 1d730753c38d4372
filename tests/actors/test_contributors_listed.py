"""Laws of the list of contributors: built in and installed answer the same questions."""

from pathlib import Path
from typing import Any

import pytest

from greenroom.actors import ListedContributor, Workspace, contributors_in
from greenroom.actors.contributor_files import install, read_contributors
from greenroom.actors.contributors_listed import installed_only
from greenroom.actors.workspace_files import Person
from greenroom.protocol import UnknownAgent
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.composition import Ingredients, compose
from greenroom.protocol.contributor import personality, stance
from greenroom.protocol.skill import pin
from tests.actors.stage import package
from tests.protocol.prompt_samples import note, text

PLAN = package("plan", "Plan first.")
SUPPORT = AgentDeclaration(
    name="support", prompt="You help.", skills=("skills/plan",), contributors=("reviewer",)
)
SALES = AgentDeclaration(name="sales", prompt="You sell.", available=())


def workspace(**fields: Any) -> Workspace:
    return Workspace.build(
        **{
            "agents": (SUPPORT, SALES),
            "skills": (PLAN,),
            "persons": (Person(name="ada", text="Ada counts.", contributors=("voice",)),),
            "contributors": (
                text("money", priority=7, budget=50),
                stance("reviewer", "1", "Challenge premises."),
                personality("voice", "2", "Arr."),
                note("pause"),
            ),
            "switched_off": ("money", "catalog"),
            "instructions": "Be brief.",
            **fields,
        }
    )


def by_id(listed: tuple[ListedContributor, ...]) -> dict[str, ListedContributor]:
    return {each.contributor.rpartition("@")[0]: each for each in listed}


def test_built_in_and_installed_answer_the_same() -> None:
    """R139: owner, placement, priority, budget, reach and version of each, in standing order."""
    found = by_id(contributors_in(workspace(), agent="support", person="ada"))
    assert list(found) == [
        "preamble",
        "agent",
        "skills/plan",
        "money",
        "reviewer",
        "project-instructions",
        "person",
        "voice",
        "version-changed",
        "pause",
    ]
    assert all(each.contributor.rpartition("@")[2] for each in found.values())
    plan, money, voice = found["skills/plan"], found["money"], found["voice"]
    assert (plan.owner, plan.placement, plan.kind, plan.budget) == (
        "author",
        "agent",
        "skill",
        None,
    )
    assert (money.owner, money.priority, money.budget, money.reach) == (
        "workspace",
        7,
        50,
        "every_turn",
    )
    assert (voice.contributor, voice.reach) == ("voice@2", "replies_to_the_person")
    assert found["preamble"].owner == "operator"


def test_what_it_needs_is_what_composing_counts() -> None:
    """R103, R139: the same figures as those by which it is left out."""
    whole = workspace()
    found = by_id(contributors_in(whole, agent="support"))
    made = compose(
        Ingredients(
            agent=SUPPORT,
            model="m",
            bound=(pin(PLAN),),
            extra=(text("money", priority=7, budget=found["money"].tokens - 1),),
        )
    )
    [left] = made.left_out
    assert left.tokens == found["money"].tokens
    assert contributors_in(whole)[0].tokens > 0


def test_off_is_told_and_hides_nothing() -> None:
    """R141: what is switched off is listed as that; a skill is bound and cannot be."""
    found = by_id(contributors_in(workspace(switched_off=("money", "project-instructions"))))
    assert not found["money"].on
    assert not found["project-instructions"].on
    assert found["reviewer"].on
    named_like = by_id(contributors_in(workspace(switched_off=("money",))))
    assert named_like["skills/plan"].on


def test_for_whom_each_is() -> None:
    """R139: an agent's own, everybody's, and what nobody was asked about names."""
    found = by_id(contributors_in(workspace()))
    assert found["money"].agents == ("support", "sales")
    assert found["reviewer"].agents == ("support",)
    assert found["voice"].agents == ()
    prompts = [each for each in contributors_in(workspace()) if each.kind == "agent"]
    assert sorted(each.agents for each in prompts) == [("sales",), ("support",)]
    assert "person" not in found
    only = by_id(contributors_in(workspace(), agent="sales"))
    assert "reviewer" not in only
    assert "voice" not in only


def test_what_is_over_its_budget_for_somebody_is_told_with_the_figures() -> None:
    """R103: it was installed, and grew with the name that is filled in."""
    greeting = text("hello", "You talk with {person}.", placement="person", budget=9)
    whole = workspace(contributors=(greeting,), agents=(SALES,), persons=(), switched_off=())
    assert by_id(contributors_in(whole, person="Jo"))["hello"].left_out == ""
    found = by_id(contributors_in(whole, person="Wilhelmina of the long name"))["hello"]
    assert found.left_out == f"It needs {found.tokens} tokens; its budget is 9."


def test_of_several_agents_the_largest_need_is_told() -> None:
    """R103: one contributor, one row, whatever is filled in."""
    long = AgentDeclaration(name="a" * 60, prompt="You sell.")
    named = text("name", "You are {agent}.", budget=20)
    whole = workspace(agents=(SALES, long), contributors=(named,), persons=(), switched_off=())
    found = by_id(contributors_in(whole))["name"]
    assert found.agents == ("sales", "a" * 60)
    assert found.left_out == f"It needs {found.tokens} tokens; its budget is 20."


def test_an_agent_that_is_none_is_named() -> None:
    """R139: with the choices."""
    with pytest.raises(UnknownAgent, match="sales"):
        contributors_in(workspace(), agent="nobody")


MONEY = """\
id: money
version: "1"
owner: workspace
placement: agent
kind: text
text: Money is in pence.
"""


def test_a_refusal_can_be_read_where_it_was_installed(tmp_path: Path) -> None:
    """R103: with the figures, beside what could be installed."""
    (tmp_path / "contributors").mkdir()
    (tmp_path / "contributors" / "money.yaml").write_text(f"{MONEY}budget: 2\n")
    tone = MONEY.replace("money", "tone")
    (tmp_path / "contributors" / "tone.yaml").write_text(tone)
    (tmp_path / "switches.yaml").write_text("switched_off: [tone]\n")
    installed, faults = install(read_contributors(tmp_path))
    [refused] = installed.refused
    assert (refused.contributor, refused.code) == ("money@1", "contributor_over_budget")
    assert "needs 7 tokens" in refused.sentence
    assert faults == (f"contributors/money.yaml: {refused.sentence}",)
    [listed] = installed_only(installed)
    assert (listed.contributor, listed.on, listed.agents) == ("tone@1", False, ())
