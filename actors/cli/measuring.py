"""What the demo measures: the bytes that requests have in common, model time, and loop stalls."""

import time
from typing import Final

import attrs
import msgspec
import trio

from greenroom.actors import Capabilities, Model, ModelResponse, SessionInfo, Sink
from greenroom.protocol.common_bytes import common_bytes
from greenroom.protocol.identity import SessionId, TurnId
from greenroom.protocol.request import Messages, ModelRequest

SAMPLE_SECONDS: Final = 0.01
FIRSTS_MAX: Final = 64
"""First messages kept for each beginning of an agent."""


@attrs.define
class Share:
    """Bytes that equal an earlier request's beginning, of all bytes that were looked at."""

    equal: int = 0
    total: int = 0

    def add(self, equal: int, total: int) -> None:
        """Count one request."""
        self.equal += equal
        self.total += total

    def __str__(self) -> str:
        return f"{self.equal / self.total:.1%}" if self.total else "–"


@attrs.define(eq=False)
class Prefixes:
    """Compares each request with those before it, as a provider's cache would (R57, R65).

    No request is kept: of a session its last head and its view of the messages, which are the
    conversation's own; of an agent the heads that its conversations began with.
    """

    within: Share = attrs.field(factory=Share)
    """Requests with one before them in their conversation, against that one."""
    across: Share = attrs.field(factory=Share)
    """First requests, against the first ones of the agent's earlier conversations."""
    overall: Share = attrs.field(factory=Share)
    """Every request, against whichever of these it has."""
    _last: dict[SessionId, tuple[bytes, Messages]] = attrs.field(factory=dict)
    _begun: dict[str, dict[bytes, set[bytes]]] = attrs.field(factory=dict)
    _heads: dict[tuple[str, str, bytes], bytes] = attrs.field(factory=dict)

    def take(self, request: ModelRequest, session: SessionInfo) -> None:
        """Count a request that is sent now."""
        head, messages = self._head(request), request.messages
        total = len(head) + sum(map(len, messages)) + len(messages) + len(request.parameters)
        before = self._last.get(session.id)
        if before is not None:
            equal = _common(head, messages, *before)
            self.within.add(equal, total)
        elif session.turn > 1:
            # It goes on with a conversation of an earlier run, of which we have seen nothing.
            equal = 0
        else:
            begun = self._begun.setdefault(session.agent, {})
            equal = max((_begins(head, messages, *known) for known in begun.items()), default=0)
            if begun:
                self.across.add(equal, total)
            firsts = begun.setdefault(head, set())
            if len(firsts) < FIRSTS_MAX:
                firsts.add(messages[0])
        if before is not None or session.turn <= 1:
            self.overall.add(equal, total)
        self._last[session.id] = (head, messages)

    def _head(self, request: ModelRequest) -> bytes:
        """Everything before the first message, in the order of the canonical request."""
        key = (request.model, request.system, request.tools)
        head = self._heads.get(key)
        if head is None:
            encode = msgspec.json.encode
            head = self._heads[key] = b'{"model":%b,"system":%b,"tools":%b,"messages":[' % (
                encode(request.model),
                encode(request.system),
                request.tools,
            )
        return head


def _common(head: bytes, messages: Messages, old_head: bytes, old: Messages) -> int:
    if head != old_head:
        return common_bytes(head, old_head)
    equal = len(head)
    for message, known in zip(messages, old, strict=False):
        if message != known:
            return equal + common_bytes(message, known)
        equal += len(message) + 1
    return equal


def _begins(head: bytes, messages: Messages, old_head: bytes, firsts: set[bytes]) -> int:
    if head != old_head:
        return common_bytes(head, old_head)
    return len(head) + max((common_bytes(messages[0], first) for first in firsts), default=0)


@attrs.define(eq=False)
class Measured:
    """A model that is measured: it forwards, and adds nothing to what is sent or answered."""

    model: Model
    prefixes: Prefixes = attrs.field(factory=Prefixes)
    calls: int = 0
    tool_calls: int = 0
    _seconds: dict[tuple[SessionId, TurnId], float] = attrs.field(factory=dict)

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    @property
    def capabilities(self) -> Capabilities:
        """The model's."""
        return self.model.capabilities

    async def respond(
        self, request: ModelRequest, session: SessionInfo, sink: Sink, /
    ) -> ModelResponse:
        """Forward one request."""
        self.calls += 1
        self.prefixes.take(request, session)
        began = time.perf_counter()
        try:
            response = await self.model.respond(request, session, sink)
        finally:
            turn = (session.id, session.turn)
            took = time.perf_counter() - began
            self._seconds[turn] = self._seconds.get(turn, 0.0) + took
        self.tool_calls += len(response.calls)
        return response

    def seconds(self, session: SessionId, turn: TurnId) -> float:
        """How long the model took for a turn; asked once."""
        return self._seconds.pop((session, turn), 0.0)


@attrs.define(eq=False)
class Stalls:
    """How late a task wakes that wants to run every 10 ms: what the loop makes others wait."""

    longest: float = 0.0

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            began = time.perf_counter()
            await trio.sleep(SAMPLE_SECONDS)
            self.longest = max(self.longest, time.perf_counter() - began - SAMPLE_SECONDS)


def quantile(values: list[float], share: float) -> float:
    """The value that ``share`` of the values do not exceed; 0 of none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
