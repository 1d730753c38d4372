"""A folder read as a workspace: every file once, every fault told, none of them fatal here.

    agents/NAME.md        head: description, model, skills, ...; body: the agent's prompt
    skills/.../SKILL.md   Agent Skills packages, at most four folders deep
    plugins/              packages of others: see :mod:`greenroom.actors.plugin_folder`
    persons/NAME.md       text about a person; head: skills and contributors that only they have
    contributors/, switches.yaml   see :mod:`greenroom.actors.contributor_files`
    presets.yaml          another table of permission presets
    gates.yaml            policy on calls: see :mod:`greenroom.actors.gate_files`
    preamble.md           another platform preamble
    AGENTS.md, INSTRUCTIONS.md   project instructions, read anew for each new session
    files/                the root of the file tools

What is a fault and what is only odd: skills come from many hands and are read leniently, the rest
is the owner's own and is read strictly. What looks like one of these files and is not read is a
fault, anything else in their folders is named by a warning. Links in a workspace are not followed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import attrs
import msgspec

from greenroom.actors.confined import Listed, list_folder, list_in, opened_folder, read_bytes
from greenroom.actors.contributor_files import Declarations, read_contributors
from greenroom.actors.front_matter import decoded, page_of, yaml_mapping
from greenroom.actors.gate_files import GATES, GateFile, workspace_gates
from greenroom.actors.plugin_folder import Shelf, read_shelf
from greenroom.actors.skill_finding import find_skills
from greenroom.actors.skill_source import ReadSkill
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.errors import (
    BrokenWorkspace,
    ExtraMissing,
    InvalidInput,
    Missing,
    Refused,
    TooLarge,
)
from greenroom.protocol.gate import Gate
from greenroom.protocol.identity import SkillId, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.mistyped import mistyped
from greenroom.protocol.permission import Preset, PresetTable

T = TypeVar("T")

INSTRUCTION_FILES: Final = ("AGENTS.md", "INSTRUCTIONS.md")
TEXT_BYTES_MAX: Final = 1_048_576
ENTRIES_MAX: Final = 10_000
_NAMED: Final = {
    name.lower(): name
    for name in (
        *("agents", "persons", "skills", "plugins", "files", "preamble.md"),
        *INSTRUCTION_FILES,
    )
} | {
    f"{name}.{ending}": f"{name}.yaml"
    for name in ("presets", "gates")
    for ending in ("yaml", "yml", "json", "toml")
}
"""What is read at the top, by what it is easily written as."""
_ONE_OF: Final = {"agents": "an agent", "persons": "a person"}
_MEANT: Final = frozenset(("md", "markdown", "yaml", "yml", "toml", "json"))
"""Endings, in small letters, of files that are meant to be read as pages."""
_SAYS_NOTHING: Final = {
    "agents": "It says nothing: an agent's prompt is to stand in it, below its head if it has one.",
    "persons": "It says nothing: what agents are to be told about the person stands in it.",
}


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
    shelf: Shelf = attrs.field(factory=Shelf)
    """The plugins, with faults and warnings of their own."""
    preamble: str | None = None
    presets: PresetTable | None = None
    gates: GateFile = attrs.field(factory=GateFile)
    gates_of_skills: dict[SkillId, tuple[Gate, ...]] = attrs.field(factory=dict)
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
        BrokenWorkspace: there is no such folder, or it cannot be read.
        ExtraMissing: PyYAML is not installed.
    """
    top = {entry.name: entry for entry in _listed(root)}
    found = Contents()
    for name in ("agents", "persons"):
        with found.about(name):
            for stem, file in _pages(found, root, name):
                with found.about(file):
                    _take(found, name, stem, read_bytes(root, file, TEXT_BYTES_MAX))
    with found.about("skills"):
        skills = find_skills(root)
        found.skills, found.gates_of_skills = skills.skills, skills.gates
        found.warnings += skills.warnings
        found.faults += skills.faults
    with found.about("contributors"):
        found.contributors = read_contributors(root)
    with found.about("plugins"):
        found.shelf = read_shelf(root)
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


