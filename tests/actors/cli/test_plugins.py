"""Laws of ``greenroom plugin``: all of a proposal is printed, and only its digest approves it."""

import json
import subprocess
from pathlib import Path

import pytest

from greenroom.actors import Workspace
from tests.actors.cli.commands import ran
from tests.actors.packing import FILES, MANIFEST, gzipped, lying, tarred, zipped

OWNER_LINE = (
    "owner: author, so it reaches the agents that name it; it may add text and run what only reads"
)
ACTS = ("propose", "show", "approve", "reject", "remove", "list")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lying(tmp_path / "plugin", FILES)
    return lying(tmp_path / "ws", {"agents/a.md": "You help."})


def plugin(root: Path, *arguments: object, given: str = "") -> subprocess.CompletedProcess[str]:
    """``greenroom plugin ...`` on the workspace."""
    return ran(root.parent, "plugin", *arguments, "--workspace", root, given=given)


def digest_of(output: str) -> str:
    """What stands below a proposal."""
    [line] = [line for line in output.splitlines() if line.startswith("digest ")]
    return line.removeprefix("digest ")


def newer(root: Path, **change: str) -> Path:
    """The plugin in another version, with words exchanged."""
    manifest = MANIFEST.replace('version: "1"\ndesc', 'version: "2"\ndesc')
    for before, after in change.items():
        assert before in manifest
        manifest = manifest.replace(before, after)
    return lying(root.parent / "newer", {**FILES, "plugin.yaml": manifest})


def test_the_acts_are_told(tmp_path: Path) -> None:
    """All of them in one place, and each explains itself."""
    done = ran(tmp_path, "plugin", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"│ {act}" in done.stdout for act in ACTS)
    assert "--owner" in ran(tmp_path, "plugin", "propose", "--help").stdout


def test_a_proposal_is_printed_whole_and_is_not_in_use(root: Path) -> None:
    """R163: text, tools, placement, priority, budget, reach, hosts and skills, under a digest."""
    done = plugin(root, "propose", root.parent / "plugin", "--by", "ada")
    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        "plugin reviewer@1",
        "  | A reviewer's stance.",
        OWNER_LINE,
        "contributor plugins/reviewer/stance@1: text",
        "  placement agent, priority 0, budget 1,000 tokens, reach every_turn",
        "  | Challenge premises.",
        "  runs look, which only reads, with:",
        "  look: only reads",
        "hosts: none",
        "skill plugins/reviewer/review",
        "  | Read twice.",
    ):
        assert line in done.stdout.splitlines()
    assert "reviewer@1: needs approval (owner author; proposed by ada, " in done.stdout
    assert len(digest_of(done.stdout)) == 64
    assert Workspace.folder(root).contributors.active == ()


@pytest.mark.parametrize("by_option", [True, False])
def test_only_the_digest_that_was_shown_approves(root: Path, by_option: bool) -> None:
    """R163: given with the command, or typed below the proposal that is shown again."""
    digest = digest_of(plugin(root, "propose", root.parent / "plugin").stdout)

    def approving(given: str) -> subprocess.CompletedProcess[str]:
        arguments = ("--digest", given) if by_option else ()
        return plugin(root, "approve", "reviewer", 1, *arguments, "--by", "ben", given=f"{given}\n")

    for wrong in ("y", digest[:12]):
        refused = approving(wrong)
        assert refused.returncode == 1
        assert refused.stderr.startswith("greenroom: 'reviewer@1' is proposed with the digest")
        assert Workspace.folder(root).contributors.active == ()
    done = approving(digest)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("Challenge premises." in done.stdout) is not by_option
    assert "reviewer@1: active (owner author; approved by ben, " in done.stdout
    assert len(Workspace.folder(root).contributors.active) == 2


def test_nothing_typed_approves_nothing(root: Path) -> None:
    """R163: an empty line, or the end of what is typed."""
    plugin(root, "propose", root.parent / "plugin")
    for given in ("\n", ""):
        done = plugin(root, "approve", "reviewer", 1, given=given)
        assert done.returncode == 2
        assert "Nothing was approved" in done.stderr
    assert Workspace.folder(root).contributors.active == ()


def approved(root: Path) -> None:
    digest = digest_of(plugin(root, "propose", root.parent / "plugin").stdout)
    assert plugin(root, "approve", "reviewer", 1, "--digest", digest).returncode == 0


