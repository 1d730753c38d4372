"""What ``find`` answers a session by: whose it is, its labels, what it shows, what it asks."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import structs

from greenroom.actors.kept_prompt import Kept
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId, SkillId, session_mark
from greenroom.protocol.question import Asking
from greenroom.protocol.record_parts import CallResult

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

SKILL: Final = "skill"
"""A session that shows that skill: in its kept prompt, or pinned or loaded in what is sent."""
ASKS: Final = "asks"
"""The session whose questions have ids that begin so, whether they are open or not."""
WAITING: Final = "waiting"
"""A session with questions: with :data:`ANSWER` any, with :data:`EXPIRY` such as expire (R223)."""
ANSWER: Final = "answer"
EXPIRY: Final = "expiry"


def terms_of(
    session: SessionId,
    header: Header,
    kept: Iterable[SkillId] = (),
    asking: Iterable[Asking] = (),
) -> frozenset[tuple[str, str]]:
    """The terms of a session: with the skills of its kept prompt, and its open questions."""
    terms = {(ASKS, session_mark(session)), ("agent", header.agent)}
    if header.person is not None:
        terms.add(("person", header.person))
    terms.update((f"label:{name}", value) for name, value in header.labels.items())
    terms.update((SKILL, skill) for skill in (*kept, *header.skills))
    for question in asking:
        terms.add((WAITING, ANSWER))
        if question.expires is not None:
            terms.add((WAITING, EXPIRY))
    return frozenset(terms)


def terms_with(
    actor: "SessionActor", header: Header, asking: Iterable[Asking] = ()
) -> frozenset[tuple[str, str]]:
    """The terms that a live session is to have with another header."""
    return terms_of(actor.id, header, kept_skills(actor.kept), asking)


def moved_terms(
    actor: "SessionActor", header: Header, kept: Kept | None
) -> frozenset[tuple[str, str]] | None:
    """The terms, if the session shows other skills with that header and kept prompt; else None."""
    if header.skills == actor.header.skills and (
        kept is actor.kept or kept_skills(kept) == kept_skills(actor.kept)
    ):
        return None
    return terms_of(actor.id, header, kept_skills(kept))


def kept_skills(kept: Kept | None) -> tuple[SkillId, ...]:
    """The skills that a kept prompt was composed with."""
    return () if kept is None else tuple([use.id for use in kept.uses])


def showing(header: Header, skills: Iterable[SkillId]) -> Header:
    """The header of a session that shows these skills too; the same one, if it did already."""
    new = [skill for skill in dict.fromkeys(skills) if skill not in header.skills]
    return structs.replace(header, skills=(*header.skills, *new)) if new else header


def loaded_in(results: Sequence[CallResult], known: Collection[SkillId]) -> list[SkillId]:
    """The skills that calls brought into the conversation (R155)."""
    return [each.skill for each in results if each.skill is not None and each.skill in known]
