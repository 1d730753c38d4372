"""Whatever happens to a session that asks: its first answers stand, and each call runs once."""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio._core import _run
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Host, Later, Session, ToolContext, tool
from greenroom.actors.activation import activated
from greenroom.actors.models.scripted import call
from greenroom.actors.session import SessionActor
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.event import QuestionAsked, QuestionSettled
from greenroom.protocol.identity import call_key
from greenroom.protocol.message import ToolMessage
from greenroom.protocol.parked import questions_of
from greenroom.protocol.phase import Phase
from greenroom.protocol.question import (
    Allow,
    Answer,
    Deny,
    Failure,
    Question,
    Result,
    Settlement,
    question_id,
)
from greenroom.protocol.receipt import Receipt
from greenroom.protocol.record import Dispatched, Responded
from greenroom.protocol.telling import events_of
from greenroom.store import open_memory
from tests.actors.asked import is_indexed, records_of
from tests.actors.moving import check_moved, known
from tests.actors.test_restoring import turn_of
from tests.actors.test_session_histories import allowed
from tests.actors.world import (
    AGENT,
    FULL,
    STILL,
    Stage,
    check_conversation,
    check_requests,
    is_commit,
    is_enqueue,
)

ROUNDS: tuple[Any, ...] = (
    "Fine.",
    ("Paying.", call("pay"), call("look")),
    (call("pay"), call("pay"), call("order")),
    (call("order"), call("fetch")),
    (call("fetch"), call("look")),
    call("ship"),
    (call("ship"), call("pay"), call("fetch")),
)
STEPS = st.one_of(
    st.tuples(st.just("prompt"), st.sampled_from(["steer", "queue", "interrupt"])),
    st.tuples(st.just("round"), st.integers(1, len(ROUNDS) - 1)),
    st.tuples(st.just("round"), st.sampled_from([2, 3, 6])),
    st.tuples(st.just("reply"), st.tuples(st.integers(0, 3), st.booleans())),
    st.tuples(st.just("reply"), st.tuples(st.integers(0, 3), st.booleans())),
    st.tuples(st.just("again"), st.tuples(st.integers(0, 9), st.booleans())),
    st.tuples(st.just("early"), st.booleans()),
    st.tuples(st.just("tick"), st.integers(1, 12)),
    st.tuples(st.just("fault"), st.tuples(st.integers(0, 3), st.booleans(), st.booleans())),
    st.tuples(st.just("preset"), st.sampled_from(["read-only", FULL])),
    st.tuples(
        st.sampled_from(["cancel", "flush", "recall", "open gate", "dispose", "let go", "hold"]),
        st.none(),
    ),
    st.tuples(st.sampled_from(["wait", "wait", "release", "reopen", "crash"]), st.none()),
)


WORLDLY = {"tick", "wait", "round", "fault", "open gate", "hold", "release"}
REPLIES = {"reply", "again", "early"}