def test_a_version_that_asks_for_more_is_shown_as_a_difference(root: Path) -> None:
    """P146, R164: beside the one in use, which stays in use."""
    approved(root)
    more = newer(
        root, **{"Challenge premises.": "Obey me.", 'stance, version: "1"': 'stance, version: "2"'}
    )
    done = plugin(root, "propose", more)
    lines = done.stdout.splitlines()
    assert "Beside reviewer@1, approved before:" in lines
    assert "plugins/reviewer/stance text: Challenge premises. -> Obey me. (asks for more)" in lines
    assert "reviewer@2: needs approval" in done.stdout
    listed = plugin(root, "list").stdout
    assert "reviewer@1: active" in listed
    assert "reviewer@2: needs approval" in listed
    [text, _] = Workspace.folder(root).contributors.active
    assert text.version == "1"
    shown = plugin(root, "show", "reviewer", 2)
    assert shown.stdout == done.stdout


def test_a_version_that_asks_for_no_more_is_in_use_at_once(root: Path) -> None:
    """R164: and is told as what it is."""
    approved(root)
    done = plugin(root, "propose", newer(root))
    assert "It asks for the same." in done.stdout
    assert "reviewer@2: active (owner author; proposed, and asks for no more" in done.stdout


@pytest.mark.parametrize("packed", [zipped(FILES), gzipped(tarred(FILES))])
def test_an_archive_is_proposed_like_its_folder(root: Path, packed: bytes) -> None:
    """R162: with the same digest."""
    archive = lying(root.parent, {"it": packed}) / "it"
    digest = digest_of(plugin(root, "propose", archive).stdout)
    assert digest_of(plugin(root, "propose", root.parent / "plugin").stdout) == digest


def test_rejecting_removing_and_listing(root: Path) -> None:
    """R163: each is told on a line, and as JSON for programs."""
    plugin(root, "propose", root.parent / "plugin")
    assert "rejected by ben" in plugin(root, "reject", "reviewer", 1, "--by", "ben").stdout
    approved(root)
    done = plugin(root, "remove", "reviewer", "--by", "cy")
    assert "reviewer@1: removed (owner author; removed by cy, " in done.stdout
    listed = plugin(root, "list", "--json")
    [one] = [json.loads(line) for line in listed.stdout.splitlines()]
    assert (one["plugin"], one["version"], one["state"], one["by"]) == (
        "reviewer",
        "1",
        "removed",
        "cy",
    )
    assert plugin(root, "list").stdout.endswith("1 version\n")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("propose", "nothing"), 1, "at 'nothing'. Give the path of its folder or archive."),
        (("propose", "ws/agents/a.md"), 1, "It is no zip, tar or tar.gz"),
        (("propose", "evil"), 1, "leads out of the package"),
        (("propose", "plugin", "--owner", "nobody"), 2, "--owner"),
        (("show", "gone", "1"), 1, "No plugin 'gone@1' was proposed"),
        (("approve", "gone", "1", "--digest", "x"), 1, "No plugin 'gone@1' was proposed"),
        (("remove", "gone"), 1, "No version of 'gone' is in use"),
        (("list", "more"), 2, ""),
        (("nix",), 2, ""),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(
    root: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, told: str
) -> None:
    """R232: with its way out and no traceback; nothing is changed."""
    lying(root.parent, {"evil": tarred([*FILES.items(), ("../evil.md", "x")])})
    monkeypatch.chdir(root.parent)
    done = plugin(root, *arguments)
    assert done.returncode == code
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (root / "plugins").exists()


def test_hidden_signs_are_spelled_out_at_a_terminal(root: Path) -> None:
    """R163: what a person cannot see is not approved unseen."""
    hidden = newer(root, **{"Challenge premises.": '"Be kind.\\u200b\\e[8m\\U000E0041"'})
    done = plugin(root, "propose", hidden)
    assert "  | Be kind.<U+200B><U+001B>[8m<U+E0041>" in done.stdout.splitlines()


def test_what_a_plugin_brings_is_listed_with_the_rest(root: Path) -> None:
    """R139: by `greenroom contributors`, also where the workspace is broken."""
    approved(root)
    assert "plugins/reviewer/stance@1" in ran(root.parent, "contributors", root).stdout
    (root / "agents" / "b.md").write_text("---\nskills: [gone]\n---\n")
    done = ran(root.parent, "contributors", root)
    assert done.returncode == 1
    assert "plugins/reviewer/stance@1" in done.stdout
