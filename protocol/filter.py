"""Filters: which sessions are meant, in one vocabulary for listing, holding and composing anew.

A filter asks for terms, and what a session is and shows are terms as well. A session is concerned
if it has all that is asked for. The index of a store goes by the same terms, so that none of a
hundred thousand sessions has to be read to find ten of them (R239).
"""

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, TypeAlias, TypedDict

import msgspec

from greenroom.protocol.identity import SessionId, SkillId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from greenroom.protocol.composition import Composition
    from greenroom.protocol.header import Header

Term: TypeAlias = tuple[str, str]
"""A kind and a value."""

AGENT: Final = "agent"
PERSON: Final = "person"
SKILL: Final = "skill"
"""A session that shows that skill: in its kept prompt, or pinned or loaded in a message."""
REVISION: Final = "revision"
"""Likewise, a revision of a skill."""
CONTRIBUTOR: Final = "contributor"
"""A session whose kept prompt has that contributor: by its id, and by ``id@version``."""
MODEL: Final = "model"
"""A session for which that model was chosen, or whose kept prompt was composed for it."""
UNCHOSEN: Final = "unchosen"
"""A session of that agent for which no model was chosen: it has its agent's."""
PRESET: Final = "preset"


class Which(TypedDict, total=False):
    """The parts of a filter, as they are given; see :class:`Filter`."""

    skill: str | None
    revision: str | None
    contributor: str | None
    agent: str | None
    person: str | None
    model: str | None
    preset: str | None
    labels: "Mapping[str, str] | None"


class Filter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which sessions are meant: those that all of it fits; one that names nothing fits all."""

    tenant: str | None = None
    """Whose sessions; None: every tenant's."""
    skill: SkillId | None = None
    """Only sessions that show this skill: bound now, in their kept prompt, or in a message."""
    revision: str | None = None
    """Only sessions that show this revision of a skill, in their kept prompt or in a message."""
    contributor: str | None = None
    """Only sessions with this contributor in their kept prompt, the opening included: ``id`` for
    any version, or ``id@version``."""
    agent: str | None = None
    """Only sessions of this agent."""
    person: str | None = None
    """Only sessions of this person."""
    model: str | None = None
    """Only sessions that go to this model, by the host's name for it; or, by the name that its
    provider gives it, those whose kept prompt was composed for it."""
    preset: str | None = None
    """Only sessions under this permission preset."""
    labels: dict[str, str] = {}
    """Only sessions with all of these labels."""

    @property
    def terms(self) -> frozenset[Term]:
        """All that a session has to have."""
        return frozenset(
            [
                *_given(
                    (SKILL, self.skill),
                    (REVISION, self.revision),
                    (CONTRIBUTOR, self.contributor),
                    (AGENT, self.agent),
                    (PERSON, self.person),
                    (MODEL, self.model),
                    (PRESET, self.preset),
                ),
                *map(label, self.labels.items()),
            ]
        )

    @property
    def shown(self) -> Term | None:
        """What has to be shown, where it may stand at more than one place; the narrowest of it."""
        asked = (REVISION, self.revision), (SKILL, self.skill), (CONTRIBUTOR, self.contributor)
        return next(iter(_given(*asked)), None)


def is_concerned(asked: Filter, session: SessionId, terms: AbstractSet[Term]) -> bool:
    """Whether a session is one of those that are meant; ``terms`` are what it is and shows."""
    return asked.tenant in (None, session.tenant) and asked.terms <= terms


def covers(asked: Filter, other: Filter) -> bool:
    """Whether every session that ``other`` concerns is concerned by ``asked`` too."""
    return asked.tenant in (None, other.tenant) and asked.terms <= other.terms


def header_terms(header: "Header") -> frozenset[Term]:
    """What a session is, and shows in its messages."""
    chosen = (UNCHOSEN, header.agent) if header.model is None else (MODEL, header.model)
    return frozenset(
        [
            (AGENT, header.agent),
            (PRESET, header.preset),
            chosen,
            *_given((PERSON, header.person)),
            *map(label, header.labels.items()),
            *message_terms(header),
        ]
    )


def message_terms(header: "Header") -> frozenset[Term]:
    """What a session shows in its messages."""
    skills = [(SKILL, skill) for skill in header.skills]
    return frozenset([*skills, *((REVISION, revision) for revision in header.revisions)])


def composition_terms(composition: "Composition") -> frozenset[Term]:
    """What every session with that kept prompt shows."""
    return frozenset(
        [
            (MODEL, composition.model),
            *((SKILL, skill.id) for skill in composition.skills),
            *((REVISION, skill.revision) for skill in composition.skills),
            *((CONTRIBUTOR, key) for key in composition.contributors),
            *((CONTRIBUTOR, key.rpartition("@")[0]) for key in composition.contributors),
        ]
    )


def label(named: tuple[str, str]) -> Term:
    """The term of a label, by its name and value."""
    name, value = named
    return f"label:{name}", value


def about(asked: Filter) -> str:
    """Which sessions are meant, in words."""
    told = _given(
        ("showing the skill", asked.skill),
        ("showing the revision", asked.revision),
        ("with the contributor", asked.contributor),
        ("of the agent", asked.agent),
        ("of the person", asked.person),
        ("of the model", asked.model),
        ("under the preset", asked.preset),
        ("of the tenant", asked.tenant),
    )
    parts = [
        *(" ".join(each) for each in told),
        *(f"labelled {name}={value}" for name, value in sorted(asked.labels.items())),
    ]
    return " ".join(["sessions", *parts]) if parts else "all sessions"


def _given(*asked: tuple[str, str | None]) -> list[Term]:
    return [(kind, value) for kind, value in asked if value is not None]
