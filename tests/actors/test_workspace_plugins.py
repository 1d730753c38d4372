"""Laws of plugins in a workspace: what was approved reaches whom it may, in whatever order."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import Workspace
from greenroom.actors.plugin_folder import read_shelf
from greenroom.actors.plugin_steps import approve, propose
from greenroom.actors.skill_source import skill_package
from greenroom.actors.workspace_files import Person
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.catalog import Catalog
from greenroom.protocol.composition import compose, encode_composition
from greenroom.protocol.contributor import Owner, ToolFacts
from greenroom.protocol.eager import Given
from greenroom.protocol.errors import BrokenWorkspace, SkillUnavailable
from greenroom.protocol.gate import Egress
from greenroom.protocol.installed import Use
from greenroom.protocol.plugin import Plugin
from greenroom.protocol.skill import pin
from tests.actors.packing import lying
from tests.actors.world import AGENT, FULL, Stage
from tests.protocol.plugin_samples import CLOCK, SKILL, STANCE, TEXTS, bare, plugin, terms
from tests.protocol.prompt_samples import ingredients, text

NOW = 1_700_000_000_000
SKILLED = "plugins/reviewer/review"


def catalog(*plugins: Plugin, owner: Owner = "workspace") -> Catalog:
    """All of them proposed and approved."""
    made = Catalog()
    for one in plugins:
        made = made.propose(one, terms(), owner=owner, at=NOW)
        digest = made.proposal(one.key).digest
        made = made.approve(one.key, digest, terms(by="ben"), at=NOW)
    return made


def built(plugins: Catalog, **fields: Any) -> Workspace:
    agents = [
        AgentDeclaration(name="a", prompt="You help."),
        AgentDeclaration(name="b", prompt="B."),
    ]
    return Workspace.build(**{"agents": agents, "plugins": plugins, **fields})


def test_a_folder_and_code_install_alike(tmp_path: Path) -> None:
    """R231, R163: contributors with the owner that the approval gave, and skills by their ids."""
    root = lying(tmp_path, {"agents/a.md": "You help.", "agents/b.md": "B."})
    propose(root, plugin(), owner="workspace", by="ada", at=NOW)
    shelf = read_shelf(root)
    approve(root, "reviewer@1", shelf.catalog.proposal("reviewer@1").digest, by="ben", at=NOW)
    space, other = Workspace.folder(root), built(catalog(plugin()))
    assert space.contributors == other.contributors
    assert space.plugins == other.plugins
    assert space.skills == other.skills
    assert space.read_skill(SKILLED) == other.read_skill(SKILLED)
    assert {one.owner for one in space.contributors.active} == {"workspace"}
    assert space.contributors.uses[0] == Use("add", "plugins/reviewer/clock@1", "workspace", "ben")


def test_what_is_only_proposed_is_nowhere() -> None:
    """R163: neither a contributor nor a skill of it."""
    space = built(Catalog().propose(plugin(), terms(), owner="workspace", at=NOW))
    assert (space.contributors.active, space.skills) == ((), {})
    with pytest.raises(SkillUnavailable):
        space.read_skill(SKILLED)


def test_a_trusted_plugin_is_everybodys() -> None:
    """R63: its text stands in every agent's prompt, its skills in every catalog."""
    space = built(catalog(plugin()))
    for name in ("a", "b"):
        agent = space.agent(name)
        assert len(space.contributors_for(agent)) == 4
        assert [skill.id for skill in space.skills_for(agent)[1]] == [SKILLED]


def test_an_authors_plugin_reaches_the_agents_that_name_it() -> None:
    """R165: also its skills, whose lines in a catalog are text in a prompt."""
    agents = [
        AgentDeclaration(
            name="a", prompt="x", contributors=("plugins/reviewer/stance",), available=(SKILLED,)
        ),
        AgentDeclaration(name="b", prompt="x", skills=(SKILLED,)),
        AgentDeclaration(name="c", prompt="x"),
    ]
    space = built(catalog(plugin(), owner="author"), agents=agents)

    def reaching(name: str) -> tuple[list[str], list[list[str]]]:
        agent = space.agent(name)
        skills = [[skill.id for skill in each] for each in space.skills_for(agent, "ada")]
        return [one.id for one in space.contributors_for(agent)], skills

    assert reaching("a") == (["plugins/reviewer/stance"], [[], [SKILLED]])
    assert reaching("b") == ([], [[SKILLED], []])
    assert reaching("c") == ([], [[], []])


