"""What ``find`` answers a session by: what it is, what it shows, what it asks.

Terms are written where what decides them changes: with a dispatch that shows something new, a
setting, a composition, a question. The commits of an ordinary turn leave them as they are.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import structs

from greenroom.actors.kept_prompt import Kept
from greenroom.protocol.filter import Term, header_terms
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId, SkillId, session_mark
from greenroom.protocol.question import Asking
from greenroom.protocol.record import AnyRecord, Asked, Dispatched, Ended, Returned
from greenroom.protocol.record_parts import CallResult

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

ASKS: Final = "asks"
"""The session whose questions have ids that begin so, whether they are open or not."""
WAITING: Final = "waiting"
"""A session with questions: with :data:`ANSWER` any, with :data:`EXPIRY` such as expire (R223)."""
ANSWER: Final = "answer"
EXPIRY: Final = "expiry"
_NOTHING: Final[frozenset[Term]] = frozenset()


def terms_of(
    session: SessionId,
    header: Header,
    kept: frozenset[Term] = _NOTHING,
    asking: Iterable[Asking] = (),
) -> frozenset[Term]:
    """The terms of a session: with those of its kept prompt, and its open questions."""
    terms = {(ASKS, session_mark(session)), *header_terms(header), *kept}
    for question in asking:
        terms.add((WAITING, ANSWER))
        if question.expires is not None:
            terms.add((WAITING, EXPIRY))
    return frozenset(terms)


def terms_with(
    actor: "SessionActor", header: Header, asking: Iterable[Asking] = ()
) -> frozenset[Term]:
    """The terms that a live session is to have with another header."""
    return terms_of(actor.id, header, kept_terms(actor.kept), asking)


def moved_terms(actor: "SessionActor", header: Header, kept: Kept | None) -> frozenset[Term] | None:
    """The terms, if the session shows something else with that header and kept prompt; or None."""
    before = actor.header
    if (
        header.skills == before.skills
        and header.revisions == before.revisions
        and header.indexed == before.indexed
        and (kept is actor.kept or kept_terms(kept) == kept_terms(actor.kept))
    ):
        return None
    return terms_of(actor.id, header, kept_terms(kept))


def kept_terms(kept: Kept | None) -> frozenset[Term]:
    """What a session shows by its kept prompt; nothing, if none was composed yet."""
    return _NOTHING if kept is None else kept.terms


def kept_skills(kept: Kept | None) -> tuple[SkillId, ...]:
    """The skills that a kept prompt was composed with."""
    return () if kept is None else tuple([use.id for use in kept.uses])


def showing(header: Header, shown: Iterable[tuple[SkillId, str]]) -> Header:
    """The header of a session that shows these skills and revisions too; the same, if it did."""
    new = list(shown)
    skills = dict.fromkeys([*header.skills, *(skill for skill, _ in new)])
    revisions = dict.fromkeys([*header.revisions, *(revision for _, revision in new if revision)])
    if len(skills) == len(header.skills) and len(revisions) == len(header.revisions):
        return header
    return structs.replace(header, skills=tuple(skills), revisions=tuple(revisions))


def loaded_in(
    results: Sequence[CallResult], known: Collection[SkillId]
) -> list[tuple[SkillId, str]]:
    """The skills that calls brought into the conversation, with their revisions (R155)."""
    return [
        (each.skill, each.revision)
        for each in results
        if each.skill is not None and each.skill in known
    ]


def with_revisions(header: Header, records: Iterable[AnyRecord]) -> Header:
    """The header of a session that an earlier release stored, with the revisions that it shows."""
    if header.indexed:
        return header
    found: dict[str, None] = {}
    for record in records:
        if isinstance(record, Dispatched):
            found.update((use.revision, None) for use in record.skills)
        elif isinstance(record, Returned | Asked | Ended):
            found.update((each.revision, None) for each in record.results if each.revision)
    return structs.replace(header, revisions=tuple(found))
