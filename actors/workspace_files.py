"""A folder read as a workspace: every file once, every fault told, none of them fatal here.

    agents/NAME.md        head: description, model, skills, ...; body: the agent's prompt
    skills/.../SKILL.md   Agent Skills packages, at most four folders deep
    persons/NAME.md       text about a person; head: skills and contributors that only they have
    contributors/, switches.yaml   see :mod:`greenroom.actors.contributor_files`
    presets.yaml          another table of permission presets
    preamble.md           another platform preamble
    AGENTS.md, INSTRUCTIONS.md   project instructions, read anew for each new session
    files/                the root of the file tools

What is a fault and what is only odd: skills come from many hands and are read leniently, the rest
is the owner's own and is read strictly. Links inside the workspace are not followed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import attrs
import msgspec

from greenroom.actors.confined import Listed, list_folder, read_bytes
from greenroom.actors.contributor_files import Declarations, read_contributors
from greenroom.actors.front_matter import decoded, page_of, yaml_mapping
from greenroom.actors.skill_source import MAIN, MAIN_BYTES_MAX, ReadSkill, main_file
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.errors import BrokenWorkspace, ExtraMissing, InvalidInput, Missing, Refused
from greenroom.protocol.identity import check_text
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.permission import Preset, PresetTable

T = TypeVar("T")

INSTRUCTION_FILES: Final = ("AGENTS.md", "INSTRUCTIONS.md")
TEXT_BYTES_MAX: Final = 1_048_576
ENTRIES_MAX: Final = 10_000
SKILL_DEPTH_MAX: Final = 4


class Person(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person of a workspace: what agents are told, and skills that only they have (R63)."""

    name: str
    text: str = ""
    skills: tuple[str, ...] = ()
    contributors: tuple[str, ...] = ()
    """Ids of contributors that persons own and that reach this one."""


@attrs.define(eq=False)
class Contents:
    """What was found in a folder; each fault and warning begins with the file it is about."""

    agents: list[AgentDeclaration] = attrs.field(factory=list)
    skills: dict[str, ReadSkill] = attrs.field(factory=dict)
    persons: list[Person] = attrs.field(factory=list)
    contributors: Declarations = attrs.field(factory=Declarations)
    preamble: str | None = None
    presets: PresetTable | None = None
    files_root: Path | None = None
    faults: list[str] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)

    @contextmanager
    def about(self, file: str) -> Iterator[None]:
        """Note a refusal as a fault of ``file`` and go on."""
        try:
            yield
        except ExtraMissing:
            raise  # no fault of the file
        except Refused as error:
            self.faults.append(f"{file}: {error.sentence}")


def read_folder(root: Path) -> Contents:
    """Read the whole workspace at ``root``. Waits for the disk.

    Raises:
        BrokenWorkspace: there is no such folder.
        ExtraMissing: PyYAML is not installed.
    """
    if not root.is_dir():
        missing = f"There is no folder {str(root)!r}."
        raise BrokenWorkspace(missing, faults=(missing,))
    found = Contents()
    with found.about("."):
        for name in ("agents", "persons"):
            for stem, file in _pages(found, root, name):
                with found.about(file):
                    _take(found, name, stem, read_bytes(root, file, TEXT_BYTES_MAX))
        _read_skills(found, root, "skills", SKILL_DEPTH_MAX)
        found.contributors = read_contributors(root)
        top = {entry.name: entry for entry in list_folder(root, ".", ENTRIES_MAX)}
        _read_top(found, root, top)
    return found


def read_instructions(root: Path, limits: Limits = DEFAULT_LIMITS) -> str:
    """The project instruction files as they are now, in a fixed order, a blank line between (R68).

    Raises:
        InvalidInput: one of them is not valid UTF-8 text.
        TooLarge: together they are over ``project_instructions_bytes_max``.
        Refused: one of them is a link or no plain file.
    """
    texts: list[str] = []
    room = limits.project_instructions_bytes_max
    for name in INSTRUCTION_FILES:
        try:
            data = read_bytes(root, name, room)
        except Missing:
            continue
        room -= len(data)
        try:
            texts.append(_text_of(data, name))
        except InvalidInput as error:
            raise InvalidInput(f"{name}: {error.sentence}", file=name) from error
    return "\n\n".join(text for text in texts if text)


