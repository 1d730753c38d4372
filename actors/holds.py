"""The holds of a store as a host sees them, and what they keep from beginning (R159).

No session is marked: a hold is asked about when a turn would begin or go on. Where there is none
that costs a look.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

import attrs

from greenroom.actors.index import bound_terms
from greenroom.actors.terms import kept_terms
from greenroom.protocol.command import Pick
from greenroom.protocol.errors import Held, TooLarge
from greenroom.protocol.filter import SKILL, Filter, Term, header_terms, is_concerned
from greenroom.protocol.header import Header
from greenroom.protocol.hold import HOLD, WITHDRAWAL, Hold, decode_hold
from greenroom.protocol.identity import SessionId, SkillId
from greenroom.protocol.limits import Limits
from greenroom.protocol.phase import Phase, Step
from greenroom.store.contract import Store

if TYPE_CHECKING:
    from greenroom.actors.services import Services
    from greenroom.actors.session import SessionActor

_NONE: Final[frozenset[Pick]] = frozenset()


@attrs.define(eq=False, slots=True)
class Holds:
    """What holds sessions now."""

    in_force: tuple[Hold, ...]
    """In the order in which they were placed."""
    withdrawn: tuple[SkillId, ...] = ()
    """Skills that were withdrawn, in order and as often as they were; a header says how many of
    them a session knows of."""

    @classmethod
    def stored(cls, store: Store) -> "Holds":
        """Those that stand in a store. Raises :class:`StoreDamaged`."""
        return cls(
            tuple([decode_hold(row.value or b"") for row in store.standing(HOLD)]),
            tuple([(row.value or b"").decode() for row in store.standing(WITHDRAWAL)]),
        )

    def get(self, name: str) -> Hold | None:
        """The hold of that id."""
        return next((hold for hold in self.in_force if hold.id == name), None)

    def place(self, hold: Hold) -> None:
        """It is in force: its entry is durable."""
        self.in_force = (*self.in_force, hold)

    def lift(self, name: str) -> None:
        """It is in force no more."""
        self.in_force = tuple([hold for hold in self.in_force if hold.id != name])

    def withdraw(self, skill: SkillId) -> None:
        """What conversations show of a skill is withdrawn: their next turns show it no more."""
        self.withdrawn = (*self.withdrawn, skill)

    def check_room(self, limits: Limits) -> None:
        """Raise :class:`TooLarge` where one more would be over the bound."""
        if len(self.in_force) >= limits.holds_max:
            bound = limits.holds_max
            raise TooLarge(f"There are {bound:,} holds in force, their bound.", bound=bound)

    def first_on(self, session: SessionId, terms: AbstractSet[Term]) -> Hold | None:
        """The first hold that concerns a session that is and shows this."""
        for hold in self.in_force:
            if is_concerned(hold, session, terms):
                return hold
        return None


def hold_on(actor: "SessionActor", picks: Iterable[Pick] | None = None) -> Hold | None:
    """The hold that keeps the next turn of a live session from beginning, if one does.

    ``picks`` are those of its message; None: of the first that is queued. A message that picks a
    skill which is held waits, whatever else its session shows.
    """
    holds = actor.services.holds
    if not holds.in_force:
        return None
    if picks is None:
        # A parked turn goes on whatever is queued behind it.
        first = None if actor.phase is Phase.PARKED else actor.gateway.first
        picks = _NONE if first is None else first.submission.picks
    return holds.first_on(actor.id, live_terms(actor).union((SKILL, pick.id) for pick in picks))


def hold_on_stored(services: "Services", session: SessionId, header: Header) -> Hold | None:
    """The hold that concerns a passive session; its queue is not looked at."""
    if not services.holds.in_force:
        return None
    if any(hold.revision is not None for hold in services.holds.in_force):
        header = services.index.whole(session, header)
    terms = services.index.terms(header, services.workspace.agents)
    return services.holds.first_on(session, terms)


def live_terms(actor: "SessionActor") -> frozenset[Term]:
    """What a live session is, shows, and has bound now."""
    header = actor.header
    agent = actor.services.workspace.agents.get(header.agent)
    return header_terms(header) | kept_terms(actor.kept) | bound_terms(header, agent)


def keeps_still(actor: "SessionActor") -> bool:
    """Whether a hold, or a question, keeps a session from starting or resuming a turn.

    Its phase says so then.
    """
    if (actor.gateway.asked or actor.phase is Phase.ASKING) and _waits_to_open(actor):
        return True
    if not actor.services.holds.in_force and actor.phase is not Phase.HELD:
        return False
    held = hold_on(actor) is not None
    if held and actor.phase is Phase.IDLE:
        actor.step(Step.HOLD)
    elif not held and actor.phase is Phase.HELD:
        actor.step(Step.LIFT)
    return held


def _waits_to_open(actor: "SessionActor") -> bool:
    """Whether its first turn waits until the runs of its opening are approved (R215)."""
    # While an answer or a recall is on its way to disk it is not known yet what waits.
    waits = bool(actor.gateway.waits_for) or actor.answering is not None
    if waits and actor.phase is Phase.IDLE:
        actor.step(Step.ASK)
    elif not waits and actor.phase is Phase.ASKING:
        actor.step(Step.GO_ON)
    return waits


def stopping(actor: "SessionActor") -> Hold | None:
    """The hold that ends a running turn at this boundary, if one does."""
    for hold in actor.services.holds.in_force:
        if hold.running == "stop" and concerns(hold, actor):
            return hold
    return None


def concerns(asked: Filter, actor: "SessionActor") -> bool:
    """Whether a live session is meant by what it is and shows now."""
    return is_concerned(asked, actor.id, live_terms(actor))


def may_rest_still(actor: "SessionActor") -> bool:
    """Whether a session that is held, or asks before it begins, can be read back as it is.

    One that is held for what its first message picks stays: the index does not know of that.
    """
    if actor.is_saving or actor.outcomes.are_awaited or not actor.gateway.is_stored:
        return False
    if actor.phase is Phase.ASKING:
        return actor.answering is None
    return hold_on(actor, ()) is not None


def held_error(actor: "SessionActor", picks: Iterable[Pick] | None = None) -> Held:
    """Why a held session refuses what is asked of it; ``picks`` as in :func:`hold_on`."""
    hold = hold_on(actor, picks)
    if hold is None:
        return Held(f"The session {actor.id} was held and is about to go on.")
    return Held(
        f"The session {actor.id} is held by {hold.by}: {hold.reason}",
        session=str(actor.id),
        hold=hold.id,
        by=hold.by,
        reason=hold.reason,
    )