def test_a_persons_plugin_reaches_the_persons_that_name_it() -> None:
    """R165: and no agent can be bound to what is a person's."""
    voice = plugin(contributors=({**STANCE, "placement": "person"},), tools={})
    ada = Person(name="ada", contributors=("plugins/reviewer/stance",), skills=(SKILLED,))
    space = built(catalog(voice, owner="person"), persons=[ada])
    agent = space.agent("a")
    assert [one.id for one in space.contributors_for(agent, "ada")] == ["plugins/reviewer/stance"]
    assert space.contributors_for(agent, "ben") == ()
    assert [skill.id for skill in space.skills_for(agent, "ada")[1]] == [SKILLED]
    assert space.skills_for(agent, "ben") == space.skills_for(agent) == ((), ())
    bound = AgentDeclaration(name="a", prompt="x", skills=(SKILLED,))
    with pytest.raises(BrokenWorkspace, match=f"'{SKILLED}' is the person's"):
        built(catalog(voice, owner="person"), agents=[bound])
    with pytest.raises(BrokenWorkspace, match=f"'{SKILLED}' is the author's"):
        built(catalog(plugin(), owner="author"), persons=[Person(name="ada", skills=(SKILLED,))])


def test_what_reaches_nobody_is_odd() -> None:
    """P088: approved and named by no one, it is loaded with a warning."""
    warnings = built(catalog(plugin(), owner="author")).warnings
    assert len(warnings) == 5
    assert any(SKILLED in warning and "agent" in warning for warning in warnings)


def test_skills_of_a_plugin_are_what_was_approved(tmp_path: Path) -> None:
    """R163, R26: an edit of its files reaches nobody; the next load finds it and refuses."""
    root = lying(tmp_path, {"agents/a.md": "You help."})
    propose(root, plugin(), owner="workspace", by="ada", at=NOW)
    digest = read_shelf(root).catalog.proposal("reviewer@1").digest
    approve(root, "reviewer@1", digest, by="ben", at=NOW)
    space = Workspace.folder(root)
    (root / "plugins/reviewer/1/review/SKILL.md").write_text(SKILL.replace("twice", "never"))
    package = space.read_skill(SKILLED)
    assert package.body == "Read twice."
    assert set(package.files) == {"SKILL.md", "index.md", "more.md"}
    with pytest.raises(BrokenWorkspace, match="plugins/reviewer/1"):
        space.again()


def test_a_disabled_skill_of_a_plugin_is_none() -> None:
    """R20: as one of the workspace."""
    shut = {**TEXTS, "review/SKILL.md": "---\ndescription: x\ndisabled: true\n---\n"}
    made = catalog(plugin(texts=shut))
    space = built(made)
    assert space.skills == {}
    with pytest.raises(BrokenWorkspace, match="disabled"):
        built(made, agents=[AgentDeclaration(name="a", prompt="x", skills=(SKILLED,))])


def test_only_a_plugin_brings_what_is_called_so() -> None:
    """R203: no declaration of the workspace passes for one of a plugin."""
    with pytest.raises(BrokenWorkspace, match="plugins/"):
        built(Catalog(), contributors=[text("plugins/reviewer/stance")])
    beside = built(
        catalog(bare()), contributors=[text("stance")], skills=[skill_package("r", "R", "")]
    )
    assert {one.id for one in beside.contributors.active} == {"stance", "plugins/reviewer/stance"}


def test_what_is_not_as_decided_is_a_fault_in_code_too() -> None:
    """R163: a catalog that was put together by hand is held to its digests."""
    made = catalog(bare())
    wrong = Catalog(published={"reviewer@1": bare(description="Other.")}, decisions=made.decisions)
    with pytest.raises(BrokenWorkspace, match="plugins/reviewer/1"):
        built(wrong)


def test_a_writing_run_is_approved_with_its_plugin() -> None:
    """R149, R163: of a trusted owner, and of exactly that version."""
    pays = bare(contributors=(CLOCK,), tools={"look": "write"})
    assert built(catalog(pays)).contributors.approved == {"plugins/reviewer/clock@1"}
    reads = bare(contributors=(CLOCK,), tools={"look": "read"})
    assert built(catalog(reads)).contributors.approved == frozenset()


GATES = "gates:\n- {tool: pay, decision: ask}\n"


@pytest.mark.parametrize("owner", ["workspace", "author"])
def test_gates_of_a_plugins_skill_are_in_force(tmp_path: Path, owner: Owner) -> None:
    """R155: as those of any skill, from the text that was approved; they only tighten."""
    made = plugin(texts={**TEXTS, "review/gates.yaml": GATES}, contributors=())
    root = lying(tmp_path, {"agents/a.md": "You help."})
    propose(root, made, owner=owner, by="ada", at=NOW)
    assert SKILLED not in Workspace.folder(root).gate_table.skills
    digest = read_shelf(root).catalog.proposal("reviewer@1").digest
    approve(root, "reviewer@1", digest, by="ben", at=NOW)
    for space in (Workspace.folder(root), built(catalog(made, owner=owner))):
        [gate] = space.gate_table.skills[SKILLED]
        assert (gate.tool, gate.decision) == ("pay", "ask")
        assert SKILLED in space.skills


