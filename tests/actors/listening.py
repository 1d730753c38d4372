"""Readers for tests: what they hear, put together, and checked for gaps and repeats."""

from collections.abc import Sequence
from typing import Any

import trio

from greenroom.actors import Session
from greenroom.actors.models.scripted import Looping
from greenroom.protocol.event import (
    Event,
    NumberedEvent,
    Replied,
    TextDelta,
    TurnEnded,
)
from greenroom.protocol.receipt import Cursor


class Paced:
    """Streams its words one after the other, and lets others run between them."""

    name = "paced"
    capabilities = Looping(("",)).capabilities

    def __init__(self, script: Sequence[Any]) -> None:
        self.script = Looping(tuple(script))

    async def respond(self, request: Any, session: Any, sink: Any, /) -> Any:
        pieces: list[str] = []

        class Collecting:
            def text(self, piece: str) -> None:
                pieces.append(piece)

            def restart(self) -> None:
                pieces.clear()

        response = await self.script.respond(request, session, Collecting())
        for piece in "".join(pieces):
            sink.text(piece)
            await trio.lowlevel.checkpoint()
        return response


def numbered(told: Sequence[Any]) -> list[Event]:
    """The numbered events of what was told."""
    return [event for event in told if isinstance(event, NumberedEvent)]  # type: ignore[misc]


def spoken(told: Sequence[Any]) -> dict[tuple[int, int], str]:
    """The text of each block, put together from its deltas; a gap or a repeat fails."""
    blocks: dict[tuple[int, int], str] = {}
    for event in told:
        if isinstance(event, TextDelta):
            have = blocks.setdefault((event.turn, event.block), "")
            assert event.start == len(have), (event, have)
            blocks[event.turn, event.block] = have + event.text
    return blocks


async def read_from(session: Session, after: Cursor | None, pause: int = 0) -> list[Any]:
    """What a reader is told from a cursor to the end of the turn, at a pace of his own."""
    told: list[Any] = []
    async for event in session.events(after=after):
        told.append(event)
        for _ in range(pause):
            await trio.lowlevel.checkpoint()
        if isinstance(event, TurnEnded):
            return told
    raise AssertionError("The turn did not end.")


def assert_text_stands_before_its_reply(told: Sequence[Any]) -> None:
    """No word of a block comes behind the event that says it whole."""
    replied: set[tuple[int, int]] = set()
    for event in told:
        if isinstance(event, Replied):
            replied.add((event.turn, event.block))
        elif isinstance(event, TextDelta):
            assert (event.turn, event.block) not in replied
