"""Laws of reading a plugin: a folder and an archive of it are one, and all of it can be shown."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from greenroom.actors.plugin_files import files_of, plugin_in, plugin_skills, read_plugin
from greenroom.protocol.errors import ExtraMissing, GreenroomError, Missing, SameName, TooLarge
from greenroom.protocol.limits import Limits
from greenroom.protocol.plugin import Plugin
from greenroom.protocol.refusal import BadPlugin
from tests.actors.packing import FILES, MANIFEST, SKILL, gzipped, lying, tarred, zipped
from tests.protocol.plugin_samples import plugin

JSON = """{"id": "reviewer", "version": "1", "description": "A reviewer's stance.",
"tools": {"look": "read"}, "skills": ["review"], "contributors": [
{"kind": "text", "id": "stance", "version": "1", "placement": "agent",
"text": "Challenge premises."},
{"kind": "eager_run", "id": "clock", "version": "1", "placement": "conversation", "tool": "look"}]}
"""
TOML = """\
id = "reviewer"
version = "1"
description = "A reviewer's stance."
tools = {look = "read"}
skills = ["review"]
[[contributors]]
kind = "text"
id = "stance"
version = "1"
placement = "agent"
text = "Challenge premises."
[[contributors]]
kind = "eager_run"
id = "clock"
version = "1"
placement = "conversation"
tool = "look"
"""


def without(name: str) -> dict[str, str | bytes]:
    return {path: text for path, text in FILES.items() if path != name}


def as_folder(root: Path, files: dict[str, Any]) -> Path:
    return lying(root / "folder", files)


def as_zip(root: Path, files: dict[str, Any]) -> Path:
    return lying(root, {"it.zip": zipped(files)}) / "it.zip"


def as_tar(root: Path, files: dict[str, Any]) -> Path:
    return lying(root, {"it": gzipped(tarred(files))}) / "it"


sources = pytest.mark.parametrize("source", [as_folder, as_zip, as_tar])
Source = Callable[[Path, dict[str, Any]], Path]


@sources
@pytest.mark.parametrize("top", ["", "reviewer-1/"])
@pytest.mark.parametrize(
    ("name", "manifest"),
    [("plugin.yaml", MANIFEST), ("plugin.json", JSON), ("plugin.toml", TOML)],
)
def test_a_plugin_is_one_however_it_comes(
    tmp_path: Path, source: Source, top: str, name: str, manifest: str
) -> None:
    """R162: as a folder, a zip or a tar, in a folder of its own or not, in three notations."""
    files = {**without("plugin.yaml"), name: manifest, "README.md": b"\xff", ".git/x": "x"}
    read = read_plugin(source(tmp_path, {f"{top}{path}": it for path, it in files.items()}))
    assert read == read_plugin(lying(tmp_path / "other", FILES))
    assert (read.key, read.manifest.tools) == ("reviewer@1", {"look": "read"})
    assert read.texts == {path: FILES[path] for path in ("review/SKILL.md", "review/index.md")}


@sources
@pytest.mark.parametrize(
    ("files", "where"),
    [
        (without("plugin.yaml"), "plugin.yaml"),
        ({"a/plugin.yaml": MANIFEST, "b/x": ""}, "plugin.yaml"),
        ({**FILES, "plugin.json": JSON}, "plugin.json"),
        ({**FILES, "plugin.yaml": ""}, "plugin.yaml"),
        ({**FILES, "plugin.yaml": "- a"}, "plugin.yaml"),
        ({**FILES, "plugin.yaml": "{"}, "plugin.yaml"),
        ({**FILES, "plugin.yaml": b"\xff"}, "plugin.yaml"),
        ({**FILES, "plugin.yaml": f"{MANIFEST}id: again\n"}, "plugin.yaml"),
        ({**FILES, "plugin.yaml": f"{MANIFEST}colour: red\n"}, "plugin.yaml"),
        ({**FILES, "plugin.yaml": "x" * 70_000}, "plugin.yaml"),
        (without("review/SKILL.md"), "review"),
        ({**FILES, "review/SKILL.md": b"\xff"}, "review/SKILL.md"),
        ({**FILES, "review/SKILL.md": "no head"}, "review/SKILL.md"),
        ({**FILES, "review/logo.png": b"\x89PNG\xff"}, "review/logo.png"),
        ({**FILES, "review/nul": b"a\0"}, "review/nul"),
        ({**FILES, "other\nname": ""}, "other\nname"),
    ],
)
def test_what_is_no_plugin_is_refused_with_its_place(
    tmp_path: Path, source: Source, files: dict[str, Any], where: str
) -> None:
    """R162, R163: what cannot be shown cannot be approved; the refusal says what and where."""
    with pytest.raises(GreenroomError) as refusal:
        read_plugin(source(tmp_path, files))
    assert refusal.value.facts["where"] == where


@sources
@pytest.mark.parametrize(
    ("limits", "where"),
    [
        (Limits(plugin_files_max=2), ""),
        (Limits(plugin_bytes_max=330), ""),
        (Limits(plugin_file_bytes_max=200), "plugin.yaml"),
    ],
)
def test_a_plugin_has_bounds_however_it_comes(
    tmp_path: Path, source: Source, limits: Limits, where: str
) -> None:
    """R194: counted while it is read; the bound is named."""
    path = source(tmp_path, dict(FILES))
    with pytest.raises(TooLarge, match="more than") as refusal:
        read_plugin(path, limits)
    assert where in str(refusal.value.facts["where"])
    assert read_plugin(path).key == "reviewer@1"


def test_deep_folders_are_refused(tmp_path: Path) -> None:
    """R194: at the bound, whatever lies below it."""
    with pytest.raises(TooLarge, match="16"):
        read_plugin(lying(tmp_path, {**FILES, "/".join("x" * 40): ""}))


def test_what_expands_without_end_is_refused_at_once(tmp_path: Path) -> None:
    """R131, R194: a short manifest whose arguments would be of a size beyond any machine."""
    lines = [MANIFEST.rstrip().removesuffix("}") + ", arguments: {a: &a0 [x, x]"]
    lines += [f", b{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    bomb = read_plugin(lying(tmp_path, {**FILES, "plugin.yaml": "\n".join([*lines, "}}"])}))
    with pytest.raises(GreenroomError, match="arguments"):
        offer(bomb)


def offer(of: Plugin) -> None:
    """Propose it to a workspace in memory."""
    from greenroom.protocol.catalog import Catalog  # noqa: PLC0415
    from tests.protocol.plugin_samples import terms  # noqa: PLC0415

    Catalog().propose(of, terms(), owner="workspace", at=0)


def _link(root: Path) -> None:
    (root / "review" / "odd").symlink_to(root / "plugin.yaml")


def _link_to_folder(root: Path) -> None:
    (root / "odd").symlink_to(root.parent)


def _pipe(root: Path) -> None:
    os.mkfifo(root / "odd")


def _second_name(root: Path) -> None:
    os.link(root / "plugin.yaml", root / "odd")


@pytest.mark.parametrize("harm", [_link, _link_to_folder, _pipe, _second_name])
def test_a_folder_holds_plain_files_only(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """R163: no link is followed and no pipe waited on, part of the plugin or not."""
    root = lying(tmp_path / "it", FILES)
    harm(root)
    with pytest.raises(BadPlugin) as refusal:
        read_plugin(root)
    assert "odd" in str(refusal.value.facts["where"]) or harm is _second_name


def test_two_spellings_in_a_folder_are_refused(tmp_path: Path) -> None:
    """R163: as in an archive, for the folder may be read on another disk."""
    with pytest.raises(SameName):
        read_plugin(lying(tmp_path, {**FILES, "review/INDEX.md": "x"}))


def test_what_is_hidden_in_a_folder_is_not_looked_at(tmp_path: Path) -> None:
    """R162: what editors and programs leave there is no part of it."""
    root = lying(
        tmp_path, {**FILES, ".git/objects/x": b"\xff", "review/__pycache__/x.pyc": b"\xff"}
    )
    (root / ".venv").symlink_to(root)
    (root / "review" / ".odd").symlink_to(root)
    assert set(read_plugin(root).texts) == {"review/SKILL.md", "review/index.md"}


@pytest.mark.parametrize("path", ["nothing", "it/nothing", "\0", "x" * 400])
def test_a_path_that_leads_to_nothing_is_told(tmp_path: Path, path: str) -> None:
    """R163: as what it is, with the path."""
    with pytest.raises((Missing, BadPlugin)):
        read_plugin(tmp_path / path)


def test_a_pipe_or_a_device_is_no_archive(tmp_path: Path) -> None:
    """R163: nothing is waited on, and nothing without an end is read."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(BadPlugin, match="neither"):
            read_plugin(path)


