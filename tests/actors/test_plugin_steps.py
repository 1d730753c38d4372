"""Laws of a person's steps: taken only if the workspace is whole after them, and inside of it."""

import random
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.actors import Workspace
from greenroom.actors.plugin_files import read_plugin
from greenroom.actors.plugin_folder import read_shelf
from greenroom.actors.plugin_steps import approve, propose, reject, remove
from greenroom.protocol.catalog import Catalog
from greenroom.protocol.contributor import Owner
from greenroom.protocol.errors import BrokenWorkspace, GreenroomError, InvalidInput
from greenroom.protocol.plugin import Plugin
from greenroom.protocol.refusal import NotAsShown, UnknownPlugin
from tests.actors.packing import FILES, gzipped, lying, tarred, zipped
from tests.protocol.plugin_samples import NEWS, STANCE, bare, plugin

NOW = 1_700_000_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return lying(tmp_path / "ws", {"agents/a.md": "You help."})


def offer(root: Path, of: Plugin, owner: Owner = "author") -> Catalog:
    return propose(root, of, owner=owner, by="ada", at=NOW)


def agree(root: Path, key: str = "reviewer@1") -> Catalog:
    digest = read_shelf(root).catalog.proposal(key).digest
    return approve(root, key, digest, by="ben", at=NOW)


def files_in(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_plugin_goes_from_a_proposal_into_use_and_out_of_it(root: Path) -> None:
    """R163: each step is on the disk when it is taken; nothing is in use before its approval."""
    assert offer(root, plugin()).states == {"reviewer@1": "proposed"}
    assert Workspace.folder(root).contributors.active == ()
    assert Workspace.folder(root).skills == {}
    agree(root)
    space = Workspace.folder(root)
    assert len(space.contributors.active) == 4
    assert set(space.skills) == {"plugins/reviewer/review"}
    remove(root, "reviewer", by="ada", at=NOW)
    assert Workspace.folder(root).contributors.active == ()
    assert read_shelf(root).catalog.states == {"reviewer@1": "removed"}


def test_only_the_digest_that_was_shown_is_approved(root: Path) -> None:
    """R163: of anything else nothing is written."""
    offer(root, plugin())
    before = files_in(root)
    with pytest.raises(NotAsShown):
        approve(root, "reviewer@1", "0" * 64, by="ben", at=NOW)
    assert files_in(root) == before


def test_a_version_that_asks_for_more_waits_on_the_disk_too(root: Path) -> None:
    """P146, R164: the former stays in use until a person says so."""
    offer(root, bare())
    agree(root)
    offer(root, bare("2", contributors=({**STANCE, "text": "Obey.", "version": "2"},)))
    [text] = Workspace.folder(root).contributors.active
    assert text.version == "1"
    agree(root, "reviewer@2")
    [text] = Workspace.folder(root).contributors.active
    assert text.version == "2"
    remove(root, "reviewer", "2", by="ada", at=NOW)
    [text] = Workspace.folder(root).contributors.active
    assert text.version == "1"


def test_what_is_rejected_stays_out(root: Path) -> None:
    """R163: and may be proposed again."""
    offer(root, bare())
    reject(root, "reviewer@1", by="ben", at=NOW)
    assert read_shelf(root).catalog.states == {"reviewer@1": "rejected"}
    assert offer(root, bare()).states == {"reviewer@1": "proposed"}


def test_a_workspace_that_is_broken_takes_no_plugin(root: Path) -> None:
    """R163, R231: nothing is written into what is no workspace, or is not whole."""
    (root / "agents" / "b.md").write_text("---\nskills: [gone]\n---\n")
    with pytest.raises(BrokenWorkspace, match="gone"):
        offer(root, bare())
    for other in (root / "agents", root / "nothing"):
        with pytest.raises(GreenroomError):
            offer(other, bare())
    assert not (root / "plugins").exists()
    assert not (root / "agents" / "plugins").exists()


def test_nothing_is_taken_out_that_is_named(root: Path) -> None:
    """R163, R231: what would be broken is told, and the step is not taken."""
    offer(root, plugin())
    agree(root)
    named = "---\ncontributors: [plugins/reviewer/stance]\nskills: [plugins/reviewer/review]\n---\n"
    (root / "agents" / "a.md").write_text(named)
    before = files_in(root)
    with pytest.raises(BrokenWorkspace) as refusal:
        remove(root, "reviewer", by="ada", at=NOW)
    faults = refusal.value.facts["faults"]
    assert isinstance(faults, tuple)
    assert [fault.partition(":")[0] for fault in faults] == ["agents/a.md"] * 2
    less = plugin("2", contributors=plugin().manifest.contributors[1:3])
    with pytest.raises(BrokenWorkspace, match="plugins/reviewer/stance"):
        offer(root, less)  # an update, which would be in use at once
    assert files_in(root) == before
    (root / "agents" / "a.md").write_text("You help.")
    remove(root, "reviewer", by="ada", at=NOW)
    assert read_shelf(root).catalog.states == {"reviewer@1": "removed"}


def test_what_is_broken_can_be_taken_out(root: Path) -> None:
    """R163: a plugin that somebody edited keeps a workspace from loading, until it is removed."""
    offer(root, bare())
    agree(root)
    path = root / "plugins/reviewer/1/plugin.json"
    path.write_text(path.read_text().replace("Challenge", "Obey"))
    with pytest.raises(BrokenWorkspace, match="plugins/reviewer/1"):
        Workspace.folder(root)
    with pytest.raises(BrokenWorkspace, match="plugins/reviewer/1"):
        offer(root, bare("2"))
    remove(root, "reviewer", by="ada", at=NOW)
    assert Workspace.folder(root).contributors.active == ()


def edited(root: Path) -> None:
    path = root / "plugins/reviewer/1/plugin.json"
    path.write_text(path.read_text().replace("Challenge", "Obey"))


def scrawled(root: Path) -> None:
    with (root / "plugins/decisions.jsonl").open("a") as lines:
        lines.write("approved, I swear\n")


@pytest.mark.parametrize("broken", [edited, scrawled])
def test_nothing_is_approved_beside_what_is_not_as_it_was_decided(
    root: Path, broken: Callable[[Path], None]
) -> None:
    """R163: also where the version that is approved is as it was shown."""
    offer(root, bare())
    agree(root)
    offer(root, bare("2", contributors=({**STANCE, "text": "Obey.", "version": "2"},)))
    digest = read_shelf(root).catalog.proposal("reviewer@2").digest
    broken(root)
    before = files_in(root)
    with pytest.raises(BrokenWorkspace, match="plugins/"):
        approve(root, "reviewer@2", digest, by="ben", at=NOW)
    assert files_in(root) == before


@pytest.mark.parametrize(
    "step",
    [
        lambda root: remove(root, "gone", by="a", at=NOW),
        lambda root: remove(root, "reviewer", by="a", at=NOW),
        lambda root: remove(root, "reviewer", "1", by="a", at=NOW),
        lambda root: reject(root, "gone@1", by="a", at=NOW),
        lambda root: approve(root, "gone@1", "", by="a", at=NOW),
    ],
)
def test_a_step_with_nothing_is_told(root: Path, step: Callable[[Path], object]) -> None:
    """R163: a name that nothing has, and a version that does not stand."""
    offer(root, bare())
    with pytest.raises(UnknownPlugin):
        step(root)


def test_a_zone_that_no_machine_knows_is_refused_when_it_is_proposed(root: Path) -> None:
    """R151: before anybody is asked to approve it."""
    condition = {"kind": "date_crossed", "zone": "Europe/Nowhere"}
    with pytest.raises(InvalidInput, match="Nowhere"):
        offer(root, bare(contributors=({**NEWS, "condition": condition},)))
    assert not (root / "plugins").exists()


def test_what_a_plugin_may_call_is_not_approved_elsewhere(root: Path) -> None:
    """R165: the switches of a workspace speak of its own runs."""
    clock = plugin().manifest.contributors[1]
    offer(root, bare(contributors=(clock,), tools={"look": "read"}))
    agree(root)
    (root / "switches.yaml").write_text("approved: ['plugins/reviewer/clock@1']\n")
    with pytest.raises(BrokenWorkspace, match=r"switches\.yaml"):
        Workspace.folder(root)
    (root / "switches.yaml").write_text("switched_off: [plugins/reviewer/clock]\n")
    assert Workspace.folder(root).contributors.off == {"plugins/reviewer/clock"}


# --- whatever an archive is called ---------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *("..", ".", "", "a", "A", "review", "plugin.yaml", "SKILL.md", "~", "C:", "\\..\\.."),
        *("a.md", "plugins", "evil", "\u202e", "..\\x", "nul", ".ssh", "agents", "x" * 300),
    ]
)
HOSTILE = st.lists(PIECES, min_size=1, max_size=5).map("/".join)
PACKERS: list[Callable[[Any], bytes]] = [zipped, tarred, lambda files: gzipped(tarred(files))]


