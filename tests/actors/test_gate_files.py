"""Laws of `gates.yaml`: policy is read as data, and what cannot be understood is never left out."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from greenroom.actors import Workspace
from greenroom.actors.gate_files import skill_gates, workspace_gates
from greenroom.protocol.argument import Like
from greenroom.protocol.errors import BrokenWorkspace, ExtraMissing, InvalidInput, UnknownTool
from greenroom.protocol.gate import Egress, Gate
from tests.actors.policy import gate, tools
from tests.actors.stage import package, stage, workspace

FILES = {
    "agents/support.md": "You help.",
    "gates.yaml": """
egress: [API.shop.example, "*.cdn.example"]
gates:
  - tool: pay
    decision: ask
    where: {currency: [usd, eur], order.note: {like: "*gift*"}, cents: 7, rush: true}
    reason: Payments are put to a person.
  - {tool: shop_*, decision: refuse}
""",
    "skills/refunds/SKILL.md": "---\ndescription: Refunds.\n---\nBody",
    "skills/refunds/gates.yaml": "gates: [{tool: pay, decision: refuse}]",
    "skills/plain/SKILL.md": "---\ndescription: Plain.\n---\nBody",
}


def made(root: Path, more: Mapping[str, str | bytes | None] | None = None) -> Path:
    for name, content in {**FILES, **(more or {})}.items():
        if content is not None:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def faults(root: Path) -> tuple[str, ...]:
    with pytest.raises(BrokenWorkspace) as caught:
        Workspace.folder(root)
    found = caught.value.facts["faults"]
    assert isinstance(found, tuple)
    return found


def test_a_workspace_and_its_skills_have_gates(tmp_path: Path) -> None:
    """R155, R158: read with the workspace; hosts in small letters."""
    table = Workspace.folder(made(tmp_path)).gate_table
    first = Gate(
        tool="pay",
        decision="ask",
        where={
            "currency": ("usd", "eur"),
            "order.note": Like("*gift*"),
            "cents": 7,
            "rush": True,
        },
        reason="Payments are put to a person.",
    )
    assert table.gates == (first, Gate(tool="shop_*", decision="refuse"))
    assert table.egress == Egress(("api.shop.example", "*.cdn.example"))
    assert table.skills == {"skills/refunds": (Gate(tool="pay", decision="refuse"),)}


def test_without_the_file_there_is_no_policy(tmp_path: Path) -> None:
    """R158: no list is not an empty one."""
    root = made(tmp_path, {"gates.yaml": None, "skills/refunds/gates.yaml": None})
    table = Workspace.folder(root).gate_table
    assert (table.gates, table.egress, dict(table.skills)) == ((), None, {})
    assert workspace_gates(b"").egress is None
    assert workspace_gates(b"egress: []").egress == Egress(())


def test_a_workspace_made_in_code_is_the_same(tmp_path: Path) -> None:
    """R231: from a skill's package too."""
    folder = Workspace.folder(made(tmp_path)).gate_table
    told = FILES["skills/refunds/gates.yaml"].encode()
    code = workspace(
        skills=[package("refunds", files={"gates.yaml": told}), package("plain")],
        gates=folder.gates,
        egress=["API.shop.example", "*.cdn.example"],
    ).gate_table
    assert code == folder


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("gates: [{tool: pay}]", "decision"),
        ("gates: [{tool: pay, decision: permit}]", "decision"),
        ("gates: [{tool: pay, decision: ask, when: always}]", "unknown field `when`"),
        ("gates: [{tool: pay, decision: ask, where: {cents: {above: 7}}}]", "where"),
        ("gates: [{tool: 'pay me', decision: ask}]", "pay me"),
        ("gates: [{tool: pay, decision: ask, where: {a: 2026-01-01}}]", "where"),
        ("gates: {tool: pay, decision: ask}", "gates are not as declared"),
        ("gates: [" + "{tool: pay, decision: ask}, " * 1_001 + "]", "1,001 gates"),
        ("gates: [", "YAML"),
        ("- a", "YAML"),
        ('gates: [{tool: pay, decision: ask, reason: "\\ud83d"}]', "surrogate"),
        (b"\xff", "UTF-8"),
    ],
)
@pytest.mark.parametrize("file", ["gates.yaml", "skills/refunds/gates.yaml"])
def test_a_gate_that_cannot_be_understood_is_a_fault_with_its_file(
    tmp_path: Path, file: str, content: str | bytes, told: str
) -> None:
    """R155: a skill's too, though skills are read leniently: without it something is allowed."""
    [fault] = faults(made(tmp_path, {file: content}))
    assert fault.startswith(f"{file}: ")
    assert told in fault


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("egress: ['https://a.example']", "'https://a.example' is no host"),
        ("egress: [7]", "egress are not as declared"),
        ("egress: a.example", "egress are not as declared"),
        ("egress:", "egress are not as declared"),
        ("egres: [a.example]", "It holds 'egres'"),
    ],
)
def test_a_list_of_hosts_is_read_strictly(tmp_path: Path, content: str, told: str) -> None:
    """R158: a slip must not pass for a choice."""
    [fault] = faults(made(tmp_path, {"gates.yaml": content}))
    assert told in fault