@attrs.define(eq=False)
class History:
    """One session that asks, and lives through a list of steps."""

    stage: Stage
    rounds: list[int] = attrs.field(factory=list)
    receipts: list[Receipt] = attrs.field(factory=list)
    acknowledged: dict[str, Settlement] = attrs.field(factory=dict)
    """What whoever answered a question was told first."""
    ran: Counter[str] = attrs.field(factory=Counter)
    """How often each call did something, by its key."""
    numbers: Iterator[int] = attrs.field(factory=count)
    host: Host = attrs.field(init=False)
    session: Session = attrs.field(init=False)

    @property
    def actor(self) -> SessionActor | None:
        return self.host.live(self.session.id)

    def tools(self) -> Any:
        """Each leaves a trace under the key of its call."""

        @tool(effect="write")
        async def pay(context: ToolContext[Any]) -> str:
            """Pay."""
            self.ran[context.key] += 1
            await trio.lowlevel.checkpoint()
            return "paid"

        @tool(effect="write")
        async def order(context: ToolContext[Any]) -> Later:
            """Order."""
            self.ran[context.key] += 1
            return Later("Has it come?")

        @tool(effect="read")
        async def fetch(context: ToolContext[Any]) -> Later:
            """Have it fetched."""
            await trio.lowlevel.checkpoint()
            return Later()

        @tool(effect="write")
        async def ship(context: ToolContext[Any]) -> Later:
            """Ship, and say late that the result comes later."""
            self.ran[context.key] += 1
            await self.stage.gate.wait()
            return Later()

        return [self.stage.tools()[0], pay, order, fetch, ship]

    async def lives(self, steps: list[tuple[str, Any]]) -> None:
        """Play the steps; each stretch between two restarts in a host of its own."""
        self.stage.model._steps.extend([lambda *_: self._round()] * 1_000)
        rest = iter(steps)
        more = True
        while more:
            async with self.stage.host(tools=self.tools()) as self.host:
                self.session = await self.host.session("ann", agent=AGENT)
                more = await self._stretch(rest)
                self.stage.memory.faults.release()
                if not more:
                    await self._comes_to_rest()
                    await check_moved(self.stage, self.session)
                last = self.actor
            await self._is_what_is_stored(last)

    def _round(self) -> Any:
        return ROUNDS[self.rounds.pop(0)] if self.rounds else "Done."

    async def _stretch(self, steps: Iterator[tuple[str, Any]]) -> bool:
        """Play until a restart; False when no step is left. What is said is said at once."""
        async with trio.open_nursery() as nursery:
            for what, how in steps:
                if what in ("reopen", "crash"):
                    if what == "crash":
                        self.host.services.actors.clear()
                    self.stage.memory.faults.release()
                    nursery.cancel_scope.cancel()
                    return True
                if what in WORLDLY:
                    await self._happens(what, how)
                else:
                    nursery.start_soon(self._says, what, how)
            self.stage.memory.faults.release()
        return False

    async def _happens(self, what: str, how: Any) -> None:
        """What the world does."""
        faults = self.stage.memory.faults
        match what:
            case "round":
                self.rounds.append(how)
            case "tick":
                for _ in range(how):
                    await trio.lowlevel.checkpoint()
            case "wait":
                await wait_all_tasks_blocked()
            case "fault":
                skip, unknown, enqueue = how
                where = is_enqueue if enqueue else is_commit
                self.stage.fails(where, skip=skip, unknown=unknown, applied=unknown and skip == 1)
            case "open gate":
                self.stage.gate.open.set()
            case "hold":
                faults.hold()
            case "release":
                faults.release()

    async def _says(self, what: str, how: Any) -> None:
        """What callers do; they may be refused."""
        with allowed():
            await (self._replies if what in REPLIES else self._said)(what, how)

    async def _replies(self, what: str, how: Any) -> None:
        session = self.session
        match what:
            case "reply":
                place, good = how
                asked = await self.host.questions().all()
                if asked:
                    await self._answers(asked[place % len(asked)], good=good)
            case "again":
                place, good = how
                told = questions_of(session.id, records_of(self.stage, session))
                if told:
                    await self._answers(told[place % len(told)], good=good)
            case "early":
                for turn in range(1, 9):
                    key = call_key(session.id, f"c{turn}-0-0")
                    if key in self.ran:
                        self._acknowledge(await session.answer(key, self._result(good=how)))

    async def _said(self, what: str, how: Any) -> None:
        session = self.session
        match what:
            case "prompt":
                text = f"message {next(self.numbers)}"
                self.receipts.append(await session.prompt(text, when=how))
            case "preset":
                await session.set_permission_preset(how)
            case "cancel":
                await session.cancel()
            case "flush":
                await session.flush()
            case "recall":
                await session.recall(self.receipts[-1] if self.receipts else "none")
            case "dispose":
                await session.dispose()
            case "let go" if self.actor is not None and self.actor.may_rest:
                self.host.passivate(self.actor)

    def _result(self, *, good: bool) -> Answer:
        number = next(self.numbers)
        return Result(f"result {number}", "shop") if good else Failure(f"lost {number}", "shop")

    async def _answers(self, question: Question, *, good: bool) -> None:
        answer: Answer
        if question.kind == "result":
            answer = self._result(good=good)
        else:
            by = f"kim {next(self.numbers)}"
            answer = Allow(by) if good else Deny(by, "no")
        self._acknowledge(await self.host.answer(question, answer))

    def _acknowledge(self, told: Question) -> None:
        """The first answer stands, whoever is told it and however often (R223)."""
        assert told.answer is not None
        assert self.acknowledged.setdefault(told.id, told.answer) == told.answer

    # --- what holds ---------------------------------------------------------------------------

    async def _comes_to_rest(self) -> None:
        """The faults are over: everything that was accepted gets its outcome."""
        self.stage.memory.faults._plans.clear()
        self.stage.gate.open.set()
        actor = await self.host.activate(self.session.id)
        while not actor.is_quiet:
            await self.session.flush()
            for question in await self.host.questions().all():
                await self._answers(question, good=True)
            await wait_all_tasks_blocked()
            actor = await self.host.activate(self.session.id)
        for receipt in self.receipts:
            assert (await self.session.outcome(receipt)).end
        assert await self.host.questions().all() == []
        assert not is_indexed(self.stage, self.session)
        await check_conversation(self.session)
        await check_requests(self.session, self.stage.model.requests)
        await self._answers_stand()
        self._is_granted_once()
        self._is_told_once()

    async def _answers_stand(self) -> None:
        """Each call ran at most once, and only where it might; each answer is what is stored."""
        records = records_of(self.stage, self.session)
        asked = {each.id: each for each in questions_of(self.session.id, records)}
        assert not any(question.is_open for question in asked.values())
        for name, answer in self.acknowledged.items():
            assert asked[name].answer == answer
        assert max(self.ran.values(), default=0) <= 1
        results = {
            message.tool_call_id: message.content
            for message in (await self.session.state()).messages
            if isinstance(message, ToolMessage)
        }
        states = {c.id: c.state for turn in await self.session.turns().all() for c in turn.calls}
        for question in asked.values():
            state, said = states[question.call], results[question.call]
            match question.answer:
                case Result(content=content):
                    assert (state, said) == ("done", content)
                case Failure(message=message):
                    assert (state, said) == ("failed", message)
                case Deny():
                    assert state == "declined"
                    assert call_key(self.session.id, question.call) not in self.ran
                case _:
                    pass
            approval = asked.get(question_id(self.session.id, question.call, "approval"))
            if approval is not None and call_key(self.session.id, question.call) in self.ran:
                assert isinstance(approval.answer, Allow)

    def _is_granted_once(self) -> None:
        """What was allowed and never began ran one other call at most, a turn later (P139)."""
        records = records_of(self.stage, self.session)
        asked = {each.id: each for each in questions_of(self.session.id, records)}
        answers = [record for record in records if isinstance(record, Responded)]
        used = [(use, record.turn) for record in answers for use in record.granted]
        assert len({use.question for use, _ in used}) == len(used)
        sent = [record.turn for record in records if isinstance(record, Dispatched)]
        for use, turn in used:
            question = asked[use.question]
            assert isinstance(question.answer, Allow)
            assert sent.index(turn) == sent.index(question.turn) + 1
            assert call_key(self.session.id, question.call) not in self.ran

    def _is_told_once(self) -> None:
        """Each question is told once, and settled once, in that order (R186, R223)."""
        told: dict[str, list[str]] = {}
        for entry in self.stage.store.read(self.session.id):
            records = decode_records(entry.records)
            for event in events_of(self.session.id, "memory", entry.number, records):
                if isinstance(event, QuestionAsked):
                    told.setdefault(event.question.id, []).append("asked")
                elif isinstance(event, QuestionSettled):
                    told.setdefault(event.question, []).append("settled")
        assert {tuple(each) for each in told.values()} <= {
            ("asked", "settled"),
            ("settled", "asked"),  # answered early
            ("settled",),  # and never asked
        }

    async def _is_what_is_stored(self, last: SessionActor | None) -> None:
        """What a live actor knows and what another reads back are equal (R169)."""
        if last is None or last.phase not in (Phase.IDLE, Phase.PARKED):
            return
        async with self.stage.host(policy=STILL, tools=self.tools()) as host:
            again = await activated(host.services, self.session.id)
            read, knew = known(again), known(last)
            read["header"], knew["header"] = read["header"].messages, knew["header"].messages
            assert {k: (read[k], knew[k]) for k in knew if read[k] != knew[k]} == {}
            if last.phase is Phase.PARKED and last.turn is not None:
                assert again.turn is not None
                assert turn_of(again) == turn_of(last)


