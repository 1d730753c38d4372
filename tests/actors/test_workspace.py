"""Laws of workspaces: validated whole, told with every fault, read late only where it is said."""

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from greenroom.actors.skill_source import skill_package
from greenroom.actors.workspace import SAMPLE, Workspace
from greenroom.actors.workspace_files import Person
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.errors import (
    BrokenWorkspace,
    ExtraMissing,
    InvalidInput,
    SkillUnavailable,
    TooLarge,
    UnknownAgent,
)
from greenroom.protocol.permission import PRESETS

FILES = {
    "agents/support.md": "---\nskills: [refunds]\navailable: []\nmodel: m\n---\nYou help.\n",
    "agents/plain.md": "You are plain.",
    "skills/refunds/SKILL.md": "---\ndescription: Money.\n---\nBody",
    "skills/group/tables/SKILL.md": "---\nname: Tables\ndescription: Tables.\n---\nRead.",
    "skills/shut/SKILL.md": "---\ndescription: Shut.\ndisabled: true\n---\n",
    "persons/ada.md": "---\nskills: [group/tables]\n---\nAda counts.\n",
    "AGENTS.md": "First.\n",
    "INSTRUCTIONS.md": "Second.\n",
    "files/a.txt": "a",
}


def made(root: Path, more: Mapping[str, str | bytes] | None = None) -> Path:
    for name, content in {**FILES, **(more or {})}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def test_without_the_parser_no_file_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R231: what is missing is the extra; the files are as they should be."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ExtraMissing, match="workspace"):
        Workspace.folder(made(tmp_path))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """R231: its name is told, and not that of a file in it."""
    with pytest.raises(BrokenWorkspace, match=r"There is no folder '.*nofolder'\."):
        Workspace.folder(tmp_path / "nofolder")


def in_code() -> Workspace:
    return Workspace.build(
        agents=[
            AgentDeclaration(
                name="support", prompt="You help.", model="m", skills=("refunds",), available=()
            ),
            AgentDeclaration(name="plain", prompt="You are plain."),
        ],
        skills=[skill_package("refunds", "Money.", "Body"), skill_package("tables", "T.", "Read.")],
        persons=[Person(name="ada", text="Ada counts.", skills=("tables",))],
        instructions="First.\n\nSecond.",
    )


@pytest.mark.parametrize("kind", ["folder", "code"])
def test_a_workspace_is_the_same_from_a_folder_and_from_code(tmp_path: Path, kind: str) -> None:
    """R231: agents, skills, persons and instructions answer alike."""
    space = Workspace.folder(made(tmp_path)) if kind == "folder" else in_code()
    support = space.agent("support")
    assert (support.prompt, support.model, support.skills) == (
        "You help.",
        "m",
        ("skills/refunds",),
    )
    assert space.agent("plain").prompt == "You are plain."
    assert space.person_text("ada") == "Ada counts."
    assert space.person_text("../ada") == ""
    assert space.instructions() == "First.\n\nSecond."
    assert space.read_skill("skills/refunds").body == "Body"
    assert space.presets is PRESETS
    assert space.preamble is None
    with pytest.raises(UnknownAgent, match="plain, support"):
        space.agent("gone")


def test_skills_are_bound_or_available_or_a_persons(tmp_path: Path) -> None:
    """R63, R69: by declaration, the second sorted by id; what a person adds is told by asking."""
    space = Workspace.folder(made(tmp_path))

    def ids(agent: str, person: str | None = None) -> list[list[str]]:
        return [[s.id for s in each] for each in space.skills_for(space.agent(agent), person)]

    assert ids("support") == [["skills/refunds"], []]
    assert ids("support", "ada") == [["skills/refunds"], ["skills/group/tables"]]
    assert ids("support", "nobody") == ids("support")
    assert ids("plain") == [[], ["skills/group/tables", "skills/refunds"]]


