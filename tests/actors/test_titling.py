"""A title is made of what was typed, beside the turns, and takes nothing away from anybody."""

import json
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.admission import accept, admitted, checked
from greenroom.actors.importing import import_history
from greenroom.actors.models.port import ModelResponse
from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.encoding import decode_header
from greenroom.protocol.errors import Held, InvalidInput, Missing, SaveFailed, StoreFailed, TooLarge
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import AssistantMessage, Image, TextPart, UserMessage
from greenroom.protocol.record import TitleSet
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage
from greenroom.store import Stored
from tests.actors.compacted import records
from tests.actors.titled import SPENT, asked, check_apart, made, title_of, titles, titling, told
from tests.actors.world import AGENT, Stage, conversation, is_commit


def words_in(request: ModelRequest) -> list[str]:
    """The words of which a title was to be made."""
    (message,) = map(json.loads, request.messages)
    return [json.loads(line) for line in message["content"].split("\n")[1:]]


def writes_title(operation: Any) -> bool:
    return is_commit(operation) and b'"is":"title_' in operation.records


async def test_a_title_is_made_behind_the_first_turn(stage: Stage) -> None:
    """R95, R196, R190: shown everywhere, told once; its exchange is nowhere in the conversation."""
    async with titling(stage, "An order that is late") as session:
        await asked(stage, session, "Where is my order?", "And now?")
        assert await title_of(session) == "An order that is late"
        assert told(stage, session) == [("An order that is late", True)]
        (request,) = stage.other.requests
        assert words_in(request) == ["Where is my order?"]
        assert await conversation(session) == ["Where is my order?", "Fine.", "And now?", "Fine."]
        said = [str(entry.message.content) async for entry in session.transcript()]
        assert not any("late" in words for words in said)
        turns = [turn async for turn in session.turns()]
        assert [turn.usage for turn in turns] == [Usage(), Usage()]
        (summary,) = await session._host.sessions().all()
        assert (summary.usage, summary.messages, summary.turns) == (SPENT, 4, 2)
        await check_apart(stage, session)
    async with titling(stage) as session:
        assert await title_of(session) == "An order that is late"
        await asked(stage, session, "Again")
        assert stage.other.requests == []
        assert (await session.title_request()).request.canonical() == request.canonical()


async def test_nothing_but_words_of_persons_goes_in(stage: Stage) -> None:
    """R95, R23, P185, P061: no skill, answer, result, image, host's words or imported history."""
    stage.skills.publish("refunds", "Give it back at once.", **{"index.md": "The file."})
    stage.bound = ("skills/refunds",)
    async with titling(stage, "One", limits=Limits(title_messages_max=9)) as first:
        host = first._host
        session, _ = await import_history(
            host,
            "ben",
            agent=AGENT,
            messages=[UserMessage("Imported words."), AssistantMessage("Imported answer.")],
        )
        stage.plays(call("look"), *["An answer."] * 9)
        await session.ask("", skills=["refunds"])
        actor = await host._activated(session.id)
        words = checked("The host says.", (), "steer", None, actor.services.limits)
        await session.outcome(await accept(actor, admitted(actor, words, by="host")))
        await session.ask([Image("image/png", b"x")])
        await wait_all_tasks_blocked()
        assert stage.other.requests == []
        assert titles(stage, session) == []
        await session.ask([TextPart(" do it\n"), Image("image/png", b"y")], skills=["refunds"])
        await wait_all_tasks_blocked()
        (request,) = stage.other.requests
        assert words_in(request) == [" do it\n"]
        assert await title_of(session) == "One"
        await check_apart(stage, session)


async def test_steered_words_count_and_recalled_ones_do_not(stage: Stage) -> None:
    """R95, R127: what got into the conversation, in its order."""
    async with titling(stage, "One") as session:
        stage.plays(call("watch"), "Fine.", "Fine.")
        first = await session.prompt("first")
        await stage.gate.reached.wait()
        recalled = await session.prompt("never mind", when="queue")
        assert await session.recall(recalled)
        await session.prompt("steered")
        stage.gate.open.set()
        await session.outcome(first)
        await wait_all_tasks_blocked()
        assert words_in(stage.other.requests[0]) == ["first", "steered"]
        await check_apart(stage, session)


async def test_a_summary_is_never_named(stage: Stage) -> None:
    """R95, R106: behind a compaction a title is still made of what was typed."""
    async with titling(stage, ValueError("down"), "One") as session:
        await asked(stage, session, "first " + "x" * 4_000, *["more " + "x" * 4_000] * 3)
        assert len(stage.other.requests) == 2


FAILURES: dict[str, Any] = {
    "fails": ValueError("odd"),
    "hangs": Stalled(trio.Event(), ""),
    "answers nothing": "",
    "answers no word": " \n***\n",
    "calls a tool": ("Late", call("pay")),
    "answers another thing": lambda *_: 5,
    "is filtered": ModelResponse("Late", usage=SPENT, finish="filter"),
}


