"""One HTTP client for one model: a body goes out, the events of its stream come in.

The only module that imports httpx2. Whatever can go wrong between here and the provider becomes a
:class:`~greenroom.protocol.errors.ModelFailed` that says whether the same bytes may succeed later;
the exceptions of the client stay here, since they carry the request with its headers (R229).
"""

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

import attrs
import httpx2
import msgspec
import trio

from greenroom.protocol.errors import ModelFailed

Take: TypeAlias = Callable[[str], bool]
"""Takes the data of one event; True: the stream has ended as it should."""

_FAULT_BYTES_MAX: Final = 65_536
_FAULT_SHOWN: Final = 300
# After the last event a well-kept server ends the stream at once; one that does not costs only
# this, and its connection.
_TAIL_SECONDS: Final = 0.5
_TEMPORARY: Final = frozenset({408, 409, 425, 429})
_SERVER_FAULT: Final = 500
_OK: Final = 200
_UNAUTHORIZED: Final = frozenset({401, 403})
_PERMANENT_CODES: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
# A new connection mends these if nothing was answered yet: the old one had died while it was kept.
_DIED: Final = (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)
# These mean that the request itself is wrong: the same bytes would be again.
_WRONG: Final = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)
# With these nothing of it was sent.
_UNSENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


@attrs.frozen
class Secret:
    """A key while a request holds it: it does not show itself (R229)."""

    _value: str = attrs.field(default="", repr=False)

    def headers(self) -> httpx2.Headers:
        """The headers of a request; the client's own type hides the value in its repr."""
        headers = httpx2.Headers(
            {
                "accept": "text/event-stream",
                # Taking apart what is packed could fail half way, for nothing: pieces are small.
                "accept-encoding": "identity",
                "content-type": "application/json",
            }
        )
        if self._value:
            headers["authorization"] = f"Bearer {self._value}"
        return headers

    def hide(self, text: str) -> str:
        """Return ``text`` without the key."""
        return text.replace(self._value, "[key]") if self._value else text


