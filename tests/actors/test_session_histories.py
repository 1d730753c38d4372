"""Whatever happened to a session: what it sent can be rebuilt, what it says is what is stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from trio._core import _run
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Policy, Session
from greenroom.actors.activation import activated
from greenroom.actors.models.scripted import call
from greenroom.actors.session import SessionActor
from greenroom.protocol.errors import GreenroomError, ModelFailed
from greenroom.protocol.phase import Phase
from greenroom.protocol.question import Allow, Deny
from greenroom.protocol.receipt import Receipt, When
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage
from greenroom.store import open_memory
from tests.actors.moving import check_moved, known
from tests.actors.world import (
    STILL,
    Stage,
    check_conversation,
    check_requests,
    is_commit,
    is_enqueue,
    is_for_summary,
    opened,
)

ANSWERS = (
    "Fine.",
    (call("look", what="a"), call("look", what="b")),
    ("Paying.", call("pay"), call("look")),
    call("watch"),
    "",
    ModelFailed("429", temporary=True),
    call("look", what="x" * 2_000),
    "x" * 2_000,
)
SUMMARIES = ("A summary.", "Another one.", "", "x" * 20_000, ModelFailed("No."), call("look"))
STEPS = st.one_of(
    st.tuples(
        st.just("prompt"),
        st.sampled_from(["steer", "queue", "interrupt", "pick", "long"]),
    ),
    st.tuples(st.just("answer"), st.integers(0, len(ANSWERS) - 1)),
    st.tuples(st.just("answer"), st.just(2)),
    st.tuples(st.just("summary"), st.integers(0, len(SUMMARIES) - 1)),
    st.tuples(st.just("tick"), st.integers(1, 12)),
    st.tuples(st.just("fault"), st.tuples(st.integers(0, 2), st.booleans(), st.booleans())),
    st.tuples(st.just("fault"), st.tuples(st.integers(1, 3), st.just(False), st.just(False))),
    st.tuples(st.just("decide"), st.booleans()),
    st.tuples(st.just("preset"), st.sampled_from(["read-only", "danger-full-access"])),
    st.tuples(st.just("model"), st.sampled_from(["default", "other"])),
    st.tuples(
        st.sampled_from(["cancel", "flush", "recall", "open gate", "edit", "key", "lift"]),
        st.none(),
    ),
    st.tuples(st.sampled_from(["compact", "compact", "recompose"]), st.none()),
    st.tuples(st.just("hold"), st.sampled_from(["finish", "stop"])),
    st.tuples(st.sampled_from(["wait", "reopen", "die"]), st.none()),
)

WIDE, NARROW = 128_000, 5_000
"""Windows in tokens: in the latter a few long messages find no room."""
SAYINGS = {
    "prompt",
    "key",
    "preset",
    "model",
    "cancel",
    "flush",
    "recall",
    "decide",
    "hold",
    "lift",
}


@attrs.define(eq=False)
class History:
    """One session that lives through a list of steps."""

    stage: Stage
    receipts: list[Receipt] = attrs.field(factory=list)
    answers: list[int] = attrs.field(factory=list)
    summaries: list[int] = attrs.field(factory=list)
    numbers: Iterator[int] = attrs.field(factory=count)
    session: Session = attrs.field(init=False)

    @property
    def actor(self) -> SessionActor | None:
        return self.session._host.live(self.session.id)

    async def lives(self, steps: list[tuple[str, Any]]) -> None:
        """Play the steps; each stretch between two restarts in a host of its own."""
        self.stage.skills.publish("refunds", "Version 0.")
        for model in (self.stage.model, self.stage.other):
            model._steps.extend([lambda request, _: self._answer(request)] * 1_000)
            model.usage = Usage(input=1)
        rest = iter(steps)
        more = True
        while more:
            async with self.stage.host(policy=Policy(compact_at=0.6)) as host:
                first = not list(self.stage.store.sessions())
                self.session = await (opened(host) if first else host.session("ann"))
                more = await self._stretch(rest)
                if not more:
                    await self._comes_to_rest()
                    await check_moved(self.stage, self.session)
                last = self.actor
            await self._is_what_is_stored(last)

    def _answer(self, request: ModelRequest) -> Any:
        if is_for_summary(request):
            return SUMMARIES[self.summaries.pop(0)] if self.summaries else SUMMARIES[0]
        return ANSWERS[self.answers.pop(0)] if self.answers else "Done."

    async def _stretch(self, steps: Iterator[tuple[str, Any]]) -> bool:
        """Play until a restart; False when no step is left."""
        for what, how in steps:
            if what == "reopen":
                return True
            with allowed():
                await (self._say(what, how) if what in SAYINGS else self._happens(what, how))
        return False

    async def _say(self, what: str, how: Any) -> None:
        """What callers do."""
        session = self.session
        match what:
            case "prompt":
                picks = ["refunds"] if how == "pick" else []
                text = f"message {next(self.numbers)}"
                text += " " + "x" * 2_000 if how == "long" else ""
                when: When = "steer" if how in ("pick", "long") else how
                self.receipts.append(await session.prompt(text, skills=picks, when=when))
            case "key":
                self.receipts.append(await session.prompt("keyed", key="k"))
            case "preset":
                await session.set_permission_preset(how)
            case "model":
                await session.set_model(how)
            case "decide":
                for question in (await session._host.questions().all())[:1]:
                    await session._host.answer(question, Allow("ann") if how else Deny("ann"))
            case "hold":
                await session._host.hold(running=how, reason="Look.", by="ann")
            case "lift":
                await self._lift(1)
            case "cancel":
                await session.cancel()
            case "flush":
                await session.flush()
            case "recall":
                await session.recall(self.receipts[-1] if self.receipts else "none")

    async def _lift(self, most: int) -> None:
        for hold in (await self.session._host.holds().all())[:most]:
            await self.session._host.lift(hold, by="ann")

    async def _happens(self, what: str, how: Any) -> None:
        """What the world does."""
        match what:
            case "answer":
                self.answers.append(how)
            case "summary":
                self.summaries.append(how)
            case "compact" | "recompose" as what:
                # Beside the steps that follow, so that they meet it half way.
                self.session._host.services.nursery.start_soon(self._anew, what)
            case "tick":
                for _ in range(how):
                    await trio.lowlevel.checkpoint()
            case "fault":
                skip, unknown, enqueue = how
                where = is_enqueue if enqueue else is_commit
                self.stage.fails(where, skip=skip, unknown=unknown, applied=unknown and skip == 1)
            case "open gate":
                self.stage.gate.open.set()
            case "edit":
                self.stage.skills.publish("refunds", f"Version {next(self.numbers)}.")
            case "die" if self.actor is not None and self.actor.phase is Phase.UNSAVED:
                del self.session._host.services.actors[self.session.id]
            case "wait":
                await wait_all_tasks_blocked()

    async def _anew(self, what: str) -> None:
        with allowed():
            await (self.session.compact() if what == "compact" else self.session.recompose())

    async def _comes_to_rest(self) -> None:
        """The faults are over: everything that was accepted gets its outcome."""
        self.stage.memory.faults._plans.clear()
        self.stage.gate.open.set()
        await self._lift(1_000)
        actor = await self.session._host.activate(self.session.id)
        while not actor.is_quiet:
            await self.session.flush()
            for question in await self.session._host.questions().all():
                await self.session._host.answer(question, Allow("ann"))
            await wait_all_tasks_blocked()
            actor = await self.session._host.activate(self.session.id)
        for receipt in self.receipts:
            assert (await self.session.outcome(receipt)).end
        assert self.actor is not None
        assert self.actor.is_quiet
        said = [m.content for m in (await self.session.state()).messages if "message " in str(m)]
        assert len(set(said)) == len(said), "a message was sent twice"
        async for turn in self.session.turns():
            assert turn.usage == sum([made.usage for made in turn.model_calls], Usage())
        await check_conversation(self.session)
        await check_requests(self.session, self.stage.model.requests)
        await check_requests(self.session, self.stage.other.requests)

    async def _is_what_is_stored(self, last: SessionActor | None) -> None:
        """What a live actor knows and what another reads back are equal."""
        if last is None or last.phase not in (Phase.IDLE, Phase.PARKED, Phase.HELD):
            return
        async with self.stage.host(policy=STILL) as host:
            again = await activated(host.services, self.session.id)
            read, knew = known(again), known(last)
            # A receipt may have named a turn that never began: its number is not given again.
            assert read["header"].turns >= knew["header"].turns
            knew["header"] = structs.replace(knew["header"], turns=read["header"].turns)
            assert {k: (read[k], knew[k]) for k in knew if read[k] != knew[k]} == {}


@contextmanager
def allowed() -> Iterator[None]:
    """A step may be refused, or fail with a typed error; nothing else."""
    try:
        yield
    except* GreenroomError:
        pass


async def lived(steps: list[tuple[str, Any]], window: int) -> None:
    async with open_memory() as store:
        stage = Stage(store)
        for model in (stage.model, stage.other):
            model.capabilities = structs.replace(model.capabilities, context_tokens=window)
        await History(stage).lives(steps)


def run(steps: list[tuple[str, Any]], order: int = 0, window: int = WIDE) -> None:
    # The loop shuffles the tasks that are ready: here by ``order``, so that a failure comes again.
    _run._r.seed(order)
    trio.run(lived, steps, window, clock=MockClock(autojump_threshold=0.2))


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=30), st.integers(0, 1 << 16))
def test_any_history(steps: list[tuple[str, Any]], order: int) -> None:
    """R14, R57, R87, R115, R123, R169, R175, R190, R196: to the byte, each a prefix of the next.

    And every accepted message has its outcome, none is sent twice, and an actor that reads the
    session back knows what the one that wrote it knew, also in another store to which it was
    exported (R191, P145).
    """
    run(steps, order)


FILLING = st.one_of(
    *[st.just([("prompt", "long"), ("wait", None)])] * 4,
    *[st.just([("answer", n), ("prompt", "long"), ("wait", None)]) for n in (1, 6, 7)],
    st.just([("answer", 6), ("answer", 6), ("prompt", "long"), ("wait", None)]),
    st.tuples(st.just(("compact", None)), st.just(("wait", None))),
    st.lists(STEPS, min_size=1, max_size=3),
)


@settings(max_examples=100)
@given(st.lists(FILLING, min_size=4, max_size=12), st.integers(0, 1 << 16), st.booleans())
def test_any_history_of_a_window_that_fills(
    steps: list[list[tuple[str, Any]]], order: int, narrow: bool
) -> None:
    """R72, R108, R110, R196, R210: the same through compactions, asked for and of necessity."""
    run([step for each in steps for step in each], order, NARROW if narrow else WIDE)


PROMPT, INTERRUPT = ("prompt", "steer"), ("prompt", "interrupt")
FAULT = ("fault", (1, False, False))
WAIT, REOPEN = ("wait", None), ("reopen", None)


@pytest.mark.parametrize(
    "steps",
    [
        [("prompt", "pick"), WAIT, ("model", "other"), PROMPT, WAIT, REOPEN, PROMPT],
        [PROMPT, WAIT, PROMPT, PROMPT, ("answer", 2), FAULT, PROMPT, PROMPT, ("recall", None)],
        [("answer", 3), PROMPT, WAIT, PROMPT, INTERRUPT, INTERRUPT, REOPEN],
        [FAULT, PROMPT, WAIT, PROMPT, ("die", None), PROMPT],
        [PROMPT, WAIT, ("preset", "read-only"), ("answer", 2), PROMPT, WAIT, REOPEN, PROMPT],
        [("answer", 2), PROMPT, ("hold", "stop"), PROMPT, REOPEN, PROMPT, ("lift", None), PROMPT],
        [PROMPT, ("hold", "finish"), FAULT, PROMPT, WAIT, ("recall", None), REOPEN, INTERRUPT],
    ],
)  # fmt: skip
def test_some_histories(steps: list[tuple[str, Any]]) -> None:
    """R196, R169, R91: the same for histories that once went wrong, or that chance seldom finds."""
    for order in range(4):
        run(steps, order)