@pytest.mark.parametrize("how", FAILURES)
async def test_a_model_that_makes_none_harms_nobody(
    stage: Stage, autojump_clock: MockClock, how: str
) -> None:
    """R96, R190, R196: the turns go on, what it cost is counted, and a later turn tries again."""
    autojump_clock.autojump_threshold = 0.01
    limits = Limits(title_seconds_max=5, title_attempts_max=2)
    async with titling(stage, FAILURES[how], "Late", limits=limits) as session:
        stage.plays("One.")
        assert (await session.ask("Hi")).end == "done"
        await trio.sleep(limits.title_seconds_max + 1)
        assert await title_of(session) is None
        assert told(stage, session) == []
        answered = how in ("answers nothing", "answers no word", "calls a tool", "is filtered")
        assert (await session._host.sessions().all())[0].usage == (SPENT if answered else Usage())
        await asked(stage, session, "Again")
        assert await title_of(session) == "Late"
        assert [record.title for record in made(stage, session)] == ["", "Late"]
        assert stage.effects == []
        assert [turn.end async for turn in session.turns()] == ["done", "done"]
        await check_apart(stage, session)


async def test_it_is_tried_so_often_and_then_no_more(stage: Stage) -> None:
    """R96: counted over a restart, until a person gives the title back."""
    limits = Limits(title_attempts_max=2)
    async with titling(stage, "", limits=limits) as session:
        await asked(stage, session, "one")
    async with titling(stage, "", "Late", limits=limits) as session:
        await asked(stage, session, "two", "three", "four")
        assert len(stage.other.requests) == 1
        await session.set_title(None)
        await wait_all_tasks_blocked()
        assert await title_of(session) == "Late"


# --- a person's title -----------------------------------------------------------------------------


async def test_a_persons_title_stays(stage: Stage) -> None:
    """R96: none is made over it; given back, one is made at once, also of a session at rest."""
    async with titling(stage, "Made") as session:
        await session.set_title("Mine", by="ann")
        await asked(stage, session, "one")
        assert stage.other.requests == []
        assert await title_of(session) == "Mine"
        await session.dispose()
        await session.set_title(None)
        await wait_all_tasks_blocked()
        assert await title_of(session) == "Made"
        await session.set_title("Mine again")
        assert told(stage, session) == [
            ("Mine", False), (None, False), ("Made", True), ("Mine again", False),
        ]  # fmt: skip
        first = titles(stage, session)[0]
        assert isinstance(first, TitleSet)
        assert first.by == "ann"


@pytest.mark.parametrize("where", ["asked", "saving", "saving first"])
async def test_one_that_is_under_way_does_not_overwrite_it(stage: Stage, where: str) -> None:
    """R96, R91, R190: wherever the person's comes in between; what the other cost is counted."""
    stalled = Stalled(trio.Event(), "Made")
    async with titling(stage, stalled) as session, trio.open_nursery() as nursery:
        await asked(stage, session, "one")
        if where == "asked":
            await session.set_title("Mine")
        else:
            stage.memory.faults.hold()
            if where == "saving":
                stalled.until.set()
                await wait_all_tasks_blocked()
            nursery.start_soon(session.set_title, "Mine")
            await wait_all_tasks_blocked()
            stalled.until.set()
            await wait_all_tasks_blocked()
            stage.memory.faults.release()
        stalled.until.set()
        await wait_all_tasks_blocked()
        assert await title_of(session) == "Mine"
        assert (await session._host.sessions().all())[0].usage == SPENT
        assert len(made(stage, session)) == 1
        await check_apart(stage, session)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        (5, InvalidInput),
        (b"Mine", InvalidInput),
        ("", InvalidInput),
        (" \t", InvalidInput),
        ("two\nlines", InvalidInput),
        ("two\u2028lines", InvalidInput),
        ("\x1b[31mred", InvalidInput),
        ("\ud800", InvalidInput),
        ("a\0", InvalidInput),
        ("é" * 101, TooLarge),
    ],
)
async def test_what_is_no_title_is_refused(stage: Stage, title: Any, kind: type[Exception]) -> None:
    """R194, R96: by a typed error, and the former title stays."""
    async with titling(stage) as session:
        await session.set_title("é" * 100)
        before = stage.store.last_number()
        with pytest.raises(kind):
            await session.set_title(title)
        with pytest.raises(InvalidInput):
            await session.set_title("Mine", by="\ud800")
        assert stage.store.last_number() == before
        assert await title_of(session) == "é" * 100


async def test_a_held_session_keeps_its_title(stage: Stage) -> None:
    """R159: nothing else than what is sent to it is taken."""
    async with titling(stage) as session:
        await session.set_title("Mine")
        await session._host.hold(reason="Wait.", by="ann")
        with pytest.raises(Held):
            await session.set_title("Other")
        assert await title_of(session) == "Mine"


async def test_a_request_that_never_was_is_missing(stage: Stage) -> None:
    """R196: by its own error."""
    async with titling(stage) as session:
        with pytest.raises(Missing, match="the session has 0"):
            await session.title_request()
        with pytest.raises(InvalidInput):
            await session.title_request("last")  # type: ignore[arg-type]