class Transport:
    """A pool of connections to one provider; it belongs to the loop that it was made in."""

    def __init__(
        self, base_url: str, *, connections: int, silence_seconds: float, proxies: bool
    ) -> None:
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._client = httpx2.AsyncClient(
            # Waiting for a free connection is bounded by the call's own deadline.
            timeout=httpx2.Timeout(connect=10.0, read=silence_seconds, write=60.0, pool=None),
            limits=httpx2.Limits(
                max_connections=connections,
                max_keepalive_connections=connections,
                keepalive_expiry=30.0,
            ),
            trust_env=proxies,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def exchange(self, body: bytes, secret: Secret, take: Take, bytes_max: int) -> None:
        """Send ``body`` and hand over each event, until the stream ends.

        A kept connection that died before any byte of an answer came is replaced once, at once.

        Raises:
            ModelFailed: refused, unreachable, cut off, over ``bytes_max``, or no event stream; or
                what ``take`` raises.
        """
        if await self._try(body, secret, take, bytes_max):
            return
        if not await self._try(body, secret, take, bytes_max):
            raise ModelFailed("The connection was lost before an answer came.", temporary=True)

    async def _try(self, body: bytes, secret: Secret, take: Take, bytes_max: int) -> bool:
        """Whether an answer came. What is raised has no exception of the client behind it."""
        events = Events(take, bytes_max)
        answered = False
        fault: ModelFailed | None = None
        try:
            async with self._client.stream(
                "POST", self._url, content=body, headers=secret.headers()
            ) as response:
                answered = True
                if response.status_code != _OK:
                    fault = await _refusal(response, secret)
                elif (fault := _no_events(response.headers)) is None:
                    await _each_piece(response, events.feed)
        except httpx2.RequestError as error:
            if isinstance(error, _DIED) and not answered:
                return False
            fault = None if events.ended else _lost(error)
        if fault is not None:
            raise fault
        return True


@attrs.define(eq=False)
class Events:
    """The bytes of an event stream, taken apart into the data of its events.

    httpx2 has a reader of its own. It raises on an event that is too large while the generator
    that it reads from is half read, and such a generator ends in the hands of the collector.
    """

    _take: Take
    _bytes_max: int
    ended: bool = attrs.field(default=False, init=False)
    """The last event has been taken; the rest is no concern of ours."""
    _size: int = attrs.field(default=0, init=False)
    _rest: bytearray = attrs.field(factory=bytearray, init=False)
    _data: list[bytes] = attrs.field(factory=list, init=False)

    def feed(self, piece: bytes) -> bool:
        """Take the next bytes; True once the stream has ended as it should.

        Raises:
            ModelFailed: more bytes than the bound, or what the taker raises.
        """
        self._size += len(piece)
        if self._size > self._bytes_max:
            raise ModelFailed(f"The response is over its bound of {self._bytes_max:,} bytes.")
        self._rest += piece
        if b"\n" in piece:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._line(bytes(line.removesuffix(b"\r")))
        return self.ended

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data = b"\n".join(self._data).decode(errors="replace")
            self._data.clear()
            self.ended = self.ended or self._take(data)


async def _each_piece(response: httpx2.Response, take: Callable[[bytes], bool]) -> None:
    """Hand over a body piece by piece, until its end or soon after ``take`` says that it is enough.

    The client's generators are never left while they wait to be read on: trio would have to close
    them from the collector. They are read to their end, or a cancellation reaches them inside.
    """
    fault: Exception | None = None
    with trio.CancelScope() as reading:
        async for piece in response.aiter_raw():
            if reading.cancel_called:
                continue
            try:
                if take(piece):
                    # Only a stream that is read to its end gives its connection back.
                    reading.deadline = trio.current_time() + _TAIL_SECONDS
            except Exception as error:  # noqa: BLE001 - raised below, outside of the generators
                fault = error
                reading.cancel()
    if fault is not None:
        raise fault


def _no_events(headers: httpx2.Headers) -> ModelFailed | None:
    """The fault of an answer that is no event stream."""
    kind = headers.get("content-type", "nothing").partition(";")[0].strip().lower()
    coding = headers.get("content-encoding", "identity")
    if kind == "text/event-stream" and coding == "identity":
        return None
    return ModelFailed("The provider did not answer with a plain event stream.")


def _lost(error: httpx2.RequestError) -> ModelFailed:
    """What a client's exception means; of it only the kind is told."""
    kind = type(error).__name__
    if isinstance(error, _WRONG):
        return ModelFailed(f"The request cannot be sent ({kind}).", begun=False)
    return ModelFailed(
        f"The connection to the provider failed ({kind}).",
        temporary=True,
        begun=not isinstance(error, _UNSENT),
    )


async def _refusal(response: httpx2.Response, secret: Secret) -> ModelFailed:
    status = response.status_code
    body = await _start_of(response)
    told, code = _told(body)
    permanent = code in _PERMANENT_CODES or not (status in _TEMPORARY or status >= _SERVER_FAULT)
    sentence = f"The provider answered with status {status}."
    # Providers repeat a part of a key that they refuse.
    if told and status not in _UNAUTHORIZED:
        sentence = f"{sentence[:-1]}: {secret.hide(told)[:_FAULT_SHOWN]}"
    return ModelFailed(
        sentence,
        temporary=not permanent,
        retry_after=retry_after(response.headers),
        begun=False,
        provider_status=status,
    )


async def _start_of(response: httpx2.Response) -> bytes:
    """The beginning of a body: enough for a fault, whatever its size."""
    body = bytearray()

    def take(piece: bytes) -> bool:
        body.extend(piece[: _FAULT_BYTES_MAX - len(body)])
        return len(body) >= _FAULT_BYTES_MAX

    await _each_piece(response, take)
    return bytes(body)


def _told(body: bytes) -> tuple[str, str | None]:
    """A fault's message and code, in the shapes that providers use for them."""
    try:
        read = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, ValueError, RecursionError):
        return "", None
    fault = read.get("error", read) if isinstance(read, dict) else read
    if not isinstance(fault, dict):
        return (" ".join(fault.split()) if isinstance(fault, str) else ""), None
    message, code = fault.get("message"), fault.get("code")
    told = " ".join(message.split()) if isinstance(message, str) else ""
    return told, code if isinstance(code, str) else None


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds that the provider asks to wait, or None.

    A date is read against the answer's own Date: no clock of ours is asked, and none can be wrong.
    """
    told = headers.get("retry-after")
    if told is None:
        return None
    try:
        return max(0.0, float(told)) if float(told) < float("inf") else None
    except ValueError:
        pass
    try:
        wanted = parsedate_to_datetime(told)
        return max(0.0, (wanted - parsedate_to_datetime(headers["date"])).total_seconds())
    except (ValueError, KeyError, TypeError):
        return None
