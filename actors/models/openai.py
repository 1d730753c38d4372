"""A model behind the chat-completions wire: OpenAI, and all that speak as it does.

One object is one model with one pool of connections, opened with the first call and shared by all
sessions. Needs the extra ``openai``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs
import trio

from greenroom.actors.models.chat_request import Blobs, request_body
from greenroom.actors.models.chat_response import Answer
from greenroom.actors.models.port import Capabilities, ModelResponse, SessionInfo, Sink
from greenroom.actors.models.retry import DEFAULT_RETRIES, Retries, retried
from greenroom.protocol.encoding import encode
from greenroom.protocol.errors import ExtraMissing, ModelFailed
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.request import ModelRequest

if TYPE_CHECKING:
    from greenroom.actors.models.transport import Secret, Transport

Key: TypeAlias = str | Callable[[SessionInfo], Awaitable[str]] | None
"""A key, a way to ask for the key of a session, or none at all."""
Extra: TypeAlias = Callable[[SessionInfo], Mapping[str, object]]
"""Fields beside the request that route or cache it, such as ``prompt_cache_key``."""


DEFAULT_CAPABILITIES: Final = Capabilities()


def openai(
    name: str,
    *,
    base_url: str,
    key: Key = None,
    capabilities: Capabilities = DEFAULT_CAPABILITIES,
    retries: Retries = DEFAULT_RETRIES,
    limits: Limits = DEFAULT_LIMITS,
    blobs: Blobs | None = None,
    extra: Extra | None = None,
    keep_reasoning: bool = False,
    connections: int = 1_000,
    silence_seconds: float = 300.0,
    proxies: bool = True,
) -> OpenAI:
    """Return the model that ``base_url`` serves under ``name``.

    Args:
        name: what the provider calls it.
        base_url: up to and without ``/chat/completions``.
        key: sent as a bearer token; a function is asked once for each request (R229).
        capabilities: what it can do; without ``tools`` no declarations are sent.
        retries: how temporary faults are met (R179).
        limits: bounds of an answer, and of the seconds that a call takes with all its retries.
        blobs: the bytes of an image by its digest; without it a message with an image fails.
        extra: fields that route or cache a request and change nothing of what the model reads.
        keep_reasoning: give ``reasoning_content`` back to the model with each later request; some
            models want that, others refuse it (R176).
        connections: requests on the wire at once; more wait, within their deadline.
        silence_seconds: how long the provider may send nothing before the call counts as lost.
        proxies: whether the environment may name a proxy.

    Raises:
        ExtraMissing: httpx2 is not installed.
    """
    if find_spec("httpx2") is None:
        raise ExtraMissing(
            "A model over HTTP needs httpx2: pip install 'greenroom[openai]'.", extra="openai"
        )
    return OpenAI(
        name=name,
        capabilities=capabilities,
        base_url=base_url,
        key=key,
        retries=retries,
        limits=limits,
        blobs=blobs,
        extra=extra,
        keep_reasoning=keep_reasoning,
        connections=connections,
        silence_seconds=silence_seconds,
        proxies=proxies,
    )


@attrs.define(eq=False, kw_only=True)
class OpenAI:
    """See :func:`openai`."""

    name: str
    capabilities: Capabilities
    _base_url: str = attrs.field(repr=False)
    _key: Key = attrs.field(repr=False)
    _retries: Retries = attrs.field(repr=False)
    _limits: Limits = attrs.field(repr=False)
    blobs: Blobs | None = attrs.field(repr=False)
    _extra: Extra | None = attrs.field(repr=False)
    _keep_reasoning: bool = attrs.field(repr=False)
    _connections: int = attrs.field(repr=False)
    _silence_seconds: float = attrs.field(repr=False)
    _proxies: bool = attrs.field(repr=False)
    _transport: Transport | None = attrs.field(default=None, init=False, repr=False)
    _loop: trio.lowlevel.TrioToken | None = attrs.field(default=None, init=False, repr=False)

    async def respond(
        self, request: ModelRequest, session: SessionInfo, sink: Sink, /
    ) -> ModelResponse:
        """Answer one request.

        Raises:
            ModelFailed: refused, unreachable after all retries, too late, too large, cut off, not
                of this wire, or without a key for this session.
        """
        body = self.body(request, session)
        with trio.move_on_after(self._limits.model_seconds_max):
            secret = await self._secret(session)

            async def attempt(watched: Sink) -> ModelResponse:
                return await self._attempt(body, secret, watched)

            return await retried(attempt, session, sink, self._retries)
        raise ModelFailed(
            f"The model {self.name} took longer than {self._limits.model_seconds_max:g} s.",
            temporary=True,
            model=self.name,
        )

    def body(self, request: ModelRequest, session: SessionInfo) -> bytes:
        """The bytes that are sent for a request."""
        extra = encode(self._extra(session)) if self._extra else b"{}"
        tools = self.capabilities.tools
        return request_body(request, tools=tools, blobs=self.blobs, extra=extra)

    async def aclose(self) -> None:
        """Close the connections; a later call opens new ones."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def _attempt(self, body: bytes, secret: Secret, sink: Sink) -> ModelResponse:
        answer = Answer(self.name, self._keep_reasoning, self._limits, secret.hide)
        await self._opened().exchange(
            body, secret, lambda data: answer.take(data, sink), self._limits.response_bytes_max
        )
        return answer.whole(sink)

    def _opened(self) -> Transport:
        """The connections of the running loop; those of a loop that has ended are of no use."""
        loop = trio.lowlevel.current_trio_token()
        if self._transport is None or self._loop is not loop:
            from greenroom.actors.models.transport import Transport  # noqa: PLC0415 - an extra

            self._loop = loop
            self._transport = Transport(
                self._base_url,
                connections=self._connections,
                silence_seconds=self._silence_seconds,
                proxies=self._proxies,
            )
        return self._transport

    async def _secret(self, session: SessionInfo) -> Secret:
        """The key of this request; it lives in no frame but this one and in the secret (R229)."""
        from greenroom.actors.models.transport import Secret  # noqa: PLC0415 - an extra

        if self._key is None:
            return Secret()
        key: object = self._key
        why = "there is none"
        if callable(self._key):
            try:
                key = await self._key(session)
            except ModelFailed:
                raise
            except Exception as error:  # noqa: BLE001 - the host's code; only its kind is told
                key, why = None, f"asking for it raised {type(error).__name__}"
        if not isinstance(key, str) or not key:
            raise self._keyless(session, why)
        if not (key.isascii() and key.isprintable()):
            raise self._keyless(session, "it holds characters that no header can carry")
        return Secret(key)

    def _keyless(self, session: SessionInfo, why: str) -> ModelFailed:
        tenant = session.id.tenant
        return ModelFailed(
            f"No key for the model {self.name} and the tenant {tenant}: {why}.",
            begun=False,
            model=self.name,
            tenant=tenant,
        )
