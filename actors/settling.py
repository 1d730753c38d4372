"""The end of a turn: the records that settle it, whatever ended it.

Every call has exactly one result right behind its message, and one record says how the turn ended
and why, so the session takes the next message after any end (R175).
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import structs

from greenroom.actors.models.port import ModelResponse
from greenroom.actors.response import Reply
from greenroom.actors.round import Round
from greenroom.actors.tools import Door, blobs_of
from greenroom.protocol.errors import GreenroomError, SaveFailed, StoreFailed, TurnFailed
from greenroom.protocol.grant import Grant
from greenroom.protocol.header import Header
from greenroom.protocol.identity import TurnId
from greenroom.protocol.receipt import End
from greenroom.protocol.record import AnyRecord, Ended
from greenroom.protocol.record_parts import CallResult, SummaryCall
from greenroom.protocol.usage import Usage

WITHHELD: Final = "The provider withheld the answer."


class Ending(msgspec.Struct, frozen=True, gc=False):
    """How a turn is to end, decided before it is settled."""

    end: End
    reason: str = ""
    code: str = ""
    answer: Reply | None = None
    """The last answer, which is committed with the end."""


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """What settles a turn: the last thing of it that is committed."""

    records: Sequence[AnyRecord]
    ended: Ended
    chunks: Sequence[bytes]
    """The messages that it adds."""
    blobs: dict[str, bytes]
    grants: tuple[Grant, ...] = ()
    """What it leaves to the next turn (P139)."""


def settlement(
    ending: Ending,
    open_round: Round | None,
    door: Door,
    at: int,
    turn: TurnId,
    added: int,
    usage: Usage,
    *,
    withdrawn: tuple[str, ...] = (),
    summaries: tuple[SummaryCall, ...] = (),
) -> Settlement:
    """The records that end a dispatched turn.

    Args:
        ending: how and why.
        open_round: the answer whose outcomes are not committed, if there is one.
        door: makes the results that are missing.
        at: milliseconds since 1970, UTC.
        turn: which turn.
        added: the messages of the turn that are committed already.
        usage: of all its model calls.
        withdrawn: its questions that are open.
        summaries: model calls for summaries that came to nothing.
    """
    records: list[AnyRecord] = []
    chunks: list[bytes] = []
    results: tuple[CallResult, ...] = ()
    blobs: dict[str, bytes] = {}
    grants: tuple[Grant, ...] = ()
    answer = ending.answer if open_round is None else open_round.answer
    if answer is not None and not (open_round is not None and open_round.answer_saved):
        records.append(answer.record)
        chunks.append(answer.body)
    if open_round is not None:
        finished = open_round.finished(door)
        results = tuple([one.result for one in finished])
        blobs = blobs_of(finished)
        if ending.end != "cancelled":  # whoever ends a turn wants nothing of it any more (R160)
            grants = open_round.unused(results)
    chunks += [bytes(result.body) for result in results]
    text = answer.text if answer is not None and open_round is None else ""
    ended = Ended(
        at,
        turn,
        ending.end,
        ending.reason,
        ending.code,
        results,
        text,
        added + len(chunks),
        usage,
        withdrawn,
        summaries,
        tuple([grant.question for grant in grants]) if grants else (),
    )
    records.append(ended)
    return Settlement(records, ended, chunks, blobs, grants)


def settled_header(header: Header, messages: int, usage: Usage) -> Header:
    """The header behind a settled turn; ``usage`` is what it does not count yet (R190)."""
    return structs.replace(
        header,
        open_turn=None,
        parked=None,
        messages=header.messages + messages,
        usage=header.usage + usage,
    )


def unsaved(error: StoreFailed, ended: Ended) -> GreenroomError | ExceptionGroup[GreenroomError]:
    """What waiters get when the end cannot be saved; a failed turn's own failure too (R88)."""
    failure = SaveFailed(
        f"The end of turn {ended.turn} cannot be saved: {error.sentence}", turn=ended.turn
    )
    failure.__cause__ = error
    if ended.end in ("done", "empty"):
        return failure
    turn_failed = TurnFailed(
        f"Turn {ended.turn} ended {ended.end}: {ended.reason}", turn=ended.turn, end=ended.end
    )
    return ExceptionGroup("The turn failed and could not be saved.", [turn_failed, failure])


def ending_without_answer(response: ModelResponse) -> Ending:
    """A turn ends with an answer that holds nothing."""
    if response.finish == "filter":
        return Ending("refused", WITHHELD, "filtered")
    return Ending("empty", "The model answered nothing.", "empty")


def last_of(answer: Reply, response: ModelResponse) -> Ending:
    """A turn ends with an answer that asks for no tool."""
    if response.finish == "filter":
        return Ending("refused", WITHHELD, "filtered", answer)
    cut = response.finish == "length"
    return Ending("done", "The answer was cut at its longest length." if cut else "", "", answer)
