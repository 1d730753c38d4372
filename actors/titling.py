"""Asking a model for a title, and committing what came of it beside the turns (R95, R96).

What is committed is what was asked, what it cost, and the title that was taken of the answer, if
one was: a request that fails leaves everything else as it was (R190). It is made of the header as
that stands when its commit is sealed, so no turn overwrites it and it overwrites no turn (R91).
"""

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

import trio
from msgspec import structs

from greenroom.actors.charging import worst_of_request
from greenroom.actors.model_call import answered
from greenroom.actors.models.port import Model, ModelResponse, SessionInfo
from greenroom.actors.pending import Change, raised
from greenroom.actors.quotas import Bill
from greenroom.actors.response import answer_of
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.errors import ModelFailed, SessionLost
from greenroom.protocol.header import Header
from greenroom.protocol.limits import Limits
from greenroom.protocol.quota import Charge
from greenroom.protocol.record import TitleMade
from greenroom.protocol.refusal import OverQuota, QuotaFailed
from greenroom.protocol.request import ModelRequest, request_digest
from greenroom.protocol.titling import title_of, title_request, title_words
from greenroom.protocol.usage import Usage
from greenroom.protocol.wording import CURRENT

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

_log: Final = logging.getLogger("greenroom")


async def make_title(actor: "SessionActor", model: Model) -> None:
    """Ask for a title of what persons typed, and commit what came of it; without words nothing.

    Where the tenant's quota has no room for it nothing is asked either (R233).
    """
    services, limits = actor.services, actor.services.limits
    entries = services.store.read(actor.id)
    records = (record for entry in entries for record in decode_records(entry.records))
    size = limits.title_words_bytes_max
    words = title_words(records, limits.title_messages_max, size)
    if not words.texts:
        return
    request = title_request(model.name, words.texts, CURRENT)
    info = SessionInfo(actor.id, actor.header.agent, actor.header.person)
    title, usage, was_asked = "", Usage(), True
    bill = services.quotas.bill(actor.id.tenant)
    try:
        response = await _answer(model, request, info, limits, bill)
        usage = response.usage
        title = _taken(response, limits)
    except ModelFailed as error:
        _log.info("No title of %s was made: %s", actor.id, error.sentence)
    except (OverQuota, QuotaFailed) as error:
        _log.info("No title of %s was made: %s", actor.id, error.sentence)
        was_asked = False
    finally:
        charges = () if bill is None else bill.close()
    if not (was_asked or charges):
        return
    made = TitleMade(
        services.world.now(),
        model.name,
        CURRENT.version,
        request_digest(request),
        words.messages,
        size,
        usage,
        title,
    )
    if services.actors.get(actor.id) is actor:
        await change_title(actor, partial(_made, made), charges)


async def _answer(
    model: Model, request: ModelRequest, info: SessionInfo, limits: Limits, bill: Bill | None
) -> ModelResponse:
    reserved = None
    if bill is not None:
        reserved = bill.reserve(worst_of_request(request, model.capabilities, limits))
    with trio.move_on_after(limits.title_seconds_max):
        return await answered(model, request, info, limits, None, reserved)
    raise ModelFailed(f"The model named nothing within {limits.title_seconds_max:g} s.")


def _taken(response: ModelResponse, limits: Limits) -> str:
    """The title in an answer. Raises :class:`ModelFailed` if there is none."""
    reply = answer_of(response, 0, 0, 0, 0, limits)
    if response.finish == "filter":
        raise ModelFailed("The provider withheld the title.")
    if reply.calls:
        raise ModelFailed("The model called a tool in place of a title.")
    title = title_of(reply.text, limits.title_bytes_max)
    if not title:
        raise ModelFailed("The model answered with no title.")
    return title


def _made(made: TitleMade, header: Header) -> tuple[TitleMade, Header]:
    """Of a session that has a title by now, a person's, only what it cost is taken (R96, R190)."""
    if header.title is not None:
        made = structs.replace(made, title="")
    title = made.title or header.title
    untitled = header.untitled + 1 if title is None else 0
    usage = header.usage + made.usage
    return made, structs.replace(header, title=title, untitled=untitled, usage=usage)


async def change_title(
    actor: "SessionActor", change: Change, charges: tuple[Charge, ...] = ()
) -> None:
    """Commit what changes a session's title, between whatever else of it is committed (R91).

    With a save pending it joins that, and becomes durable with it.

    Raises:
        StoreFailed: it could not be written; the former title stays.
        SessionLost: somebody else holds the session by now.
    """
    await actor.until_heard()
    if actor.pending:
        record, header = change(actor.pending.last.header)
        actor.join([record], header, charges=charges)
        return
    error = await actor.commit_beside(change, charges).get_shielded()
    if isinstance(error, SessionLost):
        if actor.turn is None or not actor.turn.runs:  # else its own next commit finds that out
            actor.lose(error)
        raise error
    if error is not None:
        raise raised(error)
