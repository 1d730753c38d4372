"""A session that does not fit together: refused with the reason, and the others run."""

import msgspec
import pytest
import trio
from msgspec import structs
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.scripted import Stalled
from greenroom.protocol.encoding import encode_header, encode_records
from greenroom.protocol.errors import SetAside
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import Accepted, Dispatched, Ended, Opened
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.store import Create, Created, open_memory
from tests.actors.stage import stage
from tests.store.offering import ask

HEADER = encode_header(Header("support", None, "read-only", None, 0))
OPENED = encode_records([Opened(0, "support", None, "read-only")])
USER = msgspec.Raw(b'{"role":"user","content":"one"}')
ACCEPTED = Accepted(0, "m", USER, "started", 0, 1)
STARTED = Dispatched(0, 1, "m", 0, 1, "m", "read-only", "0" * 64, "0" * 64)
ENDED = Ended(0, 1, "done")


def with_snapshot(turn: int) -> bytes:
    """A turn with a context snapshot anchored to that user message."""
    snapshot = RuntimeContextSnapshot(turn, "text", 0)
    return encode_records([ACCEPTED, structs.replace(STARTED, snapshot=snapshot), ENDED])


DAMAGED = {
    "not records": (HEADER, b"[{}]"),
    "cut": (HEADER, OPENED[:-3]),
    "no first record": (HEADER, b"[]"),
    "a kept prompt that is not there": (
        encode_header(Header("support", None, "read-only", None, 0, composition="0" * 64)),
        OPENED,
    ),
    "a snapshot beyond the conversation": (HEADER, OPENED[:-1] + b"," + with_snapshot(7)[1:]),
    "a header that is none": (b"\xc1", OPENED),
}


@pytest.mark.parametrize("what", DAMAGED)
async def test_a_damaged_session_is_refused_with_the_reason_and_left_alone(what: str) -> None:
    """R92: nothing is repaired by opening; others run, are listed, and go on by themselves."""
    header, records = DAMAGED[what]
    async with open_memory() as store:
        broken = SessionId("default", "broken")
        assert isinstance(await ask(store, Create(broken, header, records)), Created)
        before = store.read(broken)
        async with stage("Hi.", store=store) as on:
            sane = await on.session()
            assert (await sane.ask("hello")).end == "done"
            listed = {each.session.key: each.phase for each in await on.host.sessions().all()}
            assert listed.keys() == {"ann", "broken"}
            session = Session(on.host, broken)
            with pytest.raises(SetAside) as caught:
                await session.prompt("one")
            assert caught.value.facts["session"] == "broken"
            assert store.read(broken) == before
            await session.delete()


async def test_a_damaged_session_does_not_stop_those_that_go_on_by_themselves() -> None:
    """R92, R93: what waits behind it in the store is served."""
    async with open_memory() as store:
        for place, (header, records) in enumerate(DAMAGED.values()):
            await ask(store, Create(SessionId("default", f"broken{place}"), header, records))
        async with stage(Stalled(trio.Event(), "never"), store=store) as on:
            session = await on.session("z")
            await session.prompt("one")
            waiting = await session.prompt("two", when="queue")
        async with stage("Hi.", store=store) as on:
            await wait_all_tasks_blocked()
            assert (await (await on.session("z")).outcome(waiting)).text == "Hi."
