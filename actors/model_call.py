"""One call of a model: the committed request goes out, words come in as they are said."""

from collections.abc import Sequence

import attrs

from greenroom.actors.conversation import Conversation
from greenroom.actors.drafting import Draft
from greenroom.actors.models.port import ModelResponse
from greenroom.actors.services import Services
from greenroom.actors.subscribers import LiveText
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.identity import TurnId, made_valid
from greenroom.protocol.record import AnyRecord, Responded
from greenroom.protocol.request import ModelRequest

_SAID_MAX = 2_000
"""Characters of a provider's own words about a failure that are kept."""


@attrs.define(eq=False, slots=True)
class Stream:
    """Where a turn's answers stream to: the sink that a model port is given (R221).

    Each call of a model, and each new attempt of one, is another block.
    """

    services: Services
    draft: Draft
    turn: TurnId
    block: int = -1
    live: LiveText | None = None
    """The text in progress, for a reader who joins."""

    def text(self, piece: str) -> None:
        """Words of the answer, as they come."""
        live = self.live
        if live is not None:
            live.add(piece if piece.isascii() else made_valid(piece)[0])

    def restart(self) -> None:
        """An answer begins, or begins anew."""
        self.block += 1
        shared = self.services.subscribers.get(self.draft.info.id)
        self.live = LiveText(self.turn, self.block, None if shared is None else shared.bell)
        if shared is not None:
            shared.live = self.live

    def committed(self, records: Sequence[AnyRecord]) -> None:
        """An answer that is told whole is not live any more: who joins now has it from there."""
        for record in records:
            if type(record) is Responded:
                self.end()

    def end(self) -> None:
        """Nothing more comes."""
        self.live = None
        shared = self.services.subscribers.get(self.draft.info.id)
        if shared is not None:
            shared.live = None

    async def ask(self, conversation: Conversation) -> ModelResponse:
        """Hand the committed request to the model port, and wait for the whole answer.

        Raises:
            ModelFailed: whatever the port raised, if it raised anything.
        """
        draft, kept = self.draft, self.draft.kept.composition
        request = ModelRequest(
            kept.model,
            draft.variant.system.text,
            kept.tools,
            conversation.messages(),
            kept.parameters,
        )
        self.restart()
        try:
            return await draft.model.respond(request, draft.info, self)
        except ModelFailed:
            raise
        except Exception as error:
            said = made_valid(f"{type(error).__name__}: {error}"[:_SAID_MAX])[0]
            raise ModelFailed(f"The model {kept.model} failed: {said}.") from error