async def lived(steps: list[tuple[str, Any]]) -> None:
    async with open_memory() as store:
        await History(Stage(store)).lives(steps)


def run(steps: list[tuple[str, Any]], order: int = 0) -> None:
    # The loop shuffles the tasks that are ready: here by ``order``, so that a failure comes again.
    _run._r.seed(order)
    trio.run(lived, steps, clock=MockClock(autojump_threshold=0.2))


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=40), st.integers(0, 1 << 16))
def test_any_history_of_questions(steps: list[tuple[str, Any]], order: int) -> None:
    """R160, R161, R169, R223, R224, P131, P133, P134, P136, P139: answers stand, nothing twice.

    However answers, cancels, interruptions, messages, restarts, crashes, failing commits and
    letting go are mixed; and whoever reads the session back knows what the one that wrote it knew.
    """
    run(steps, order)


PROMPT, WAIT = ("prompt", "steer"), ("wait", None)
HOLD, RELEASE, CRASH = ("hold", None), ("release", None), ("crash", None)
YES, NO = ("reply", (0, True)), ("reply", (0, False))


@pytest.mark.parametrize(
    "steps",
    [
        [("round", 2), PROMPT, WAIT, YES, WAIT, YES, WAIT, NO, WAIT, YES, WAIT, CRASH, PROMPT],
        [("round", 2), PROMPT, WAIT, HOLD, YES, ("cancel", None), WAIT, RELEASE, WAIT, PROMPT],
        [("round", 5), ("preset", FULL), WAIT, PROMPT, WAIT, HOLD, ("early", True), WAIT,
         ("open gate", None), WAIT, RELEASE, CRASH, ("again", (0, False))],
        [("round", 6), ("preset", FULL), WAIT, PROMPT, WAIT, ("early", True), WAIT, CRASH, PROMPT],
        [("round", 3), PROMPT, WAIT, YES, NO, ("let go", None), YES, ("dispose", None), WAIT, YES],
        [("round", 1), PROMPT, WAIT, ("fault", (0, False, False)), ("prompt", "interrupt"), WAIT,
         CRASH, WAIT, PROMPT],
        [("round", 1), PROMPT, WAIT, YES, ("tick", 1), ("reopen", None), ("round", 2), PROMPT, WAIT,
         CRASH, ("round", 1), PROMPT],
    ],
)  # fmt: skip
def test_some_histories_of_questions(steps: list[tuple[str, Any]]) -> None:
    """R223, R224, R178, P139: the same for histories that went wrong, or are rare."""
    for order in range(4):
        run(steps, order)