# --- races ----------------------------------------------------------------------------------------


async def _turn(session: Session) -> None:
    assert (await session.ask("two")).end == "done"


async def _preset(session: Session) -> None:
    await session.set_permission_preset("workspace-write")


async def _model(session: Session) -> None:
    await session.set_model("default")


WRITES = {"turn": _turn, "preset": _preset, "model": _model}


@pytest.mark.parametrize("by", ["person", "model"])
@pytest.mark.parametrize("order", ["before", "behind"])
@pytest.mark.parametrize("what", WRITES)
async def test_neither_overwrites_the_other(stage: Stage, what: str, order: str, by: str) -> None:
    """R91: whichever is on its way to disk when the other comes, both are in force and stored."""
    stalled = Stalled(trio.Event(), "Mine")
    async with titling(stage, stalled) as session:
        await asked(stage, session, "one")
        stage.plays("Two.")

        async def title() -> None:
            if by == "person":
                await session.set_title("Mine")
            else:
                stalled.until.set()

        steps: list[Any] = [title, partial(WRITES[what], session)]
        stage.memory.faults.hold()
        async with trio.open_nursery() as nursery:
            for step in steps if order == "before" else steps[::-1]:
                nursery.start_soon(step)
                await wait_all_tasks_blocked()
            stage.memory.faults.release()
        await wait_all_tasks_blocked()
        stalled.until.set()
        await wait_all_tasks_blocked()
        live = session._host.live(session.id)
        assert live is not None
        header = live.header
        assert (header.title, header.usage, header.untitled) == ("Mine", SPENT, 0)
        expected = {
            "turn": (header.turns, header.users, header.messages) == (2, 2, 4),
            "preset": header.preset == "workspace-write",
            "model": header.model == "default",
        }
        assert expected[what]
        await check_apart(stage, session)
        stored = stage.store.look(session.id)
        assert isinstance(stored, Stored)
        assert decode_header(stored.header) == header


@pytest.mark.parametrize("by", ["person", "model"])
async def test_a_title_that_cannot_be_saved_harms_no_turn(stage: Stage, by: str) -> None:
    """R96, R91: what waits behind it goes on, the former title stays, who set it is told."""
    stalled = Stalled(trio.Event(), "Made")
    async with titling(stage, stalled) as session, trio.open_nursery() as nursery:
        await asked(stage, session, "one")
        stage.plays("Two.")
        stage.memory.faults.hold()
        stage.fails(where=writes_title)
        if by == "person":

            @nursery.start_soon
            async def _() -> None:
                with pytest.raises(StoreFailed):
                    await session.set_title("Mine")
        else:
            stalled.until.set()
        await wait_all_tasks_blocked()
        nursery.start_soon(_turn, session)
        await wait_all_tasks_blocked()
        stage.memory.faults.release()
        await wait_all_tasks_blocked()
        state = await session.state()
        assert (state.title, state.phase, state.has_pending_save) == (None, "idle", False)
        assert len(state.messages) == 4


async def test_behind_a_commit_that_fails_it_fails_too(stage: Stage) -> None:
    """R91, R84: nothing is committed before what could not be written; and then it joins that."""
    async with titling(stage, "Made") as session, trio.open_nursery() as nursery:
        await session.set_title("Former")
        stage.plays(call("watch"), "Two.")
        receipt = await session.prompt("one")
        await stage.gate.reached.wait()
        stage.memory.faults.hold()
        stage.fails()
        stage.gate.open.set()
        await wait_all_tasks_blocked()

        @nursery.start_soon
        async def _() -> None:
            with pytest.raises(StoreFailed):
                await session.set_title("Mine")

        await wait_all_tasks_blocked()
        stage.memory.faults.release()
        with pytest.raises(SaveFailed):
            await session.outcome(receipt)
        assert await title_of(session) == "Former"
        before = stage.store.last_number()
        await session.set_title("Joined")
        assert stage.store.last_number() == before
        assert await title_of(session) == "Former"
        await session.flush()
        assert await title_of(session) == "Joined"
        assert isinstance(records(stage, session)[-1], TitleSet)
        await asked(stage, session)
        assert [turn.end async for turn in session.turns()] == ["save_failed"]
    async with titling(stage) as session:
        assert await title_of(session) == "Joined"


async def test_over_disk_as_in_memory(disk: Stage) -> None:
    """R95, R91, R196, R169: made over LMDB while the next turn runs, and there when reopened."""
    async with titling(disk, "Made") as session:
        disk.plays("One.", call("pay"), "Two.")
        await session.ask("one")
        await session.ask("two")
        while await title_of(session) is None:
            await trio.lowlevel.checkpoint()
        await check_apart(disk, session)
    async with titling(disk) as session:
        assert await title_of(session) == "Made"
        assert (await session._host.sessions().all())[0].usage == SPENT
        disk.plays("Three.")
        await session.set_title("Mine")
        await session.ask("three")
        assert await title_of(session) == "Mine"
