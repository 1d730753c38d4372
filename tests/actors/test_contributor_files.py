"""Laws of declared contributors: read strictly, installed whole, every fault told with its file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from greenroom.actors.skill_source import skill_package
from greenroom.actors.workspace import SAMPLE, Workspace
from greenroom.actors.workspace_files import Person
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.condition import DateCrossed, VersionChanged
from greenroom.protocol.contributor import EagerLoad, EagerRun, Note, Text, personality, stance
from greenroom.protocol.errors import BrokenWorkspace
from tests.protocol.prompt_samples import load, note, run, text

ONE = """\
kind: text
id: money
version: "1"
owner: workspace
placement: agent
text: Money is in pence.
"""
HEAD = "{kind: text, id: a, version: '1', owner: workspace, placement: agent, text: Hi"
FILES = {
    "agents/support.md": "---\nskills: [refunds]\ncontributors: [reviewer]\n---\nYou help.\n",
    "agents/plain.md": "You are plain.",
    "persons/ada.md": "---\ncontributors: [voice]\n---\n",
    "skills/refunds/SKILL.md": "---\ndescription: Money.\n---\nBody",
    "contributors/money.yaml": ONE,
    "contributors/several.yml": """\
- {kind: eager_load, id: tables, version: "1", owner: workspace, placement: conversation,
   skill: refunds, files: [a.md]}
- kind: note
  id: news
  version: "1"
  owner: workspace
  placement: message
  condition: {kind: version_changed, of: [refunds, catalog]}
  text: What you were given has changed.
""",
    "contributors/clock.toml": """\
[[contributors]]
kind = "eager_run"
id = "clock"
version = "1"
owner = "operator"
placement = "conversation"
tool = "get_current_time"
about = "The time when this conversation began"
[[contributors]]
kind = "text"
id = "reviewer"
version = "2"
owner = "author"
placement = "agent"
text = "Challenge premises."
""",
    "contributors/voice.json": '{"kind": "text", "id": "voice", "version": "1", "owner": "person",'
    ' "placement": "person", "text": "Be warm.", "priority": -1000}',
    "contributors/.hidden": "not read",
}


def made(root: Path, more: Mapping[str, str | bytes] | None = None) -> Path:
    for name, content in {**FILES, **(more or {})}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def faults(root: Path, more: Mapping[str, str | bytes]) -> list[str]:
    """What keeps a workspace with these files from being loaded."""
    with pytest.raises(BrokenWorkspace) as caught:
        Workspace.folder(made(root, more))
    found = caught.value.facts["faults"]
    assert isinstance(found, tuple)
    return sorted(found)


def in_code(**fields: Any) -> Workspace:
    return Workspace.build(
        **{
            "agents": [
                AgentDeclaration(name="support", skills=("refunds",), contributors=("reviewer",)),
                AgentDeclaration(name="plain"),
            ],
            "persons": [Person(name="ada", contributors=("voice",))],
            "skills": [skill_package("refunds", "Money.", "Body")],
            "contributors": [
                text("money"),
                load("tables", skill="refunds", files=("a.md",)),
                note(
                    "news",
                    "What you were given has changed.",
                    condition=VersionChanged(("refunds", "catalog")),
                ),
                run(
                    "clock",
                    "get_current_time",
                    owner="operator",
                    about="The time when this conversation began",
                ),
                stance("reviewer", "2", "Challenge premises."),
                text("voice", "Be warm.", owner="person", placement="person", priority=-1_000),
            ],
            **fields,
        }
    )


@pytest.mark.parametrize("kind", ["folder", "code"])
def test_contributors_are_the_same_from_a_folder_and_from_code(tmp_path: Path, kind: str) -> None:
    """R131, R231: in YAML, TOML, JSON and Python; skills are named by their folders."""
    space = Workspace.folder(made(tmp_path)) if kind == "folder" else in_code()
    installed = space.contributors
    assert [each.key for each in installed.active] == [
        "money@1",
        "reviewer@2",
        "voice@1",
        "clock@1",
        "tables@1",
        "news@1",
    ]
    assert installed.read("money@1") == text("money")
    tables, news, clock = (installed.read(f"{name}@1") for name in ("tables", "news", "clock"))
    assert isinstance(tables, EagerLoad)
    assert (tables.skill, tables.files) == ("skills/refunds", ("a.md",))
    assert isinstance(news, Note)
    assert news.condition == VersionChanged(("skills/refunds", "catalog"))
    assert isinstance(clock, EagerRun)
    assert (clock.tool, clock.arguments) == ("get_current_time", {})
    assert space.warnings == ()


def test_whose_authority_was_used_is_on_record(tmp_path: Path) -> None:
    """R135: whoever wrote the workspace installed it, under each owner's authority."""
    uses = Workspace.folder(made(tmp_path)).contributors.uses
    assert {(use.act, use.by) for use in uses} == {("add", "the workspace")}
    assert {use.contributor: use.owner for use in uses}["clock@1"] == "operator"


