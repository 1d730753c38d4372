"""A turn that was running when its host stopped: settled when its session is activated again.

What it had committed stands. A call whose intent was committed and whose outcome was not may have
happened, and nothing else can be said of it; so it gets a result that says so, and is never run
again (R173, R175, P031).
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import structs

from greenroom.actors.session import SessionActor
from greenroom.protocol.encoding import decode_message, encode_message
from greenroom.protocol.errors import SaveFailed, SessionLost
from greenroom.protocol.message import AssistantMessage, ToolMessage
from greenroom.protocol.record import CallResult, Dispatched, Ended, Responded, Returned
from greenroom.protocol.turn import CallState
from greenroom.protocol.usage import Usage
from greenroom.store.contract import Known

UNKNOWN: Final = "Unknown outcome: the host stopped while this call ran; it may have happened."
NOT_RUN: Final = "Not run: the host stopped before this call began."


async def settle_interrupted(
    actor: SessionActor, start: Dispatched, since: Sequence[Responded | Returned]
) -> None:
    """End the open turn: every call gets a result, and the session takes the next message.

    Raises:
        SaveFailed: it cannot be written; the session stays as it is.
        SessionLost: somebody else holds the session by now.
    """
    results = _missing_results(since)
    usage = Usage()
    added = 1 + len(results)
    for record in since:
        if isinstance(record, Responded):
            usage += record.usage
            added += 1
        else:
            added += len(record.results) + len(record.steers)
    ended = Ended(
        actor.services.world.now(),
        start.turn,
        "interrupted",
        "The host stopped while this turn ran.",
        "interrupted",
        results,
        "",
        added,
        usage,
    )
    header = structs.replace(
        actor.header,
        open_turn=None,
        messages=actor.header.messages + len(results),
        usage=actor.header.usage + usage,
    )
    obstacle = await actor.commit([ended], header).get_shielded()
    if isinstance(obstacle, SessionLost):
        raise obstacle
    if obstacle is not None:
        assert not isinstance(obstacle, Known), "the end of a turn registers no key"
        raise SaveFailed(
            f"The interrupted turn {start.turn} cannot be settled: {obstacle.sentence}"
        ) from obstacle
    chunks = [bytes(result.body) for result in results]
    actor.conversation.adopt(actor.conversation.plus(chunks))


def _missing_results(since: Sequence[Responded | Returned]) -> tuple[CallResult, ...]:
    """Results for the calls of a committed answer whose outcomes were not committed (R173)."""
    if not since or not isinstance(since[-1], Responded):
        return ()
    answer = since[-1]
    message = decode_message(answer.body)
    assert isinstance(message, AssistantMessage)
    results = []
    for call in message.tool_calls:
        writes = call.id in answer.intents
        body = encode_message(ToolMessage(call.id, UNKNOWN if writes else NOT_RUN))
        state: CallState = "unknown" if writes else "not_run"
        results.append(CallResult(call.id, msgspec.Raw(body), state))
    return tuple(results)
