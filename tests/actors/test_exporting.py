"""Laws of a session that is exported: all that it sent is in it, and nothing of it moves."""

import pytest
import trio

from greenroom.actors import Session
from greenroom.actors.exporting import exported
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.errors import Busy, Held, Missing, PendingSave, SaveFailed, StoreDamaged
from greenroom.protocol.export_lines import read_export
from greenroom.protocol.exported import requests_in
from greenroom.protocol.identity import SessionId
from greenroom.protocol.phase import BUSY, Phase
from greenroom.store.schema import BLOBS, blob_key
from tests.actors.held import WHY
from tests.actors.moving import check_moved, eventful
from tests.actors.titled import asked as say
from tests.actors.titled import title_of, titling
from tests.actors.unopened import asked, message_of, paying
from tests.actors.world import AGENT, Stage, is_for_summary

ANN = SessionId("default", "ann")


async def test_each_sent_prompt_is_rebuilt_from_the_lines_alone(stage: Stage) -> None:
    """P145, R191, R196: picks, images, spilled results, steers, presets, compactions, failures."""
    async with eventful(stage) as session:
        lines = await session.export().all()
        given = [request.canonical() for request in stage.model.requests]
        assert any(is_for_summary(request) for request in stage.model.requests)
    found = list(requests_in(lines))
    assert all(one.is_exact for one in found)
    assert [one.request.canonical() for one in found] == given
    told = read_export(lines)
    spilled = [data for data in told.contents.values() if data == b"saw " + b"x" * 99]
    assert spilled
    assert b"pixels" in told.contents.values()
    assert b"In full." in told.contents.values()


async def test_an_export_is_the_same_whoever_asks_and_however_often(stage: Stage) -> None:
    """R191, R219: live or not, from a host or the store alone; nothing is activated by it."""
    async with eventful(stage) as session:
        lines = await session.export().all()
        assert await session.export().all() == lines
        assert list(exported(stage.store, ANN)) == lines
        await check_moved(stage, session)
    before = stage.store.look(ANN)
    async with stage.host() as host:
        session = await host.session("ann")
        assert await session.export().all() == lines
        assert host.live(ANN) is None
        assert stage.store.look(ANN) == before


async def refused(session: Session, kind: type[Busy] = Busy) -> Busy:
    """Why it cannot be exported now; not one line is told."""
    with pytest.raises(kind) as error:
        await anext(aiter(session.export()))
    return error.value


async def test_a_turn_that_runs_and_a_message_that_waits_are_not_exported(stage: Stage) -> None:
    """R191: there is no half of a turn in an export; the same beside the host, from its store."""
    second = Stalled(trio.Event(), "Two.")
    stage.plays(call("watch"), "Done.", second)
    async with stage.session() as session:
        first = await session.prompt("one")
        await stage.gate.reached.wait()
        await refused(session)
        with pytest.raises(Busy, match="a turn is not over"):
            list(exported(stage.store, ANN))
        last = await session.prompt("two", when="queue")
        stage.gate.open.set()
        await session.outcome(first)
        await second.reached.wait()
        await refused(session)
        second.until.set()
        await session.outcome(last)
        assert await session.export().count() > 2


async def test_a_turn_that_waits_for_answers_is_not_exported(stage: Stage) -> None:
    """R191, R223: nor with what is queued behind it; also when it is in no memory."""
    stage.plays(call("pay"), "Done.")
    async with stage.host() as host:
        session = await host.session("ann", agent=AGENT, preset="read-only")
        receipt = await session.prompt("pay")
        await until_parked(session)
        reason = (await refused(session)).facts["reason"]
    async with stage.host() as host:
        session = await host.session("ann")
        error = await refused(session)
        assert (error.facts["reason"], host.live(ANN)) == (reason, None)
        assert "Answer its questions" in error.way_out
        await session.cancel()
        await session.outcome(receipt)
        await check_moved(stage, session)


async def until_parked(session: Session) -> None:
    while (await session.state()).phase != "parked":
        await trio.lowlevel.checkpoint()


async def test_what_waits_before_its_first_turn_is_not_exported(stage: Stage) -> None:
    """R191, R215: until its question was answered, or its message recalled."""
    async with paying(stage, []) as host:
        session = await asked(host)
        receipt = message_of(stage, session)
        assert (await refused(session)).facts["reason"] == BUSY[Phase.ASKING]
        with pytest.raises(Busy, match=BUSY[Phase.ASKING]):
            list(exported(stage.store, ANN))
        assert await session.recall(receipt)
        await check_moved(stage, session)


async def test_requests_for_titles_are_rebuilt_too(stage: Stage) -> None:
    """P145, R191, R196: and the title comes along, whoever gave it."""
    async with titling(stage, "An order that is late") as session:
        await say(stage, session, "Where is my order?")
        assert await title_of(session) == "An order that is late"
        given = [each.canonical() for each in (*stage.model.requests, *stage.other.requests)]
        found = list(requests_in(await session.export().all()))
        assert [one.request.canonical() for one in found] == given
        await check_moved(stage, session)
        await session.set_title("Late order")
        await check_moved(stage, session)


async def test_what_is_not_on_disk_is_not_left_out(stage: Stage) -> None:
    """R191, R86: it is refused until it was flushed, and whole then."""
    stage.plays("One.", "Two.")
    async with stage.session() as session:
        await session.ask("one")
        stage.fails(skip=1)
        with pytest.raises(SaveFailed):
            await session.ask("two")
        await refused(session, PendingSave)
        await session.flush()
        await check_moved(stage, session)


async def test_a_hold_keeps_no_session_from_being_exported(stage: Stage) -> None:
    """R191, R159: but the message that waits behind it does, and the error says who holds."""
    stage.plays("One.")
    async with stage.session() as session:
        host = session._host
        await session.ask("one")
        lines = await session.export().all()
        await host.hold(**WHY)
        assert await session.export().all() == lines
        await session.prompt("two")
        await refused(session, Held)
        with pytest.raises(Busy, match="a message is queued"):
            list(exported(stage.store, ANN))


async def test_a_session_that_is_deleted_meanwhile_is_missing(stage: Stage) -> None:
    """R191, R192: its export never ends as if it were whole."""
    stage.plays("One.")
    async with stage.session() as session:
        await session.ask("one", key="k")
        lines = aiter(session.export())
        await anext(lines)
        await session.delete()
        with pytest.raises(Missing):
            await anext(lines)
        with pytest.raises(Missing):
            await session.export().count()


async def test_content_that_the_store_lost_is_told(stage: Stage) -> None:
    """R191, R92: no export is made of a session that is not whole."""
    stage.plays("One.")
    async with stage.session() as session:
        await session.ask("one")
        (digest,) = stage.store.held(ANN)
        stage.memory._tables.delete(BLOBS, blob_key(digest))
        with pytest.raises(StoreDamaged, match=digest[:12]):
            await session.export().count()


async def test_no_credential_is_exported(stage: Stage) -> None:
    """R198: neither what tools work with nor what a model is called with."""
    secret = "hunter2"
    stage.plays(call("look"), "Done.")
    async with stage.session(deps=lambda info: {"password": secret}) as session:
        await session.ask("one", key="k")
        lines = await session.export().all()
    assert b"saw it" in b"".join(lines)
    assert secret.encode() not in b"".join(lines)
