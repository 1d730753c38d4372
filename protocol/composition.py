"""Composing, once: what stands at each place becomes the kept prompt.

A composition is everything of a request that stays the same from one message to the next: sections
in order of sharing, model, tool declarations, parameters, the wording, and the bound skills as they
were pinned. It is stored under a digest of all of that, and sessions share it only when all of it
is equal (R56). No clock, id or other thing of one conversation is in it (R65).

What is sent is :func:`render`: the kept sections, and the live ``<permissions>`` behind them, so
that a switch of the preset moves no kept byte (R17). What stands behind the system string, in the
opening of each conversation, is kept with it: :func:`opening_texts`, and what is to be loaded, run
and told before a turn.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import structs

from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.condition import VersionChanged
from greenroom.protocol.contribution import (
    Contribution,
    Group,
    built_in,
    catalog,
    of_declaration,
    of_skill,
    over_budget,
    place_of,
    skill_section,
    under,
)
from greenroom.protocol.contributor import Declaration, EagerLoad, EagerRun, Note, Owner
from greenroom.protocol.contributor_rules import check_contribution
from greenroom.protocol.eager import Given, LeftOut, made_ready
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.errors import SameName, StoreDamaged
from greenroom.protocol.identity import SkillId
from greenroom.protocol.permission import Preset, permissions_section
from greenroom.protocol.placement import Placement
from greenroom.protocol.prompt_checkpoint import joined
from greenroom.protocol.skill import PinnedSkill, SkillSummary
from greenroom.protocol.tokens import TokenCounter, TokenEstimate
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
    extra: tuple[Declaration, ...] = ()
    """What is installed for this agent and person; its order says nothing."""
    off: frozenset[str] = frozenset()
    """Ids of contributors that the workspace switched off, built-in ones too (R141)."""
    given: Given = Given()
    """What loads and runs may ask for."""
    counter: TokenCounter = TokenEstimate()
    """The model's own, with which its requests are counted (R103)."""


class Section(msgspec.Struct, frozen=True, gc=False):
    """One part of the kept prompt, and whose it is."""

    name: str
    """Unique within its composition; what checkpoints call it."""
    placement: Placement
    owner: Owner
    contributor: str
    """``id@version`` of what it says."""
    text: str


