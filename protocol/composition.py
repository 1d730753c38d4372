"""Composing, once: what stands at each place becomes the kept prompt.

A composition is everything of a request that stays the same from one message to the next: sections
in order of sharing, model, tool declarations, parameters, the wording, and the bound skills as they
were pinned. It is stored under a digest of all of that, and sessions share it only when all of it
is equal (R56). No clock, id or other thing of one conversation is in it (R65).

What is sent is :func:`render`: the kept sections, and the live ``<permissions>`` behind them, so
that a switch of the preset moves no kept byte (R17).
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.contributor import Owner, Text, check_contribution, filled, standing
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.errors import SameName, StoreDamaged
from greenroom.protocol.identity import SkillId
from greenroom.protocol.permission import Preset, permissions_section
from greenroom.protocol.placement import Placement
from greenroom.protocol.prompt_checkpoint import joined
from greenroom.protocol.skill import PinnedSkill, SkillSummary
from greenroom.protocol.wording import CURRENT, Wording, one_line, wording_of

PERMISSIONS: Final = "permissions"
"""The name of the live section."""


class ToolDeclaration(msgspec.Struct, frozen=True):
    """A tool as the model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments."""


class Ingredients(msgspec.Struct, frozen=True, kw_only=True):
    """All that a composition is made of, as it stands when it is composed."""

    agent: AgentDeclaration
    model: str
    preamble: str | None = None
    """The host's own; None: the wording's default (R66)."""
    bound: tuple[PinnedSkill, ...] = ()
    """In bound order."""
    catalog: tuple[SkillSummary, ...] = ()
    """Skills available to everyone who talks to the agent (R69)."""
    person: str | None = None
    person_catalog: tuple[SkillSummary, ...] = ()
    """Skills that only this person has."""
    instructions: str = ""
    """Project instructions, as stored with the session (R68)."""
    person_text: str = ""
    tools: bytes = b"[]"
    """From :func:`canonical_tools`."""
    parameters: bytes = b"{}"
    extra: tuple[Text, ...] = ()


class Section(msgspec.Struct, frozen=True, gc=False):
    """One part of the kept prompt, and whose it is."""

    name: str
    """Unique within its composition; what checkpoints call it."""
    placement: Placement
    owner: Owner
    contributor: str
    """``id@version`` of what it says."""
    text: str


class Composition(msgspec.Struct, frozen=True):
    """A kept prompt with all that belongs to it."""

    sections: tuple[Section, ...]
    model: str
    tools: bytes
    parameters: bytes
    wording: str
    """The wording version with which everything of its conversations is rendered (R201)."""
    skills: tuple[PinnedSkill, ...] = ()
    """The bound ones; each body stands in the section of its skill."""

    def skill(self, skill: SkillId) -> PinnedSkill | None:
        """The kept revision of a skill, if the prompt was composed with it (R26)."""
        return next((kept for kept in self.skills if kept.id == skill), None)

    def holds(self, skill: PinnedSkill) -> bool:
        """Whether the body of exactly that revision stands in the prompt (R37, R38)."""
        kept = self.skill(skill.id)
        return kept is not None and kept.revision == skill.revision


class SystemString(msgspec.Struct, frozen=True, gc=False):
    """What is sent as system string, and the named sections that it was made of."""

    sections: tuple[tuple[str, str], ...]
    text: str


def compose(ingredients: Ingredients, wording: Wording = CURRENT) -> Composition:
    """Make the kept prompt: platform, agent, person; in each the order of R63.

    Raises:
        SameName: two bound skills of one name, or two contributors of one id (R203).
        WrongPlacement: a text varies by something narrower than where it stands (R134).
    """
    _refuse_same("bound skill", [one_line(skill.name) for skill in ingredients.bound])
    _refuse_same("contributor", [text.id for text in ingredients.extra])
    for text in ingredients.extra:
        check_contribution(text)
    sections = (
        *_platform(ingredients, wording),
        *_agent(ingredients, wording),
        *_person(ingredients, wording),
    )
    return Composition(
        sections=tuple(section for section in sections if section.text),
        model=ingredients.model,
        tools=ingredients.tools,
        parameters=ingredients.parameters,
        wording=wording.version,
        skills=ingredients.bound,
    )


def render(composition: Composition, preset: Preset, *, with_person: bool) -> SystemString:
    """The system string of a turn: the kept sections, then the live permissions (R57).

    Args:
        composition: the kept prompt, whose wording is used.
        preset: the one that the turn committed to.
        with_person: False for a turn without a person: the person's part is left off.

    Raises:
        StoreTooNew: the composition names a wording of a later release.
    """
    live = permissions_section(preset, wording_of(composition.wording))
    kept = [
        (section.name, section.text)
        for section in composition.sections
        if with_person or section.placement != "person"
    ]
    sections = (*kept, (PERMISSIONS, live))
    return SystemString(sections, joined(sections))


def encode_composition(composition: Composition) -> bytes:
    """The bytes that are stored: equal for equal compositions, each body in them once."""
    skills = tuple(structs.replace(skill, body="") for skill in composition.skills)
    return msgspec.msgpack.encode(structs.replace(composition, skills=skills))


def decode_composition(data: bytes) -> Composition:
    """Read a stored composition.

    Raises:
        StoreDamaged: these bytes are none.
    """
    try:
        lean = msgspec.msgpack.decode(data, type=Composition)
        texts = {section.contributor: section.text for section in lean.sections}
        skills = tuple(
            structs.replace(skill, body=_body_in(texts[_key(skill)])) for skill in lean.skills
        )
    except (msgspec.MsgspecError, UnicodeError, KeyError, RecursionError) as error:
        raise StoreDamaged(
            f"A stored composition cannot be read: {type(error).__name__}."
        ) from error
    return structs.replace(lean, skills=skills)


def composition_digest(encoded: bytes) -> str:
    """The name under which an encoded composition is stored: SHA-256, hexadecimal."""
    return hashlib.sha256(encoded).hexdigest()


def canonical_tools(declarations: Iterable[ToolDeclaration]) -> bytes:
    """The tool list as it is sent: the same bytes whatever the order of registration (R195).

    Raises:
        SameName: two tools of one name.
        InvalidInput: a schema that is no JSON.
    """
    tools = sorted(declarations, key=lambda tool: tool.name)
    _refuse_same("tool", [tool.name for tool in tools])
    return encode_sorted([{"type": "function", "function": structs.asdict(tool)} for tool in tools])


# --- the three parts, in the order of sharing ----------------------------------------------------


def _platform(ingredients: Ingredients, wording: Wording) -> Iterator[Section]:
    preamble = wording.preamble if ingredients.preamble is None else ingredients.preamble
    yield _built_in("preamble", "platform", "operator", preamble.strip())
    yield from _texts(ingredients, "platform", wording)


def _agent(ingredients: Ingredients, wording: Wording) -> Iterator[Section]:
    yield _built_in("agent", "agent", "author", ingredients.agent.prompt.strip())
    for skill in ingredients.bound:
        text = _under(skill_heading(skill, wording), skill.body)
        yield Section(f"skill:{skill.id}", "agent", "author", _key(skill), text)
    lines = _catalog_lines(ingredients.catalog, wording)
    text = _under(wording.catalog_heading, wording.catalog_intro, lines) if lines else ""
    yield _built_in("catalog", "agent", "workspace", text)
    yield from _texts(ingredients, "agent", wording)


def _person(ingredients: Ingredients, wording: Wording) -> Iterator[Section]:
    lines = _catalog_lines(ingredients.person_catalog, wording)
    heading, intro = wording.person_catalog_heading, wording.person_catalog_intro
    text = _under(heading, intro, lines) if lines else ""
    yield _built_in("person-catalog", "person", "workspace", text)
    instructions = ingredients.instructions.strip()
    text = _under(wording.instructions_heading, instructions) if instructions else ""
    yield _built_in("project-instructions", "person", "workspace", text)
    yield _built_in("person", "person", "person", ingredients.person_text.strip())
    yield from _texts(ingredients, "person", wording)


def _texts(ingredients: Ingredients, placement: Placement, wording: Wording) -> Iterator[Section]:
    """The installed texts of one placement, by priority, owner and id."""
    values = {"agent": ingredients.agent.name, "person": ingredients.person or ""}
    here = (text for text in ingredients.extra if text.placement == placement)
    for text in sorted(here, key=standing):
        words = filled(text.text.strip(), values)
        if text.heading and words:
            words = _under(wording.section_heading.format(heading=one_line(text.heading)), words)
        yield Section(f"text:{text.id}", placement, text.owner, text.key, words)


def skill_heading(skill: PinnedSkill, wording: Wording) -> str:
    """The heading under which a bound skill's body stands in the kept prompt (R63)."""
    return wording.section_heading.format(heading=one_line(skill.name))


def _catalog_lines(skills: Iterable[SkillSummary], wording: Wording) -> str:
    return "\n".join(
        wording.catalog_line.format(
            id=one_line(skill.id),
            name=one_line(skill.name),
            description=one_line(skill.description),
        )
        for skill in sorted(skills, key=lambda skill: skill.id)
    )


def _built_in(name: str, placement: Placement, owner: Owner, text: str) -> Section:
    """A section of a contributor that is part of greenroom: its content is its version."""
    version = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Section(name, placement, owner, f"{name}@{version}", text)


def _under(heading: str, *parts: str) -> str:
    return "\n\n".join([heading, *filter(None, parts)])


def _body_in(text: str) -> str:
    """The body of a bound skill in its section: what follows the heading's one line."""
    return text.partition("\n\n")[2]


def _key(skill: PinnedSkill) -> str:
    return f"{skill.id}@{skill.revision}"


def _refuse_same(what: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SameName(f"There are two of one name: {what} {', '.join(twice)}.", names=twice)
