"""Laws of which sessions a hold is about, and how they are counted, kept and let go on."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import InvalidInput, Missing, SaveFailed, TooLarge
from greenroom.protocol.hold import Hold
from greenroom.protocol.identity import SessionId
from greenroom.protocol.journal import HoldLifted, HoldPlaced
from greenroom.protocol.limits import Limits
from greenroom.protocol.question import Allow
from greenroom.store import Enter, open_memory
from tests.actors.held import WHY, ended, phase
from tests.actors.policy import tools, until_asked
from tests.actors.stage import Stage, agent, package, stage, workspace


async def settled(on: Stage, key: str, words: str = "Hi.", **told: Any) -> Session:
    session = await on.session(key, **told)
    await session.ask(words)
    return session


@pytest.fixture
async def shop() -> AsyncIterator[Stage]:
    """Sessions of two agents, two tenants and two labels."""
    agents = [agent(), agent(name="sales", skills=("skills/refunds",))]
    work = workspace(agents=agents, skills=[package("refunds"), package("plain")])
    async with stage(*["Hi."] * 20, work=work) as on:
        await settled(on, "a")
        await settled(on, "b", agent="sales")
        await settled(on, "c", labels={"team": "x"})
        other = await on.host.tenant("other").session("d", agent="support")
        await other.ask("Hi.")
        yield on


@pytest.mark.parametrize(
    ("told", "held"),
    [
        ({}, {"a", "b", "c", "other/d"}),
        ({"agent": "support"}, {"a", "c", "other/d"}),
        ({"labels": {"team": "x"}}, {"c"}),
        ({"skill": "refunds"}, {"b"}),
        ({"skill": "skills/refunds", "agent": "support"}, set()),
        ({"skill": "plain"}, set()),
        ({"agent": "nobody"}, set()),
    ],
)
async def test_a_hold_is_about_what_it_names(
    shop: Stage, told: dict[str, Any], held: set[str]
) -> None:
    """R159, R239: counted from the index, and the same for those that are live."""
    hold = await shop.host.hold(**told, **WHY)
    listed = {str(each.session) async for each in shop.host.sessions(phase="held")}
    assert (listed, hold.sessions) == (held, len(held))


async def test_a_tenant_holds_its_own_and_lifts_its_own(shop: Stage) -> None:
    # R218, R239
    other, ours = shop.host.tenant("other"), shop.host.tenant("default")
    hold = await other.hold(**WHY)
    assert hold.sessions == 1
    assert {str(each.session) async for each in shop.host.sessions(phase="held")} == {"other/d"}
    everywhere = await shop.host.hold(**WHY)
    assert await ours.holds().all() == []
    assert [each.id async for each in other.holds()] == [hold.id]
    assert [each.id async for each in shop.host.holds()] == [hold.id, everywhere.id]
    for scope, name in ((ours, hold), (other, everywhere), (ours, "gone")):
        with pytest.raises(Missing, match="no hold"):
            await scope.lift(name, by="x")
    await shop.host.lift(hold, by="x")


async def test_a_session_that_is_made_later_is_held(shop: Stage) -> None:
    """R159: the filter holds, and no session is marked."""
    await shop.host.hold(skill="refunds", **WHY)
    before = len(shop.model.requests)
    session = await shop.session("later", agent="sales")
    receipt = await session.prompt("Hi.")
    assert (receipt.status, await phase(session)) == ("queued", "held")
    assert await ended(await shop.session("a"), await (await shop.session("a")).prompt("Hi."))
    assert len(shop.model.requests) == before + 1


async def picked(on: Stage, session: Session) -> None:
    await session.ask("Hi.", skills=["refunds"])


async def loaded(on: Stage, session: Session) -> None:
    on.model._steps.insert(len(on.model.requests), call("load_skill", name="refunds"))
    await session.ask("Hi.")


@pytest.mark.parametrize("how", [picked, loaded])
@pytest.mark.parametrize("restarted", [False, True])
async def test_what_a_message_shows_is_found_by_the_index(how: Any, *, restarted: bool) -> None:
    """R159, R239: also when the agent never had it bound, and after a restart."""
    async with open_memory() as store:
        skills = [package("refunds"), package("plain")]
        async with stage(*["Hi."] * 4, store=store, skills=skills) as on:
            session, other = await on.session(), await settled(on, "ben")
            await how(on, session)
            await session.ask("Hi.")
            if not restarted:
                hold = await on.host.hold(skill="refunds", **WHY)
                assert (hold.sessions, await phase(session)) == (1, "held")
                assert await phase(other) == "idle"
        if restarted:
            async with stage(store=store, skills=skills) as on:
                hold = await on.host.hold(skill="refunds", **WHY)
                assert hold.sessions == 1
                assert on.host.services.actors == {}
                session = await on.session()
                await session.prompt("Hi.")
                assert await phase(session) == "held"


async def test_a_message_that_picks_a_held_skill_waits(shop: Stage) -> None:
    """R159: its turn would show it; what stands behind it waits too, unless it is recalled."""
    hold = await shop.host.hold(skill="plain", **WHY)
    assert hold.sessions == 0
    session = await shop.session("a")
    pick = await session.prompt("Hi.", skills=["plain"])
    behind = await session.prompt("Hello.")
    assert (pick.status, await phase(session)) == ("queued", "held")
    actor = shop.host.live(session.id)
    assert actor is not None
    # The index does not know of it, so it must stay in memory to be found by the lift.
    assert not actor.may_rest
    assert await session.recall(pick)
    assert await ended(session, behind) == ["done"]
    again = await session.prompt("Hi.", skills=["plain"])
    await shop.host.lift(hold, by="x")
    assert await ended(session, again) == ["done"]


async def test_a_parked_turn_goes_on_whatever_is_queued_behind_it() -> None:
    """R129, R159: what a later message picks holds that message, and no turn that began before."""
    done: list[str] = []
    skills = [package("plain")]
    async with stage(call("pay"), "Paid.", "Hi.", tools=tools(done), skills=skills) as on:
        session = await on.session()
        first = await session.prompt("Pay.")
        await until_asked(on)
        pick = await session.prompt("Hi.", skills=["plain"])
        hold = await on.host.hold(skill="plain", **WHY)
        [question] = await on.host.questions().all()
        await on.host.answer(question, Allow("ben"))
        assert await ended(session, first) == ["done"]
        await wait_all_tasks_blocked()
        assert (done, await phase(session)) == (["pay 1"], "held")
        await on.host.lift(hold, by="x")
        assert await ended(session, pick) == ["done"]


async def test_several_holds_hold_until_the_last_is_lifted(shop: Stage) -> None:
    # R159
    one = await shop.host.hold(agent="support", **WHY)
    two = await shop.host.hold(labels={"team": "x"}, **WHY)
    plain, labelled = await shop.session("a"), await shop.session("c")
    first, second = await plain.prompt("Hi."), await labelled.prompt("Hi.")
    await shop.host.lift(one, by="x")
    assert await ended(plain, first) == ["done"]
    await wait_all_tasks_blocked()
    assert await phase(labelled) == "held"
    await shop.host.lift(two, by="x")
    assert await ended(labelled, second) == ["done"]


# --- durable, counted, paced ---------------------------------------------------------------------


async def test_a_hold_survives_a_restart_and_a_lift_finds_what_is_passive() -> None:
    """R159, R239: queued messages do not start when a host opens; the lift activates their
    sessions, and no other one."""
    async with open_memory() as store:
        async with stage("Hi.", store=store) as on:
            await settled(on, "ann")
            await settled_by_nobody(on, "ben")
            hold = await on.host.hold(agent="support", **WHY)
            receipt = await (await on.session()).prompt("Later.")
        async with stage("Done.", store=store) as on:
            await wait_all_tasks_blocked()
            assert on.host.services.actors == {}
            assert [each.id async for each in on.host.holds()] == [hold.id]
            [found] = await on.host.holds().all()
            assert (found.by, found.reason, found.at) == ("ann", "It pays twice.", hold.at)
            session = await on.session()
            assert await phase(session) == "held"
            await on.host.lift(hold.id, by="ben")
            assert await ended(session, receipt) == ["done"]
            assert set(on.host.services.actors) == {SessionId("default", "ann")}
        async with stage(store=store) as on:
            assert await on.host.holds().all() == []


async def settled_by_nobody(on: Stage, key: str) -> None:
    """A session without a turn."""
    await on.session(key)


async def test_many_sessions_are_counted_and_none_is_activated() -> None:
    """R239: an index tells them; no claim is taken and no history read."""
    async with open_memory() as store, stage(store=store) as on:
        for number in range(300):
            await on.session(str(number), labels={"odd": str(number % 2)})
        before = on.store.statistics().operations
        assert (await on.host.hold(labels={"odd": "1"}, **WHY)).sessions == 150
        assert (await on.host.hold(agent="support", **WHY)).sessions == 300
        assert on.host.services.actors == {}
        assert on.store.statistics().operations == before + 2


async def test_what_was_held_goes_on_at_a_bounded_rate(autojump_clock: MockClock) -> None:
    """R239: so many in a second, live and passive ones; who sends a message does not wait."""
    begun: list[float] = []

    def answer(*_: Any) -> str:
        begun.append(trio.current_time())
        return "Hi."

    async with open_memory() as store:
        async with stage(store=store) as on:
            await on.host.hold(**WHY)
            for number in range(10):
                await (await on.session(str(number))).prompt("Hi.")
        limits = Limits(resumed_per_second=2.0)
        async with stage(*[answer] * 12, store=store, limits=limits) as on:
            for number in range(5):
                # Five of them are live.
                await on.host.activate(SessionId("default", str(number)))
            [hold] = await on.host.holds().all()
            start = trio.current_time()
            await on.host.lift(hold, by="x")
            await trio.sleep(0.1)
            await (await on.session("9")).ask("Now.")
            assert trio.current_time() - start < 0.5
            await trio.sleep(10)
            assert len(begun) == 11
            paced = sorted(time - start for time in begun)
            # Nine sessions in order, two a second, and one that was asked for in between.
            assert [sum(time < second for time in paced) for second in (0.4, 1.1, 2.1)] == [3, 5, 7]
            assert 3.9 <= paced[-1] <= 4.6


async def test_who_holds_and_lifts_is_in_the_journal(shop: Stage) -> None:
    """R242: who, why and when; what failed is not, and nothing is taken out."""
    hold = await shop.host.hold(skill="refunds", **WHY)
    with pytest.raises(Missing):
        await shop.host.lift("gone", by="x")
    await shop.host.lift(hold, by="ben", reason="Mended.")
    with pytest.raises(Missing):
        await shop.host.lift(hold, by="x")
    placed, lifted = await shop.host.journal().all()
    assert isinstance(placed, HoldPlaced)
    assert isinstance(lifted, HoldLifted)
    assert (placed.by, placed.reason, placed.at) == ("ann", "It pays twice.", hold.at)
    assert placed.hold.skill == "skills/refunds"
    assert (lifted.by, lifted.reason, lifted.hold) == ("ben", "Mended.", hold.id)


async def test_a_hold_that_cannot_be_written_holds_nothing(shop: Stage) -> None:
    """R159: and one whose lift cannot be written is in force as before."""
    shop.store.faults.fail_next(SaveFailed("full"), where=lambda op: isinstance(op, Enter))
    with pytest.raises(SaveFailed):
        await shop.host.hold(**WHY)
    session = await shop.session("a")
    assert (await session.ask("Hi.")).end == "done"
    hold = await shop.host.hold(**WHY)
    shop.store.faults.fail_next(SaveFailed("full"), where=lambda op: isinstance(op, Enter))
    with pytest.raises(SaveFailed):
        await shop.host.lift(hold, by="x")
    assert await phase(session) == "held"
    assert len(await shop.host.journal().all()) == 1


@pytest.mark.parametrize(
    "told",
    [
        {"by": ""},
        {"reason": ""},
        {"reason": "\ud800"},
        {"running": "pause"},
        {"agent": ""},
        {"skill": "\0"},
        {"labels": {"a": ""}},
        {"labels": ["a"]},
        {"by": None},
    ],
)
async def test_a_hold_that_says_nothing_is_refused(told: dict[str, Any]) -> None:
    # R194, R242
    async with stage() as on:
        with pytest.raises(InvalidInput):
            await on.host.hold(**{**WHY, **told})
        assert await on.host.holds().all() == []


async def test_holds_have_a_bound() -> None:
    # R194
    async with stage(limits=Limits(holds_max=1)) as on:
        hold = await on.host.hold(**WHY)
        assert isinstance(hold, Hold)
        with pytest.raises(TooLarge, match="1 holds"):
            await on.host.hold(**WHY)
        await on.host.lift(hold, by="x")
        await on.host.hold(**WHY)


async def test_of_two_who_lift_one_is_told_that_it_was_lifted() -> None:
    # R242
    told: list[str] = []
    async with stage() as on:
        hold = await on.host.hold(**WHY)

        async def lift() -> None:
            try:
                await on.host.lift(hold, by="x")
                told.append("lifted")
            except Missing:
                told.append("missing")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(lift)
            nursery.start_soon(lift)
        assert sorted(told) == ["lifted", "missing"]
        assert len(await on.host.journal().all()) == 2
