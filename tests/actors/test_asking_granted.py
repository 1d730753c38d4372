"""What was allowed and never began is good for one such call in the next turn, and nothing else."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session, Tool, Workspace, tool
from greenroom.actors.activation import activated
from greenroom.actors.models.scripted import Step, call
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.encoding import encode_records
from greenroom.protocol.errors import SaveFailed
from greenroom.protocol.gate import Gate
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.question import Allow, Answer, Deny, Question
from greenroom.protocol.record import Ended, Responded
from greenroom.store import Stored
from greenroom.store.contract import Done, ForkFrom
from tests.actors.asked import (
    asking,
    asks,
    calls_of,
    hosting,
    last_turn,
    let_go,
    open_of,
    parked,
    records_of,
)
from tests.actors.test_asking import LOOSE, STRICT
from tests.actors.world import AGENT, STILL, Stage, check_conversation, check_requests, sent
from tests.store.offering import ask

BY = Allow("kim")
TOLD = "[platform note] The call of pay was put to a person, and kim approved it, once."
RENT = call("pay", cents=7, why="The rent.")
AGAIN = call("pay", why="It is the rent, once more.", cents=7)
GATED = Workspace.build(
    agents=[AgentDeclaration(name=AGENT, prompt="You help.")],
    gates=[Gate(tool="peek", decision="ask")],
)


def tools(stage: Stage) -> Sequence[Tool[Any]]:
    """One that pays and is told why, and one that only reads, behind the gate."""

    @tool(effect="write", advisory=["why"])
    async def pay(cents: int, why: str = "") -> str:
        """Pay."""
        stage.effects.append(f"pay {cents} {why}".strip())
        return f"paid {cents}"

    @tool(effect="read")
    async def peek() -> str:
        """Look, for as long as the gate is closed."""
        stage.effects.append("peek")
        await stage.gate.wait()
        return "seen"

    return (pay, peek)


async def left(
    stage: Stage, *calls: Any, ends: str = "stops", answer: Answer = BY, **options: Any
) -> list[Question]:
    """A turn whose calls were answered and never began: it ended while what they need was made."""
    goes_on: list[bool] = []

    async def deps(_: object) -> None:
        if goes_on:
            await stage.gate.wait()
            raise ValueError

    options = {"tools": tools(stage), "deps": deps, **options}
    async with asking(stage, calls, **options) as session:
        questions = await asks(session)
        goes_on.append(True)
        for question in questions:
            await session._host.answer(question, answer)
        await stage.gate.reached.wait()
        if ends == "cancelled":
            assert await session.cancel()
        elif ends == "interrupted by a message":
            stage.plays("Stopped.")
            await session.outcome(await session.prompt("Stop", when="interrupt"))
        elif ends == "failed":
            stage.gate.open.set()
        await wait_all_tasks_blocked()
    stage.gate = type(stage.gate)()
    return questions


async def again(stage: Stage, session: Session, *steps: Step) -> list[str]:
    """What the next turn did, and whether it asks: then it is cancelled."""
    before = len(stage.effects)
    stage.model._steps[len(stage.model.requests) :] = steps
    await session.prompt("Again")
    await wait_all_tasks_blocked()
    done = stage.effects[before:]
    if await open_of(session):
        done.append("asks")
        await session.cancel()
        await wait_all_tasks_blocked()
    await check_conversation(session)
    return done


def session_in(stage: Stage, **options: Any) -> Any:
    return asking(stage, **{"tools": tools(stage), **options})


@pytest.mark.parametrize("how", ["live", "let go", "reopened"])
async def test_a_retry_in_other_words_asks_nobody(stage: Stage, how: str) -> None:
    """P139, R161, R160: it runs by the answer that was given, recorded so, and is told of it."""
    [question] = await left(stage, RENT)
    async with session_in(stage) as session:
        [ended] = [record for record in records_of(stage, session) if isinstance(record, Ended)]
        assert (ended.end, ended.unused) == ("interrupted", (question.id,))
        if how == "let go":
            await session.set_permission_preset("read-only")
            await session._host.activate(session.id)
            await let_go(session)
        elif how == "live":
            await session._host.activate(session.id)
        assert await again(stage, session, AGAIN, "Paid.") == ["pay 7 It is the rent, once more."]
        turn = await last_turn(session)
        assert (turn.end, [made.granted for made in turn.calls]) == ("done", [question.id])
        assert sent(stage.model.requests[-1])[-1] == ("user", TOLD)
        [used] = [r for r in records_of(stage, session) if isinstance(r, Responded) and r.granted]
        assert [(use.call, use.question) for use in used.granted] == [("c2-0-0", question.id)]
        assert used.intents == ("c2-0-0",)
        assert await again(stage, session, AGAIN) == ["asks"]
        assert (await last_turn(session)).calls[0].granted is None
        await check_requests(session, stage.model.requests)


COVERED = "pay 7 It is the rent, once more."
NEXT: dict[str, tuple[tuple[Step, ...], list[str]]] = {
    "another amount": ((call("pay", cents=8, why="The rent."),), ["asks"]),
    "written otherwise": ((call("pay", cents=7.0),), ["asks"]),
    "once in a round": (((AGAIN, RENT),), [COVERED, "asks"]),
    "once in a turn": ((AGAIN, RENT), [COVERED, "asks"]),
    "in a later round": ((call("pay", cents=8), AGAIN), ["asks"]),
    "behind one that needs no answer": ((call("peek"), AGAIN, "Paid."), ["peek", COVERED]),
}


@pytest.mark.parametrize("what", NEXT)
async def test_it_covers_one_such_call(stage: Stage, what: str) -> None:
    """P138, P139, R161: used once, and for nothing else."""
    await left(stage, RENT)
    steps, done = NEXT[what]
    stage.gate.open.set()
    async with session_in(stage) as session:
        assert await again(stage, session, *steps) == done


async def test_each_of_several_covers_one(stage: Stage) -> None:
    """P139, R160: two equal calls that were allowed are good for two, in whatever words."""
    first, second = await left(stage, RENT, RENT)
    async with session_in(stage) as session:
        assert await again(stage, session, (AGAIN, AGAIN, RENT)) == [COVERED, COVERED, "asks"]
        granted = [made.granted for made in (await last_turn(session)).calls]
        assert granted == [first.id, second.id, None]


async def test_it_is_good_in_the_next_turn_only(stage: Stage) -> None:
    """P139: and gone with that, used or not."""
    await left(stage, RENT)
    async with session_in(stage) as session:
        assert await again(stage, session, "Shall I?") == []
        actor = session._host.live(session.id)
        assert actor is not None
        assert actor.grants == ()
        assert await again(stage, session, AGAIN) == ["asks"]


@pytest.mark.parametrize(
    ("ends", "answer", "good"),
    [
        ("stops", BY, True),
        ("failed", BY, True),
        ("stops", Deny("kim"), False),
        ("cancelled", BY, False),
        ("interrupted by a message", BY, False),
    ],
)
async def test_whoever_ends_a_turn_wants_nothing_of_it_any_more(
    stage: Stage, ends: str, answer: Answer, *, good: bool
) -> None:
    """R160, P139: what a host or a fault ends leaves what was allowed; a no grants nothing."""
    await left(stage, RENT, ends=ends, answer=answer)
    async with session_in(stage) as session:
        assert await again(stage, session, AGAIN, "Ok.") == ([COVERED] if good else ["asks"])


@pytest.mark.parametrize("how", ["live", "reopened"])
async def test_a_message_that_comes_too_late_to_interrupt_takes_it_back(
    stage: Stage, how: str
) -> None:
    """R160, R178, P139: the turn had failed by itself, and its end was on its way to disk."""
    failing: list[bool] = []

    def deps(_: object) -> None:
        assert not failing

    faults = stage.memory.faults
    async with session_in(stage, deps=deps) as session, trio.open_nursery() as nursery:
        stage.plays(RENT, AGAIN)
        [question] = await asks(session)
        failing.append(True)
        faults.hold()
        nursery.start_soon(session._host.answer, question, BY)
        await wait_all_tasks_blocked()
        while (await session.state()).phase != "settling":
            faults.release()
            faults.hold()
            await wait_all_tasks_blocked()
        failing.clear()
        nursery.start_soon(partial(session.prompt, "Stop", when="interrupt"))
        await wait_all_tasks_blocked()
        session._host.services.closing = how == "reopened"
        faults.release()
        await wait_all_tasks_blocked()
    async with session_in(stage) as session:
        await session._host.activate(session.id)
        await wait_all_tasks_blocked()
        assert len(await open_of(session)) == 1
        [ended] = [record for record in records_of(stage, session) if isinstance(record, Ended)]
        assert (ended.end, ended.unused) == ("failed", (question.id,))
    assert stage.effects == []


async def test_what_could_not_be_saved_leaves_it(stage: Stage) -> None:
    """P139, P133, R206: the call of an end that is kept and flushed never began."""
    async with session_in(stage) as session:
        stage.plays(RENT)
        receipt = await session.prompt("Hi")
        [question] = await parked(session)
        stage.fails(skip=1)
        await session._host.answer(question, BY)
        with pytest.raises((SaveFailed, ExceptionGroup)):
            await session.outcome(receipt)
        await session.flush()
        assert await again(stage, session, AGAIN, "Ok.") == [COVERED]


async def test_what_a_turn_needs_may_be_there_again(stage: Stage) -> None:
    """P139, R157: nothing went on, so nothing began and nothing was refused."""
    async with session_in(stage) as session:
        stage.plays(RENT)
        [question] = await asks(session)
    nobody = Workspace.build(agents=[AgentDeclaration(name="other", prompt="x")])
    async with hosting(stage, tools=tools(stage), workspace=nobody) as host:
        session = await host.session("ann")
        await host.answer(question, BY)
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "failed"
        # A message that is not sent is no turn in which it could have been used.
        receipt = await session.prompt("Again")
        assert (await session.outcome(receipt)).end == "not_sent"
        actor = host.live(session.id)
        assert actor is not None
        assert [grant.question for grant in actor.grants] == [question.id]
    async with session_in(stage) as session:
        stage.plays(AGAIN, "Ok.")
        assert (await session.outcome(await session.retry(receipt))).end == "done"
        assert stage.effects == [COVERED]


async def test_the_next_turn_may_be_cancelled_before_it_is_sent(stage: Stage) -> None:
    """R160, P139: that is a no to whatever it would have done."""
    await left(stage, RENT)
    limits = Limits(running_turns_max=1)
    async with hosting(stage, tools=tools(stage), limits=limits) as host:
        session = await host.session("ann")
        stage.plays(call("peek"), "Seen.")
        other = await host.session("ben", agent=AGENT)
        busy = await other.prompt("Look")
        await stage.gate.reached.wait()
        receipt = await session.prompt("Again")
        assert await session.cancel()
        assert (await session.outcome(receipt)).end == "cancelled"
        stage.gate.open.set()
        await other.outcome(busy)
        actor = host.live(session.id)
        assert actor is not None
        assert actor.grants == (await activated(host.services, session.id)).grants == ()
    async with session_in(stage) as session:
        assert await again(stage, session, AGAIN) == ["asks"]


async def test_what_refuses_now_wins(stage: Stage) -> None:
    """R157, P140: a grant turns a question into a yes, and no refusal."""
    await left(stage, RENT)
    stage.presets = STRICT
    async with session_in(stage) as session:
        assert await again(stage, session, AGAIN, "No.") == []
        assert await calls_of(session) == [("pay", "refused")]


async def test_what_was_refused_when_it_went_on_is_void(stage: Stage) -> None:
    """R157: also where the turn ended before that was told, and it is looser again by then."""
    async with session_in(stage) as session:
        stage.plays(RENT)
        [question] = await asks(session)
    stage.presets = STRICT
    async with session_in(stage, deps=lambda _: 1 / 0) as session:
        await session._host.answer(question, BY)
        await wait_all_tasks_blocked()
        assert (await last_turn(session)).end == "failed"
    stage.presets = PRESETS
    async with session_in(stage) as session:
        assert await again(stage, session, AGAIN) == ["asks"]


async def test_what_asks_nobody_uses_nothing_up(stage: Stage) -> None:
    """P139, R161: what a preset allows runs by that."""
    await left(stage, RENT)
    stage.presets = LOOSE
    async with session_in(stage) as session:
        assert await again(stage, session, AGAIN, "Paid.") == [COVERED]
        assert [made.granted for made in (await last_turn(session)).calls] == [None]


async def test_a_reading_call_uses_it_up_before_it_starts(stage: Stage) -> None:
    """R161, P133: durably, so a crash while it runs leaves nothing; it is asked about again."""
    [question] = await left(stage, call("peek"), workspace=GATED)
    async with hosting(stage, call("peek"), tools=tools(stage), workspace=GATED) as host:
        session = await host.session("ann")
        await session.prompt("Again")
        await stage.gate.reached.wait()
        [used] = [r for r in records_of(stage, session) if isinstance(r, Responded) and r.granted]
        assert (used.granted[0].question, used.intents) == (question.id, ())
        host.services.actors.clear()  # it dies
    async with session_in(stage, workspace=GATED) as session:
        stage.gate = type(stage.gate)()
        assert await again(stage, session, call("peek")) == ["asks"]
        assert [turn.end for turn in (await session.turns().all())[1:]] == [
            "interrupted",
            "cancelled",
        ]
    assert stage.effects == ["peek"]


async def test_what_went_on_before_a_crash_leaves_nothing(stage: Stage) -> None:
    """P133, P139: it may have begun, so nothing is granted any more."""
    async with hosting(stage, call("peek"), tools=tools(stage), workspace=GATED) as host:
        session = await host.session("ann", agent=AGENT)
        [question] = await asks(session)
        await host.answer(question, BY)
        await stage.gate.reached.wait()
        host.services.actors.clear()
    async with session_in(stage, workspace=GATED) as session:
        assert await again(stage, session, call("peek")) == ["asks"]


@pytest.mark.parametrize("how", ["live", "reopened"])
async def test_a_turn_that_parks_keeps_what_is_left(stage: Stage, how: str) -> None:
    """R161, R169, P139, P144: over passivation and restart, with the notes as they would be."""
    await left(stage, RENT, call("pay", cents=9))
    steps = ((AGAIN, call("pay", cents=8)), call("pay", cents=9, why="x"), "Paid.")
    async with session_in(stage) as session:
        stage.plays(*steps)
        [question] = await asks(session, "Again")
        assert (stage.effects, question.arguments) == ([COVERED], '{"cents":8}')
        if how == "live":
            await _ends(stage, session, question)
    if how == "reopened":
        async with session_in(stage) as session:
            await _ends(stage, session, question)


async def _ends(stage: Stage, session: Session, question: Question) -> None:
    await session._host.answer(question, Allow("lee"))
    await wait_all_tasks_blocked()
    assert (await last_turn(session)).end == "done"
    assert stage.effects == [COVERED, "pay 8", "pay 9 x"]
    notes = [words for role, words in sent(stage.model.requests[-1]) if words.startswith("[pl")]
    assert notes == [TOLD, TOLD.replace("kim", "lee"), TOLD]
    await check_requests(session, stage.model.requests)


async def test_a_copy_of_a_session_has_no_grants(stage: Stage) -> None:
    """P139: what was allowed was a call of that session."""
    await left(stage, RENT)
    child = SessionId("default", "ben")
    async with session_in(stage, policy=STILL) as session:
        stored = stage.store.look(session.id)
        assert isinstance(stored, Stored)
        fork = ForkFrom(child, session.id, stored.number, stored.header, encode_records([]))
        assert isinstance(await ask(stage.store, fork), Done)
        assert (await activated(session._host.services, child)).grants == ()
        assert len((await activated(session._host.services, session.id)).grants) == 1
