"""A model on this machine: the weights, the engine and the chat-completions wire in one object.

The first call fetches what is missing and starts the engine; ``async with`` does it before.
An engine that died is started again by the next call. Needs the extra ``local``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import attrs
import trio

from greenroom.actors.models.engine import (
    Engine,
    EngineOptions,
    check_engine_installed,
    start_engine,
)
from greenroom.actors.models.openai import OpenAI, openai
from greenroom.actors.models.port import Capabilities, ModelResponse, SessionInfo, Sink
from greenroom.actors.models.weights import KNOWN, Tell, Weights, say, weights_file
from greenroom.protocol.errors import UnknownModel
from greenroom.protocol.identity import SessionId
from greenroom.protocol.request import ModelRequest

_CONTEXT_TOKENS = 8_192
_ANSWER_TOKENS = 512


def local(
    model: str | Path = "smollm2",
    *,
    slots: int = 4,
    context: int | None = None,
    answer_tokens: int = _ANSWER_TOKENS,
    slot_per_session: bool = False,
    tell: Tell = say,
) -> Local:
    """Return a model that runs on this machine.

    Args:
        model: ``"smollm2"``, fetched when it is first needed, or the path of a gguf file.
        slots: answers that are computed at once.
        context: the window of each slot in tokens; None: what the weights were made for.
        answer_tokens: the longest answer.
        slot_per_session: keep each session in a slot of its own while there are enough, instead of
            the slot whose tokens begin as its request does. Sessions then share nothing.
        tell: shows a person what takes long: by default on the standard error stream.

    Raises:
        ExtraMissing: the engine is not installed.
        UnknownModel: neither a known name nor the path of a file.
    """
    check_engine_installed()
    weights: Weights | Path | None = KNOWN.get(str(model))
    if weights is None:
        weights = Path(model)
        if not weights.is_file():
            raise UnknownModel(
                f"There is no local model {model}: known are {', '.join(KNOWN)} and gguf files."
            )
    if isinstance(weights, Weights):
        # So small a model only pretends to call tools.
        name, window, tools = weights.name, weights.context_tokens, False
    else:
        name, window, tools = weights.stem, _CONTEXT_TOKENS, True
    return Local(
        name,
        Capabilities(context_tokens=context or window, output_tokens=answer_tokens, tools=tools),
        weights,
        slots,
        Slots(slots) if slot_per_session else None,
        tell,
    )


@attrs.define(eq=False)
class Slots:
    """Which session has which slot; who was quiet longest gives up his."""

    number: int
    _slots: OrderedDict[SessionId, int] = attrs.field(factory=OrderedDict, init=False)

    def of(self, session: SessionInfo, /) -> Mapping[str, object]:
        """The field that sends a request to the session's slot."""
        slot = self._slots.pop(session.id, None)
        if slot is None:
            full = len(self._slots) >= self.number
            slot = self._slots.popitem(last=False)[1] if full else len(self._slots)
        self._slots[session.id] = slot
        return {"id_slot": slot}


@attrs.define(eq=False)
class Local:
    """See :func:`local`."""

    name: str
    capabilities: Capabilities
    _weights: Weights | Path = attrs.field(repr=False)
    _number_of_slots: int = attrs.field(repr=False)
    _slots: Slots | None = attrs.field(repr=False)
    _tell: Tell = attrs.field(repr=False)
    _opening: trio.Lock = attrs.field(factory=trio.Lock, init=False, repr=False)
    _engine: Engine | None = attrs.field(default=None, init=False, repr=False)
    _wire: OpenAI | None = attrs.field(default=None, init=False, repr=False)

    async def __aenter__(self) -> Self:
        await self._opened()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def engine(self) -> Engine | None:
        """The running engine, for who wants to look at it."""
        return self._engine

    async def respond(
        self, request: ModelRequest, session: SessionInfo, sink: Sink, /
    ) -> ModelResponse:
        """Answer one request; the first one waits until the engine serves.

        Raises:
            ModelFailed: as the wire does; :class:`~greenroom.protocol.errors.EngineFailed` if the
                weights cannot be had or the engine does not start.
        """
        wire = await self._opened()
        return await wire.respond(request, session, sink)

    async def aclose(self) -> None:
        """End the engine; a later call starts a new one."""
        async with self._opening:
            await self._end()

    async def _opened(self) -> OpenAI:
        """The wire to a running engine: whoever comes first opens it, the others wait for that."""
        if self._wire is not None and self._engine is not None and self._engine.running:
            return self._wire
        async with self._opening:
            if self._wire is not None and self._engine is not None and self._engine.running:
                return self._wire
            await self._end()
            path = self._weights
            if isinstance(path, Weights):
                path = await weights_file(path, tell=self._tell)
            self._engine = await start_engine(self._options(path))
            self._wire = openai(
                self.name,
                base_url=f"{self._engine.url}/v1",
                capabilities=self.capabilities,
                extra=self._slots.of if self._slots else None,
                proxies=False,
            )
            return self._wire

    def _options(self, path: Path) -> EngineOptions:
        return EngineOptions(
            path=path,
            slots=self._number_of_slots,
            slot_tokens=self.capabilities.context_tokens,
            answer_tokens=self.capabilities.output_tokens or _ANSWER_TOKENS,
        )

    async def _end(self) -> None:
        engine, self._engine = self._engine, None
        wire, self._wire = self._wire, None
        with trio.CancelScope(shield=True):
            if wire is not None:
                await wire.aclose()
            if engine is not None:
                await engine.aclose()
