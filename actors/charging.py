"""What a turn's requests may take at most, reserved before each is sent; most have no quota.

A reservation is made right before the commit that the request follows, and nothing is awaited
between them: so that commit charges the worst case, and the next one what it was less (R233).
"""

import math
from typing import TYPE_CHECKING

from greenroom.actors.conversation import Addition
from greenroom.actors.drafting import Draft
from greenroom.actors.models.port import Capabilities
from greenroom.actors.quotas import Bill
from greenroom.protocol.budget import TokenEstimate, message_tokens
from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.limits import Limits
from greenroom.protocol.quota import Charge
from greenroom.protocol.request import ModelRequest

if TYPE_CHECKING:
    from greenroom.actors.turn import Turn


def worst_of(tokens: int, can: Capabilities, limits: Limits) -> int:
    """The most that a request can take: what is sent, by an estimate, and the longest answer."""
    # As in a budget, counts are estimates: a share of what is counted stands for what they miss.
    told = math.ceil(tokens * (1 + limits.safety_share)) + 1
    longest = limits.output_tokens_reserve if can.output_tokens is None else can.output_tokens
    return told + longest


def worst_of_request(request: ModelRequest, can: Capabilities, limits: Limits) -> int:
    """The same for a request that is of no turn: for a summary, or for a title."""
    counter = TokenEstimate(can.bytes_per_token)
    told = [message_tokens(body, counter, can.image_tokens) for body in request.messages]
    fixed = counter.tokens(request.system) + counter.tokens(request.tools)
    return worst_of(fixed + sum(told), can, limits)


def reserve(turn: "Turn", draft: Draft, told: Addition, turns: int = 0) -> GreenroomError | None:
    """Reserve for the next request of a turn, in place of what was reserved and was not sent.

    ``told`` is all that follows the conversation in it. What it returns keeps it from being sent.
    """
    services = turn.actor.services
    if services.quotas.rule is None:
        return None
    unreserve(turn)
    try:
        bill = bill_of(turn)
        if bill is not None:
            tokens = draft.variant.budget.fixed + draft.tokens(told)
            worst = worst_of(tokens, draft.model.capabilities, services.limits)
            turn.reserved = bill.reserve(worst, turns)
    except GreenroomError as error:
        return error
    return None


def bill_of(turn: "Turn") -> Bill | None:
    """What the turn is charged with; None: its tenant has no quota.

    Raises:
        QuotaFailed, StoreDamaged: that cannot be told.
    """
    if turn.bill is None:
        turn.bill = turn.actor.services.quotas.bill(turn.actor.id.tenant)
    return turn.bill


def charges_of(turn: "Turn") -> tuple[Charge, ...]:
    """What the turn's next commit charges its tenant; mostly nothing."""
    return () if turn.bill is None else turn.bill.take()


def unreserve(turn: "Turn") -> None:
    """What was reserved for a request that is not sent is free again."""
    if turn.reserved is not None:
        turn.reserved.release()
        turn.reserved = None


def close_bill(turn: "Turn") -> None:
    """Nothing of the turn runs any more, in whatever way it ended."""
    unreserve(turn)
    if turn.bill is not None:
        turn.bill.close()
        turn.bill = None