class Loaded(msgspec.Struct, frozen=True, gc=False):
    """What an eager load brought, as the messages that stand in the opening (R142, R143)."""

    contributor: str
    """``id@version``."""
    messages: tuple[bytes, ...]


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
    opening: tuple[Section, ...] = ()
    """Texts of the conversation: behind the system string, before its first prompt."""
    eager: tuple[EagerLoad | EagerRun, ...] = ()
    """What is to be loaded and run when a conversation starts, in this order (R142 to R146)."""
    approved: tuple[str, ...] = ()
    """``id@version`` of the runs among them that may call a tool that writes (R149)."""
    notes: tuple[Note, ...] = ()
    """What is told before a turn when its condition holds (R151)."""
    left_out: tuple[LeftOut, ...] = ()
    """What is installed and is not in it, and why (R103)."""
    loaded: tuple[Loaded, ...] = ()
    """What the loads among ``eager`` brought, in their order."""

    @property
    def contributors(self) -> tuple[str, ...]:
        """``id@version`` of all that it was composed with, in the order of sharing."""
        return tuple(section.contributor for section in (*self.sections, *self.opening)) + tuple(
            declared.key for declared in (*self.eager, *self.notes)
        )

    @property
    def texts(self) -> dict[str, str]:
        """The text of each section that is sent, by its name."""
        return {section.name: section.text for section in self.sections}

    @property
    def agent_parts(self) -> tuple[str, ...]:
        """``id@version`` of all that makes the agent what it is: prompt, skills, stances (R140)."""
        parts = (section for section in self.sections if section.placement == "agent")
        return tuple(section.contributor for section in parts)

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

    What is over its budget, or asks for what the agent was not given, is left out whole and named
    in ``left_out``; nothing is ever cut (R103, R144).

    Raises:
        SameName: two bound skills of one name, or two contributors of one id (R203).
        WrongPlacement: a text varies by something narrower than where it stands (R134).
        InvalidInput: a contributor that may not be installed.
    """
    left_out: list[LeftOut] = []
    sections: list[Section] = []
    opening: list[Section] = []
    eager: list[EagerLoad | EagerRun] = []
    notes: list[Note] = []
    bound, given = ingredients.bound, ingredients.given
    for each in contributions(ingredients, wording):
        declared = each.declared
        if not each.fits:
            left_out.append(over_budget(each))
        elif isinstance(declared, Note):
            notes.append(declared)
        elif isinstance(declared, EagerLoad | EagerRun):
            ready = made_ready(declared, bound, given)
            if isinstance(ready, LeftOut):
                left_out.append(ready)
            else:
                eager.append(ready)
        elif each.text:
            (opening if each.placement == "conversation" else sections).append(_section(each))
    return Composition(
        sections=tuple(sections),
        model=ingredients.model,
        tools=ingredients.tools,
        parameters=ingredients.parameters,
        wording=wording.version,
        skills=bound,
        opening=tuple(opening),
        eager=tuple(eager),
        approved=tuple(each.key for each in eager if each.key in given.approved),
        notes=tuple(notes),
        left_out=tuple(left_out),
    )


def contributions(ingredients: Ingredients, wording: Wording = CURRENT) -> tuple[Contribution, ...]:
    """All that would be composed, built in and installed, in the order in which it stands (R139).

    What has no text and what is over its budget is listed too, with what it costs; what the
    workspace switched off is not (R141).

    Raises:
        As :func:`compose`.
    """
    _refuse_same("bound skill", [one_line(skill.name) for skill in ingredients.bound])
    _refuse_same("contributor", [declared.id for declared in ingredients.extra])
    for declared in ingredients.extra:
        check_contribution(declared)
    listed = (*_built_ins(ingredients, wording), *_installed(ingredients, wording))
    # Binding decides of a skill, which may be called like anything.
    on = [one for one in listed if one.group == "skill" or one.id not in ingredients.off]
    return tuple(sorted(on, key=place_of))


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


def opening_texts(composition: Composition) -> tuple[str, ...]:
    """The texts of a conversation's opening, in their order, as they stand behind the note label.

    They are the same for every conversation that shares the composition (R214); the label
    (``Wording.note_label``) is put in front of the first, once, by whoever projects the opening.
    """
    return tuple(section.text for section in composition.opening)


def encode_composition(composition: Composition) -> bytes:
    """The bytes that are stored: equal for equal compositions, each body in them once.

    A field that came later than others is written only if it holds something, so that what was
    stored before has the digest that it had.
    """
    skills = tuple(structs.replace(skill, body="") for skill in composition.skills)
    wire = {
        name: value
        for name in _FIELDS
        if (value := getattr(composition, name)) or name not in _LATER
    }
    return msgspec.msgpack.encode({**wire, "skills": skills})


_FIELDS: Final = tuple(field.name for field in structs.fields(Composition))
_LATER: Final = frozenset(("opening", "eager", "approved", "notes", "left_out", "loaded"))


def decode_composition(data: bytes) -> Composition:
    """Read a stored composition.

    Raises:
        StoreDamaged: these bytes are none.
    """
    try:
        lean = msgspec.msgpack.decode(data, type=Composition)
        texts = {section.name: section.text for section in lean.sections}
        skills = tuple(
            structs.replace(skill, body=_body_in(texts[skill_section(skill)]))
            for skill in lean.skills
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


# --- what it is made of ---------------------------------------------------------------------------


def _built_ins(ingredients: Ingredients, wording: Wording) -> Iterator[Contribution]:
    counter = ingredients.counter

    def part(id_: Group, placement: Placement, owner: Owner, text: str) -> Contribution:
        return built_in(id_, placement, owner, text, counter)

    preamble = wording.preamble if ingredients.preamble is None else ingredients.preamble
    yield part("preamble", "platform", "operator", preamble.strip())
    yield part("agent", "agent", "author", ingredients.agent.prompt.strip())
    for place, skill in enumerate(ingredients.bound):
        yield of_skill(skill, under(skill_heading(skill, wording), skill.body), place, counter)
    head = wording.catalog_heading, wording.catalog_intro
    text = catalog(head, ingredients.catalog, wording)
    yield part("catalog", "agent", "workspace", text)
    head = wording.person_catalog_heading, wording.person_catalog_intro
    text = catalog(head, ingredients.person_catalog, wording)
    yield part("person-catalog", "person", "workspace", text)
    instructions = ingredients.instructions.strip()
    text = under(wording.instructions_heading, instructions) if instructions else ""
    yield part("project-instructions", "person", "workspace", text)
    yield part("person", "person", "person", ingredients.person_text.strip())
    changed = Note(
        id="version-changed",
        version=wording.version,
        owner="operator",
        placement="message",
        condition=VersionChanged(),
        text=wording.version_changed,
    )
    yield of_declaration(changed, {}, counter, wording)


def skill_heading(skill: PinnedSkill, wording: Wording) -> str:
    """The heading under which a bound skill's body stands in the kept prompt (R63)."""
    return wording.section_heading.format(heading=one_line(skill.name))


def _installed(ingredients: Ingredients, wording: Wording) -> Iterator[Contribution]:
    values = {"agent": ingredients.agent.name, "person": ingredients.person or ""}
    for declared in ingredients.extra:
        yield of_declaration(declared, values, ingredients.counter, wording)


def _section(contribution: Contribution) -> Section:
    return Section(
        contribution.section,
        contribution.placement,
        contribution.owner,
        contribution.key,
        contribution.text,
    )


def _body_in(text: str) -> str:
    """The body of a bound skill in its section: what follows the heading's one line."""
    return text.partition("\n\n")[2]


def _refuse_same(what: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SameName(f"There are two of one name: {what} {', '.join(twice)}.", names=twice)
