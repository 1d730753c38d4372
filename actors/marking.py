"""Marking sessions to be composed anew: durable first, and one entry however many they are (R239).

Nothing is composed here. Each session that is concerned is composed anew before its next dispatch,
from what stands in the workspace then; of the runs of its opening none is made again (R113).
"""

from typing import Any

from msgspec import structs

from greenroom.actors.marks import Marks
from greenroom.actors.waiting import Slot
from greenroom.actors.world import World
from greenroom.protocol.errors import StoreUnavailable
from greenroom.protocol.filter import Filter
from greenroom.protocol.identity import check_name
from greenroom.protocol.journal import SessionsMarked, encode_intervention
from greenroom.protocol.limits import Limits
from greenroom.protocol.recomposition import (
    RECOMPOSITION,
    Recomposition,
    encode_recomposition,
)
from greenroom.store.contract import Done, Enter, Failed, OtherVerdict, Standing, Store


async def mark(
    store: Store,
    marks: Marks,
    world: World,
    limits: Limits,
    asked: Filter,
    *,
    reason: str,
    by: str,
) -> Recomposition:
    """Mark the sessions that are meant; what it is kept as, not counted.

    Raises:
        InvalidInput, TooLarge: a name or text that cannot be kept; or too many of them stand.
        StoreFailed: it could not be written; no session is marked.
    """
    check_name(by, "name of who marks", limits)
    check_name(reason, "reason of a recomposition", limits)
    which: dict[str, Any] = structs.asdict(asked)
    async with marks.making:
        # Read again, since it was not told of one that failed whether it was written.
        marks.read(store)
        number, now = marks.last + 1, world.now()
        made = Recomposition(number=number, at=now, by=by, reason=reason, **which)
        marks.check_room(made, limits)
        slot: Slot[OtherVerdict] = Slot()

        def judged(verdict: OtherVerdict) -> None:
            if isinstance(verdict, Done):
                marks.add(made)
            slot.put(verdict)

        store.offer(_marking(made, marks.covered_by(made)), judged)
        verdict = await slot.get_shielded()
    if isinstance(verdict, Failed):
        raise verdict.error
    if not isinstance(verdict, Done):
        raise StoreUnavailable("What stood in the store has changed meanwhile: ask again.")
    return made


def _marking(made: Recomposition, covered: list[Recomposition]) -> Enter:
    """It stands in place of those that it covers; the journal says who made it, when and why."""
    entry = encode_intervention(SessionsMarked(made.at, made.by, made.reason, made))
    gone = [Standing(RECOMPOSITION, str(each.number), None) for each in covered]
    value = encode_recomposition(made)
    return Enter(entry, (*gone, Standing(RECOMPOSITION, str(made.number), value)))
