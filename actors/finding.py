"""Listing sessions by a filter: found by the index, each with where it shows what was asked for."""

from collections.abc import Callable, Iterator

from msgspec import structs

from greenroom.actors.index import NO_AGENTS, Agents, Index
from greenroom.actors.listing import PAUSE, Items, Pause
from greenroom.protocol.encoding import decode_header
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.filter import Filter, message_terms
from greenroom.protocol.state import Place, SessionSummary
from greenroom.store.contract import Stored


def summaries_of(
    index: Index,
    asked: Filter,
    summary: Callable[[Stored], SessionSummary],
    *,
    agents: Agents = NO_AGENTS,
    phase: str | None = None,
) -> Items[SessionSummary]:
    """The sessions that are meant and are in that phase; nothing is activated."""
    for stored in _found(index, asked, agents):
        if isinstance(stored, Pause):
            yield stored
            continue
        each = summary(stored)
        if phase not in (None, each.phase):
            yield PAUSE
        elif asked.shown is None:
            yield each
        else:
            yield structs.replace(each, shown_in=tuple(_places(index, asked, stored)))


def _found(index: Index, asked: Filter, agents: Agents) -> Items[Stored]:
    if not asked.terms:
        yield from index.store.sessions(asked.tenant)
        return
    for each in index.find(asked, agents):
        stored = each if isinstance(each, Pause) else index.store.look(each)
        yield stored if isinstance(stored, Stored) else PAUSE


def _places(index: Index, asked: Filter, stored: Stored) -> Iterator[Place]:
    """Where a session shows what was asked for."""
    try:
        header = index.whole(stored.session, decode_header(stored.header))
    except StoreDamaged:
        return
    if asked.shown in index.kept_terms(header):
        yield "kept_prompt"
    if asked.shown in message_terms(header):
        yield "message"
