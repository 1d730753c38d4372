"""A turn that was running when its host stopped: settled when its session is activated again.

What it had committed stands. A call whose intent was committed and whose outcome was not may have
happened, and nothing else can be said of it; so it gets a result that says so, and is never run
again (R173, R175, P031).
"""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec
from msgspec import structs

from greenroom.actors.asking import answered
from greenroom.actors.session import SessionActor
from greenroom.actors.tools import Finished, blobs_of
from greenroom.protocol.encoding import decode_message, encode_message
from greenroom.protocol.errors import SaveFailed, SessionLost
from greenroom.protocol.identity import CallId
from greenroom.protocol.message import AssistantMessage, ToolMessage
from greenroom.protocol.parked import Since, added_by, relief_of, usage_of
from greenroom.protocol.record import (
    Answered,
    Asked,
    Dispatched,
    Ended,
    Responded,
    Resumed,
    Returned,
)
from greenroom.protocol.record_parts import CallResult
from greenroom.store.contract import Known

UNKNOWN: Final = "Unknown outcome: the host stopped while this call ran; it may have happened."
NOT_RUN: Final = "Not run: the host stopped before this call began."


async def settle_interrupted(
    actor: SessionActor, start: Dispatched, since: Sequence[Since]
) -> None:
    """End the open turn: every call gets a result, and the session takes the next message.

    Raises:
        SaveFailed: it cannot be written; the session stays as it is.
        SessionLost: somebody else holds the session by now.
    """
    finished = _missing_results(actor, since)
    results = tuple([one.result for one in finished])
    usage = usage_of(since)
    ended = Ended(
        actor.services.world.now(),
        start.turn,
        "interrupted",
        "The host stopped while this turn ran.",
        "interrupted",
        results,
        "",
        added_by(since) + len(results),
        usage + relief_of(since),
    )
    header = structs.replace(
        actor.header,
        open_turn=None,
        parked=None,
        messages=actor.header.messages + len(results),
        usage=actor.header.usage + usage,
    )
    obstacle = await actor.commit([ended], header, blobs=blobs_of(finished)).get_shielded()
    if isinstance(obstacle, SessionLost):
        raise obstacle
    if obstacle is not None:
        assert not isinstance(obstacle, Known), "the end of a turn registers no key"
        raise SaveFailed(
            f"The interrupted turn {start.turn} cannot be settled: {obstacle.sentence}"
        ) from obstacle
    # What it went on with may have begun, so it leaves nothing granted (P133, P139).
    actor.grants = ()
    chunks = [bytes(result.body) for result in results]
    actor.conversation.adopt(actor.conversation.plus(chunks))


def _missing_results(actor: SessionActor, since: Sequence[Since]) -> list[Finished]:
    """Results for the calls of a committed answer whose outcomes were not committed (R173).

    What was answered stands, as far as it needs no call (R224).
    """
    place = _last_answer(since)
    if place is None:
        return []
    answer, behind = since[place], since[place + 1 :]
    assert isinstance(answer, Responded)
    message = decode_message(answer.body)
    assert isinstance(message, AssistantMessage)
    told = {r.call for record in behind if isinstance(record, Asked) for r in record.results}
    begun = {*answer.intents}
    for record in behind:
        if isinstance(record, Resumed):
            begun.update(record.intents)
        elif isinstance(record, Asked):
            begun.update(one.call for one in record.questions if one.kind == "result")
    answers = {one.question: one for one in reversed(since) if isinstance(one, Answered)}
    door = actor.services.door
    return [
        answered(door, actor.id, call.id, answers) or Finished(_result(call.id, begun))
        for call in message.tool_calls
        if call.id not in told
    ]


def _last_answer(since: Sequence[Since]) -> int | None:
    """Where the answer stands whose outcomes are missing; None: they were committed."""
    for place in range(len(since) - 1, -1, -1):
        if isinstance(since[place], Returned):
            return None
        if isinstance(since[place], Responded):
            return place
    return None


def _result(call: CallId, begun: Collection[CallId]) -> CallResult:
    writes = call in begun
    body = encode_message(ToolMessage(call, UNKNOWN if writes else NOT_RUN))
    return CallResult(call, msgspec.Raw(body), "unknown" if writes else "not_run")
