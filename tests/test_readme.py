"""The README's examples run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

from greenroom.actors import Workspace
from greenroom.actors.plugin_files import read_plugin
from greenroom.protocol import AgentDeclaration, EagerLoad, EagerRun, Note, Text
from greenroom.protocol.installed import TRUSTED, Terms
from greenroom.protocol.plugin import Manifest
from greenroom.protocol.plugin_rules import proposed

README = Path(__file__).parent.parent / "README.md"


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    """The twenty lines run in an empty folder and print the answer and how the turn ended."""
    example = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert example is not None
    assert printed(example[1], tmp_path) == "It left this morning.\n[done, 4 messages]\n"


def test_the_example_without_trio_runs(tmp_path: Path) -> None:
    """R188: from asyncio and from a plain program, over one store."""
    example = re.search(r"```python\n(import asyncio\n.*?)```", README.read_text(), re.DOTALL)
    assert example is not None
    assert printed(example[1], tmp_path) == "It left this morning.\nTomorrow.\n"


def printed(program: str, folder: Path) -> str:
    """What a program prints that ends well."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_presets_of_the_readme_can_be_read(tmp_path: Path) -> None:
    """The example of ``presets.yaml`` is one."""
    example = re.search(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "a.md").write_text("Help.")
    (tmp_path / "presets.yaml").write_text(example[1])
    assert Workspace.folder(tmp_path).presets.ids == ("careful",)


def yaml_of(beginning: str) -> str:
    """The one example in YAML that begins so."""
    found = re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)
    (example,) = [one for one in found if one.startswith(beginning)]
    return str(example)


def test_the_contributor_of_the_readme_can_be_read(tmp_path: Path) -> None:
    """R131: the example is a declaration, and names every field that a text has."""
    example = yaml_of("kind: text")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "a.md").write_text("Help.")
    (tmp_path / "contributors").mkdir()
    (tmp_path / "contributors" / "money.yaml").write_text(example)
    [money] = Workspace.folder(tmp_path).contributors.active
    assert money == Text(
        id="money",
        version="1",
        owner="workspace",
        placement="agent",
        text="Money is in pence. You are {agent}.",
        heading="Money",
    )
    fields = {line.partition(":")[0] for line in example.splitlines()}
    assert fields == {"kind", *Text.__struct_fields__}


def test_the_plugin_of_the_readme_can_be_proposed(tmp_path: Path) -> None:
    """R162: the example is a manifest, names every field of one, and is trusted with its host."""
    example = yaml_of("id: reviewer")
    skill = tmp_path / "skills" / "review" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: How to review.\n---\nRead twice.\n")
    (tmp_path / "plugin.yaml").write_text(example)
    plugin = read_plugin(tmp_path)
    assert proposed(plugin, "workspace", Terms(by="ada", authorities=TRUSTED)).hosts
    fields = re.findall(r"^(\w+):", example, re.MULTILINE)
    assert set(fields) == set(Manifest.__struct_fields__)


def test_the_readme_names_every_field_of_the_other_kinds() -> None:
    """R132: what each has beside what all have."""
    rows = dict(re.findall(r"^\| `(\w+)` \| `\w+` \| (.*) \|$", README.read_text(), re.MULTILINE))
    common = {*Text.__struct_fields__} - {"text", "heading", "framing"}
    for name, kind in (("eager_load", EagerLoad), ("eager_run", EagerRun), ("note", Note)):
        named = set(re.findall(r"`(\w+)`", rows[name]))
        assert named >= {*kind.__struct_fields__} - common


def test_the_gates_of_the_readme_can_be_read(tmp_path: Path) -> None:
    """The example of ``gates.yaml`` is one."""
    example = yaml_of("egress:")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "a.md").write_text("Help.")
    (tmp_path / "gates.yaml").write_text(example)
    table = Workspace.folder(tmp_path).gate_table
    assert [(gate.tool, gate.decision) for gate in table.gates] == [("refund", "ask")]
    assert table.egress is not None


def test_the_readme_names_every_key_of_an_agent() -> None:
    """A key that is added is told, and none is told that is not read."""
    table = README.read_text().partition("| key | means |")[2].partition("\n\n")[0]
    keys = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert {*keys, "name", "prompt"} == set(AgentDeclaration.__struct_fields__)
