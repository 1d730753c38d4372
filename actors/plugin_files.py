"""Plugins as files: read from a folder or an archive, and written as they lie in a workspace.

    plugin.yaml (or .toml, .json)   the manifest: see :class:`greenroom.protocol.plugin.Manifest`
    FOLDER/SKILL.md                 a skill, if the manifest lists FOLDER, with all files below it

A folder and an archive of it are one plugin. Everything in it has a plain path and is a plain file;
what the manifest does not list is no part of it, and whatever is part of it is UTF-8 text, so that
all of it can be shown. An archive may hold the plugin in one folder of any name.
"""

import os
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from greenroom.actors.confined import list_in, opened_folder, read_in
from greenroom.actors.contributor_files import PARSERS
from greenroom.actors.front_matter import decoded
from greenroom.actors.gate_files import GATES, gates_given, skill_gates
from greenroom.actors.package_entries import Entry, no_plain_file, read_entries, too_large
from greenroom.actors.plugin_archive import archive_bytes_max, unpacked
from greenroom.actors.skill_source import MAIN, ReadSkill, main_file
from greenroom.protocol.catalog import Catalog
from greenroom.protocol.contributor import Owner
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.errors import ExtraMissing, Missing, Refused, TooLarge
from greenroom.protocol.gate import Egress, Gate
from greenroom.protocol.identity import SkillId
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.package_path import Parts, is_left_out
from greenroom.protocol.plugin import (
    FOLDER,
    TRUSTED_OWNERS,
    Manifest,
    Plugin,
    manifest_of,
    name_of,
    texts_below,
)
from greenroom.protocol.plugin_rules import check_plugin
from greenroom.protocol.refusal import BadPlugin
from greenroom.protocol.skill import SkillPackage, SkillSummary

INSTALLED: Final = "plugin.json"
"""The manifest as it lies in a workspace: what was shown, and not what it was written in."""
MANIFESTS: Final = {"plugin.yaml": "yaml", "plugin.toml": "toml", INSTALLED: "json"}


@attrs.frozen(eq=False)
class PluginSkill:
    """A skill of a plugin, ready to be listed and read."""

    read: ReadSkill
    package: SkillPackage


@attrs.frozen(eq=False)
class Brought:
    """The skills that come with the plugins in use."""

    skills: Mapping[SkillId, PluginSkill] = attrs.field(factory=dict)
    owners: Mapping[SkillId, Owner] = attrs.field(factory=dict)
    """Of those that only agents or persons get that name them (R165); the rest is everybody's."""
    gates: Mapping[SkillId, tuple[Gate, ...]] = attrs.field(factory=dict)
    """Of those that have some (R155)."""
    hosts: tuple[str, ...] = ()
    """The hosts that were approved with the plugins."""
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def opening(self, egress: Egress | None) -> Egress | None:
        """A workspace's egress list with the approved hosts; without one every host is open."""
        return None if egress is None else Egress((*egress.hosts, *self.hosts))

    @property
    def summaries(self) -> tuple[SkillSummary, ...]:
        """Of all that are not disabled."""
        return tuple(one.read.summary for one in self.skills.values() if not one.read.disabled)

    @property
    def disabled(self) -> frozenset[SkillId]:
        """The ids of the others."""
        return frozenset(id_ for id_, one in self.skills.items() if one.read.disabled)


def read_plugin(path: str | Path, limits: Limits = DEFAULT_LIMITS) -> Plugin:
    """Read a plugin from a folder, a zip, a tar or a tar.gz. Waits for the disk; writes nothing.

    Raises:
        Missing: there is nothing.
        BadPlugin: it is no plugin; ``facts['where']`` says where in it.
        SameName, TooLarge: likewise, for what stands twice and what is over its bound.
        ExtraMissing: PyYAML is not installed.
    """
    source = Path(path)
    if _is_folder(source):
        return plugin_in(source, (), limits)
    return plugin_of(unpacked(_archive(source, limits), limits), limits)


def plugin_in(root: Path, below: Parts, limits: Limits = DEFAULT_LIMITS) -> Plugin:
    """Read a plugin from the folder ``below`` a folder, and from nowhere else.

    Raises:
        As :func:`read_plugin`.
    """
    return plugin_of(read_entries(_entries(root, below, (), limits), limits), limits)


def plugin_of(files: Mapping[Parts, bytes], limits: Limits = DEFAULT_LIMITS) -> Plugin:
    """The plugin that these files are. Raises as :func:`read_plugin`."""
    named, top = _manifest(files)
    manifest = _read_manifest(files[(*top, named)], named)
    listed = set(manifest.skills)
    texts = {
        path: _text(data, path)
        for parts, data in files.items()
        if parts[: len(top)] == top and _is_below(path := "/".join(parts[len(top) :]), listed)
    }
    plugin = check_plugin(Plugin(manifest, texts), limits)
    plugin_skills(plugin)
    return plugin


