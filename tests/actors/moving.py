"""A session that is exported and imported elsewhere, and what has to hold then."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio
from msgspec import structs
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.port import ModelResponse
from greenroom.actors.models.scripted import call
from greenroom.actors.session import SessionActor
from greenroom.protocol.errors import ModelFailed
from greenroom.protocol.export_lines import read_export
from greenroom.protocol.exported import requests_of
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import Image, OpaquePart, TextPart
from greenroom.protocol.rebuild import SentRequest, sent_in
from greenroom.protocol.record import Compacted, TitleMade
from greenroom.store import open_memory
from tests.actors.compacted import talked
from tests.actors.world import FULL, STILL, Stage

SPILLS = Limits(result_bytes_max=64, result_head_bytes=16)


@asynccontextmanager
async def eventful(stage: Stage) -> AsyncIterator[Session]:
    """A session with one of everything that a request can be made of, between two turns."""
    stage.skills.publish("refunds", "Pay back. See notes.md.", **{"notes.md": "In full."})
    async with stage.session(limits=SPILLS) as session:
        await _talked(stage, session)
        yield session


async def _talked(stage: Stage, session: Session) -> None:
    signed = ModelResponse("Seen.", opaque=(OpaquePart("scripted", b"\x00\xff signed"),))
    stage.plays((call("look", what="x" * 99), call("pay")), signed, "Refunded.", ModelFailed("No."))
    await session.ask([TextPart("What is this?"), Image("image/png", b"pixels")], key="k1")
    await session.ask("Refund it.", skills=["refunds"])
    assert (await session.ask("Once more.")).end == "failed"
    await session.set_permission_preset("read-only")
    await talked(stage, session, 4)
    stage.plays("A summary.")
    assert (await session.compact()).status == "compacted"
    await session.set_permission_preset(FULL)
    stage.plays(call("watch"), "Watched.")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.ask, "Watch.")
        await stage.gate.reached.wait()
        await session.prompt("Look closely.")
        stage.gate.open.set()


async def check_moved(stage: Stage, session: Session) -> None:
    """Export it, rebuild what it sent, and import it into another store: all is as it was.

    An actor of it knows there what the one here knows: its next request would be the same.
    """
    # What was begun beside it, such as a compaction, may not have come to its first step.
    await wait_all_tasks_blocked()
    lines = await session.export().all()
    assert await session.export().all() == lines
    await rebuilt(lines, session)
    async with open_memory() as store, attrs.evolve(stage, store=store).host(policy=STILL) as host:
        again = await host.import_session(session.id.key, lines)
        assert await again.export().all() == lines
        assert await read(again) == await read(session)
        actor = await host.activate(again.id)
        assert await again.export().all() == lines
        there, here = known(actor), known(await session._host.activate(session.id))
        # A receipt may have named a turn that never began: its number is not given again.
        here["header"] = structs.replace(here["header"], turns=there["header"].turns)
        assert there == here


def known(actor: SessionActor) -> dict[str, Any]:
    """All that decides what an actor does and sends next."""
    return {
        "header": actor.header,
        "queue": [(e.seq, e.submission.message, e.own_turn) for e in actor.gateway._line],
        "conversation": list(actor.conversation.messages()),
        "sizes": (actor.conversation.size, actor.conversation.images),
        "sent": None if actor.sent is None else tuple(actor.sent),
        "kept": None if actor.kept is None else actor.kept.digest,
        "grants": actor.grants,
    }


async def rebuilt(lines: Sequence[bytes], session: Session) -> None:
    """What the lines alone tell of what was sent: all of it, and each request exactly (P145)."""
    exported = read_export(lines)
    records = exported.records
    found = list(requests_of(records, exported.contents.get, exported.session))
    assert all(one.is_exact for one in found)
    summaries = sum(len(each.calls) for each in records if isinstance(each, Compacted))
    titles = sum(isinstance(record, TitleMade) for record in records)
    assert len(found) == len(sent_in(records)) + summaries + titles
    for one in found:
        if isinstance(one, SentRequest) and one.session is not None:
            there = await session.request(one.turn, round=one.round)
            assert one.request.canonical() == there.request.canonical()


async def read(session: Session) -> dict[str, Any]:
    """All that can be read of a session but for where its store has it."""
    state = await session.state()
    return {
        "state": {
            name: getattr(state, name)
            for name in state.__struct_fields__
            if name not in ("cursor", "session", "phase")
        },
        "transcript": await session.transcript().all(),
        "turns": await session.turns().all(),
        "contexts": await session.get_runtime_contexts(),
        "checkpoints": await session.get_system_prompt_checkpoints(),
    }