def test_a_skill_sets_no_egress_and_what_else_it_says_is_passed_over(tmp_path: Path) -> None:
    """R3: a skill's file only tightens; a word on what is not read of it."""
    told = "operations: []\negress: [evil.example]\ngates: [{tool: pay, decision: ask}]"
    made_ = Workspace.folder(
        made(tmp_path, {"skills/refunds/gates.yaml": told, "gates.yaml": None})
    )
    assert made_.gate_table.egress is None
    assert made_.gate_table.skills["skills/refunds"] == (Gate(tool="pay", decision="ask"),)
    assert [w for w in made_.warnings if "passed over" in w] == [
        "skills/refunds/gates.yaml: It holds 'egress', which is passed over.",
        "skills/refunds/gates.yaml: It holds 'operations', which is passed over.",
    ]


def test_a_file_that_is_easily_written_otherwise_is_a_fault(tmp_path: Path) -> None:
    """R231: it would not be read, and nobody would be told."""
    [fault] = faults(made(tmp_path, {"gates.yml": FILES["gates.yaml"], "gates.yaml": None}))
    assert fault == "gates.yml: It is not read; write it as gates.yaml."


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    # R155
    root = made(tmp_path, {"gates.yaml": None})
    (root / "skills/refunds/gates.yaml").unlink()
    (root / "skills/refunds/gates.yaml").symlink_to(root / "agents/support.md")
    [fault] = faults(root)
    assert fault.startswith("skills/refunds/gates.yaml: ")


@pytest.mark.parametrize(
    "told", [{"gates": [gate(tool="pay me")]}, {"egress": ["https://a"]}, {"egress": "a b"}]
)
def test_faults_in_code_are_told_like_those_of_files(told: dict[str, object]) -> None:
    # R231
    with pytest.raises(BrokenWorkspace, match="gates: "):
        workspace(**told)
    files = {"gates.yaml": b"gates: [{tool: pay}]"}
    with pytest.raises(BrokenWorkspace, match=r"skills/x/gates.yaml: Its gates"):
        workspace(skills=[package("x", files=files)])


def test_without_the_parser_no_gate_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """R155: what is missing is the extra; a workspace without gates needs none."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ExtraMissing):
        workspace(skills=[package("x", files={"gates.yaml": b"gates: []"})])
    workspace(skills=[package("x")], gates=[gate()])
    with pytest.raises(ExtraMissing):
        skill_gates(b"gates: []")


@pytest.mark.parametrize(
    ("made_", "error", "told"),
    [
        (gate(tool="pai"), UnknownTool, "pai"),
        (
            gate(cent=7),
            InvalidInput,
            "looks at 'cent', which is no argument of it. Name one of its arguments: cents",
        ),
        (gate(tool="use_tool"), InvalidInput, "Name the tool that it calls"),
    ],
)
async def test_a_gate_that_would_do_nothing_keeps_a_host_from_opening(
    made_: Gate, error: type[Exception], told: str
) -> None:
    """R155, R216: a slip in a name must not pass for a choice. Of names by their beginning, and of
    a skill from others, nobody can tell."""
    slip = workspace(gates=[made_])
    with pytest.raises(error, match=told):
        async with stage(work=slip, tools=tools([])):
            pass
    fits = workspace(
        gates=[gate(cents=7), gate(tool="none_*"), gate(tool="look")],
        skills=[package("x", files={"gates.yaml": b"gates: [{tool: none, decision: ask}]"})],
    )
    async with stage(work=fits, tools=tools([])):
        pass