def test_a_plugin_is_read_from_below_a_folder_and_from_nowhere_else(tmp_path: Path) -> None:
    """R163: as it lies in a workspace, where no link leads out either."""
    lying(tmp_path / "ws" / "plugins" / "reviewer" / "1", FILES)
    assert plugin_in(tmp_path / "ws", ("plugins", "reviewer", "1")).key == "reviewer@1"
    lying(tmp_path / "out", FILES)
    (tmp_path / "ws" / "plugins" / "linked").symlink_to(tmp_path / "out")
    with pytest.raises(GreenroomError):
        plugin_in(tmp_path / "ws", ("plugins", "linked"))


def test_what_is_written_is_read_as_the_same(tmp_path: Path) -> None:
    """R138: to the byte, whatever it was written in; numbers stay what they are."""
    [stance, clock, *_] = plugin().manifest.contributors
    clock = {
        **clock,
        "arguments": {"a": 1, "b": 1.0, "c": True, "d": [None, "ä\u2028"], "e": 1e300},
    }
    made = structs.replace(
        plugin(contributors=(stance, clock)),
        texts={**plugin().texts, "review/crlf": "a\r\nb\ufeff"},
    )
    files = files_of(made)
    read = read_plugin(lying(tmp_path, files))
    assert read == made
    assert files_of(read) == files


def test_skills_of_a_plugin_are_read_from_its_texts(tmp_path: Path) -> None:
    """R162: by ids of the plugin's own, as the model is told where they lie."""
    skills = plugin_skills(read_plugin(lying(tmp_path, FILES)))
    one = skills["plugins/reviewer/review"]
    assert one.package.files == {"SKILL.md": SKILL.encode(), "index.md": b"Index.\n"}
    summary = one.read.summary
    assert (summary.id, summary.location, summary.name, summary.slug) == (
        "plugins/reviewer/review",
        "plugins/reviewer/review",
        "review",
        "review",
    )
    assert one.package.body == "Read twice."


def test_without_the_parser_no_file_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R231: what is missing is the extra."""
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    for files in (FILES, {**without("plugin.yaml"), "plugin.json": JSON}):
        with pytest.raises(ExtraMissing):
            read_plugin(
                lying(tmp_path / str(len(files)) / next(iter(files)).replace("/", ""), files)
            )


def test_a_tar_of_a_folder_is_what_tar_makes_of_it(tmp_path: Path) -> None:
    """R162: with entries for the folders, and owners and times that say nothing."""
    root = lying(tmp_path / "reviewer", FILES)
    with tarfile.open(tmp_path / "it.tgz", "w:gz") as archive:
        archive.add(root, "reviewer")
    assert read_plugin(tmp_path / "it.tgz") == read_plugin(root)
