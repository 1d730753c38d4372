"""Laws of sessions that are marked: composed anew once, at their next turn, and no other one."""

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.actors.models.scripted import Stalled, call
from greenroom.protocol.composition import Composition, Ingredients, compose
from greenroom.protocol.errors import (
    InvalidInput,
    SaveFailed,
    StoreDamaged,
    StoreUnavailable,
    TooLarge,
)
from greenroom.protocol.filter import Which
from greenroom.protocol.journal import SessionsMarked
from greenroom.protocol.limits import Limits
from greenroom.protocol.recomposition import RECOMPOSITION, Recomposition
from greenroom.store import Enter, Standing, open_lmdb, open_memory
from tests.actors.held import WHY, ended
from tests.actors.marked import AGENTS, money, opened, work
from tests.actors.policy import FULL, tools
from tests.actors.stage import Stage, stage, workspace
from tests.actors.submitting import OPTIONS
from tests.actors.test_finding import found
from tests.actors.test_session_reopened import killed
from tests.protocol.prompt_samples import run
from tests.store.offering import ask


@attrs.define
class Composer:
    """Composes, and counts how often."""

    made: int = 0

    def __call__(self, ingredients: Ingredients) -> Composition:
        self.made += 1
        return compose(ingredients)


async def versions_of(on: Stage) -> dict[str, str]:
    """By session, which version of the contributor its kept prompt has."""
    return {
        session: version
        for version in "123"
        for session in await found(on.host, contributor=f"money@{version}")
    }


# --- who is composed anew, and when ---------------------------------------------------------------


async def test_a_copy_in_the_same_store_is_as_far_as_its_original() -> None:
    """R239, R191: it was composed anew already; what was installed since is not for it."""
    async with open_memory() as store, opened(store) as on:
        session = await on.session("ann")
        await session.ask("Hi.")
        await on.host.recompose(contributor="money", **WHY)
        await session.ask("Hi.")
        lines = await session.export().all()
        await on.host.reload(work("2"))
        await (await on.host.import_session("ben", lines)).ask("Hi.")
        assert await versions_of(on) == {"ann": "1", "ben": "1"}


@pytest.mark.parametrize("restarted", [False, True])
async def test_those_that_are_concerned_are_composed_anew_once(*, restarted: bool) -> None:
    """R239: before their next dispatch, live or passive; no other session is touched."""
    async with open_memory() as store:
        async with opened(store) as on:
            for key in ("a", "b"):
                await (await on.session(key)).ask("Hi.")
            await (await on.session("c", agent="sales")).ask("Hi.")
            await on.host.reload(work("2"))
            made = await on.host.recompose(agent="support", **WHY)
            assert (made.number, made.sessions, made.agent) == (1, 2, "support")
            if not restarted:
                await check_composed(on)
        if restarted:
            async with opened(store, "2") as on:
                assert on.host.services.actors == {}
                await check_composed(on)


async def check_composed(on: Stage) -> None:
    assert await versions_of(on) == {"a": "1", "b": "1", "c": "1"}
    a = await on.session("a")
    await a.ask("Again.")
    await (await on.session("c", agent="sales")).ask("Again.")
    assert await versions_of(on) == {"a": "2", "b": "1", "c": "1"}
    await on.host.reload(work("3"))
    # Once: what is edited later is not in it.
    await a.ask("And again.")
    await (await on.session("b")).ask("Again.")
    assert await versions_of(on) == {"a": "2", "b": "3", "c": "1"}
    assert (await a.request(3)).is_exact


async def test_a_mark_is_one_write_however_many_it_concerns() -> None:
    """R239: no session is claimed, written or activated."""
    async with open_memory() as store, stage(store=store) as on:
        for number in range(300):
            await on.session(str(number))
        before = on.store.statistics().operations
        assert (await on.host.recompose(agent="support", **WHY)).sessions == 300
        assert on.store.statistics().operations == before + 1
        assert on.host.services.actors == {}


async def test_what_begins_later_has_nothing_to_catch_up_on() -> None:
    """R239: it was composed behind the mark, and so was one without a turn until then."""
    composer = Composer()
    async with open_memory() as store, opened(store, composer=composer) as on:
        empty = await on.session("empty")
        await on.host.recompose(**WHY)
        new = await on.session("new")
        for session in (empty, new):
            await session.ask("Hi.")
            await session.ask("Hi.")
        assert composer.made == 2


async def test_a_turn_that_runs_is_left_as_it_is() -> None:
    """R57, R239: the next one is composed anew."""
    gate = trio.Event()
    asked = Stalled(gate, call("look"))
    async with open_memory() as store, opened(store, "1", asked, tools=tools([])) as on:
        session = await on.session()
        receipt = await session.prompt("Look.")
        await asked.reached.wait()
        await on.host.reload(work("2"))
        assert (await on.host.recompose(**WHY)).sessions == 1
        gate.set()
        assert await ended(session, receipt) == ["done"]
        assert await versions_of(on) == {"ann": "1"}
        await session.ask("Again.")
        assert await versions_of(on) == {"ann": "2"}


