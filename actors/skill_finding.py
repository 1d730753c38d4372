"""Which skills a workspace has: every package below ``skills/``, and a word on what is none.

Skills come from many hands, so almost nothing in there makes a workspace unusable: what can be
understood is loaded, what cannot is left out, and a warning names each folder or file that is left
out. A skill's gates alone are not left out: what cannot be understood of them is a fault.
"""

from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import Final

import attrs

from greenroom.actors.confined import Listed, list_folder, read_bytes
from greenroom.actors.gate_files import BYTES_MAX, GATES, skill_gates
from greenroom.actors.skill_source import MAIN, MAIN_BYTES_MAX, ReadSkill, main_file
from greenroom.protocol.errors import ExtraMissing, Missing, Refused
from greenroom.protocol.gate import Gate
from greenroom.protocol.identity import SkillId

FOLDER: Final = "skills"
DEPTH_MAX: Final = 4
"""Folders within folders in which a package is looked for."""
ENTRIES_MAX: Final = 10_000
"""Entries of one folder."""
_NO_SKILL: Final = frozenset({"readme.md"})
"""Pages that many people put beside skills."""


@attrs.define(eq=False)
class SkillsFound:
    """What was found; each warning and fault begins with the file or folder that it is about."""

    skills: dict[str, ReadSkill] = attrs.field(factory=dict)
    """By id, which is the folder's path in the workspace."""
    gates: dict[SkillId, tuple[Gate, ...]] = attrs.field(factory=dict)
    """Of the skills that have some."""
    warnings: list[str] = attrs.field(factory=list)
    faults: list[str] = attrs.field(factory=list)
    """Gates that cannot be understood: without them something would be allowed."""


class _Below(IntEnum):
    """What a folder holds, all that is below it counted."""

    NOTHING = 0
    FILES = 1
    """And no main file of a skill."""
    SKILLS = 2
    """Or main files that were meant for some."""


def find_skills(root: Path) -> SkillsFound:
    """Read the main file of every skill of the workspace at ``root``. Waits for the disk.

    Raises:
        ExtraMissing: PyYAML is not installed.
        Refused: ``skills`` is no folder, or cannot be listed.
    """
    found = SkillsFound()
    try:
        entries = list_folder(root, FOLDER, ENTRIES_MAX)
    except Missing:
        return found
    for entry in entries:
        name = entry.name.lower()
        if entry.kind == "file" and name.endswith(".md") and name not in _NO_SKILL:
            warning = f"{FOLDER}/{entry.name}: It is left out: a skill is a folder with a {MAIN}."
            found.warnings.append(warning)
    _look_through(found, root, FOLDER, entries, DEPTH_MAX)
    return found


def _look_through(
    found: SkillsFound, root: Path, folder: str, entries: Iterable[Listed], depth: int
) -> _Below:
    """Find the packages below a folder; below a package nothing is looked for."""
    most, strays = _Below.NOTHING, []
    for entry in entries:
        path = f"{folder}/{entry.name}"
        if entry.name.startswith("."):
            continue
        if entry.kind == "link":
            found.warnings.append(f"{path}: It is a link, and is left out.")
            continue
        below = _Below.FILES
        if entry.kind == "folder" and depth:
            below = _look_into(found, root, path, depth - 1)
            if below is _Below.FILES:
                strays.append(path)
        most = max(most, below)
    # Named by the topmost folder in which there is none: below it nothing else could be meant.
    if most is _Below.SKILLS or folder == FOLDER:
        found.warnings += [
            f"{path}: It is left out: there is no {MAIN} in it or below it, at most {DEPTH_MAX}"
            f" folders deep."
            for path in strays
        ]
    return most


def _look_into(found: SkillsFound, root: Path, folder: str, depth: int) -> _Below:
    """Read a folder as a package, or else find those below it."""
    main = f"{folder}/{MAIN}"
    try:
        skill = main_file(read_bytes(root, main, MAIN_BYTES_MAX), folder)
    except Missing:
        return _look_below(found, root, folder, depth)
    except ExtraMissing:
        raise  # no fault of the file
    except Refused as error:
        found.warnings.append(f"{main}: {error.sentence} The skill is left out.")
    else:
        found.skills[folder] = skill
        found.warnings += [f"{main}: {oddity}" for oddity in skill.oddities]
        _look_for_gates(found, root, folder)
    return _Below.SKILLS


def _look_for_gates(found: SkillsFound, root: Path, folder: str) -> None:
    file = f"{folder}/{GATES}"
    try:
        read = skill_gates(read_bytes(root, file, BYTES_MAX))
    except Missing:
        return
    except ExtraMissing:
        raise
    except Refused as error:
        found.faults.append(f"{file}: {error.sentence}")
        return
    if read.gates:
        found.gates[folder] = read.gates
    found.warnings += [f"{file}: {oddity}" for oddity in read.oddities]


def _look_below(found: SkillsFound, root: Path, folder: str, depth: int) -> _Below:
    try:
        entries = list_folder(root, folder, ENTRIES_MAX)
    except Refused as error:
        found.warnings.append(f"{folder}: {error.sentence} It is left out.")
        return _Below.NOTHING
    return _look_through(found, root, folder, entries, depth)
