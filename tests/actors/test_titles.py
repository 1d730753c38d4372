"""Which sessions get a title made, and when: beside the turns, and never in their way."""

from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy
from greenroom.actors.models.port import SessionInfo
from greenroom.actors.models.scripted import Scripted, Stalled
from greenroom.protocol.errors import InvalidInput, StoreDamaged, UnknownModel
from greenroom.protocol.limits import Limits
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage
from tests.actors.compacted import SMALL, talked
from tests.actors.titled import TITLES, asked, made, title_of, titles, titling
from tests.actors.world import STILL, Stage, opened


async def test_none_are_made_unless_the_host_wants_them(stage: Stage) -> None:
    """R95: by default no model is asked; a person's title is kept all the same."""
    async with titling(stage, policy=Policy()) as session:
        await asked(stage, session, "one")
        await session.set_title(None)
        await wait_all_tasks_blocked()
        assert stage.other.requests == []
        await session.set_title("Mine")
        assert await title_of(session) == "Mine"


async def test_the_model_is_one_that_the_host_has(stage: Stage) -> None:
    """R95, R232: another is named with the choices, before the store is touched."""
    with pytest.raises(UnknownModel) as caught:
        async with stage.host(policy=Policy(titles="gone")):
            pass
    assert caught.value.facts["choices"] == ("default", "other")
    with pytest.raises(InvalidInput, match="titles"):
        Policy(titles=5)  # type: ignore[arg-type]


async def test_a_session_is_not_busy_with_its_title(stage: Stage) -> None:
    """R96, R9: while one is made turns begin at once, settings and compactions are taken."""
    stalled = Stalled(trio.Event(), "Made")
    stage.model = Scripted([], capabilities=SMALL)
    async with titling(stage, stalled) as session:
        await asked(stage, session, "one")
        await stalled.reached.wait()
        assert (await session.state()).phase == "idle"
        await talked(stage, session, 4)
        await session.set_permission_preset("workspace-write")
        stage.plays("A summary.")
        assert (await session.compact()).status == "compacted"
        assert len(stage.other.requests) == 1
        stalled.until.set()
        await wait_all_tasks_blocked()
        assert await title_of(session) == "Made"


async def test_a_few_are_made_at_once_and_each_in_the_end(stage: Stage) -> None:
    """R95: the others wait for a place, and no turn waits for any of them."""
    go = trio.Event()

    def named(request: ModelRequest, info: SessionInfo) -> Stalled:
        return Stalled(go, f"Title of {info.id}")

    stage.other = Scripted([named] * 5, name="other")
    async with stage.host(policy=TITLES, limits=Limits(titles_max=2)) as host:
        sessions = [await opened(host, f"session {n}") for n in range(5)]
        for session in sessions:
            await asked(stage, session, "Hi")
        assert len(stage.other.requests) == 2
        go.set()
        await wait_all_tasks_blocked()
        found = [(await session.state()).title for session in sessions]
        assert found == [f"Title of {session.id}" for session in sessions]
        assert len(stage.other.requests) == 5


async def _delete(session: Any) -> None:
    await session.delete()


async def _dispose(session: Any) -> None:
    await session.dispose()


@pytest.mark.parametrize("place", ["asked", "waiting"])
@pytest.mark.parametrize("how", [_delete, _dispose])
async def test_what_is_let_go_or_deleted_gets_none(stage: Stage, how: Any, place: str) -> None:
    """R96: its request is cancelled and leaves nothing, and its place is free again."""
    first = Stalled(trio.Event(), "First")
    stage.other = Scripted([first, "Second", "Third"], name="other")
    async with stage.host(policy=TITLES, limits=Limits(titles_max=1)) as host:
        sessions = [await opened(host, key) for key in ("ann", "ben")]
        for session in sessions:
            await asked(stage, session, "Hi")
        gone, other = sessions if place == "asked" else sessions[::-1]
        before = stage.store.last_number()
        await how(gone)
        await wait_all_tasks_blocked()
        assert await title_of(other) == ("Second" if place == "asked" else None)
        first.until.set()
        await wait_all_tasks_blocked()
        assert stage.store.last_number() <= before + 2
        assert await title_of(other) == ("Second" if place == "asked" else "First")
        if how is _dispose:
            assert titles(stage, gone) == []
            await asked(stage, gone, "Again")
            assert await title_of(gone) is not None


