"""Skill packages: read whole from a folder when they are asked for, or made in code.

The Agent Skills format is read leniently: what can be understood is loaded and what was odd is
told; only a skill without a description, or with a head that is beyond reading, is left out. A
skill's name is text for people and models: it is never used as a path (S10).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.actors.confined import list_in, opened_folder, parts_of, read_in
from greenroom.actors.front_matter import Page, page_of
from greenroom.protocol.errors import InvalidInput, Missing, Refused, SkillUnavailable, TooLarge
from greenroom.protocol.identity import Slug, check_text, made_valid
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.skill import SkillPackage, SkillSummary, is_listable

MAIN: Final = "SKILL.md"
MAIN_BYTES_MAX: Final = 1_048_576
FOLDER_DEPTH_MAX: Final = 8
"""Folders within folders of one package."""
_NAME_SUGGESTED: Final = 64
_DESCRIPTION_SUGGESTED: Final = 1_024
_DESCRIPTION_MAX: Final = 16_384
_NO_SLUG: Final = re.compile(r"[^a-z0-9]+")


@attrs.frozen(slots=True)
class ReadSkill:
    """A skill's main file, read; ``oddities`` are for those who keep the workspace."""

    summary: SkillSummary
    body: str
    disabled: bool = False
    oddities: tuple[str, ...] = ()


def slug_of(name: str, folder: str = "") -> Slug:
    """The slug under which a skill is invoked: of its name, or else of its folder (R19)."""
    for source in (name, folder.rpartition("/")[2]):
        slug = _NO_SLUG.sub("-", source.lower()).strip("-")
        if slug:
            return slug
    return "skill"


def main_file(data: bytes, skill: str) -> ReadSkill:
    """Read a main file leniently; ``skill`` is the folder's path in the workspace, and the id.

    Raises:
        InvalidInput: it is not UTF-8, its head is beyond reading, or it has no description; or the
            folder's path cannot be listed as it is.
    """
    if not is_listable(skill):
        raise InvalidInput("The folder's path does not stand on one line as it is.")
    page = page_of(data, lenient=True)
    oddities = [f"{page.salvaged} Its lines were read one by one."] if page.salvaged else []
    folder = skill.rpartition("/")[2]
    name = _text(page, "name", oddities) or folder
    description = _text(page, "description", oddities)
    if not description:
        raise InvalidInput("It has no description, so no model could know when to use it.")
    if len(description) > _DESCRIPTION_MAX:
        raise InvalidInput(f"Its description has more than {_DESCRIPTION_MAX:,} characters.")
    body, mended = made_valid(page.body)
    if mended:
        oddities.append("Its body holds what cannot be stored, and was made valid.")
    if name != folder:
        oddities.append(f"Its name is {name!r} and its folder is {folder!r}.")
    if len(name) > _NAME_SUGGESTED or len(description) > _DESCRIPTION_SUGGESTED:
        oddities.append("Its name or description is longer than the format suggests.")
    summary = SkillSummary(
        id=skill, slug=slug_of(name, folder), name=name, description=description, location=skill
    )
    return ReadSkill(summary, body, page.head.get("disabled") is True, tuple(oddities))


def _text(page: Page, field: str, oddities: list[str]) -> str:
    """One line of text from the head, made valid; a number counts as its digits."""
    value: Any = page.head.get(field)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    text, mended = made_valid(str(value))
    if mended or not isinstance(value, str):
        oddities.append(f"Its {field} is not plain text, and was read as {text!r}.")
    return " ".join(text.split())


def skill_package(
    name: str, description: str, body: str, files: Mapping[str, bytes | str] | None = None
) -> SkillPackage:
    """A skill made in code; its id is ``skills/`` and the slug of its name.

    Raises:
        InvalidInput: the description is missing, or a text cannot be stored.
    """
    for what, text in (("name", name), ("description", description), ("body", body)):
        check_text(text, f"{what} of the skill", MAIN_BYTES_MAX)
    name, description = " ".join(name.split()), " ".join(description.split())
    if not description:
        raise InvalidInput(f"The skill {name} has no description.")
    head = f"---\nname: {_quoted(name)}\ndescription: {_quoted(description)}\n---\n"
    main = f"{head}\n{body}\n".encode()
    others = {path: _bytes(data) for path, data in (files or {}).items()}
    slug = slug_of(name)
    summary = SkillSummary(
        id=f"skills/{slug}",
        slug=slug,
        name=name,
        description=description,
        location=f"skills/{slug}",
    )
    return SkillPackage(summary=summary, body=body, files={MAIN: main, **others}, main=MAIN)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _bytes(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data


def read_package(root: Path, skill: str, limits: Limits = DEFAULT_LIMITS) -> SkillPackage:
    """Read a skill's whole package from the workspace at ``root``, as it is on disk now.

    Left out of it are hidden files, links, devices, files with a second name and names that do not
    stand on one line; nothing outside the folder is ever opened. It waits for the disk: call it in
    a thread.

    Raises:
        SkillUnavailable: the folder or its main file is gone, broken, disabled or over the bounds.
    """
    try:
        with opened_folder(root, parts_of(skill)) as folder:
            files = _files(folder, limits)
        if MAIN not in files:
            raise Missing(f"There is no {MAIN}.")
        main = main_file(files[MAIN], skill)
    except Refused as error:
        raise SkillUnavailable(f"The skill {skill}: {error.sentence}", skill=skill) from error
    if main.disabled:
        raise SkillUnavailable(f"The skill {skill} is disabled.", skill=skill)
    return SkillPackage(summary=main.summary, body=main.body, files=files, main=MAIN)


def _files(package: int, limits: Limits) -> dict[str, bytes]:
    """The files of a package by their paths in it, within the bounds of a package."""
    files: dict[str, bytes] = {}
    room = limits.skill_bytes_max
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        below = waiting.pop()
        with opened_folder(package, below) as folder:
            for entry in list_in(folder, "/".join(below) or ".", limits.skill_files_max):
                if not _is_shipped(entry.name):
                    continue
                if entry.kind == "folder":
                    waiting.append(_within_depth((*below, entry.name)))
                elif entry.kind == "file":
                    path = "/".join((*below, entry.name))
                    files[path] = read_in(folder, entry.name, path, room)
                    room -= len(files[path])
        if len(files) + len(waiting) > limits.skill_files_max:
            raise TooLarge(f"It has more than {limits.skill_files_max:,} files.")
    return files


def _is_shipped(name: str) -> bool:
    """Whether an entry belongs to the package: not what editors and programs leave beside it, and
    not what cannot be listed as it is called.
    """
    if name.startswith(".") or name == "__pycache__":
        return False
    return is_listable(name) and not made_valid(name)[1]


def _within_depth(path: tuple[str, ...]) -> tuple[str, ...]:
    if len(path) > FOLDER_DEPTH_MAX:
        raise TooLarge(f"Its folders are nested deeper than {FOLDER_DEPTH_MAX}.")
    return path