def _listed(root: Path) -> tuple[Listed, ...]:
    """What stands in the folder itself."""
    named = repr(str(root))
    try:
        with opened_folder(root, ()) as folder:
            return list_in(folder, named, ENTRIES_MAX)
    except Missing:
        sentence = f"There is no folder {named}."
    except TooLarge as error:
        sentence = error.sentence
    except (Refused, ValueError):  # the latter: a path that no folder can have
        sentence = f"{named} is not a folder that can be read."
    raise BrokenWorkspace(
        sentence, way_out="Give the folder that has agents/NAME.md in it.", faults=(sentence,)
    )


def _read_top(found: Contents, root: Path, top: dict[str, Listed]) -> None:
    for name in top:
        meant = _NAMED.get(name.lower(), name)
        if meant != name:
            found.faults.append(f"{name}: It is not read; write it as {meant}.")
    if "preamble.md" in top:
        with found.about("preamble.md"):
            data = read_bytes(root, "preamble.md", TEXT_BYTES_MAX)
            found.preamble = _text_of(data, "preamble")
            if not found.preamble.strip():
                raise InvalidInput("It is empty: without the file the shipped preamble is taken.")
    if "presets.yaml" in top:
        with found.about("presets.yaml"):
            data = read_bytes(root, "presets.yaml", TEXT_BYTES_MAX)
            table = yaml_mapping(_text_of(data, "presets"))
            if others := sorted(table.keys() - {"presets"}):
                raise InvalidInput(f"It holds {others[0]!r} beside its presets.")
            found.presets = PresetTable(_converted(table.get("presets"), tuple[Preset, ...]))
    if GATES in top:
        with found.about(GATES):
            found.gates = workspace_gates(read_bytes(root, GATES, TEXT_BYTES_MAX))
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
        if entry.name.startswith("."):
            continue
        file = f"{folder}/{entry.name}"
        if not dot or ending.lower() not in _MEANT:
            found.warnings.append(
                f"{file}: It is not read: {_ONE_OF[folder]} is a file {folder}/NAME.md."
            )
        elif entry.kind == "folder":
            found.faults.append(f"{file}: It is a folder; write {_ONE_OF[folder]} as a file.")
        elif ending == "md":
            yield stem, file
        else:
            found.faults.append(f"{file}: It is not read; write it as {stem}.md with a YAML head.")


def _take(found: Contents, folder: str, stem: str, data: bytes) -> None:
    """Read an agent's or a person's file strictly."""
    page = page_of(data)
    if page.head.pop("name", stem) != stem:
        raise InvalidInput(f"Its head gives another name than its file, which is {stem!r}.")
    if not page.head and not page.body.strip():
        raise InvalidInput(_SAYS_NOTHING[folder])
    if folder == "agents":
        head = {**page.head, "name": stem, "prompt": page.body}
        agent = _converted(head, AgentDeclaration, ("name", "prompt"))
        found.agents.append(agent)
        if not agent.prompt.strip() and not agent.skills:
            lacking = "It has neither a prompt nor a skill that is bound."
            found.warnings.append(f"agents/{stem}.md: {lacking}")
    else:
        head = {**page.head, "name": stem, "text": page.body}
        found.persons.append(_converted(head, Person, ("name", "text")))


def _text_of(data: bytes, what: str) -> str:
    text = decoded(data).strip("\n")
    check_text(text, what, TEXT_BYTES_MAX)
    return text


def _converted(value: object, type_: type[T], given: Iterable[str] = ()) -> T:
    """A value as its declared type. Raises :class:`InvalidInput` for anything else."""
    try:
        made = msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        sentence = f"It is not as declared: {mistyped(error, value, type_, given)}."
        raise InvalidInput(sentence) from None
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
