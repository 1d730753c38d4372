"""Open questions of many sessions, from an index."""

from typing import Any

import pytest
from msgspec import structs
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Host
from greenroom.actors.models.scripted import call
from greenroom.actors.questions import check_answer, open_questions
from greenroom.actors.world import World
from greenroom.protocol.errors import GreenroomError, InvalidInput, Missing, TooLarge
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.protocol.question import Allow, Answer, Deny, Failure, Question, Result
from greenroom.store import MemoryStore
from greenroom.store.schema import HEADS, LOG
from tests.actors.asked import asking, asks, epoch_of, hosting, let_go, parked
from tests.actors.test_said import Words
from tests.actors.world import AGENT, Stage

BY = Allow("kim")


async def many(host: Host, number: int, tenant: str = "default") -> list[Any]:
    """So many sessions of a tenant, each with a turn that waits, in that order."""
    found = []
    for name in range(number):
        session = await host.tenant(tenant).session(f"s{name}", agent=AGENT)
        await asks(session)
        found.append(session)
    return found


async def test_questions_come_from_an_index_oldest_first(stage: Stage) -> None:
    """R223, R184: of passive sessions too, none is activated; in the order of their commits."""
    moments = iter(range(10_000_000, 0, -1_000))
    world = World(lambda: next(moments))  # a clock that runs backwards
    stage.plays(*[(call("pay", cents=n), call("fetch")) for n in range(5)])
    async with hosting(stage, world=world) as host:
        sessions = await many(host, 5)
        for session in sessions[:3]:
            await let_go(session)
        before = [epoch_of(stage, session) for session in sessions]
        asked = await host.questions().all()
        assert [q.session for q in asked] == [s.id for s in sessions for _ in range(2)]
        assert [q.kind for q in asked] == ["approval", "result"] * 5
        assert [q.arguments for q in asked[::2]] == [f'{{"cents":{n}}}' for n in range(5)]
        assert await host.questions(kind="result").all() == asked[1::2]
        assert await host.questions(kind="approval").count() == 5
        with pytest.raises(InvalidInput):
            await host.questions(kind="other").all()  # type: ignore[arg-type]
        assert [epoch_of(stage, session) for session in sessions] == before
        assert len(host.services.actors) == 2
    async with hosting(stage) as host:
        assert await host.questions().all() == asked
        assert not host.services.actors


async def test_a_tenant_sees_and_answers_its_own(stage: Stage) -> None:
    """R218, R223: another's question answers as one that does not exist, by id or as it is."""
    stage.plays(*[call("pay")] * 2)
    async with hosting(stage) as host:
        [mine] = await many(host, 1, "a")
        await many(host, 1, "b")
        [own], [other] = [await host.tenant(name).questions().all() for name in ("a", "b")]
        assert (own.session, other.session.tenant) == (mine.id, "b")
        nothing = "0" * 64
        sentences = []
        for foreign in (nothing, other.id, other, structs.replace(other, id=nothing)):
            with pytest.raises(Missing) as caught:
                await host.tenant("a").answer(foreign, BY)
            sentences.append(caught.value.sentence.replace(other.id, nothing))
        assert len(set(sentences)) == 1
        with pytest.raises(Missing):
            await mine.answer(other.id, BY)
        assert await host.questions().count() == 2
        stage.plays("Done.")
        await host.tenant("a").answer(own, BY)
        assert await host.questions().all() == [other]
        assert await host.tenant("c").questions().count() == 0


@pytest.mark.parametrize("what", ["head", "record", "dispatch"])
async def test_a_damaged_session_hides_no_other(stage: Stage, what: str) -> None:
    """R92, R223: nor does it keep what is overdue elsewhere from being settled."""
    stage.plays(*[call("fetch")] * 3, "Done.", "Done.")
    async with hosting(stage) as host:
        sessions = await many(host, 3)
        for session in sessions:
            await let_go(session)
        asked = await host.questions().all()
        damage(stage.memory, what, sessions[1].id)
        assert await host.questions().all() == [asked[0], asked[2]]
        with pytest.raises(GreenroomError):
            await host.answer(asked[1], Result("x", "kim"))
        for question in (asked[0], asked[2]):
            await host.answer(question, Result("x", "kim"))
        await wait_all_tasks_blocked()
        assert await host.questions().count() == 0


def damage(store: MemoryStore, what: str, session: SessionId) -> None:
    """Change a byte of a row of the session."""
    tables = store._tables
    if what == "head":
        wanted = [key for key, _ in tables.scan(HEADS, b"")][1]
        table = HEADS
    else:
        numbers = [entry.number for entry in store.read(session)]
        wanted = numbers[-1 if what == "record" else 1].to_bytes(8, "big")
        table = LOG
    value = tables.get(table, wanted)
    assert value is not None
    store._remembered.clear()
    tables.begin()
    tables.put(table, wanted, value[:-1] + bytes([value[-1] ^ 1]))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "allow",
        Allow,
        Allow(""),
        Allow("\ud800"),
        Allow(None),  # type: ignore[arg-type]
        Deny("kim", "\0"),
        Deny("kim", "x" * 65_537),
        Deny("kim", 7),  # type: ignore[arg-type]
        Failure("x" * 65_537, "kim"),
        Result("\udfff", "kim"),
        Result("x" * (Limits().object_bytes_max + 1), "kim"),
        Result("x", "k" * 65_537),
    ],
)
async def test_what_cannot_be_kept_is_no_answer(stage: Stage, answer: Any) -> None:
    """R194: refused at the border, and the question is as open as before."""
    async with asking(stage, (call("pay"), call("fetch")), "Done.") as session:
        for question in await asks(session):
            with pytest.raises(InvalidInput):
                await session._host.answer(question, answer)
        assert len(await parked(session)) == 2
    with pytest.raises((InvalidInput, TooLarge)):
        check_answer(answer, Limits())


def test_a_text_of_a_subclass_is_kept_as_it_is_written() -> None:
    """R194: some libraries have texts of their own, which cannot be encoded."""
    answers: list[Answer] = [Allow(Words("kim")), Deny(Words("kim"), Words("no"))]
    for answer in answers:
        kept = check_answer(answer, Limits())
        assert {type(text) for text in (kept.by,)} == {str}
        assert type(kept) is type(answer)


async def test_a_question_of_nothing(stage: Stage) -> None:
    """R223: what no session asks is missing, whatever is handed in; nobody is woken for it."""
    async with asking(stage, call("pay")) as session:
        [question] = await asks(session)
        await let_go(session)
        before = epoch_of(stage, session)
        for name in ("x", "0" * 64, question.id[:-1] + "!", question.id[:32]):
            for answering in (session._host.answer, session.answer):
                with pytest.raises(Missing):
                    await answering(name, BY)
        for odd in ("", None, 7, b"x", "\0", "\ud800"):
            with pytest.raises(InvalidInput):
                await session._host.answer(odd, BY)  # type: ignore[arg-type]
        assert epoch_of(stage, session) == before
        made_up = structs.replace(question, id="x")
        with pytest.raises(Missing):
            await session._host.answer(made_up, BY)
        gone: Question = structs.replace(question, session=SessionId("default", "nobody"))
        with pytest.raises(Missing):
            await session._host.answer(gone, BY)
    assert open_questions(stage.store, None) == [question]