def test_every_fault_is_told_with_its_file(tmp_path: Path) -> None:
    """R231: refused whole, and mended in one go."""
    root = made(
        tmp_path,
        {
            "agents/support.md": "---\nskills: [gone, shut]\navailable: [gone2]\n---\n",
            "agents/broken.md": "---\nskills: [\n---\n",
            "agents/field.md": "---\nmodle: m\n---\n",
            "agents/other.md": "---\nname: another\n---\n",
            "agents/bad.md": b"\xff",
            "agents/escape.md": '---\ndescription: "\\ud83d"\n---\n',
            "agents/nul.md": "a\0b",
            "agents/yaml.yaml": "name: x",
            "agents/preset.md": "---\npreset: all\n---\n",
            "agents/twice.md": "---\nskills: [one, two]\n---\n",
            "skills/one/SKILL.md": "---\nname: same\ndescription: x\n---\n",
            "skills/two/SKILL.md": "---\nname: same\ndescription: x\n---\n",
            "persons/ada.md": "---\nskills: [gone]\n---\n",
            "persons/eve.md": "---\nage: 7\n---\n",
            "presets.yaml": "presets: []",
            "preamble.md": b"\xff",
            "AGENTS.md": b"\xff",
        },
    )
    (root / "agents" / "link.md").symlink_to(root / "agents" / "plain.md")
    with pytest.raises(BrokenWorkspace) as caught:
        Workspace.folder(root)
    faults = caught.value.facts["faults"]
    assert isinstance(faults, tuple)
    about = sorted(fault.partition(":")[0] for fault in faults)
    strict = ("bad", "broken", "escape", "field", "link", "nul", "other", "preset", "twice")
    assert about == sorted(
        [f"agents/{name}.md" for name in strict]
        + ["agents/support.md"] * 3
        + ["agents/yaml.yaml", "persons/ada.md", "persons/eve.md"]
        + ["presets.yaml", "preamble.md", "project instructions"]
    )
    assert all(fault in str(caught.value) for fault in faults)
    assert str(root) not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("agents/a.md", "", "agents/a.md: It says nothing: an agent's prompt is to stand in it"),
        ("agents/a.md", "\ufeff \n\n", "agents/a.md: It says nothing"),
        ("agents/a.md", "---\n---\n", "agents/a.md: It says nothing"),
        ("agents/a.md", "---\nname: a\n---\n", "agents/a.md: It says nothing"),
        ("agents/a.md/prompt.md", "x", "agents/a.md: It is a folder; write an agent as a file."),
        ("agents/a.yml/x", "x", "agents/a.yml: It is a folder; write an agent as a file."),
        ("agents/a.MD", "x", "agents/a.MD: It is not read; write it as a.md with a YAML head."),
        ("agents/a.markdown", "x", "agents/a.markdown: It is not read; write it as a.md"),
        ("persons/p.md", "\n", "persons/p.md: It says nothing: what agents are to be told"),
        ("persons/p.md/x", "x", "persons/p.md: It is a folder; write a person as a file."),
        ("preamble.md", "\n", "preamble.md: It is empty"),
        ("presets.yaml", "preset: []\npresets: []", "presets.yaml: It holds 'preset' beside"),
        ("presets.yml", "presets: []", "presets.yml: It is not read; write it as presets.yaml."),
        ("Preamble.md", "x", "Preamble.md: It is not read; write it as preamble.md."),
        ("Persons/ada.md", "x", "Persons: It is not read; write it as persons."),
    ],
)
def test_a_slip_of_the_owner_is_no_choice(
    tmp_path: Path, file: str, content: str, told: str
) -> None:
    """R231: what looks as if it were read, and is not or says nothing, is a fault, and the one."""
    with pytest.raises(BrokenWorkspace) as caught:
        Workspace.folder(made(tmp_path, {file: content}))
    faults = caught.value.facts["faults"]
    assert isinstance(faults, tuple)
    assert [fault.startswith(told) for fault in faults] == [True]


