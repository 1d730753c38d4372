"""The recompositions of a store as a host sees them, and whether one concerns a session (R239).

Who is concerned is told by what a session was when it was marked. A session that nobody uses does
not change until its next turn, so it is asked then; and where something changes before that, by a
setting or by what a call loads, it is asked before the change and its header keeps the answer. A
conversation that begins behind a mark, or was composed anew meanwhile, has nothing to catch up on.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
import trio
from msgspec import structs

from greenroom.actors.holds import concerns
from greenroom.actors.terms import loaded_in, showing
from greenroom.protocol.errors import TooLarge
from greenroom.protocol.filter import covers
from greenroom.protocol.header import Header
from greenroom.protocol.limits import Limits
from greenroom.protocol.recomposition import RECOMPOSITION, Recomposition, decode_recomposition
from greenroom.protocol.record_parts import CallResult
from greenroom.store.contract import Store

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor


@attrs.define(eq=False, slots=True)
class Marks:
    """What is to be composed anew."""

    standing: tuple[Recomposition, ...] = ()
    """In the order of their numbers; without those that a later one covers."""
    last: int = 0
    """The number of the newest."""
    making: trio.Lock = attrs.field(factory=trio.Lock)
    """Held while one is made, so that each has its number."""

    @classmethod
    def stored(cls, store: Store) -> "Marks":
        """Those that stand in a store. Raises :class:`StoreDamaged`."""
        marks = cls()
        marks.read(store)
        return marks

    def read(self, store: Store) -> None:
        """Take those that stand in a store. Raises :class:`StoreDamaged`."""
        rows = store.standing(RECOMPOSITION)
        self.standing = tuple([decode_recomposition(row.value or b"") for row in rows])
        self.last = max((each.number for each in self.standing), default=0)

    def covered_by(self, made: Recomposition) -> list[Recomposition]:
        """Those in whose place another one stands: all that they concern is concerned by it."""
        return [each for each in self.standing if covers(made, each)]

    def add(self, made: Recomposition) -> None:
        """It stands: its entry is durable."""
        covered = self.covered_by(made)
        left = [each for each in self.standing if each not in covered]
        self.standing, self.last = (*left, made), made.number

    def check_room(self, made: Recomposition, limits: Limits) -> None:
        """Raise :class:`TooLarge` where one more would be over the bound."""
        bound = limits.recompositions_max
        if len(self.standing) - len(self.covered_by(made)) >= bound:
            raise TooLarge(
                f"There are {bound:,} recompositions that sessions may not know of, their bound.",
                way_out="Ask for one that covers others, such as all of an agent or of the tenant:"
                " it takes their place.",
                bound=bound,
            )


def is_marked(actor: "SessionActor") -> bool:
    """Whether a session is to be composed anew before its next dispatch."""
    header, marks = actor.header, actor.services.marks
    if header.recompositions >= marks.last:
        return header.recompose
    unknown = (mark for mark in marks.standing if mark.number > header.recompositions)
    return header.recompose or any(concerns(mark, actor) for mark in unknown)


def noted(actor: "SessionActor", header: Header) -> Header:
    """The header behind a change, with whether the session was concerned before it."""
    last = actor.services.marks.last
    if actor.header.recompositions >= last:
        return header
    return structs.replace(header, recompositions=last, recompose=is_marked(actor))


def with_loaded(actor: "SessionActor", header: Header, results: Sequence[CallResult]) -> Header:
    """The header with what calls brought into the conversation; the same, if that is nothing."""
    loaded = loaded_in(results, actor.services.workspace.skills)
    after = showing(header, loaded) if loaded else header
    return header if after is header else noted(actor, after)