def test_hosts_are_open_with_the_plugin_that_they_were_approved_with(tmp_path: Path) -> None:
    """R158, R163: beside those of the workspace; where every host is open nothing is closed."""
    made = bare(hosts=("a.example", "*.b.example"))
    root = lying(tmp_path, {"agents/a.md": "You help.", "gates.yaml": "egress: [own.example]\n"})
    propose(root, made, owner="workspace", by="ada", at=NOW)
    assert Workspace.folder(root).gate_table.egress == Egress(("own.example",))
    digest = read_shelf(root).catalog.proposal("reviewer@1").digest
    approve(root, "reviewer@1", digest, by="ben", at=NOW)
    opened = Egress(("own.example", "*.b.example", "a.example"))
    for space in (Workspace.folder(root), built(catalog(made), egress=["own.example"])):
        assert space.gate_table.egress == opened
    assert built(catalog(made)).gate_table.egress is None
    assert built(catalog(made), egress=[]).gate_table.egress == Egress(("*.b.example", "a.example"))


def made_of(space: Workspace, agent: str, known: Given) -> Any:
    """What a conversation with an agent is composed to, with these tools there."""
    bound, available = space.skills_for(space.agent(agent))
    return compose(
        ingredients(
            agent=space.agent(agent),
            bound=tuple(pin(space.read_skill(skill.id)) for skill in bound),
            catalog=available,
            extra=space.contributors_for(space.agent(agent)),
            given=Given(tools=known.tools, approved=space.contributors.approved),
        )
    )


@pytest.mark.parametrize(
    ("said", "does", "runs"),
    [("read", "read", True), ("read", "write", False), ("write", "write", True)],
)
def test_a_run_does_what_its_plugin_said_or_nothing(said: str, does: Any, runs: bool) -> None:
    """R165: a tool that was said to read and writes is not run, whatever the manifest claims."""
    space = built(catalog(bare(contributors=(CLOCK,), tools={"look": said})))
    composition = made_of(space, "a", Given(tools={"look": ToolFacts(does)}))
    assert [each.key for each in composition.eager] == ["plugins/reviewer/clock@1"] * runs
    assert [each.why for each in composition.left_out] == ["tool_refused"] * (not runs)


async def test_what_was_approved_is_what_the_model_is_given(stage: Stage) -> None:
    """R163, R164, P146: a proposal moves nothing; an approval reaches the next conversation."""
    stage.plays("A", "B", "C")
    agents = [AgentDeclaration(name=AGENT, prompt="You help.")]
    one = catalog(bare())
    more = one.propose(
        bare("2", contributors=({**STANCE, "text": "Obey.", "version": "2"},)),
        terms(),
        owner="workspace",
        at=NOW,
    )
    digest = more.proposal("reviewer@2").digest
    async with stage.host(workspace=built(one, agents=agents)) as host:
        for key, plugins in (
            ("a", one),
            ("b", more),
            ("c", more.approve("reviewer@2", digest, terms(), at=NOW)),
        ):
            await host.reload(built(plugins, agents=agents))
            session = await host.session(key, agent=AGENT, preset=FULL)
            await session.ask("Hi")
    systems = [request.system for request in stage.model.requests]
    assert [("Challenge premises." in it, "Obey." in it) for it in systems] == [
        (True, False),
        (True, False),
        (False, True),
    ]
    assert systems[0] == systems[1]


# --- whatever the order --------------------------------------------------------------------------

PLUGINS = [
    plugin(id="one"),
    plugin(id="two", contributors=({**STANCE, "priority": 3}, CLOCK), hosts=("a.example",)),
    bare(id="three"),
]


@given(order=st.permutations(PLUGINS))
def test_no_order_of_installing_moves_a_byte(order: list[Plugin]) -> None:
    """R63, R65: contributors, skills and all that a conversation is composed of."""
    known = Given(tools={"look": ToolFacts("read"), "rows": ToolFacts("read", on_demand=True)})
    space, other = built(catalog(*order)), built(catalog(*PLUGINS))
    one, two = (encode_composition(made_of(each, "a", known)) for each in (space, other))
    assert one == two
    assert space.plugins.hosts == other.plugins.hosts == ("a.example",)