@pytest.mark.parametrize("restarted", [False, True])
async def test_who_is_concerned_is_told_by_what_it_was_when_it_was_marked(
    *, restarted: bool
) -> None:
    """R239: a switch between the mark and the next turn changes nothing of it, either way."""
    async with open_memory() as store:
        async with opened(store) as on:
            for key in ("was", "is"):
                await (await on.session(key)).ask("Hi.")
            await (await on.session("was")).set_permission_preset(FULL)
            made = await on.host.recompose(preset=FULL, **WHY)
            assert made.sessions == 1
            await (await on.session("was")).set_permission_preset("read-only")
            await (await on.session("is")).set_permission_preset(FULL)
            if not restarted:
                await on.host.reload(work("2"))
                await check_switched(on)
        if restarted:
            async with opened(store, "2") as on:
                await check_switched(on)


async def check_switched(on: Stage) -> None:
    for _ in range(2):
        for key in ("is", "was"):
            await (await on.session(key)).ask("Again.")
        assert await versions_of(on) == {"is": "1", "was": "2"}
        # Once: what is edited later is not in it.
        await on.host.reload(work("3"))


async def test_what_a_call_loads_after_the_mark_was_not_shown_when_it_was_marked() -> None:
    """R239: though it is of a turn that had begun before the mark."""
    asked = Stalled(trio.Event(), call("load_skill", name="plain"))
    async with open_memory() as store, opened(store, "1", asked, "Loaded.") as on:
        session = await on.session()
        receipt = await session.prompt("Load it.")
        await asked.reached.wait()
        await on.host.reload(work("2"))
        assert (await on.host.recompose(skill="plain", **WHY)).sessions == 0
        asked.until.set()
        assert await ended(session, receipt) == ["done"]
        assert set(await found(on.host, skill="plain")) == {"ann"}
        await session.ask("Again.")
        assert await versions_of(on) == {"ann": "1"}


@pytest.mark.parametrize("switched", [False, True])
async def test_a_summary_that_lands_under_another_prompt_is_what_the_mark_was_for(
    *, switched: bool
) -> None:
    """R58, R239: it was composed anew with it, so the next turn is an ordinary one."""
    async with open_memory() as store, opened(store) as on:
        session = await on.session()
        for number in range(4):
            await session.ask(f"{number} " + "x" * 2_000)
        await on.host.recompose(**WHY)
        if switched:
            await session.set_permission_preset(FULL)
        await on.host.reload(work("2"))
        assert (await session.compact()).status == "compacted"
        await on.host.reload(work("3"))
        await session.ask("Again.")
        assert await versions_of(on) == {"ann": "2"}


@pytest.mark.parametrize("switched", [False, True])
@pytest.mark.parametrize("how", ["compact", "recompose"])
async def test_one_that_was_composed_anew_meanwhile_is_not_composed_again(
    how: str, *, switched: bool
) -> None:
    """R58, R111, R239: it has what the mark was for."""
    async with open_memory() as store, opened(store) as on:
        session = await on.session()
        await session.ask("Hi.")
        await on.host.recompose(**WHY)
        if switched:
            await session.set_permission_preset(FULL)
        await on.host.reload(work("2"))
        await getattr(session, how)()
        assert await versions_of(on) == {"ann": "2"}
        await on.host.reload(work("3"))
        await session.ask("Again.")
        assert await versions_of(on) == {"ann": "2"}


async def test_a_run_of_the_opening_is_not_made_again_and_another_model_keeps_no_old_opening() -> (
    None
):
    """R113, R239: also where the model changes with the same turn."""
    done: list[str] = []
    more = run("start", "look")
    async with open_memory() as store:
        opening = [money("1", "conversation"), more]
        first = workspace(agents=AGENTS, contributors=opening)
        async with opened(store, work=first, tools=tools(done)) as on:
            session = await on.session(person="ada")
            await session.ask("Hi.")
            looked = list(done)
            assert looked
            second = workspace(agents=AGENTS, contributors=[money("2", "conversation"), more])
            await on.host.reload(second)
            await on.host.recompose(contributor="start", **WHY)
            await session.set_model("n")
            await session.ask("Again.")
            assert done == looked
            assert await versions_of(on) == {"ann": "2"}
            assert (await session.request(2)).is_exact


async def test_a_turn_that_is_not_sent_leaves_the_mark() -> None:
    """R80, R239: what was refused was composed for nothing."""
    async with open_memory() as store, opened(store) as on:
        session = await on.session()
        await session.ask("Hi.")
        await on.host.reload(work("2"))
        await on.host.recompose(**WHY)
        store.faults.fail_next(SaveFailed("full"))
        with pytest.raises(StoreUnavailable, match="full"):
            await session.ask("Again.")
        assert await versions_of(on) == {"ann": "1"}
        await session.ask("Again.")
        assert await versions_of(on) == {"ann": "2"}