@pytest.mark.parametrize(
    ("head", "parameters", "told"),
    [
        ("messages: x", {"messages": "x"}, "'messages' is what a request says itself"),
        ("stream: false", {"stream": False}, "'stream' is what a request says itself"),
        ("temperature: .nan", {"temperature": float("nan")}, "'temperature' is nan"),
    ],
)
def test_a_parameter_that_no_request_can_carry_is_a_fault(
    tmp_path: Path, head: str, parameters: dict[str, bool | float | str], told: str
) -> None:
    """R231: refused where the workspace is made, with the agent and the parameter named."""
    root = made(tmp_path, {"agents/a.md": f"---\nparameters:\n  {head}\n---\nHello.\n"})
    agent = AgentDeclaration(name="a", parameters=parameters)
    with pytest.raises(BrokenWorkspace, match=f"agents/a.md: The parameter {told}"):
        Workspace.folder(root)
    with pytest.raises(BrokenWorkspace, match=f"agents/a.md: The parameter {told}"):
        Workspace.build(agents=[agent])


@pytest.mark.parametrize("name", ["agents", "persons", "skills"])
def test_a_part_that_is_no_folder_is_one_fault(tmp_path: Path, name: str) -> None:
    """R231: the others are read all the same, so that all faults come at once."""
    root = made(tmp_path / "ws")
    (root / name).rename(tmp_path / "away")
    (root / "presets.yaml").write_text("presets: []")
    (root / name).write_text("no folder")
    with pytest.raises(BrokenWorkspace) as caught:
        Workspace.folder(root)
    faults = caught.value.facts["faults"]
    assert isinstance(faults, tuple)
    assert {fault.partition(":")[0] for fault in faults} >= {name, "presets.yaml"}


def test_what_is_not_read_beside_agents_and_persons_is_named(tmp_path: Path) -> None:
    """R231: nothing in these folders is passed over in silence; an agent may be all in its head."""
    more = {
        "agents/notes.txt": "x",
        "agents/old/a.md": "x",
        "agents/.hidden": "",
        "persons/LICENSE": "x",
        "agents/bound.md": "---\nskills: [refunds]\n---\n",
        "agents/bare.md": "---\ndescription: x\n---\n",
    }
    space = Workspace.folder(made(tmp_path, more))
    assert space.warnings[:4] == (
        "agents/bare.md: It has neither a prompt nor a skill that is bound.",
        "agents/notes.txt: It is not read: an agent is a file agents/NAME.md.",
        "agents/old: It is not read: an agent is a file agents/NAME.md.",
        "persons/LICENSE: It is not read: a person is a file persons/NAME.md.",
    )
    assert {"bound", "bare"} <= set(space.agents)


@pytest.mark.parametrize("path", ["file", "file/below", "\0", "x" * 5_000])
def test_what_is_no_folder_is_told_apart_from_nothing(tmp_path: Path, path: str) -> None:
    """R231: a file is not said to be missing, and no path is anything but one typed error."""
    (tmp_path / "file").write_text("print()")
    with pytest.raises(BrokenWorkspace, match="is not a folder that can be read") as caught:
        Workspace.folder(tmp_path / path)
    assert str(caught.value).endswith("Give the folder that has agents/NAME.md in it.")


def test_two_skills_of_one_name_are_not_bound_together() -> None:
    """R203: their headings would be the same; available together they may be."""
    one = skill_package("same", "x", "1")
    other = msgspec.structs.replace(one.summary, id="skills/other")
    two = msgspec.structs.replace(one, summary=other)
    bound = AgentDeclaration(name="a", skills=("same", "other"))
    with pytest.raises(BrokenWorkspace, match="'same' are bound"):
        Workspace.build(agents=[bound], skills=[one, two])
    beside = AgentDeclaration(name="a", skills=("same",), available=("other",))
    assert Workspace.build(agents=[beside], skills=[one, two]).agents
    with pytest.raises(BrokenWorkspace, match="skills: 2 of them"):
        Workspace.build(agents=[beside], skills=[one, one, two])


def test_odd_skills_load_with_a_warning_and_hopeless_ones_do_not(tmp_path: Path) -> None:
    """S10: lenient with what others publish; links and hopeless heads are left out and told."""
    root = made(
        tmp_path,
        {
            "skills/odd/SKILL.md": "---\nname: O: dd\ndescription: Use: it\n---\n",
            "skills/bare/SKILL.md": "no head",
            "skills/bytes/SKILL.md": b"\xff",
            "skills/a/b/c/d/e/SKILL.md": "---\ndescription: too deep\n---\n",
            "skills/empty/readme.md": "",
        },
    )
    (root / "skills" / "linked").symlink_to(root / "skills" / "refunds")
    space = Workspace.folder(root)
    assert set(space.skills) == {"skills/refunds", "skills/group/tables", "skills/odd"}
    about = {warning.partition(":")[0] for warning in space.warnings}
    assert about >= {f"skills/{name}/SKILL.md" for name in ("odd", "bare", "bytes")}
    assert "skills/linked" in about