def _read_top(found: Contents, root: Path, top: dict[str, Listed]) -> None:
    if "preamble.md" in top:
        with found.about("preamble.md"):
            data = read_bytes(root, "preamble.md", TEXT_BYTES_MAX)
            found.preamble = _text_of(data, "preamble")
    if "presets.yaml" in top:
        with found.about("presets.yaml"):
            data = read_bytes(root, "presets.yaml", TEXT_BYTES_MAX)
            table = yaml_mapping(_text_of(data, "presets"))
            found.presets = PresetTable(_converted(table.get("presets"), tuple[Preset, ...]))
    if "files" in top:
        if top["files"].kind == "folder":
            found.files_root = root / "files"
        else:
            found.faults.append("files: It is not a folder.")
    with found.about("project instructions"):
        read_instructions(root)


def _pages(found: Contents, root: Path, folder: str) -> Iterator[tuple[str, str]]:
    """The Markdown files of a folder, each as its name without ending and its path."""
    try:
        entries = list_folder(root, folder, ENTRIES_MAX)
    except Missing:
        return
    for entry in entries:
        stem, dot, ending = entry.name.rpartition(".")
        if entry.name.startswith(".") or entry.kind == "folder":
            continue
        file = f"{folder}/{entry.name}"
        if dot and ending == "md":
            yield stem, file
        elif ending in {"yaml", "yml", "toml", "json"}:
            found.faults.append(f"{file}: It is not read; write it as {stem}.md with a YAML head.")


def _take(found: Contents, folder: str, stem: str, data: bytes) -> None:
    """Read an agent's or a person's file strictly."""
    page = page_of(data)
    if page.head.pop("name", stem) != stem:
        raise InvalidInput(f"Its head gives another name than its file, which is {stem!r}.")
    if folder == "agents":
        head = {**page.head, "name": stem, "prompt": page.body}
        found.agents.append(_converted(head, AgentDeclaration))
    else:
        head = {**page.head, "name": stem, "text": page.body}
        found.persons.append(_converted(head, Person))


def _read_skills(found: Contents, root: Path, folder: str, depth: int) -> None:
    """Find the packages below a folder; below a package nothing is looked for."""
    try:
        entries = list_folder(root, folder, ENTRIES_MAX)
    except Missing:
        return
    for entry in entries:
        path = f"{folder}/{entry.name}"
        if entry.kind == "link":
            found.warnings.append(f"{path}: It is a link, and is left out.")
        elif entry.kind == "folder" and not entry.name.startswith("."):
            _read_skill_or_below(found, root, path, depth)


def _read_skill_or_below(found: Contents, root: Path, folder: str, depth: int) -> None:
    main = f"{folder}/{MAIN}"
    try:
        skill = main_file(read_bytes(root, main, MAIN_BYTES_MAX), folder)
    except Missing:
        if depth > 1:
            _read_skills(found, root, folder, depth - 1)
    except ExtraMissing:
        raise  # no fault of the file
    except Refused as error:
        found.warnings.append(f"{main}: {error.sentence} The skill is left out.")
    else:
        found.skills[folder] = skill
        found.warnings += [f"{main}: {oddity}" for oddity in skill.oddities]


def _text_of(data: bytes, what: str) -> str:
    text = decoded(data).strip("\n")
    check_text(text, what, TEXT_BYTES_MAX)
    return text


def _converted(value: object, type_: type[T]) -> T:
    """A value as its declared type. Raises :class:`InvalidInput` for anything else."""
    try:
        made = msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"It is not as declared: {error}.") from None
    _check_texts(msgspec.to_builtins(made))
    return made


def _check_texts(value: object) -> None:
    """Refuse text in it that cannot be stored: YAML can write any character as an escape (R194)."""
    if isinstance(value, str):
        check_text(value, "value of its head", TEXT_BYTES_MAX)
    elif isinstance(value, Mapping):
        for each in value.items():
            _check_texts(each)
    elif isinstance(value, Sequence):
        for each in value:
            _check_texts(each)
