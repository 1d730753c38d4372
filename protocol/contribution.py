"""Contributions: all that shapes a request, built in or installed, as one kind of thing (R139).

Every part of a kept prompt, of a conversation's opening and of what is told before a turn answers
the same questions here: whose it is, how widely it is shared, where it stands, what it may spend,
which turns it reaches, at which version it is. One key orders all of them, and one count says what
each costs; a composition is made of this list and of nothing beside it.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from greenroom.protocol.contributor import (
    Declaration,
    EagerLoad,
    EagerRun,
    Note,
    Owner,
    Reach,
    Text,
    filled,
    rank_in_group,
)
from greenroom.protocol.left_out import LeftOut
from greenroom.protocol.placement import Placement, rank_of
from greenroom.protocol.skill import PinnedSkill, SkillSummary, escaped
from greenroom.protocol.tokens import TokenCounter, section_tokens
from greenroom.protocol.wording import Wording, one_line

Group: TypeAlias = Literal[
    "preamble",
    "agent",
    "skill",
    "person-catalog",
    "catalog",
    "project-instructions",
    "person",
    "text",
    "eager_load",  # alike for all conversations that have it, as a run is not (R214)
    "eager_run",
    "note",
]
"""Which stands before which at one placement (R63)."""

_GROUPS: Final[Mapping[str, int]] = {group: place for place, group in enumerate(get_args(Group))}


class Contribution(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that would be composed, with the properties that all of them have."""

    id: str
    version: str
    owner: Owner
    placement: Placement
    group: Group
    priority: int
    """Of bound skills it falls from one to the next, as their author put them."""
    budget: int | None
    """Tokens; None, of what is built in: the model's window is its only bound."""
    reach: Reach
    section: str
    """The name of its section; unique in a composition."""
    text: str
    """As it is rendered, heading and frame included; empty for what runs or loads later."""
    tokens: int
    """What it costs a request as it is rendered (R103)."""
    declared: Declaration | None = None
    """What was installed; None, of what is built in."""

    @property
    def key(self) -> str:
        """``id@version``: what a turn record names."""
        return f"{self.id}@{self.version}"

    @property
    def fits(self) -> bool:
        """Whether it keeps to its budget."""
        return self.budget is None or self.tokens <= self.budget


def over_budget(contribution: Contribution) -> LeftOut:
    """Why one that does not fit is left out whole, with the figures (R103)."""
    budget = contribution.budget or 0
    sentence = f"It needs {contribution.tokens:,} tokens; its budget is {budget:,}."
    return LeftOut(contribution.key, "over_budget", sentence, contribution.tokens, budget)


def place_of(contribution: Contribution) -> tuple[int, int, tuple[int, int, str, str]]:
    """The one order: placement, group, and inside it priority, owner, id (R63)."""
    return (
        rank_of(contribution.placement),
        _GROUPS[contribution.group],
        rank_in_group(
            contribution.priority, contribution.owner, contribution.id, contribution.version
        ),
    )


# --- what is built in ----------------------------------------------------------------------------


def built_in(
    id_: Group, placement: Placement, owner: Owner, text: str, counter: TokenCounter
) -> Contribution:
    """A contribution that is part of greenroom: its content is its version."""
    return Contribution(
        id=id_,
        version=hashlib.sha256(text.encode()).hexdigest()[:16],
        owner=owner,
        placement=placement,
        group=id_,
        priority=0,
        budget=None,
        reach="every_turn",
        section=id_,
        text=text,
        tokens=section_tokens(text, counter),
    )


def of_skill(skill: PinnedSkill, text: str, place: int, counter: TokenCounter) -> Contribution:
    """The body of a bound skill, rendered as ``text``; ``place`` counts in bound order."""
    return Contribution(
        id=skill.id,
        version=skill.revision,
        owner="author",
        placement="agent",
        group="skill",
        priority=-place,
        budget=None,
        reach="every_turn",
        section=skill_section(skill),
        text=text,
        tokens=section_tokens(text, counter),
    )


def skill_section(skill: PinnedSkill) -> str:
    """The name of the section in which a bound skill's body stands."""
    return f"skill:{skill.id}"


def catalog(head: Sequence[str], skills: Iterable[SkillSummary], wording: Wording) -> str:
    """A line for each available skill, by id, under ``head``; nothing if there is none (R69)."""
    lines = [
        wording.catalog_line.format(
            id=one_line(skill.id),
            name=one_line(skill.name),
            description=one_line(skill.description),
        )
        for skill in sorted(skills, key=lambda skill: skill.id)
    ]
    return under(*head, "\n".join(lines)) if lines else ""


# --- what is installed ---------------------------------------------------------------------------


def of_declaration(
    declared: Declaration, values: Mapping[str, str], counter: TokenCounter, wording: Wording
) -> Contribution:
    """An installed contribution, rendered with ``values`` in its placeholders."""
    text = _RENDERED[type(declared)](declared, values, wording)
    group: Group = _GROUP_OF[type(declared)]
    return Contribution(
        id=declared.id,
        version=declared.version,
        owner=declared.owner,
        placement=declared.placement,
        group=group,
        priority=declared.priority,
        budget=declared.budget,
        reach=declared.reach,
        section=f"{group}:{declared.id}",
        text=text,
        tokens=section_tokens(text, counter) if text else 0,
        declared=declared,
    )


def rendered(text: Text, values: Mapping[str, str], wording: Wording) -> str:
    """A text as it stands in the prompt: filled, under its heading, framed if it ranks lower."""
    values = _within_frame(values) if text.is_lower else values
    words = filled(text.text, values).strip()
    if not words:
        return ""
    if text.heading:
        heading = one_line(filled(text.heading, values))
        words = under(wording.section_heading.format(heading=heading), words)
    return wording.lower_frame.format(text=words) if text.is_lower else words


def rendered_note(note: Note, values: Mapping[str, str], wording: Wording) -> str:
    """A note as it is told: under the platform-note label, framed if it ranks lower (R151)."""
    values = _within_frame(values) if note.is_lower else values
    words = filled(note.text, values).strip()
    if note.is_lower:
        words = wording.lower_frame.format(text=words)
    return f"{wording.note_label} {words}"


def _within_frame(values: Mapping[str, str]) -> Mapping[str, str]:
    """Names that are filled in must not end the frame either."""
    return {name: escaped(value) for name, value in values.items()}


def under(heading: str, *parts: str) -> str:
    """A heading, and what stands under it that is not empty, with blank lines between."""
    return "\n\n".join([heading, *filter(None, parts)])


def _no_text(*_: object) -> str:
    """What a load or a run comes to is not known before it is made."""
    return ""


_RENDERED: Final[Mapping[type, Callable[..., str]]] = {
    Text: rendered,
    EagerLoad: _no_text,
    EagerRun: _no_text,
    Note: rendered_note,
}
_GROUP_OF: Final[Mapping[type, Group]] = {
    Text: "text",
    EagerLoad: "eager_load",
    EagerRun: "eager_run",
    Note: "note",
}