async def _release_later(stage: Stage) -> None:
    await wait_all_tasks_blocked()
    stage.memory.faults.release()


async def test_a_host_that_stops_makes_none_any_more(stage: Stage) -> None:
    """R96, R174: nobody waits for it; the next host makes one with the end of a turn."""
    stalled = Stalled(trio.Event(), "Made")
    async with titling(stage, stalled) as session:
        await asked(stage, session, "one")
        await stalled.reached.wait()
        other = await opened(session._host, "ben")
        stage.plays(Stalled(trio.Event(), ""))
        await other.prompt("Its turn is ended by the stop.")
        stage.memory.faults.hold()
        trio.lowlevel.spawn_system_task(_release_later, stage)
    assert len(stage.other.requests) == 1
    async with titling(stage, "Made later") as session:
        assert titles(stage, session) == []
        await asked(stage, session, "two")
        assert await title_of(session) == "Made later"


async def test_a_held_session_gets_none_before_it_is_lifted(stage: Stage) -> None:
    """R159: it is kept still; the first turn behind the lift makes it due."""
    stalled = Stalled(trio.Event(), "One.")
    async with titling(stage, "Made") as session:
        stage.plays(stalled)
        receipt = await session.prompt("one")
        await stalled.reached.wait()
        hold = await session._host.hold(reason="Wait.", by="ann")
        stalled.until.set()
        await session.outcome(receipt)
        await wait_all_tasks_blocked()
        assert stage.other.requests == []
        await session._host.lift(hold, by="ann")
        await asked(stage, session, "two")
        assert await title_of(session) == "Made"


async def test_a_session_that_was_lost_gets_none_from_its_former_holder(stage: Stage) -> None:
    """R207, R96: the commit is refused and nothing else of it matters; whoever has it goes on."""
    stalled = Stalled(trio.Event(), "Stale")
    async with titling(stage, stalled) as session:
        await asked(stage, session, "one")
        async with stage.session(policy=STILL) as taken:
            await taken._host.activate(taken.id)
            stalled.until.set()
            await wait_all_tasks_blocked()
            assert await title_of(taken) is None
            assert session._host.live(session.id) is None


async def test_what_goes_wrong_ends_no_host(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R168, R96: a defect on the way to a title is told in the log, and the next one is made."""
    async with titling(stage, "Made") as session:
        with monkeypatch.context() as broken:
            fault = StoreDamaged("It cannot be read.")

            def read(*_: Any, **__: Any) -> Any:
                raise fault

            stage.plays("One.")
            receipt = await session.prompt("one")
            broken.setattr(stage.store, "read", read)
            await wait_all_tasks_blocked()
        assert (await session.outcome(receipt)).end == "done"
        assert "It cannot be read." in caplog.text
        await asked(stage, session, "two")
        assert await title_of(session) == "Made"


async def test_a_turn_that_was_not_sent_makes_no_session_due(stage: Stage) -> None:
    """R95, R81: what was typed for it is not in the conversation."""
    stage.skills.publish("refunds", "Give it back.")
    async with titling(stage, "Made") as session:
        actor = await session._host.activate(session.id)
        picked = partial(session.ask, "one", skills=["refunds"])
        stage.skills.withdraw("refunds")
        assert (await picked()).end == "not_sent"
        await wait_all_tasks_blocked()
        assert stage.other.requests == []
        assert made(stage, session) == []
        assert actor.header.usage == Usage()
