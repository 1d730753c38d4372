"""Picking skills: ids, slugs and ``$name`` in the text all become the same record (R18).

Whether a skill may be picked is asked of the skills that are live now; what is shown of it comes
from what is kept (R20). After this nothing looks for names in a text again.
"""

import re
from collections.abc import Sequence
from typing import Final

from greenroom.protocol.command import Pick
from greenroom.protocol.errors import AmbiguousSkill, SkillNotGiven, TooLarge
from greenroom.protocol.identity import Slug, check_name
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.skill import SkillSummary

_NAME: Final = re.compile(r"(?<!\S)\$([a-z0-9][a-z0-9-]*)")
"""At the start or after white space, so that ``\\$name`` and ``a$name`` are text."""


def names_in(text: str) -> list[tuple[Slug, int]]:
    """Every ``$name`` that could be a skill's, with the offset of its ``$`` (R19)."""
    if "$" not in text:
        return []
    return [(found[1], found.start()) for found in _NAME.finditer(text)]


def resolve_picks(
    chosen: Sequence[str],
    text: str,
    live: Sequence[SkillSummary],
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Pick, ...]:
    """The skills picked with a message: those chosen explicitly, then those named in its text.

    A skill picked twice counts once, at its first place. A name that fits no live skill is
    text; one that fits several means the one of them that was chosen explicitly, if one was.

    Args:
        chosen: ids or slugs, as the caller gave them; an id goes before an equal slug.
        text: the words of the message.
        live: the skills that the session's agent has now, bound or in its catalog.
        limits: ``picks_max`` bounds the choice.

    Raises:
        InvalidInput: an id that is no name at all.
        TooLarge: more than ``limits.picks_max`` were given (R21).
        SkillNotGiven: an explicit one is not among ``live`` (R20).
        AmbiguousSkill: a name fits several; ``facts['ids']`` has them (R19).
    """
    if not chosen and "$" not in text:
        return ()
    _check_count(len(chosen), limits)
    skills = {skill.id: skill for skill in (_chosen(item, live, limits) for item in chosen)}
    names = dict.fromkeys(name for name, _ in names_in(text))
    if names:
        for name, fitting in _fitting(names, live).items():
            skill = _the_one(name, [s for s in fitting if s.id in skills] or fitting)
            skills.setdefault(skill.id, skill)
        _check_count(len(skills), limits)
    return tuple(Pick(skill.id, skill.slug, skill.name) for skill in skills.values())


def _chosen(item: str, live: Sequence[SkillSummary], limits: Limits) -> SkillSummary:
    """The skill that an explicit id or slug means."""
    check_name(item, "skill id", limits)
    by_slug = []
    for skill in live:
        if skill.id == item:
            return skill
        if skill.slug == item:
            by_slug.append(skill)
    if not by_slug:
        raise SkillNotGiven(f"The agent has no skill {item!r}.", skill=item)
    return _the_one(item, by_slug)


def _fitting(
    names: dict[Slug, None], live: Sequence[SkillSummary]
) -> dict[Slug, list[SkillSummary]]:
    """The live skills of each name that is one, in the order of the names."""
    found: dict[Slug, list[SkillSummary]] = {}
    for skill in live:
        if skill.slug in names:
            found.setdefault(skill.slug, []).append(skill)
    return {name: found[name] for name in names if name in found}


def _the_one(name: Slug, fitting: Sequence[SkillSummary]) -> SkillSummary:
    if len(fitting) > 1:
        ids = sorted(skill.id for skill in fitting)
        raise AmbiguousSkill(f"The name {name!r} fits the skills {', '.join(ids)}.", ids=ids)
    return fitting[0]


def _check_count(count: int, limits: Limits) -> None:
    if count > limits.picks_max:
        raise TooLarge(
            f"{count} skills were picked; the bound is {limits.picks_max}.",
            picks=count,
            bound=limits.picks_max,
        )
