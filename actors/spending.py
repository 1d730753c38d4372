"""Reading the turns of many sessions, one session after the other: what shaped them, what it cost.

Nothing is activated and no claim is taken (R219). A session is read, told of and let go before the
next one, so the memory that it takes is that of the longest (R78).
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial

import msgspec
import trio

from greenroom.actors.listing import PAUSE, Pause
from greenroom.protocol.account import turns_of
from greenroom.protocol.composition import Composition
from greenroom.protocol.encoding import decode_header, decode_records
from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.identity import SessionId
from greenroom.protocol.rebuild import composition_from
from greenroom.protocol.reckoning import KEPT_MAX, ContributorSpend, Reckoning
from greenroom.protocol.shaping import shaped
from greenroom.protocol.tokens import TokenCounter
from greenroom.protocol.turn import SessionTurn, TurnRecord
from greenroom.store.contract import Store, Stored


class SpendReport(msgspec.Struct, frozen=True):
    """What each version of a contributor spent and reached in a store (R78)."""

    contributors: tuple[ContributorSpend, ...]
    """The one that spent most first."""
    sessions: int
    turns: int
    unreadable: int = 0
    """Sessions whose records or kept prompts cannot be read: nothing of them is in it (R92)."""


async def spend_in(
    store: Store, tenant: str | None, agent: str | None, counter: TokenCounter | None
) -> SpendReport:
    """Reckon with the turns of all sessions of a tenant, or with those of one agent's.

    Raises:
        TooLarge: they were shaped by more versions than are reckoned with.
    """
    reckoning = Reckoning(_compositions(store), counter)
    unreadable = 0
    for session in _sessions(store, tenant, agent):
        try:
            reckoning.take(_turns(store, session))
        except StoreDamaged:
            unreadable += 1
        await trio.lowlevel.checkpoint()
    return SpendReport(reckoning.spends(), reckoning.sessions, reckoning.turns, unreadable)


def turns_in(
    store: Store, tenant: str | None, agent: str | None, contributor: str | None
) -> Iterator[SessionTurn | Pause]:
    """Every turn, oldest first in its session; with ``contributor`` those that it reached.

    A session that cannot be read is left out: it hides no other (R92).
    """
    composition_of = _compositions(store)
    for session in _sessions(store, tenant, agent):
        yield PAUSE
        try:
            found = [shaped(turn, composition_of) for turn in _turns(store, session)]
        except StoreDamaged:
            continue
        for turn in found:
            if contributor is None or reaches(contributor, turn):
                yield SessionTurn(session, turn)


def reaches(contributor: str, turn: TurnRecord) -> bool:
    """Whether a contributor shaped a turn: any version of that id, or exactly ``id@version``."""
    return any(contributor in (each, each.rpartition("@")[0]) for each in turn.contributors) or any(
        contributor in (skill.id, f"{skill.id}@{skill.revision}") for skill in turn.skills
    )


def _sessions(store: Store, tenant: str | None, agent: str | None) -> Iterator[SessionId]:
    if agent is None:
        return (stored.session for stored in store.sessions(tenant))
    return store.find("agent", agent, tenant=tenant)


def _turns(store: Store, session: SessionId) -> list[TurnRecord]:
    stored = store.look(session)
    if not isinstance(stored, Stored):
        return []  # deleted meanwhile
    records = [record for entry in store.read(session) for record in decode_records(entry.records)]
    return turns_of(records, decode_header(stored.header).agent)


def _compositions(store: Store) -> Callable[[str], Composition]:
    """Reads kept prompts; the last ones stay at hand, for many sessions share one."""
    return lru_cache(KEPT_MAX)(partial(composition_from, blob=store.blob))