@settings(max_examples=200)
@given(
    names=st.lists(st.tuples(HOSTILE, st.booleans()), max_size=4),
    pack=st.sampled_from(PACKERS),
    order=st.integers(),
)
def test_no_archive_writes_outside_of_the_plugins(
    names: list[tuple[str, bool]], pack: Callable[[Any], bytes], order: int
) -> None:
    """R163: whatever its entries are called, it is refused or lies at its place, and only there."""
    entries = [
        *FILES.items(),
        *((f"/{name}" if rooted else name, "evil") for name, rooted in names),
    ]
    random.Random(order).shuffle(entries)
    with tempfile.TemporaryDirectory() as folder:
        outside = Path(folder)
        root = lying(outside / "deep" / "er" / "ws", {"agents/a.md": "You help."})
        archive = lying(outside / "in", {"it": pack(entries)}) / "it"
        before = files_in(outside)
        with suppress(GreenroomError):
            offer(root, read_plugin(archive))
            agree(root)
        written = files_in(outside).keys() - before.keys()
        place = f"{root}/plugins/"
        assert all(path.startswith(place) for path in written)
        assert {path: files_in(outside)[path] for path in before} == before
        if written:
            inside = {path.removeprefix(place) for path in written}
            assert inside >= {"decisions.jsonl", "reviewer/1/plugin.json"}
            assert all(
                path == "decisions.jsonl" or path.startswith("reviewer/1/") for path in inside
            )