def plugin_skills(plugin: Plugin) -> dict[SkillId, PluginSkill]:
    """The skills of a plugin by their ids, read from its texts.

    Raises:
        BadPlugin: a main file cannot be read, or has no description.
        ExtraMissing: PyYAML is not installed.
    """
    skills: dict[SkillId, PluginSkill] = {}
    for path in plugin.manifest.skills:
        id_, texts = name_of(plugin, path), texts_below(plugin, path)
        try:
            read = main_file(texts[MAIN].encode(), id_)
        except ExtraMissing:
            raise  # no fault of the file
        except Refused as error:
            where = f"{path}/{MAIN}"
            raise BadPlugin(f"{where}: {error.sentence}", where=where) from None
        _check_gates(path, texts)
        files = {name: text.encode() for name, text in texts.items()}
        skills[id_] = PluginSkill(read, SkillPackage(read.summary, read.body, files, MAIN))
    return skills


def skills_brought(catalog: Catalog) -> Brought:
    """The skills of all plugins in use, from the texts that were approved.

    Raises:
        ExtraMissing: PyYAML is not installed.
    """
    skills: dict[SkillId, PluginSkill] = {}
    owners: dict[SkillId, Owner] = {}
    faults: list[str] = []
    for one in catalog.active:
        try:
            brought = plugin_skills(one.plugin)
        except ExtraMissing:
            raise  # no fault of the plugin
        except Refused as error:
            faults.append(f"{FOLDER}/{one.plugin.id}/{one.plugin.version}: {error.sentence}")
            continue
        skills |= brought
        if one.decision.owner not in TRUSTED_OWNERS:
            owners |= dict.fromkeys(brought, one.decision.owner)
    table, odd, wrong = gates_given((), None, [one.package for one in skills.values()])
    return Brought(skills, owners, table.skills, catalog.hosts, (*faults, *wrong), odd)


def files_of(plugin: Plugin) -> dict[str, bytes]:
    """A plugin as it is written, by path; read again it is the same."""
    texts = {path: text.encode() for path, text in plugin.texts.items()}
    return {INSTALLED: encode_sorted(plugin.manifest), **texts}


# --- inside --------------------------------------------------------------------------------------


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # told when it cannot be opened either
        return False


def _archive(path: Path, limits: Limits) -> bytes:
    try:
        # A pipe that is opened without this would be waited on for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadPlugin(f"{str(path)!r} is neither a folder nor a file.", where="archive")
            return file.read(archive_bytes_max(limits) + 1)
    except FileNotFoundError:
        raise Missing(
            f"There is no plugin at {str(path)!r}.",
            way_out="Give the path of its folder or archive.",
        ) from None
    except (OSError, ValueError) as error:
        raise BadPlugin(
            f"{str(path)!r} cannot be read: {type(error).__name__}.", where="archive"
        ) from None


def _entries(root: Path, below: Parts, inside: Parts, limits: Limits) -> Iterator[Entry]:
    """What lies in a folder and below it; what is hidden is looked at by no more than its name."""
    with opened_folder(root, (*below, *inside)) as folder:
        listed = list_in(folder, "/".join(inside) or "plugin", limits.plugin_files_max)
    for each in listed:
        parts = (*inside, each.name)
        name = "/".join(parts)
        if is_left_out((each.name,)):
            continue
        if each.kind == "folder":
            yield Entry(name, None)
            yield from _entries(root, below, parts, limits)
        elif each.kind == "file":
            yield Entry(name, _reader(root, below, parts))
        else:
            raise no_plain_file(name)


def _reader(root: Path, below: Parts, parts: Parts) -> Callable[[int], bytes]:
    name = "/".join(parts)

    def read(most: int) -> bytes:
        try:
            with opened_folder(root, (*below, *parts[:-1])) as folder:
                return read_in(folder, parts[-1], name, most)
        except TooLarge:
            raise too_large(f"file {name!r}", name, most - 1) from None
        except Refused as error:
            raise BadPlugin(error.sentence, where=name) from None

    return read


def _manifest(files: Mapping[Parts, bytes]) -> tuple[str, Parts]:
    """What the manifest is called, and in which folder of the package it lies."""
    tops = {parts[:1] for parts in files}
    for top in ((), *(tops if len(tops) == 1 else ())):
        named = [name for name in MANIFESTS if (*top, name) in files]
        if len(named) > 1:
            raise BadPlugin(f"It has {' and '.join(named)}; it can have one.", where=named[1])
        if named:
            return named[0], top
    raise BadPlugin(f"It has no manifest: {', '.join(MANIFESTS)}.", where="plugin.yaml")


def _check_gates(path: str, texts: Mapping[str, str]) -> None:
    """Refuse a skill whose gates cannot be understood: without them something is allowed (R155)."""
    try:
        skill_gates(texts.get(GATES, "").encode())
    except ExtraMissing:
        raise
    except Refused as error:
        where = f"{path}/{GATES}"
        raise BadPlugin(f"{where}: {error.sentence}", where=where) from None


def _read_manifest(data: bytes, name: str) -> Manifest:
    try:
        return manifest_of(PARSERS[MANIFESTS[name]](decoded(data)))
    except ExtraMissing:
        raise  # no fault of the file
    except Refused as error:
        raise BadPlugin(f"{name}: {error.sentence}", where=name) from None


def _is_below(path: str, skills: Container[str]) -> bool:
    return any(path[:place] in skills for place, sign in enumerate(path) if sign == "/")


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadPlugin(
            f"{path} is not UTF-8 text: byte {error.start:,} fits no character.", where=path
        ) from None