def test_what_an_author_or_a_person_owns_reaches_those_who_name_it(tmp_path: Path) -> None:
    """R63, R140: the rest is everybody's; a session without a person has nothing of one."""
    space = Workspace.folder(made(tmp_path))

    def reaching(agent: str, person: str | None = None) -> set[str]:
        return {each.id for each in space.contributors_for(space.agent(agent), person)}

    everybodys = {"money", "clock", "tables", "news"}
    assert reaching("plain") == everybodys
    assert reaching("support") == everybodys | {"reviewer"}
    assert reaching("support", "ada") == everybodys | {"reviewer", "voice"}
    assert reaching("plain", "nobody") == everybodys


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "object"),
        ("[]x", "YAML"),
        ("kind: text\nkind: note\n", "'kind' twice"),
        (f"- {HEAD}}}\n- 7\n", "no. 2"),
        (f"{HEAD}, colour: red}}", "colour"),
        (HEAD.replace("text: Hi", "text: [Hi]}"), "text"),
        (HEAD.replace("kind: text", "kind: code") + "}", "code"),
        (HEAD.replace(", placement: agent", "") + "}", "placement"),
        (HEAD.replace("'1'", "1") + "}", "version"),
        (HEAD.replace("agent", "message") + "}", "placement"),
        (f"{HEAD} {{now}}}}".replace("Hi {now}", "'Hi {now}'"), "varies by message"),
        (f"{HEAD}, budget: 0}}", "budget"),
        (f"{HEAD}, priority: 9999}}", "priority"),
        (HEAD.replace("workspace", "person") + "}", "person"),
        (HEAD.replace("id: a", "id: preamble") + "}", "built-in"),
        (HEAD.replace("id: a", "id: '</x>'") + "}", "id"),
        (f"{HEAD}, reach: turns_with_a_person}}", "reach"),
        ("&a [*a]", ""),
        ("x" * 70_000, "70,000"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_slip_in_a_file_is_a_fault_of_that_file(tmp_path: Path, content: str, told: str) -> None:
    """R131, R134, P066, P194: named with the field; nothing is half-installed."""
    [fault] = faults(tmp_path, {"contributors/bad.yaml": content})
    assert fault.startswith("contributors/bad.yaml")
    assert told in fault


def test_what_expands_without_end_is_refused_at_once(tmp_path: Path) -> None:
    """R131, R193: a short file whose arguments would be of a size beyond any machine."""
    lines = ["kind: eager_run", "id: a", "version: '1'", "owner: workspace"]
    lines += ["placement: conversation", "tool: look", "arguments:", "  a: &a0 [x, x]"]
    lines += [f"  b{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    [fault] = faults(tmp_path, {"contributors/bomb.yaml": "\n".join(lines)})
    assert "arguments" in fault


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.toml", "kind = "),
        ("bad.toml", f"kind = {'[' * 5_000}"),
        ("bad.json", "{"),
        ("bad.json", '{"kind": "text", "kind": "note"}'),
        ("bad.json", '{"kind": NaN}'),
        ("bad.json", "[" * 100_000),
        ("bad.json", b"\xff"),
        ("bad.yaml", b"\x00"),
        ("bad.yaml", "{" * 5_000),
        ("readme.md", "Hello."),
        ("no_ending", ""),
        ("folder/more.yaml", ONE),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, name: str, content: str | bytes
) -> None:
    """R231: whatever lies in the folder is read or is a fault."""
    [fault] = faults(tmp_path, {f"contributors/{name}": content})
    assert fault.startswith(f"contributors/{name.partition('/')[0]}: ")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """S10: a declaration lies in the workspace itself."""
    root = made(tmp_path)
    (root / "contributors" / "link.yaml").symlink_to(root / "contributors" / "money.yaml")
    [fault] = faults(root, {})
    assert fault.startswith("contributors/link.yaml: ")


def test_a_list_has_a_bound(tmp_path: Path) -> None:
    """R131: and a folder with too many versions is refused by the same one."""
    content = "[" + ", ".join(["1"] * 1_001) + "]"
    [fault] = faults(tmp_path, {"contributors/many.json": content})
    assert "1,000" in fault


def test_a_contributor_over_its_budget_is_told_with_figures(tmp_path: Path) -> None:
    """P102, R103: where it was declared, and the workspace is not loaded without it."""
    large = ONE.replace("Money is in pence.", "x" * 4_000).replace("money", "large")
    [fault] = faults(tmp_path, {"contributors/large.yaml": f"budget: 500\n{large}"})
    assert fault.startswith("contributors/large.yaml: ")
    assert "1,334 tokens" in fault
    assert "500" in fault


def test_one_version_has_one_content(tmp_path: Path) -> None:
    """R138, R203: declared twice alike it is one; declared otherwise it is refused."""
    other = {"contributors/other.yaml": ONE.replace("pence", "EUR")}
    [fault] = faults(tmp_path / "a", other)
    assert "money@1" in fault
    Workspace.folder(made(tmp_path / "b", {"contributors/other.yaml": ONE}))
    newer = {"contributors/other.yaml": ONE.replace("pence", "EUR").replace('"1"', '"2"')}
    space = Workspace.folder(made(tmp_path / "c", newer))
    assert {each.version for each in space.contributors.active if each.id == "money"} == {"2"}
    assert space.contributors.read("money@1") == text("money")


def test_what_is_named_has_to_be_there(tmp_path: Path) -> None:
    """R231: by agents, persons, loads and conditions; and only what is theirs can be bound."""
    news = FILES["contributors/several.yml"].replace("refunds", "gone")
    told = faults(
        tmp_path,
        {
            "agents/support.md": "---\ncontributors: [gone, money]\n---\n",
            "persons/ada.md": "---\ncontributors: [reviewer]\n---\n",
            "contributors/several.yml": news,
        },
    )
    assert [fault.partition(":")[0] for fault in told] == [
        "agents/support.md",
        "agents/support.md",
        "contributors/several.yml, no. 1",
        "contributors/several.yml, no. 2",
        "persons/ada.md",
    ]
    assert "'gone'" in told[1] or "'gone'" in told[0]


def test_what_reaches_nobody_is_odd(tmp_path: Path) -> None:
    """P088: declared and bound by no one, it is loaded with a warning."""
    more = {"agents/support.md": "You help.", "persons/ada.md": "Likes plain words."}
    warnings = Workspace.folder(made(tmp_path, more)).warnings
    assert [("reviewer" in each, "voice" in each) for each in sorted(warnings)] == [
        (True, False),
        (False, True),
    ]


def test_a_zone_that_no_machine_knows_is_a_fault() -> None:
    """R151: when it is declared, not when its note is due."""
    with pytest.raises(BrokenWorkspace, match="Europe/Nowhere"):
        in_code(contributors=[note("n", condition=DateCrossed("Europe/Nowhere"))])


@pytest.mark.parametrize("value", [print, "text", None, {"kind": "text"}])
def test_only_declarations_are_contributors(value: object) -> None:
    """R131: in code too; a callable is none."""
    with pytest.raises(BrokenWorkspace, match="no contributor"):
        in_code(contributors=[value])


def test_switches_and_approvals_stand_apart_from_what_they_are_for(tmp_path: Path) -> None:
    """R141, R149: a declaration cannot approve itself; the workspace says what holds in it."""
    space = Workspace.folder(
        made(tmp_path, {"switches.yaml": "switched_off: [money, catalog]\napproved: ['clock@1']\n"})
    )
    assert space.contributors.off == {"money", "catalog"}
    assert space.contributors.approved == {"clock@1"}
    assert "approve" in {use.act for use in space.contributors.uses}
    built = in_code(switched_off=["money", "catalog"], approved=["clock@1"]).contributors
    assert (built.off, built.approved) == (space.contributors.off, space.contributors.approved)


@pytest.mark.parametrize(
    "content",
    [
        "switched_off: [gone]",
        "switched_off: [preamble]",
        "off: [money]",
        "approved: [money@1]",
        "approved: [gone@1]",
        "on: []",
        "- a",
    ],
)
def test_a_slip_in_the_switches_is_told(tmp_path: Path, content: str) -> None:
    """R141, R149: a name that nothing has, and a field that is none."""
    [fault] = faults(tmp_path, {"switches.yaml": content})
    assert fault.startswith("switches.yaml: ")


def test_a_workspace_without_contributors_has_none(tmp_path: Path) -> None:
    """R231: the folder may be missing."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "a.md").write_text("Hi.")
    assert Workspace.folder(tmp_path).contributors.active == ()


def test_the_sample_declares_what_every_agent_shares() -> None:
    """R65: nothing of a moment is in what stands in front of a conversation."""
    active = Workspace.folder(SAMPLE).contributors.active
    assert [(each.id, each.placement) for each in active] == [
        ("sources", "platform"),
        ("another-day", "message"),
    ]


def test_a_voice_is_built_in_python_like_the_rest() -> None:
    """R140: a personality is a text of a person, which a person names."""
    voice = personality("voice", "1", "Be warm.")
    assert isinstance(voice, Text)
    space = in_code(contributors=[voice, stance("reviewer", "1", "Challenge.")])
    assert space.contributors_for(space.agent("plain"), "ada") == (voice,)
