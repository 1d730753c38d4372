"""Which sessions a filter means: told from the index, so that none is activated and few are read.

Where a filter names one thing, the index says it. Where it names several, the sessions of whichever
fits the fewest are looked at, each by its header and its kept prompt. A session that an earlier
release stored is in the index by part of what it is; until its next dispatch it is looked at as
well, so that no answer is silently short (R239). Such sessions stand before all others, so where
there are none that costs one look; no earlier release may write to the store behind a later one.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, TypeAlias

import attrs

from greenroom.actors.listing import PAUSE, Listing, Pause
from greenroom.actors.terms import with_revisions
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.encoding import decode_header, decode_records
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.filter import (
    AGENT,
    CONTRIBUTOR,
    MODEL,
    PRESET,
    REVISION,
    SKILL,
    UNCHOSEN,
    Filter,
    Term,
    composition_terms,
    header_terms,
    is_concerned,
)
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.rebuild import composition_from
from greenroom.store.contract import Store, Stored

Agents: TypeAlias = Mapping[str, AgentDeclaration]
"""Those of a workspace, by name: what is bound to them now only a workspace can tell."""
KEPT_MAX: Final = 4_096
"""Compositions whose terms are remembered."""
PAUSE_AFTER: Final = 64
NO_AGENTS: Final[Agents] = {}
_LATER: Final = frozenset((REVISION, CONTRIBUTOR, MODEL, PRESET))
"""Kinds of which the index of an earlier release knows nothing."""
WHOLE: Final = 2
"""See ``Header.indexed``."""


@attrs.define(eq=False, slots=True)
class Index:
    """The sessions of one store by what they are and show."""

    store: Store
    _kept: dict[str, frozenset[Term]] = attrs.field(factory=dict)
    _has_older: bool = True
    """Whether a session may be there that an earlier release stored and that was not met since."""

    def find(self, asked: Filter, agents: Agents = NO_AGENTS) -> Iterator[SessionId | Pause]:
        """The sessions that are meant, each once; others get to run meanwhile."""
        terms, seen = asked.terms, set[SessionId]()
        for session in self._indexed(asked, terms, agents):
            if isinstance(session, Pause):
                yield session
            elif session not in seen:
                seen.add(session)
                yield session
        if any(kind in _LATER for kind, _ in terms):
            for found in self._older(asked, agents):
                if isinstance(found, Pause) or found not in seen:
                    yield found

    async def count(self, asked: Filter, agents: Agents = NO_AGENTS) -> int:
        """How many are meant."""
        return await Listing(lambda: self.find(asked, agents)).count()

    async def all(self, asked: Filter, agents: Agents = NO_AGENTS) -> list[SessionId]:
        """All that are meant."""
        return await Listing(lambda: self.find(asked, agents)).all()

    def terms(self, header: Header, agents: Agents = NO_AGENTS) -> frozenset[Term]:
        """What a stored session is, shows, and has bound now."""
        agent = agents.get(header.agent)
        return header_terms(header) | self.kept_terms(header) | bound_terms(header, agent)

    def kept_terms(self, header: Header) -> frozenset[Term]:
        """What a stored session shows by its kept prompt."""
        digest = header.composition
        if digest is None:
            return frozenset()
        found = self._kept.get(digest)
        if found is None:
            try:
                found = composition_terms(composition_from(digest, self.store.blob))
            except StoreDamaged:
                return frozenset()  # whoever opens the session is told
            if len(self._kept) >= KEPT_MAX:
                self._kept.clear()
            self._kept[digest] = found
        return found

    def whole(self, session: SessionId, header: Header) -> Header:
        """A stored header; of one that an earlier release stored, with what its records say."""
        if header.indexed:
            return header
        entries = self.store.read(session)
        return with_revisions(header, (r for e in entries for r in decode_records(e.records)))

    def _indexed(
        self, asked: Filter, terms: Iterable[Term], agents: Agents
    ) -> Iterator[SessionId | Pause]:
        parts = [self._with(term, asked.tenant, agents) for term in terms]
        if not parts:
            yield from (stored.session for stored in self.store.sessions(asked.tenant))
        elif len(parts) == 1:
            yield from parts[0]
        else:
            for place, session in enumerate((yield from _smallest(parts))):
                if self._is_meant(asked, self.store.look(session), agents):
                    yield session
                elif place % PAUSE_AFTER == 0:
                    yield PAUSE

    def _with(self, term: Term, tenant: str | None, agents: Agents) -> Iterator[SessionId]:
        """The sessions that have a term, or whose agent has it for them now."""
        also = ((kind, agent.name) for agent in agents.values() for kind in _by_agent(agent, term))
        return chain.from_iterable(
            self.store.find(kind, value, tenant=tenant) for kind, value in (term, *also)
        )

    def _is_meant(self, asked: Filter, stored: object, agents: Agents) -> bool:
        if not isinstance(stored, Stored):
            return False
        try:
            header = decode_header(stored.header)
            if asked.revision is not None:
                header = self.whole(stored.session, header)
        except StoreDamaged:
            return False  # it is set aside, and starts nothing
        return is_concerned(asked, stored.session, self.terms(header, agents))

    def _older(self, asked: Filter, agents: Agents) -> Iterator[SessionId | Pause]:
        """Those of the sessions that an earlier release stored that are meant."""
        if not self._has_older:
            return
        met = False
        for place, stored in enumerate(self.store.sessions()):
            indexed = _indexed_of(stored)
            if indexed == WHOLE:
                break
            if place % PAUSE_AFTER == 0:
                yield PAUSE
            if not indexed:
                met = True
                if self._is_meant(asked, stored, agents):
                    yield stored.session
        self._has_older = met


def bound_terms(header: Header, agent: AgentDeclaration | None) -> frozenset[Term]:
    """What a session's agent has for it now, whether it is in a prompt yet or not."""
    if agent is None:
        return frozenset()
    skills = [(SKILL, skill) for skill in agent.skills]
    return frozenset(skills if header.model is not None else [*skills, (MODEL, agent.model)])


def _by_agent(agent: AgentDeclaration, term: Term) -> Iterator[str]:
    """Under which kinds the sessions of an agent are found that have a term by it."""
    kind, value = term
    if kind == SKILL and value in agent.skills:
        yield AGENT
    elif kind == MODEL and value == agent.model:
        yield UNCHOSEN


def _smallest(
    parts: list[Iterator[SessionId]],
) -> Generator[Pause, None, list[SessionId]]:
    """All of the part that ends first: they are read in step, so that no large one is whole."""
    read = [list[SessionId]() for _ in parts]
    while True:
        for got, part in zip(read, parts, strict=True):
            session = next(part, None)
            if session is None:
                return got
            got.append(session)
        if len(read[0]) % PAUSE_AFTER == 0:
            yield PAUSE


def _indexed_of(stored: Stored) -> int:
    try:
        return decode_header(stored.header).indexed
    except StoreDamaged:
        return 1  # it can be found no better
