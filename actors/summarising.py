"""Asking a model for a summary, piece by piece, and what of its answers is taken.

The same model port answers that answers the session's turns, but nobody reads along: a summary is
nothing that was said in the conversation (R106). Nothing is committed here, and nothing of the
session changes; whoever asked decides what becomes of the summary.
"""

from collections.abc import Callable, Sequence
from typing import Final

import attrs
import msgspec
import trio

from greenroom.actors.charging import worst_of_request
from greenroom.actors.kept_prompt import Kept, Variant
from greenroom.actors.model_call import answered
from greenroom.actors.models.port import Model, ModelResponse, SessionInfo
from greenroom.actors.quotas import Bill
from greenroom.actors.response import answer_of
from greenroom.actors.services import Services
from greenroom.protocol.budget import TokenEstimate
from greenroom.protocol.compaction import (
    Pieces,
    closing,
    framed_summary,
    piece_of,
    summary_request,
)
from greenroom.protocol.encoding import decode_message
from greenroom.protocol.errors import ModelFailed, OverBudget
from greenroom.protocol.message import AssistantMessage, ToolMessage
from greenroom.protocol.record_parts import SummaryCall
from greenroom.protocol.request import ModelRequest, request_digest
from greenroom.protocol.usage import Usage
from greenroom.protocol.wording import Wording, wording_of

_NO_USAGE: Final = Usage()


class Part(msgspec.Struct, frozen=True, gc=False):
    """What is to be summarised, and under what (R107)."""

    kept: Kept
    """The composition that was made for it."""
    variant: Variant
    model: Model
    info: SessionInfo
    messages: Sequence[bytes]
    """Projected against that composition."""
    turns: Sequence[int]
    """Where turns begin in them."""
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def wording(self) -> Wording:
        """That of the composition."""
        return wording_of(self.kept.composition.wording)


@attrs.define(eq=False, slots=True)
class Summariser:
    """Makes the summary of one part; ``calls`` has what was asked, also when it fails."""

    services: Services
    part: Part
    serves: Callable[[str], bool]
    """Whether a summary of the whole part is worth to be taken (R109)."""
    calls: list[SummaryCall] = attrs.field(factory=list)
    bill: Bill | None = None
    """Where the tenant has a quota."""
    _pieces: Pieces = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        can = self.part.model.capabilities
        counter = TokenEstimate(can.bytes_per_token)
        self._pieces = Pieces(self.part.messages, self.part.turns, counter, can.image_tokens)

    async def run(self) -> str:
        """The summary of the whole part.

        Raises:
            ModelFailed: the model failed, or did not answer with a summary, as often as it may.
            OverBudget: what it answered made nothing shorter; or one message is too large (R210).
            OverQuota, QuotaFailed: the tenant's quota has no room to ask, or to ask once more.
        """
        part, wording = self.part, self.part.wording
        room = part.variant.budget.room
        room -= self._pieces.one(closing(part.changed, part.removed, wording))
        self._check(room)
        start, so_far = 0, ""
        while start < len(part.messages):
            before = self._pieces.one(framed_summary(so_far, wording)) if so_far else 0
            until = self._pieces.end(start, room - before)
            if until is None:
                raise self._too_large(start)
            request = summary_request(
                part.kept.composition,
                part.variant.system.text,
                wording,
                piece_of(part.messages, start, until),
                so_far=so_far,
                changed=part.changed,
                removed=part.removed,
            )
            so_far = await self._summary(request, until, room)
            start = until
        return so_far

    def _check(self, room: int) -> None:
        """Before anything is asked: whether each piece fits a request by itself (P092)."""
        start = 0
        while start < len(self.part.messages):
            until = self._pieces.end(start, room)
            if until is None:
                raise self._too_large(start)
            start = until

    async def _summary(self, request: ModelRequest, until: int, room: int) -> str:
        """What the model makes of one piece, asked as often as it may be (P091)."""
        digest = request_digest(request)
        fault: ModelFailed | OverBudget | None = None
        for _ in range(self.services.limits.summary_attempts_max):
            usage = _NO_USAGE
            try:
                response = await self._answer(request)
                usage = response.usage
                summary = self._taken(response, until, room)
            except (ModelFailed, OverBudget) as error:
                fault = error
                self.calls.append(SummaryCall(digest, until, usage))
            else:
                self.calls.append(SummaryCall(digest, until, usage, summary))
                return summary
        assert fault is not None, "a summary is asked for at least once"
        raise fault

    async def _answer(self, request: ModelRequest) -> ModelResponse:
        limits, part = self.services.limits, self.part
        reserved = None
        if self.bill is not None:
            worst = worst_of_request(request, part.model.capabilities, limits)
            reserved = self.bill.reserve(worst)
        with trio.move_on_after(limits.model_seconds_max):
            return await answered(part.model, request, part.info, limits, None, reserved)
        raise ModelFailed(f"The model did not summarise within {limits.model_seconds_max:g} s.")

    def _taken(self, response: ModelResponse, until: int, room: int) -> str:
        """The summary in an answer, if it is one and makes what is sent shorter (R109)."""
        reply = answer_of(response, 0, 0, 0, 0, self.services.limits)
        if response.finish == "filter":
            raise ModelFailed("The provider withheld the summary.")
        if reply.calls:
            raise ModelFailed("The model called a tool in place of a summary.")
        summary = reply.text.strip()
        if not summary:
            raise ModelFailed("The model answered with an empty summary.")
        length = self._pieces.one(framed_summary(summary, self.part.wording))
        whole = len(self.part.messages)
        if until == whole:
            serves = length < self._pieces.tokens(0, whole) and self.serves(summary)
        else:
            # The next piece is to fit beside it.
            serves = length <= min(room // 2, room - self._pieces.least(until))
        if not serves:
            raise OverBudget(
                f"A summary of {length:,} tokens makes no request smaller: it stands for "
                f"{self._pieces.tokens(0, until):,}.",
                way_out="Try again; or use a model that summarises more shortly.",
                summary=length,
            )
        return summary

    def _too_large(self, start: int) -> OverBudget:
        """What stands at ``start`` does not fit a request by itself: it is named (R210)."""
        budget = self.part.variant.budget
        message = max(self.part.messages[start : start + 2], key=self._pieces.one)
        tokens = self._pieces.one(message)
        return OverBudget(
            f"There is no room to summarise {named(message)}: it takes {tokens:,} tokens by "
            f"itself, and a request has room for {budget.room:,}.",
            needed=tokens,
            window=budget.window,
            largest=named(message),
        )


def named(message: bytes) -> str:
    """One message of a request, in words."""
    match decode_message(message):
        case ToolMessage(tool_call_id=call):
            return f"the result of the call {call}"
        case AssistantMessage():
            return "an answer of the model"
        case _:
            return "a user message"
