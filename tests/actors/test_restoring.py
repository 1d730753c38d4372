"""A parked turn that was read back is the one that never left memory."""

import gc
from typing import Any
from weakref import ref

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.activation import activated
from greenroom.actors.models.scripted import call
from greenroom.actors.session import SessionActor
from greenroom.protocol.encoding import encode_header, encode_records
from greenroom.protocol.errors import SetAside
from greenroom.protocol.header import Header
from greenroom.protocol.limits import Limits
from greenroom.protocol.question import Allow, Answer, Deny, Result
from greenroom.protocol.record import AnyRecord, Opened
from greenroom.store import Create
from tests.actors.asked import (
    ASKS,
    asking,
    asks,
    calls_of,
    epoch_of,
    hosting,
    last_turn,
    let_go,
    open_of,
    parked,
    records_of,
)
from tests.actors.moving import known
from tests.actors.stage import all_of
from tests.actors.world import AGENT, STILL, Stage, check_requests, queue_of, sent
from tests.store.offering import ask

BY = Allow("kim")
STEPS = ("Hm.", (call("look"), call("pay"), call("order"), call("use", x=1)), call("look"), "Done.")
ANSWERS: tuple[Answer, ...] = (BY, Allow("lee"), Result("It came.", "shop"))


def turn_of(actor: SessionActor) -> dict[str, Any]:
    """All of a parked turn that decides how it goes on."""
    turn = actor.turn
    assert turn is not None
    this = turn.open
    assert this is not None
    return {
        "number": turn.number,
        "message": turn.entry.submission,
        "absorbed": [entry.submission.message for entry in turn.absorbed],
        "round": turn.round,
        "block": turn.stream.block if turn.stream else None,
        "start": turn.start,
        "began": turn.began,
        "asked": turn.asked,
        "answers": dict(turn.answers),
        "added": turn.added,
        "usage": turn.usage,
        "runs": turn.runs,
        "answer": (this.answer.body, this.answer.text, this.answer.calls),
        "saved": this.answer_saved,
        "told": this._told,
        "later": sorted(this._later),
        "results": this._results,
        "notes": this.notes,
        "untold": this.untold,
    }


async def test_a_turn_that_is_read_back_is_equal(stage: Stage) -> None:
    """R161, R169: at each stop of a turn that parks twice behind a steer."""
    stage.plays(*STEPS)
    async with asking(stage, policy=STILL) as session:
        await session.ask("First")
        stage.model._steps.insert(1, call("watch"))
        await session.prompt("Hi")
        await stage.gate.reached.wait()
        await session.prompt("steer")
        stage.gate.open.set()
        await parked(session)
        await session.prompt("queued")
        await _compared(stage, session)
        for answer in ANSWERS:
            [question, *_] = await parked(session)
            await session._host.answer(question, answer)
            await wait_all_tasks_blocked()
            if (await session.state()).phase == "parked":
                await _compared(stage, session)
        assert (await last_turn(session)).end == "done"


async def _compared(stage: Stage, session: Any) -> None:
    live = session._host.live(session.id)
    assert live.turn.waits_for
    before = (known(live), turn_of(live))
    epoch = epoch_of(stage, session)
    async with stage.host(policy=STILL) as other:
        again = await activated(other.services, session.id)
        assert (known(again), turn_of(again)) == before
    # The former holder goes on all the same: nobody else wrote anything.
    live.epoch = epoch + 1