def test_skills_and_instructions_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    """R26, R68: an edit reaches the next read; agents and persons stand as they were loaded."""
    root = made(tmp_path)
    space = Workspace.folder(root)
    made(
        root,
        {
            "skills/refunds/SKILL.md": "---\ndescription: Money.\n---\nEdited",
            "AGENTS.md": "Other.",
            "agents/plain.md": "Edited.",
            "persons/ada.md": "Edited.",
        },
    )
    assert space.read_skill("skills/refunds").body == "Edited"
    assert space.instructions() == "Other.\n\nSecond."
    assert space.agent("plain").prompt == "You are plain."
    assert space.person_text("ada") == "Ada counts."


def test_instructions_that_cannot_be_kept_are_refused(tmp_path: Path) -> None:
    """R68, R194: with the file named, and with the bound."""
    root = made(tmp_path)
    space = Workspace.folder(root)
    (root / "INSTRUCTIONS.md").write_bytes(b"\xff")
    with pytest.raises(InvalidInput, match="INSTRUCTIONS"):
        space.instructions()
    (root / "INSTRUCTIONS.md").write_bytes(b"x" * 300_000)
    with pytest.raises(TooLarge):
        space.instructions()
    (root / "INSTRUCTIONS.md").unlink()
    (root / "AGENTS.md").unlink()
    assert space.instructions() == ""


@pytest.mark.parametrize(
    "skill", ["skills/shut", "skills/gone", "../secret", "refunds", "skills/late"]
)
def test_only_what_was_loaded_is_read(tmp_path: Path, skill: str) -> None:
    """R20, S10: an id is looked up, never taken for a path; a disabled skill is none."""
    space = Workspace.folder(made(tmp_path))
    made(tmp_path, {"skills/late/SKILL.md": "---\ndescription: Came later.\n---\n"})
    with pytest.raises(SkillUnavailable):
        space.read_skill(skill)


def test_a_skill_that_vanished_is_unavailable(tmp_path: Path) -> None:
    """R27: known to the workspace, gone from the disk."""
    root = made(tmp_path)
    space = Workspace.folder(root)
    (root / "skills/refunds/SKILL.md").unlink()
    with pytest.raises(SkillUnavailable):
        space.read_skill("skills/refunds")


def test_presets_and_preamble_come_from_the_folder(tmp_path: Path) -> None:
    """R7, R66: a workspace may bring its own."""
    preset = "presets:\n- {id: careful, label: L, policy: P, confined_write: ask, write: refuse}\n"
    root = made(tmp_path, {"presets.yaml": preset, "preamble.md": "Be true.\n"})
    space = Workspace.folder(root)
    assert space.presets.ids == ("careful",)
    assert space.preamble == "Be true."
    assert space.files_root == root / "files"


@pytest.mark.parametrize("where", ["gone", "empty"])
def test_a_folder_without_agents_is_no_workspace(tmp_path: Path, where: str) -> None:
    """A slip in the path is told, not taken for a workspace."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(BrokenWorkspace):
        Workspace.folder(tmp_path / where)


def test_the_sample_loads_without_a_warning() -> None:
    """What is shipped is right, and its agents' parts are worth sharing."""
    space = Workspace.folder(SAMPLE)
    assert space.warnings == ()
    assert set(space.agents) == {"analyst", "support"}
    assert set(space.persons) == {"ada", "ben"}
    assert space.files_root is not None
    assert "index.md" in space.read_skill("skills/refunds").files
    for agent in space.agents.values():
        bound, _ = space.skills_for(agent)
        bodies = sum(len(space.read_skill(skill.id).body) for skill in bound)
        assert len(agent.prompt) + bodies > 2_500
