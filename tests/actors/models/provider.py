"""A provider on the loopback address: a real HTTP server that plays the answers it is given."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import attrs
import h11
import trio

from greenroom.actors.models.openai import OpenAI, openai
from greenroom.actors.models.port import SessionInfo
from greenroom.actors.models.retry import Retries
from greenroom.protocol.identity import SessionId
from greenroom.protocol.request import Messages, ModelRequest

Play: TypeAlias = Callable[["Exchange"], Awaitable[None]]

AT_ONCE = Retries(first_wait_seconds=0.0)
USER = b'{"role":"user","content":"Hello"}'


def request_of(*messages: bytes, model: str = "m", **parts: object) -> ModelRequest:
    """A request with these encoded messages."""
    told = list(messages or (USER,))
    given: dict[str, Any] = {"system": "Be brief.", "tools": b"[]", "parameters": b"{}"} | parts
    return ModelRequest(model=model, messages=Messages(told, len(told)), **given)


def session_of(key: str = "s", tenant: str = "default", turn: int = 1) -> SessionInfo:
    """Whom a call is for."""
    return SessionInfo(SessionId(tenant, key), "agent", None, turn)


@attrs.define(eq=False)
class Heard:
    """A sink that keeps what it was told, in order."""

    told: list[str] = attrs.field(factory=list)
    restarts: int = 0

    def text(self, piece: str, /) -> None:
        self.told.append(piece)

    def restart(self) -> None:
        self.told.clear()
        self.restarts += 1

    @property
    def heard(self) -> str:
        return "".join(self.told)


@attrs.define(eq=False)
class Exchange:
    """One request, and the way to answer it."""

    path: str
    headers: dict[str, str]
    body: bytes
    _http: h11.Connection
    _stream: trio.SocketStream

    async def send(self, event: h11.Event) -> None:
        await self._stream.send_all(self._http.send(event) or b"")

    async def start(self, status: int = 200, kind: str = "text/event-stream", **more: str) -> None:
        headers = [("content-type", kind), ("transfer-encoding", "chunked")]
        headers += [(name.replace("_", "-"), value) for name, value in more.items()]
        await self.send(h11.Response(status_code=status, headers=headers))

    async def data(self, data: bytes) -> None:
        await self.send(h11.Data(data=data))

    async def end(self) -> None:
        await self.send(h11.EndOfMessage())

    async def hang_up(self) -> None:
        await self._stream.aclose()

    async def until_left(self) -> None:
        """Wait until the other side has gone."""
        while await self._stream.receive_some(1024):
            pass


@attrs.define(eq=False)
class Provider:
    """Plays its answers in order, the last one for ever; keeps what it was asked."""

    url: str
    plays: list[Play] = attrs.field(factory=list)
    asked: list[Exchange] = attrs.field(factory=list)
    connections: int = 0
    running: int = 0
    most_running: int = 0

    async def serve(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        http = h11.Connection(h11.SERVER)
        try:
            while (exchange := await _read(http, stream)) is not None:
                self.asked.append(exchange)
                self.running += 1
                self.most_running = max(self.most_running, self.running)
                try:
                    play = self.plays[0] if len(self.plays) == 1 else self.plays.pop(0)
                    await play(exchange)
                finally:
                    self.running -= 1
                if http.our_state is not h11.DONE:
                    break
                http.start_next_cycle()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        await stream.aclose()


async def _read(http: h11.Connection, stream: trio.SocketStream) -> Exchange | None:
    head: h11.Request | None = None
    body = b""
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await stream.receive_some(65_536))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = {name.decode(): value.decode() for name, value in head.headers}
            return Exchange(head.target.decode(), headers, body, http, stream)
        else:
            return None


def delta(finish: str | None = None, **fields: object) -> bytes:
    """One event with a delta."""
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def events(*parts: bytes, done: bool = True) -> Play:
    """Answers with these events and ends as it should."""

    async def play(exchange: Exchange) -> None:
        await exchange.start()
        for part in parts:
            await exchange.data(part)
        if done:
            await exchange.data(b"data: [DONE]\n\n")
        await exchange.end()

    return play


def text(*pieces: str, usage: dict[str, Any] | None = None) -> Play:
    """Answers with this text."""
    told = [delta(content=piece) for piece in pieces]
    counted = [event({"choices": [], "usage": usage})] if usage else []
    return events(delta(role="assistant", content=""), *told, delta("stop"), *counted)


def refusal(status: int, body: object = None, **headers: str) -> Play:
    """Answers with a status."""

    async def play(exchange: Exchange) -> None:
        await exchange.start(status, "application/json", **headers)
        await exchange.data(json.dumps(body).encode())
        await exchange.end()

    return play


def cut(*parts: bytes) -> Play:
    """Answers with these bytes and drops the connection, in the midst of whatever they are."""

    async def play(exchange: Exchange) -> None:
        if parts:
            await exchange.start()
        for part in parts:
            await exchange.data(part)
        await exchange.hang_up()

    return play


def garbled(data: bytes = b"<html>", kind: str = "text/html") -> Play:
    """Answers with what is no stream of events."""

    async def play(exchange: Exchange) -> None:
        await exchange.start(200, kind)
        await exchange.data(data)
        await exchange.end()

    return play


def made(provider: Provider, **options: object) -> OpenAI:
    """The model that a provider serves; it retries without waiting."""
    given: dict[str, Any] = {"base_url": provider.url, "retries": AT_ONCE} | options
    return openai("m", **given)