@pytest.mark.parametrize("how", ["live", "passivated", "reopened"])
async def test_the_same_bytes_are_sent_whoever_was_let_go(stage: Stage, how: str) -> None:
    """P144, R169, R161, R196, P134: approval, restart, resume; a tool runs once."""
    steps = ((call("look"), call("pay"), call("order")), call("pay", cents=2), "Done.", "Next.")
    answers: list[Answer] = [BY, Allow("lee"), Result("It came.", "shop"), Deny("kim", "enough")]
    stage.plays(*steps)
    async with asking(stage) as session:
        await asks(session)
        await session.prompt("steer")
        if how != "reopened":
            for answer in answers:
                if how == "passivated":
                    await let_go(session)
                [question, *_] = await open_of(session)
                await session._host.answer(question, answer)
                await wait_all_tasks_blocked()
    if how == "reopened":
        for answer in answers:
            async with asking(stage) as session:
                [question, *_] = await open_of(session)
                await session._host.answer(question, answer)
                await wait_all_tasks_blocked()
    async with asking(stage) as session:
        assert (await last_turn(session)).end == "done"
        await check_requests(session, stage.model.requests)
        assert (await session.ask("Next")).end == "done"
        await check_requests(session, stage.model.requests)
    assert sorted(stage.effects) == ["look it", "order tea", "pay 1"]
    bodies = [sent(request) for request in stage.model.requests]
    assert bodies == SENT


APPROVED = "The call of {} was put to a person, and {} approved it, once."
_FIRST = [
    ("user", "Hi"),
    ("assistant", "look({}) pay({}) order({})"),
    ("tool", "saw it"),
    ("tool", "paid 1"),
    ("tool", "It came."),
    ("user", f"[platform note] {APPROVED.format('pay', 'kim')} {APPROVED.format('order', 'lee')}"),
    ("user", "steer"),
]
_SECOND = [
    ("assistant", 'pay({"cents":2})'),
    ("tool", "Not run: kim declined it and said: enough"),
    ("user", "[platform note] The call of pay was put to a person, and kim declined it."),
]
SENT = [
    _FIRST[:1],
    _FIRST,
    [*_FIRST, *_SECOND],
    [*_FIRST, *_SECOND, ("assistant", "Done."), ("user", "Next")],
]


async def test_a_parked_session_is_let_go_after_its_idle_time(
    stage: Stage, autojump_clock: MockClock
) -> None:
    """R184, R129: nothing of it stays in memory, nor of what is queued; an answer wakes it."""
    autojump_clock.autojump_threshold = 0.01
    async with hosting(stage, call("pay"), "Paid.", limits=Limits(idle_seconds=10)) as host:
        session = await host.session("ann", agent=AGENT)
        receipt = await session.prompt("Hi")
        [question] = await parked(session)
        await session.prompt("behind")
        traces = traces_of(host.live(session.id))
        await trio.sleep(20)
        assert host.live(session.id) is None
        gc.collect()
        assert [trace() for trace in traces] == [None, None]
        assert (await session.state()).phase == "parked"
        assert (await session.state()).running == 1
        assert await queue_of(session) == ["behind"]
        [listed] = await host.sessions().all()
        assert (listed.phase, listed.queued) == ("parked", 1)
        await host.answer(question, BY)
        assert (await session.outcome(receipt)).end == "done"
        assert stage.effects == ["pay 1"]


def traces_of(actor: Any) -> list[Any]:
    return [ref(actor), ref(actor.turn)]


async def test_who_waits_keeps_it_live(stage: Stage, autojump_clock: MockClock) -> None:
    """R184, R213: somebody waits here for its outcome; when he has left it may rest."""
    autojump_clock.autojump_threshold = 0.01
    async with hosting(stage, call("pay"), "Paid.", limits=Limits(idle_seconds=10)) as host:
        session = await host.session("ann", agent=AGENT)
        receipt = await session.prompt("Hi")
        await parked(session)
        with trio.move_on_after(50):
            await session.outcome(receipt)
        assert host.live(session.id) is not None
        await trio.sleep(20)
        assert host.live(session.id) is None


async def test_what_is_in_memory_only_keeps_it_live(stage: Stage) -> None:
    """R93, R184: a queue that is not durable is not let go of."""
    policy = Policy(durable_intake=False)
    async with asking(stage, call("pay"), "Paid.", policy=policy) as session:
        [question] = await asks(session)
        await session.prompt("behind")
        actor = session._host.live(session.id)
        assert actor is not None
        assert not actor.may_rest
        await session._host.answer(question, BY)
        await wait_all_tasks_blocked()
        assert actor.may_rest
        assert sent(stage.model.requests[1])[-1] == ("user", "behind")


