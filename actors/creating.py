"""A session is made by one operation of the store: whole or not at all, however many ask."""

from collections.abc import Mapping, Sequence

import trio

from greenroom.actors.border import check_labels, check_names
from greenroom.actors.index import WHOLE
from greenroom.actors.services import Services
from greenroom.actors.terms import terms_of
from greenroom.actors.waiting import Slot
from greenroom.protocol.encoding import decode_header, encode_header, encode_records
from greenroom.protocol.errors import Mismatch, Missing
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import AnyRecord, Imported, LegacyContext, Opened
from greenroom.store.contract import Create, Created, CreateVerdict, Exists, Failed


async def created(
    services: Services,
    session: SessionId,
    *,
    agent: str,
    person: str | None,
    preset: str | None,
    labels: Mapping[str, str] | None,
    history: Sequence[Imported | LegacyContext],
) -> Header:
    """The header of a session that is made now, or was there already; see ``Scope.create``.

    Raises:
        UnknownAgent, UnknownPreset: not in the workspace.
        Missing: it was deleted.
        Mismatch: it is there, and a history was to make it.
    """
    workspace = services.workspace
    check_names(services.limits, agent=agent, person=person, preset=preset)
    declared = workspace.agent(agent)
    kept_labels = check_labels(labels, services.limits)
    chosen = preset or declared.preset or workspace.presets.strictest.id
    workspace.presets.get(chosen)
    instructions = await trio.to_thread.run_sync(workspace.instructions, limiter=services.reading)
    now = services.world.now()
    messages = [record for record in history if isinstance(record, Imported)]
    header = Header(
        agent,
        person,
        chosen,
        None,
        now,
        users=sum(record.ordinal is not None for record in messages),
        messages=len(messages),
        labels=kept_labels,
        indexed=WHOLE,
    )
    records = (Opened(now, agent, person, chosen, instructions), *history)
    operation = Create(
        session, encode_header(header), encode_records(records), terms_of(session, header)
    )
    match await made(services, operation, records):
        case Exists() if history:
            raise Mismatch(f"There is a session {session}; a history makes a new one.")
        case Exists(header=stored):
            return decode_header(stored)
        case _:
            return header


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