# --- kept, bounded, told --------------------------------------------------------------------------


async def test_a_mark_takes_the_place_of_those_that_it_covers() -> None:
    """R239: so that they do not grow with the years; whom they concern is composed anew by it."""
    asked: list[Which] = [{"contributor": "money@1"}, {"preset": FULL}, {"contributor": "money@1"}]
    async with open_memory() as store:
        async with opened(store) as on:
            for key in ("a", "b"):
                await (await on.session(key)).ask("Hi.")
            for which in asked:
                await on.host.recompose(**which, **WHY)
            marks = on.host.services.marks
            assert [each.number for each in marks.standing] == [2, 3]
            await (await on.session("a")).ask("Again.")
            await on.host.tenant("default").recompose(**WHY)
            # It is of one tenant, and those before it of all.
            assert [each.number for each in marks.standing] == [2, 3, 4]
            await on.host.recompose(**WHY)
        assert [row.key for row in store.standing(RECOMPOSITION)] == ["5"]
        async with opened(store, "2") as on:
            for key in ("a", "b"):
                await (await on.session(key)).ask("Again.")
            assert await versions_of(on) == {"a": "2", "b": "2"}
            assert (await on.host.recompose(agent="x", **WHY)).number == 6


async def test_marks_have_a_bound_and_a_wider_one_makes_room() -> None:
    # R194, R239
    async with stage(limits=Limits(recompositions_max=2)) as on:
        for name in ("a", "b"):
            await on.host.recompose(agent=name, **WHY)
        with pytest.raises(TooLarge, match="2 recompositions") as caught:
            await on.host.recompose(agent="c", **WHY)
        assert "covers others" in str(caught.value.way_out)
        await on.host.recompose(agent="a", **WHY)
        await on.host.recompose(**WHY)
        assert len(on.host.services.marks.standing) == 1


async def test_marks_made_at_once_have_each_their_number() -> None:
    # R239
    async with open_memory() as store, stage(store=store) as on:
        made: list[Recomposition] = []

        async def one(name: str) -> None:
            made.append(await on.host.recompose(agent=name, **WHY))

        async with trio.open_nursery() as nursery:
            for name in ("a", "b", "a", "c", "a"):
                nursery.start_soon(one, name)
        assert sorted(each.number for each in made) == [1, 2, 3, 4, 5]
        assert len(store.standing(RECOMPOSITION)) == 3


async def test_one_that_cannot_be_written_marks_nothing() -> None:
    """R239: nobody is composed anew, and the next one is made as if it had not been."""
    composer = Composer()
    async with open_memory() as store, opened(store, composer=composer) as on:
        session = await on.session()
        await session.ask("Hi.")
        store.faults.fail_next(SaveFailed("full"), where=lambda op: isinstance(op, Enter))
        with pytest.raises(SaveFailed):
            await on.host.recompose(**WHY)
        await session.ask("Again.")
        assert (composer.made, await on.host.journal().all()) == (1, [])
        assert (await on.host.recompose(**WHY)).number == 1
        await session.ask("Again.")
        assert composer.made == 2


async def test_who_marked_when_and_why_is_in_the_journal() -> None:
    # R242
    async with stage() as on:
        made = await on.host.tenant("shop").recompose(labels={"team": "x"}, **WHY)
        [entry] = await on.host.journal().all()
        assert isinstance(entry, SessionsMarked)
        assert (entry.by, entry.reason, entry.at) == ("ann", "It pays twice.", made.at)
        assert entry.recomposition.tenant == "shop"
        assert entry.recomposition.labels == {"team": "x"}


@pytest.mark.parametrize("told", [{"by": ""}, {"reason": "\ud800"}, {"contributor": ""}])
async def test_a_mark_that_says_nothing_is_refused(told: dict[str, Any]) -> None:
    # R194, R242
    async with stage() as on:
        with pytest.raises(InvalidInput):
            await on.host.recompose(**{**WHY, **told})
        assert on.host.services.marks.standing == ()


async def test_a_host_does_not_open_over_marks_that_it_cannot_read() -> None:
    """R92: it would leave as it is what was to be composed anew."""
    async with open_memory() as store:
        await ask(store, Enter(b"?", (Standing(RECOMPOSITION, "1", b"{}"),)))
        with pytest.raises(StoreDamaged, match="recomposition"):
            async with stage(store=store):
                pass


async def test_a_mark_outlives_the_process_that_made_it(tmp_path: Path) -> None:
    """R239: it is killed right behind the acknowledgement."""
    path = tmp_path / "store"
    await killed(path, "ann", "marked")
    async with open_lmdb(path, options=OPTIONS) as store, opened(store, "2") as on:
        assert await versions_of(on) == {"ann": "1"}
        await (await on.session()).ask("Again.")
        assert await versions_of(on) == {"ann": "2"}
        assert [entry.by for entry in await on.host.journal().all()] == ["ann"]