async def test_a_parked_session_is_let_go_when_it_is_asked_to(stage: Stage) -> None:
    """R208, R184: dispose leaves the turn as it is, and later messages and answers find it."""
    async with asking(stage, call("pay"), "Paid.", "Next.") as session:
        [question] = await asks(session)
        await session.dispose()
        assert session._host.live(session.id) is None
        await session.prompt("behind")
        await wait_all_tasks_blocked()
        await session.dispose()
        await session._host.answer(question, BY)
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "done"
        await session.dispose()
        assert session._host.live(session.id) is None
        assert (await session.ask("Next")).end == "done"


async def test_it_is_woken_once_however_many_come(stage: Stage) -> None:
    """R184: answers, messages, cancels and readers of it at once."""
    async with asking(stage, (call("pay"), call("pay", cents=2)), "Paid.", "Next.") as session:
        first, second = await asks(session)
        await let_go(session)
        before = epoch_of(stage, session)

        async def one(number: int) -> Any:
            if number % 3 == 0:
                return await session._host.answer(first, BY)
            if number % 3 == 1:
                return await session.prompt(f"message {number}")
            return await session.state()

        await all_of(9, one)
        assert epoch_of(stage, session) == before + 1
        await session._host.answer(second, BY)
        await wait_all_tasks_blocked()
        assert sorted(stage.effects) == ["pay 1", "pay 2"]


async def test_all_that_is_answered_goes_on_when_a_host_opens(stage: Stage) -> None:
    """R161, P163, P134: those that wait are let be, those that have their answers go on."""
    async with hosting(stage, *[call("pay", cents=n) for n in range(4)], policy=STILL) as host:
        for number in range(4):
            session = await host.session(f"s{number}", agent=AGENT)
            [question] = await asks(session)
            if number % 2:
                host.services.closing = True
                await host.answer(question, BY)
                host.services.closing = False
    async with hosting(stage, "Paid.", "Paid.") as host:
        await wait_all_tasks_blocked()
        assert sorted(stage.effects) == ["pay 1", "pay 3"]
        assert sorted(actor.key for actor in host.services.actors) == ["s1", "s3"]
        assert await host.questions().count() == 2


@pytest.mark.parametrize("what", ["answer", "message", "prompt"])
async def test_a_parked_turn_that_does_not_fit_together_is_set_aside(
    stage: Stage, what: str
) -> None:
    """R92: with the reason, and nothing is repaired; others are not kept by it."""
    async with asking(stage, call("pay")) as session:
        await asks(session)
        records = records_of(stage, session)
    kept: list[AnyRecord] = [
        record
        for record in records
        if not (
            (what == "answer" and type(record).__name__ == "Responded")
            or (what == "message" and type(record).__name__ == "Accepted")
        )
    ]
    opened = next(record for record in kept if isinstance(record, Opened))
    header = Header(AGENT, None, ASKS, None, opened.at, 1, 1, 2, 1, parked=1)
    other = type(session.id)("default", "other")
    await ask(stage.store, Create(other, encode_header(header), encode_records(kept)))
    async with hosting(stage) as host:
        with pytest.raises(SetAside):
            await (await host.session("other")).prompt("Hi")
        assert await (await host.session("ann")).cancel()


async def test_what_was_approved_is_told_where_the_turn_parks_again(stage: Stage) -> None:
    """R160, R169: the note of the first questions is not lost with the memory of the turn."""
    async with asking(stage, call("order"), "Done.") as session:
        [approval] = await asks(session)
        await session._host.answer(approval, BY)
        await wait_all_tasks_blocked()
        [result] = await parked(session)
        await let_go(session)
        await session._host.answer(result, Result("It came.", "shop"))
        await wait_all_tasks_blocked()
        assert sent(stage.model.requests[1])[-1][1] == (
            f"[platform note] {APPROVED.format('order', 'kim')}"
        )
        assert await calls_of(session) == [("order", "done")]
