"""Laws of an export that is imported: the session goes on as it was, or nothing of it is there."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio

from greenroom.actors import Host, Session, Workspace
from greenroom.actors.models.scripted import call
from greenroom.protocol import AgentDeclaration, SessionOpened, explain
from greenroom.protocol.errors import (
    InvalidInput,
    KeyReused,
    Mismatch,
    Missing,
    SaveFailed,
    TooLarge,
    UnknownAgent,
)
from greenroom.protocol.export_lines import head_of, read_export, written
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import Image
from greenroom.protocol.question import Allow
from greenroom.protocol.rebuild import SentRequest
from greenroom.protocol.refusal import BadExport, ExportTooNew
from greenroom.store import Store, open_lmdb, open_memory
from tests.actors.held import WHY
from tests.actors.moving import eventful, read
from tests.actors.world import AGENT, STILL, Stage, opened

ANN, BEN = SessionId("default", "ann"), SessionId("default", "ben")


@asynccontextmanager
async def elsewhere(stage: Stage, **options: Any) -> AsyncIterator[Host]:
    """A host of the same workspace over a store of its own."""
    async with (
        open_memory(incarnation="other") as store,
        attrs.evolve(stage, store=store).host(policy=STILL, **options) as host,
    ):
        yield host


async def lines_of(stage: Stage, *asked: str) -> list[bytes]:
    """The export of a session that was asked this."""
    async with stage.session() as session:
        for each in asked:
            stage.plays(f"{each}!")
            await session.ask(each, key=each)
        return await session.export().all()


async def next_request(stage: Stage, session: Session) -> bytes:
    """What the session sends next."""
    stage.plays("And so on.")
    assert (await session.ask("And then?")).end == "done"
    return stage.model.requests[-1].canonical()


# --- it goes on -----------------------------------------------------------------------------------


async def test_all_of_a_session_is_there_and_its_next_request_is_the_same(stage: Stage) -> None:
    """P145, R191, R196: also behind a compaction, with picks, images and spilled results."""
    async with eventful(stage) as session, elsewhere(stage) as host:
        lines = await session.export().all()
        again = await host.import_session("ann", lines)
        assert await again.export().all() == lines
        assert await read(again) == await read(session)
        made = await again.summary_request(), await session.summary_request()
        for one, other in [made, *[await both(again, session, n) for n in range(1, 9)]]:
            assert one.is_exact
            assert one.request.canonical() == other.request.canonical()
            assert explain(one, other).part is None
        assert await next_request(stage, again) == await next_request(stage, session)
        assert (await again.request(9)).is_exact


async def both(one: Session, other: Session, turn: int) -> tuple[SentRequest, SentRequest]:
    """The last request of a turn of two sessions."""
    return await one.request(turn), await other.request(turn)


async def test_it_goes_on_after_a_restart_of_its_host_on_disk(disk: Stage, tmp_path: Any) -> None:
    """R191, R169: in LMDB as in memory; its content is its own."""
    async with eventful(disk) as session:
        lines = await session.export().all()
        async with open_lmdb(tmp_path / "other") as store:
            there = attrs.evolve(disk, store=store)
            async with there.host(policy=STILL) as host:
                await host.import_session("ann", lines)
            async with there.host(policy=STILL) as host:
                again = await host.session("ann")
                assert await again.export().all() == lines
                assert await next_request(there, again) == await next_request(disk, session)


async def test_what_came_with_an_idempotency_key_is_not_done_again(stage: Stage) -> None:
    """R191, R177: its first receipt comes back; with other words the key is refused."""
    lines = await lines_of(stage, "one", "two")
    async with elsewhere(stage) as host:
        session = await host.import_session("ann", lines)
        receipt = await session.prompt("two", key="two")
        assert (receipt.repeated, receipt.turn) == (True, 2)
        assert (await session.outcome(receipt)).text == "two!"
        with pytest.raises(KeyReused):
            await session.prompt("three", key="two")


async def test_a_copy_under_another_key_is_another_session(stage: Stage) -> None:
    """R191, R193, R223: beside its original in one store, and deleting either hurts no other."""
    stage.plays(call("pay"), "Paid.")
    async with stage.host() as host:
        session = await host.session("ann", agent=AGENT, preset="read-only")
        receipt = await session.prompt([Image("image/png", b"pixels")])
        question = await anext(aiter(host.questions())) if await until_asked(host) else None
        assert question is not None
        await host.answer(question, Allow("kim"))
        await session.outcome(receipt)
        lines = await session.export().all()
        copy = await host.tenant("other").import_session("ben", lines)
        assert (copy.id, session.id) == (SessionId("other", "ben"), ANN)
        assert (await copy.export().all())[1:-1] == lines[1:-1]
        # What was settled before leads to where it was asked.
        assert (await host.answer(question.id, Allow("ben"))).session == ANN
        with pytest.raises(Missing):
            await host.tenant("other").answer(question.id, Allow("ben"))
        assert await next_request(stage, copy) == await next_request(stage, session)
        await session.delete()
        assert stage.store.blob(read_export(lines).header.composition or "") is not None
        assert (await copy.request(1)).is_exact
        with pytest.raises(Missing, match="used up"):
            await host.import_session("ann", lines)


async def until_asked(host: Host) -> bool:
    while not await host.questions().count():
        await trio.lowlevel.checkpoint()
    return True


async def test_the_feed_tells_that_it_is_there_and_no_turn_of_it(stage: Stage) -> None:
    """R191, R222: what was told in another store is no news; its own events are all there."""
    lines = await lines_of(stage, "one", "two")
    async with elsewhere(stage) as host:
        session = await host.import_session("ann", lines)
        stage.plays("Three.")
        await session.ask("three")
        feed = aiter(host.feed())
        told = [await anext(feed) for _ in range(3)]
        assert isinstance(told[0], SessionOpened)
        assert {getattr(event, "turn", 3) for event in told[1:]} <= {3, None}
        kinds = [type(event).__name__ async for event in until(session, 3)]
        assert kinds.count("TurnEnded") == 3
        assert kinds[0] == "SessionOpened"


async def until(session: Session, turns: int) -> AsyncIterator[Any]:
    async for event in session.events():
        yield event
        turns -= type(event).__name__ == "TurnEnded"
        if not turns:
            return


# --- what a store withdrew ------------------------------------------------------------------------


async def test_what_it_knew_of_withdrawals_holds_in_its_store_only(stage: Stage) -> None:
    """R191, R159: a copy shows what the original shows; elsewhere nothing withdrawn comes back."""
    stage.skills.publish("refunds", "Pay it twice.")
    async with stage.session() as session:
        host = session._host
        stage.plays("One.", "Two.")
        await session.ask("Refund.", skills=["refunds"])
        early = await session.export().all()
        hold = await host.hold(skill="refunds", **WHY)
        stage.skills.publish("refunds", "Pay it once.")
        await host.lift(hold, by="ben", withdrawn=True)
        await session.ask("Refund.", skills=["refunds"])
        lines = await session.export().all()
        copy = await host.import_session("ben", lines)
        first, second = await next_request(stage, session), await next_request(stage, copy)
        assert first == second
        assert b"[withdrawn]" in first
        assert b"Pay it once." in first
        # The one that was exported before knows of nothing, and is told.
        late = await host.import_session("cid", early)
        assert b"Pay it twice." not in await next_request(stage, late)
        async with elsewhere(stage) as other:
            moved = await other.import_session("ann", lines)
            assert await next_request(stage, moved) == first
            hold = await other.hold(skill="refunds", **WHY)
            await other.lift(hold, by="ben", withdrawn=True)
            again = await other.import_session("ben", lines)
            assert b"Pay it once." not in await next_request(stage, again)


async def test_a_hold_finds_it_by_the_skills_that_it_shows(stage: Stage) -> None:
    """R191, R159: those of its kept prompt too, before anybody has opened it."""
    stage.skills.publish("refunds", "Pay it twice.")
    stage.bound = ("skills/refunds",)
    lines = await lines_of(stage, "one")
    async with elsewhere(stage) as host:
        session = await host.import_session("ann", lines)
        assert (await host.hold(skill="refunds", **WHY)).sessions == 1
        assert (await session.state()).phase == "held"


# --- or nothing is there --------------------------------------------------------------------------


def standing(store: Store) -> tuple[int, list[Any]]:
    return store.last_number(), list(store.sessions())


async def refused(
    host: Host, lines: Sequence[bytes], kind: type[Exception], key: str = "ann"
) -> str:
    """What is said of lines that cannot be imported; nothing of them is in the store."""
    store = host.services.store
    before = standing(store)
    with pytest.raises(kind) as error:
        await host.import_session(key, lines)
    assert standing(store) == before
    return str(error.value)


async def test_whichever_line_is_damaged_nothing_is_stored(stage: Stage) -> None:
    """R191: flipped, cut, dropped, doubled or moved, each line of them, and the file cut off."""
    async with eventful(stage) as session:
        lines = await session.export().all()
    async with elsewhere(stage) as host:
        for altered in damaged(lines):
            await refused(host, altered, BadExport)
        assert host.services.store.space().used == 0
        await host.import_session("ann", lines)


def damaged(lines: list[bytes]) -> Iterator[list[bytes]]:
    """Every line, damaged in every way."""
    for n, line in enumerate(lines):
        before, behind = lines[:n], lines[n + 1 :]
        middle = len(line) // 2
        yield [*before, line[:middle] + bytes([line[middle] ^ 1]) + line[middle + 1 :], *behind]
        yield [*before, line[:middle], *behind]
        yield [*before, *behind]
        yield [*before, line, line, *behind]
        yield [*before, *behind[:1], line, *behind[1:]] if behind else [line, *before]
        yield before


async def test_a_key_that_is_taken_or_used_up_is_refused(stage: Stage) -> None:
    """R191, R192: by the errors of any new session; also if it is taken while lines are read."""
    lines = await lines_of(stage, "one")
    async with stage.host() as host:
        assert "an export makes a new one" in await refused(host, lines, Mismatch)

        async def slow() -> AsyncIterator[bytes]:
            for number, line in enumerate(lines):
                if number == 2:
                    await opened(host, "ben")
                yield line

        with pytest.raises(Mismatch):
            await host.import_session("ben", slow())
        assert len(stage.store.read(BEN)) == 1
        await (await host.session("ann")).delete()
        assert "used up" in await refused(host, lines, Missing)
        await refused(host, lines, InvalidInput, key="")


async def test_an_agent_that_is_not_there_is_named(stage: Stage) -> None:
    """R191: with those that are."""
    lines = await lines_of(stage, "one")
    other = Workspace.build(agents=[AgentDeclaration(name="other", prompt="You help.")])
    async with elsewhere(stage, workspace=other) as host:
        assert "other" in await refused(host, lines, UnknownAgent)


async def test_more_than_the_bounds_allow_is_refused(stage: Stage) -> None:
    """R191, R194: of one line, and of all; what is no line at all too."""
    lines = await lines_of(stage, "one")
    for limits in (Limits(export_line_bytes_max=100), Limits(import_bytes_max=1_000)):
        async with elsewhere(stage, limits=limits) as host:
            await refused(host, lines, TooLarge)
    async with elsewhere(stage) as host:
        await refused(host, ["text"], InvalidInput)  # type: ignore[list-item]
        await refused(host, [], BadExport)
        newer = [lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]]
        await refused(host, newer, ExportTooNew)
        await refused(host, b"\n".join(lines), InvalidInput)  # type: ignore[arg-type]


async def test_an_import_that_could_not_be_written_can_be_tried_again(stage: Stage) -> None:
    """R191, R84: one transaction, or nothing."""
    lines = await lines_of(stage, "one")
    async with elsewhere(stage) as host:
        store = host.services.store
        store.faults.fail_next(SaveFailed("The disk is full."))  # type: ignore[attr-defined]
        await refused(host, lines, SaveFailed)
        session = await host.import_session("ann", lines)
        assert await session.export().all() == lines


async def test_content_of_another_session_cannot_be_had_by_its_digest(stage: Stage) -> None:
    """R191, R218: an export that was made to name it is refused, though every digest fits."""
    async with stage.session() as session:
        stage.plays("Seen.")
        await session.ask([Image("image/png", b"secret")])
        told = read_export(await session.export().all())
        digest = next(one for one, data in told.contents.items() if data == b"secret")
        rest = [(one, data) for one, data in told.contents.items() if one != digest]
        forged = list(written(head_of(BEN, told.header, "x"), told.commits, rest))
        assert digest[:12] in await refused(session._host, forged, BadExport, key="ben")


async def test_lines_come_from_whatever_gives_them(stage: Stage, tmp_path: Any) -> None:
    """R191: a list, a file with its newlines, or another host's listing as it is read."""
    async with stage.session() as session, elsewhere(stage) as host:
        stage.plays("One.")
        await session.ask("one")
        lines = await session.export().all()
        path = tmp_path / "ann.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        with path.open("rb") as file:
            await host.import_session("a", file)
        async with await trio.open_file(path, "rb") as slow:
            await host.import_session("b", slow)
        await host.import_session("ann", session.export())
        told = [(await (await host.session(key)).export().all())[1:-1] for key in ("a", "b", "ann")]
        assert told == [lines[1:-1]] * 3
