"""Laws of ``greenroom contributors``: everything that shapes prompts, and every refusal."""

import json
from pathlib import Path

from tests.actors.cli.commands import ran

TONE = 'kind: text\nid: tone\nversion: "3"\nowner: workspace\nplacement: agent\ntext: Be brief.\n'


def made(folder: Path, **contributors: str) -> Path:
    """A workspace with one agent and these contributors."""
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "support.md").write_text("You help.")
    (folder / "contributors").mkdir()
    for name, declared in contributors.items():
        (folder / "contributors" / f"{name}.yaml").write_text(declared)
    return folder


def test_the_sample_is_listed_without_being_asked_for(tmp_path: Path) -> None:
    """R139: built in and installed, for every agent, and with what is for a person."""
    done = ran(tmp_path, "contributors")
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("preamble@", "sources@1", "skills/refunds@", "another-day@1", "agents analyst"):
        assert name in done.stdout
    listed = ran(tmp_path, "contributors", "--json", "--person", "ada", "--agent", "support")
    found = [json.loads(line) for line in listed.stdout.splitlines()]
    assert {each["owner"] for each in found} == {"operator", "workspace", "author", "person"}
    assert all(
        set(each) >= {"contributor", "owner", "placement", "priority", "budget", "reach", "on"}
        for each in found
    )


def test_what_is_off_is_told(tmp_path: Path) -> None:
    """R141: beside what is on."""
    folder = made(tmp_path / "w", tone=TONE)
    (folder / "switches.yaml").write_text("switched_off: [tone]\n")
    done = ran(tmp_path, "contributors", folder)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    about = {line.partition("@")[0]: lines[n + 1] for n, line in enumerate(lines[:-1])}
    assert " · off · " in about["tone"]
    assert " · on · " in about["agent"]


def test_a_skill_that_is_left_out_is_told_with_why(tmp_path: Path) -> None:
    """R231: whoever names it is told what its folder lacks; else it is a warning."""
    folder = made(tmp_path / "w", tone=TONE)
    (folder / "skills" / "odd").mkdir(parents=True)
    (folder / "skills" / "odd" / "SKILL.md").write_text("Body")
    done = ran(tmp_path, "contributors", folder)
    assert done.returncode == 0
    assert "warning: skills/odd/SKILL.md: It has no description" in done.stdout
    (folder / "agents" / "support.md").write_text("---\nskills: [odd]\n---\nYou help.")
    done = ran(tmp_path, "contributors", folder)
    assert done.returncode == 1
    assert "There is no skill 'odd': skills/odd/SKILL.md: It has no description" in done.stderr


def test_what_was_refused_is_told_with_its_figures(tmp_path: Path) -> None:
    """R103: beside what can be installed; every fault follows, and the exit code says so."""
    large = TONE.replace("tone", "large") + "budget: 1\n"
    folder = made(tmp_path / "w", tone=TONE, large=large, odd="kind: nothing\n")
    done = ran(tmp_path, "contributors", folder)
    assert done.returncode == 1
    assert "tone@3" in done.stdout
    assert "refused: large@3 · 'large@3' needs 4 tokens as it is rendered; its budget is 1." in (
        done.stdout
    )
    assert "contributors/large.yaml" in done.stderr
    assert "contributors/odd.yaml" in done.stderr
    assert "Traceback" not in done.stderr
    lines = ran(tmp_path, "contributors", folder, "--json").stdout.splitlines()
    assert [json.loads(line)["contributor"] for line in lines] == ["tone@3", "large@3"]


def test_an_agent_that_is_none_is_told(tmp_path: Path) -> None:
    """R232: in a sentence, with the choices."""
    done = ran(tmp_path, "contributors", made(tmp_path / "w"), "--agent", "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no agent 'nobody'; there are: support." in done.stderr
