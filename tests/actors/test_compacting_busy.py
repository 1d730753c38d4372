"""While a session is compacted: what arrives waits behind it, and everything else is refused."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy, Session
from greenroom.actors.models.scripted import Scripted, Stalled, call
from greenroom.protocol.errors import (
    Busy,
    GreenroomError,
    HostClosed,
    Missing,
    ModelFailed,
)
from greenroom.protocol.limits import Limits
from greenroom.protocol.receipt import Compaction
from tests.actors.compacted import (
    begins_with_summary,
    check_all,
    compactions,
    long,
    narrow,
    records,
    summaries,
    talked,
    text,
)
from tests.actors.world import AGENT, FULL, Stage, conversation, opened, queue_of, sent


async def test_messages_follow_a_compaction_in_order(stage: Stage) -> None:
    """P036, P037, R212: none was in its input; all keep their receipts and their places."""
    stalled = Stalled(trio.Event(), "A summary.")
    async with long(stage) as session:
        stage.plays(stalled, *["Fine."] * 20)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.compact)
            await stalled.reached.wait()
            texts = [f"message {n}" for n in range(20)]
            receipts = [await session.prompt(text, when="queue") for text in texts]
            assert (await session.state()).phase == "compacting"
            assert await queue_of(session) == [f"message {n}" for n in range(20)]
            stalled.until.set()
        assert [receipt.position for receipt in receipts] == list(range(20))
        for receipt in receipts:
            assert (await session.outcome(receipt)).end == "done"
        (asked,) = summaries(stage.model)
        assert b"message 0" not in asked.messages.joined()
        said = [words for words in await conversation(session) if words.startswith("message")]
        assert said == [f"message {n}" for n in range(20)]
        assert all(begins_with_summary(request) for request in stage.model.requests[5:])
        kinds = [type(record).__name__ for record in records(stage, session)]
        assert kinds.index("Compacted") < len(kinds) - 1 - kinds[::-1].index("Dispatched")
        await check_all(stage, session)


async def test_an_invocation_pins_against_the_new_composition(stage: Stage) -> None:
    """R212, R37: what waited is told that its instructions stand in the prompt that is now."""
    stage.skills.publish("refunds", "Version 1.")
    stage.bound = ("skills/refunds",)
    stalled = Stalled(trio.Event(), "A summary.")
    async with long(stage) as session:
        stage.skills.publish("refunds", "Version 2.")
        stage.plays(stalled, "Fine.")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.compact)
            await stalled.reached.wait()
            receipt = await session.prompt("Do it", skills=["refunds"])
            stalled.until.set()
        await session.outcome(receipt)
        (context,) = await session.get_runtime_contexts()
        assert "Version 2." in context.content
        words = sent(stage.model.requests[-1])[-1][1]
        assert "Version 2." not in words
        assert 'under the heading "## refunds"' in words
        await check_all(stage, session)


async def test_what_follows_at_once_may_need_room_itself(stage: Stage) -> None:
    """R212, R210: in whichever order the one who asked and the turn that follows wake up."""
    narrow(stage)
    async with stage.host(policy=Policy(compact_at=1)) as host:
        for n in range(8):
            session = await opened(host, f"s{n}")
            await talked(stage, session, 4)
            stalled = Stalled(trio.Event(), text("A summary", 4_000))
            stage.plays(stalled, "A summary.", "Fine.")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.compact)
                await stalled.reached.wait()
                receipt = await session.prompt(text("large", 12_000))
                stalled.until.set()
            assert (await session.outcome(receipt)).text == "Fine."
            assert len(compactions(stage, session)) == 2


async def test_it_is_refused_unless_the_session_is_quiet(stage: Stage) -> None:
    """R9: the error says why, and nothing changes; while it runs others are refused alike."""
    waiting, stalled = Stalled(trio.Event(), "Fine."), Stalled(trio.Event(), "A summary.")
    async with long(stage) as session:
        stage.plays(waiting)
        receipt = await session.prompt("Wait")
        await waiting.reached.wait()
        for refused in (session.compact, session.recompose):
            with pytest.raises(Busy, match="a turn is running"):
                await refused()
        waiting.until.set()
        await session.outcome(receipt)
        stage.plays(stalled)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.compact)
            await stalled.reached.wait()
            others: list[Callable[[], Any]] = [
                session.compact,
                session.recompose,
                lambda: session.set_model("other"),
                lambda: session.set_permission_preset("read-only"),
                session.dispose,
                lambda: session.prompt("Now", when="reject"),
            ]
            for other in others:
                with pytest.raises(Busy, match="it is being compacted"):
                    await other()
            assert not await session.cancel()
            stalled.until.set()
        await check_all(stage, session)


async def test_it_is_refused_while_a_turn_is_parked(stage: Stage) -> None:
    """R9: a parked turn is open, and its messages are not done yet."""
    stage.plays(text("one"), text("two"), call("pay"), "Paid.")
    async with stage.host() as host:
        session = await host.session("ann", agent=AGENT, preset="read-only")
        await session.ask(text("q"))
        await session.ask(text("q"))
        await session.prompt("Pay")
        while (await session.state()).phase != "parked":
            await trio.lowlevel.checkpoint()
        with pytest.raises(Busy, match="parked"):
            await session.compact()
        await session.cancel()


async def test_it_goes_by_another_model_once_that_is_chosen(stage: Stage) -> None:
    """R59, R107: composed for it, asked of it, and measured by its window."""
    stage.other = Scripted([], name="other")
    async with long(stage) as session:
        await session.set_model("other")
        stage.other._steps.extend(["A summary.", "Fine."])
        done = await session.compact()
        assert done.status == "compacted"
        assert summaries(stage.model) == []
        await session.ask("And now?")
        assert [request.model for request in stage.other.requests] == ["other"] * 2
        assert begins_with_summary(stage.other.requests[-1])
        await check_all(stage, session)


async def test_a_host_that_stops_ends_it(stage: Stage) -> None:
    """R199, R208, R110: whoever waits for it is told, and nothing of it is stored."""
    stalled = Stalled(trio.Event(), "Never.")
    errors: list[GreenroomError] = []

    async def compact(session: Session) -> None:
        try:
            await session.compact()
        except GreenroomError as error:
            errors.append(error)

    async with trio.open_nursery() as nursery, long(stage) as session:
        stage.plays(stalled)
        nursery.start_soon(compact, session)
        await stalled.reached.wait()
    assert [type(error) for error in errors] == [HostClosed]
    async with stage.session() as session:
        assert compactions(stage, session) == []
        stage.plays("Fine.")
        assert (await session.ask("And now?")).end == "done"
        await check_all(stage, session)


async def test_a_host_that_stops_waits_for_one_that_is_being_saved(stage: Stage) -> None:
    """R199, R110: once its commit is offered, the verdict decides what is true."""
    done: list[Compaction] = []

    async def compact(session: Session) -> None:
        done.append(await session.compact())

    async def release() -> None:
        await wait_all_tasks_blocked()
        assert done == []
        stage.memory.faults.release()

    async with trio.open_nursery() as nursery:
        async with long(stage) as session:
            stage.plays("A summary.")
            stage.memory.faults.hold()
            nursery.start_soon(compact, session)
            await wait_all_tasks_blocked()
            nursery.start_soon(release)
        done_by_then = [each.status for each in done]
    assert done_by_then == ["compacted"]
    async with stage.session() as session:
        assert len(compactions(stage, session)) == 1


async def test_a_deleted_session_is_not_compacted(stage: Stage) -> None:
    """R192: whoever waits for it is told, and the actor is gone."""
    stalled = Stalled(trio.Event(), "Never.")
    async with long(stage) as session, trio.open_nursery() as nursery:
        stage.plays(stalled)
        host = session._host

        async def compact() -> None:
            with pytest.raises(Missing, match="deleted"):
                await session.compact()

        nursery.start_soon(compact)
        await stalled.reached.wait()
        await session.delete()
        assert host.live(session.id) is None


async def test_no_model_is_waited_for_longer_than_its_bound(stage: Stage) -> None:
    """R180, R110: a summary that does not come in time is one that failed."""
    async with long(stage, limits=Limits(model_seconds_max=0.5, summary_attempts_max=1)) as session:
        stage.plays(Stalled(trio.Event(), "Never."))
        with pytest.raises(ModelFailed, match="summarise within"):
            await session.compact()
        await check_all(stage, session)


async def test_over_a_store_on_disk(disk: Stage) -> None:
    """R108, R169: what another host reads back is what this one knew."""
    async with disk.session() as session:
        await talked(disk, session, 4)
        disk.plays("A summary.", "Fine.")
        await session.compact()
        await session.ask("And now?")
        first = list(disk.model.requests[-1].messages)
    async with disk.host() as host:
        session = await opened(host)
        disk.plays("Fine.")
        await session.ask("Again")
        assert list(disk.model.requests[-1].messages)[: len(first)] == first
        await check_all(disk, session)
        assert (await session.state()).preset == FULL
