"""One call of a model: the committed request goes out, words come in as they are said."""

from collections.abc import Sequence

import attrs

from greenroom.actors.conversation import Conversation
from greenroom.actors.drafting import Draft
from greenroom.actors.models.port import Model, ModelResponse, SessionInfo
from greenroom.actors.quotas import Reservation
from greenroom.actors.response import checked
from greenroom.actors.said import SAID_MAX, pass_on, plain, said_by, sentence_of
from greenroom.actors.services import Services
from greenroom.actors.subscribers import LiveText
from greenroom.protocol.errors import GreenroomError, ModelFailed
from greenroom.protocol.identity import SessionId, TurnId, made_valid
from greenroom.protocol.limits import Limits
from greenroom.protocol.record import AnyRecord, Responded
from greenroom.protocol.request import ModelRequest


@attrs.define(eq=False, slots=True)
class CallSink:
    """The sink of one call of a model: it takes words until the call is over, and none after."""

    _stream: "Stream | None"
    """None: nobody reads what is said."""
    _size_max: int
    _reserved: Reservation | None = None
    """Where a quota counts what the call may take."""
    refused: GreenroomError | None = None
    """Why the call was not made again, where that is not the model's fault."""
    _live: LiveText | None = None
    """None: the call is over."""
    _size: int = 0

    def text(self, piece: str) -> None:
        """Words of the answer, as they come; dropped when the call is over.

        Raises:
            TypeError: they are no text.
            ModelFailed: more of them than the bound allows (R128).
        """
        if type(piece) is not str:
            if not isinstance(piece, str):
                raise TypeError(f"A piece of an answer is text, not a {type(piece).__name__}.")
            piece = plain(piece)
        live = self._live
        if live is None:
            return
        self._size += len(piece)
        if self._size > self._size_max:
            raise ModelFailed(f"The model said more than {self._size_max:,} characters.")
        live.add(piece if piece.isascii() else made_valid(piece)[0])

    def restart(self) -> None:
        """The call is made again, and says its answer anew.

        Raises:
            OverQuota, QuotaFailed: there is no room for it in the tenant's quota (R233).
        """
        if self._live is None:
            return
        if self._reserved is not None:
            try:
                self._reserved.again()
            except GreenroomError as error:
                self.refused = error
                raise
        self.begin()

    def begin(self) -> None:
        """An answer begins."""
        self._size = 0
        self._live = LiveText(0, 0, None) if self._stream is None else self._stream.begun()

    def close(self) -> None:
        """The call is over: what a port left behind may hold the sink, and say nothing by it."""
        self._live = None


@attrs.define(eq=False, slots=True)
class Stream:
    """Where a turn's answers stream to, call by call (R221).

    Each call of a model, and each new attempt of one, is another block.
    """

    services: Services
    session: SessionId
    turn: TurnId
    block: int = -1
    live: LiveText | None = None
    """The text in progress, for a reader who joins."""

    def begun(self) -> LiveText:
        """An answer begins, or begins anew: the text that readers see from now on."""
        self.block += 1
        shared = self.services.subscribers.get(self.session)
        live = self.live = LiveText(self.turn, self.block, None if shared is None else shared.bell)
        if shared is not None:
            shared.live = live
        return live

    def committed(self, records: Sequence[AnyRecord]) -> None:
        """An answer that is told whole is not live any more: who joins now has it from there."""
        for record in records:
            if type(record) is Responded:
                self.end()

    def end(self) -> None:
        """Nothing more comes."""
        self.live = None
        shared = self.services.subscribers.get(self.session)
        if shared is not None:
            shared.live = None
            shared.progress.clear()

    async def ask(
        self, draft: Draft, conversation: Conversation, reserved: Reservation | None = None
    ) -> ModelResponse:
        """Hand the committed request to the model port, and wait for the whole answer.

        Raises:
            ModelFailed, OverQuota, QuotaFailed: see :func:`answered`.
        """
        kept = draft.kept.composition
        request = ModelRequest(
            kept.model,
            draft.variant.system.text,
            kept.tools,
            conversation.messages(),
            kept.parameters,
        )
        limits = self.services.limits
        return await answered(draft.model, request, draft.info, limits, self, reserved)


async def answered(
    model: Model,
    request: ModelRequest,
    info: SessionInfo,
    limits: Limits,
    stream: Stream | None,
    reserved: Reservation | None = None,
) -> ModelResponse:
    """Hand a request to the model port, and wait for the whole answer.

    What was reserved for it is over then, in whatever way the call ends.

    Raises:
        ModelFailed: whatever the port raised, or that it returned what is no answer.
        OverQuota, QuotaFailed: it would have had to be made again, and there is no room for that.
    """
    sink = CallSink(stream, limits.response_bytes_max, reserved)
    sink.begin()
    try:
        response = checked(await model.respond(request, info, sink), request.model)
    except BaseException as error:
        if reserved is not None:
            reserved.failed(error)
        await pass_on(error)
        if sink.refused is not None:
            raise sink.refused from None
        raise _failure(error, request.model) from error
    finally:
        sink.close()
    if reserved is not None:
        reserved.answered(response.usage)
    return response


def _failure(error: BaseException, model: str) -> ModelFailed:
    """What a port raised, as the failure of its call: its own, if that can be told as it is."""
    if not isinstance(error, ModelFailed):
        return ModelFailed(f"The model {model} failed: {said_by(error).rstrip('.')}.")
    said = sentence_of(error)[:SAID_MAX]
    return error if getattr(error, "sentence", None) == said else ModelFailed(said)
