"""The plugins of a workspace as they lie in its folder, and how they change there.

    plugins/ID/VERSION/        one version, written whole and never changed
    plugins/decisions.jsonl    what was proposed, approved, rejected and removed: one decision a
                               line with its digest, by whom and when; lines are only appended

A version counts from the line that proposes it on, and is in use as the lines say. What the lines
name and is not there, or otherwise, is a fault: a file that was edited is not what was approved.
"""

import fcntl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import attrs

from greenroom.actors.confined import (
    Listed,
    append_lines,
    list_folder,
    opened_folder,
    read_bytes,
    remove_folder,
    sweep,
    write_folder,
)
from greenroom.actors.plugin_files import files_of, plugin_in
from greenroom.protocol.catalog import Catalog, Decision
from greenroom.protocol.encoding import decode, encode
from greenroom.protocol.errors import ExtraMissing, Missing, Refused
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.package_path import parts_within
from greenroom.protocol.plugin import FOLDER, Plugin
from greenroom.protocol.refusal import BadPlugin

DECISIONS: Final = "decisions.jsonl"
DECISIONS_BYTES_MAX: Final = 4_194_304
ENTRIES_MAX: Final = 10_000


@attrs.frozen(eq=False)
class Shelf:
    """What was found; each fault and warning begins with the file or folder that it is about."""

    catalog: Catalog = attrs.field(factory=Catalog)
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_shelf(root: Path, limits: Limits = DEFAULT_LIMITS) -> Shelf:
    """Read the plugins of the workspace at ``root``. Waits for the disk.

    Raises:
        ExtraMissing: PyYAML is not installed.
    """
    faults: list[str] = []
    warnings: list[str] = []
    decisions = tuple(_decisions(root, faults, warnings))
    published: dict[str, Plugin] = {}
    unread: dict[str, str] = {}
    for key, last in {one.key: one for one in decisions}.items():
        try:
            published[key] = _at_its_place(root, last, limits)
        except ExtraMissing:
            raise  # no fault of the file
        except Missing:
            pass  # what is wanted of it is told below
        except Refused as error:
            unread[key] = error.sentence
    catalog = Catalog(published=published, decisions=decisions)
    wrong = catalog.faults()
    faults += faults_told({key: unread.get(key, sentence) for key, sentence in wrong.items()})
    warnings += faults_told({key: unread[key] for key in unread.keys() - wrong.keys()})
    warnings += _strangers(root, catalog)
    return Shelf(catalog, tuple(faults), tuple(warnings))


def faults_told(faults: Mapping[str, str]) -> tuple[str, ...]:
    """The faults of a catalog, each with the folder that it is about."""
    return tuple(f"{FOLDER}/{key.replace('@', '/')}: {faults[key]}" for key in sorted(faults))


def change(
    root: Path, step: Callable[[Shelf], Catalog], limits: Limits = DEFAULT_LIMITS
) -> Catalog:
    """Take one step with the plugins of a workspace: all of it is on the disk, or nothing is.

    Args:
        root: the workspace's folder.
        step: makes the next catalog of what lies there; whatever it raises changes nothing.
        limits: the bounds of plugins.

    Raises:
        Refused: another process changes them now, or the disk refuses.
    """
    with _held(root):
        before = read_shelf(root, limits)
        after = step(before)
        new = after.decisions[len(before.catalog.decisions) :]
        if not new:
            return after
        sweep(root, FOLDER)
        places = {
            f"{FOLDER}/{plugin.id}/{plugin.version}": plugin
            for key, plugin in after.published.items()
            if key not in before.catalog.published
        }
        try:
            for place, plugin in places.items():
                # What no line names was never proposed: a process died before it could say so.
                remove_folder(root, place)
                write_folder(root, place, files_of(plugin))
            lines = b"".join(encode(decision) + b"\n" for decision in new)
            append_lines(root, f"{FOLDER}/{DECISIONS}", lines, DECISIONS_BYTES_MAX)
        except BaseException:
            for place in places:
                with suppress(Refused):
                    remove_folder(root, place)
            raise
        return after


# --- inside --------------------------------------------------------------------------------------


@contextmanager
def _held(root: Path) -> Iterator[None]:
    """Hold the workspace's plugins alone: two commands at once would each decide of the other's."""
    with opened_folder(root, ()) as folder:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(
                "The plugins of this workspace are being changed by another command.",
                way_out="Wait until it has ended, and try again.",
            ) from None
        yield


def _decisions(root: Path, faults: list[str], warnings: list[str]) -> Iterator[Decision]:
    file = f"{FOLDER}/{DECISIONS}"
    try:
        *lines, torn = read_bytes(root, file, DECISIONS_BYTES_MAX).split(b"\n")
    except Missing:
        return
    except Refused as error:
        faults.append(f"{file}: {error.sentence}")
        return
    if torn:
        warnings.append(f"{file}: Its last line was cut as it was written, and says nothing.")
    for number, line in enumerate(lines, 1):
        try:
            yield decode(line, Decision, "decision")
        except Refused as error:
            faults.append(f"{file}, line {number}: {error.sentence}")


def _at_its_place(root: Path, decision: Decision, limits: Limits) -> Plugin:
    """A version from where it lies. What a line names is a claim, as any path is."""
    place = (FOLDER, decision.plugin, decision.version)
    if parts_within("/".join(place)) != place:
        raise BadPlugin("No plugin can be called so.", where=DECISIONS)
    plugin = plugin_in(root, place, limits)
    if plugin.key != decision.key:
        raise BadPlugin(f"It says that it is {plugin.key!r}.", where="manifest")
    return plugin


def _strangers(root: Path, catalog: Catalog) -> Iterator[str]:
    """What lies among the plugins and was never proposed."""
    known = {(one.plugin, one.version) for one in catalog.decisions}
    ids = {plugin for plugin, _ in known}
    for each in _listed(root, FOLDER):
        if each.name in ids:
            for version in _listed(root, f"{FOLDER}/{each.name}"):
                if (each.name, version.name) not in known:
                    yield f"{FOLDER}/{each.name}/{version.name}: {_NOT_READ}"
        elif each.name != DECISIONS and not each.name.startswith("."):
            yield f"{FOLDER}/{each.name}: {_NOT_READ}"


def _listed(root: Path, path: str) -> tuple[Listed, ...]:
    try:
        return list_folder(root, path, ENTRIES_MAX)
    except Refused:
        return ()


_NOT_READ: Final = "It is not read: `greenroom plugin propose` is how a plugin comes here."
