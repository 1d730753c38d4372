"""A session is made by one operation of the store: whole or not at all, however many ask."""

from collections.abc import Sequence

from greenroom.actors.services import Services
from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import Missing
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import AnyRecord
from greenroom.store.contract import Create, Created, CreateVerdict, Exists, Failed


async def made(
    services: Services, operation: Create, newest: Sequence[AnyRecord]
) -> Created | Exists:
    """Offer it, and tell those who follow; ``newest`` are the records of its last commit.

    Raises:
        Missing: it was deleted.
        StoreFailed: it could not be written.
    """
    slot: Slot[CreateVerdict] = Slot()
    services.store.offer(operation, slot.put)
    verdict = await slot.get_shielded()
    match verdict:
        case Created(number=number):
            services.published(operation.session, number, tuple(newest))
            return verdict
        case Exists():
            return verdict
        case Failed(error=error):
            raise error
        case _:
            raise used_up(operation.session)


def used_up(session: SessionId) -> Missing:
    """What there is to say of a key whose session was deleted (R192)."""
    return Missing(
        f"The session {session} was deleted, and its key is used up.",
        way_out="Take another key.",
        session=str(session),
    )
