"""Laws of finding sessions: by what is kept and what a message shows, and nothing is activated."""

from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from msgspec import structs

from greenroom.actors import Scope, Session, Workspace, tool
from greenroom.actors.models.port import Capabilities
from greenroom.actors.models.scripted import Scripted, call
from greenroom.protocol.contributor import Text
from greenroom.protocol.encoding import decode_header, decode_records, encode_header
from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.identity import SessionId
from greenroom.protocol.record import AnyRecord, Compacted
from greenroom.protocol.skill import package_revision
from greenroom.store import Claim, Commit, MemoryStore, Stored, open_memory
from tests.actors.held import WHY, phase
from tests.actors.marked import money
from tests.actors.policy import FULL
from tests.actors.stage import Stage, agent, package, stage, workspace
from tests.store.offering import ask

AGENTS = [agent(), agent(name="sales", skills=("skills/refunds",), model="n")]
REFUNDS, PLAIN = package("refunds"), package("plain", "Be plain.")
REVISION = package_revision(PLAIN.files)
BOUND = package_revision(REFUNDS.files)


def work(*contributors: Text) -> Workspace:
    return workspace(agents=AGENTS, skills=[REFUNDS, PLAIN], contributors=contributors)


def opened(store: MemoryStore, *contributors: Text, steps: Iterable[Any] = ()) -> Any:
    models = {"m": Scripted([*steps, *["Hi."] * 20], name="M"), "n": Scripted(["Hi."] * 20)}
    return stage(store=store, models=models, work=work(*(contributors or (money(),))))


@pytest.fixture
async def shop() -> AsyncIterator[Stage]:
    """One session each that has talked, picked, loaded, chosen, switched, and none of it."""
    async with open_memory() as store, opened(store, steps=["Hi.", "Hi."]) as on:
        await (await on.session("talked", person="ada", labels={"team": "x"})).ask("Hi.")
        await (await on.session("picked")).ask("Hi.", skills=["plain"])
        on.host.services.models["m"]._steps.insert(2, call("load_skill", name="plain"))
        await (await on.session("loaded")).ask("Hi.")
        await (await on.session("sold", agent="sales")).ask("Hi.")
        await (await on.session("chose")).set_model("n")
        await (await on.session("switched")).set_permission_preset(FULL)
        other = await on.host.tenant("other").session("far", agent="support")
        await other.ask("Hi.")
        yield on


async def found(scope: Scope, **which: Any) -> dict[str, tuple[str, ...]]:
    """The sessions, by name, with where they show what was asked for."""
    return {str(each.session): each.shown_in async for each in scope.sessions(**which)}


TALKED = {"talked", "picked", "loaded", "other/far"}
"""Those with a kept prompt for the model of the agent `support`."""


@pytest.mark.parametrize(
    ("which", "names"),
    [
        ({"agent": "sales"}, {"sold"}),
        ({"person": "ada"}, {"talked"}),
        ({"labels": {"team": "x"}}, {"talked"}),
        ({"preset": FULL}, {"switched"}),
        ({"preset": FULL, "agent": "sales"}, set()),
        ({"skill": "plain"}, {"picked", "loaded"}),
        ({"skill": "skills/refunds"}, {"sold"}),
        ({"revision": REVISION}, {"picked", "loaded"}),
        ({"revision": BOUND}, {"sold"}),
        ({"revision": "gone"}, set()),
        ({"contributor": "money"}, {*TALKED, "sold"}),
        ({"contributor": "money@1"}, {*TALKED, "sold"}),
        ({"contributor": "money@1", "agent": "support", "labels": {"team": "x"}}, {"talked"}),
        ({"contributor": "money@2"}, set()),
        ({"contributor": f"skills/refunds@{BOUND}"}, {"sold"}),
        # By the host's name: chosen, or the agent's. By its provider's: composed for it.
        ({"model": "n"}, {"sold", "chose"}),
        ({"model": "m"}, {*TALKED, "switched"}),
        ({"model": "M"}, TALKED),
        ({"model": "m", "agent": "sales"}, set()),
    ],
)
@pytest.mark.parametrize("restarted", [False, True])
async def test_sessions_are_found_by_what_they_are_and_show(
    shop: Stage, which: dict[str, Any], names: set[str], *, restarted: bool
) -> None:
    """R239: and a hold of the same filter holds the same sessions; nothing is activated."""
    if not restarted:
        assert set(await found(shop.host, **which)) == names
        hold = await shop.host.hold(**which, **WHY)
        held = {str(each.session) async for each in shop.host.sessions(phase="held")}
        assert (held, hold.sessions) == (names, len(names))
        return
    async with opened(shop.store) as on:
        before = on.store.statistics().operations
        assert set(await found(on.host, **which)) == names
        assert (on.host.services.actors, on.store.statistics().operations) == ({}, before)
        hold = await on.host.hold(**which, **WHY)
        held = {str(each.session) async for each in on.host.sessions(phase="held")}
        assert (held, hold.sessions) == (names, len(names))


async def test_what_the_kept_prompt_holds_stands_apart_from_what_a_message_shows(
    shop: Stage,
) -> None:
    """R239: a prompt can be composed anew, what a message shows stays as it is."""
    await (await shop.session("sold", agent="sales")).ask("Again.", skills=["refunds"])
    await shop.session("new", agent="sales")
    both = ("kept_prompt", "message")
    assert await found(shop.host, skill="refunds") == {"sold": both, "new": ()}
    assert await found(shop.host, revision=BOUND) == {"sold": both}
    only = ("message",)
    assert await found(shop.host, skill="plain") == {"picked": only, "loaded": only}
    kept = await found(shop.host, contributor="money")
    assert set(kept.values()) == {("kept_prompt",)}
    assert set((await found(shop.host, agent="support")).values()) == {()}


async def test_a_tenant_finds_its_own(shop: Stage) -> None:
    # R218, R239
    assert set(await found(shop.host.tenant("other"), contributor="money")) == {"other/far"}
    assert await found(shop.host.tenant("gone"), contributor="money") == {}


async def test_a_phase_is_asked_of_those_that_are_found(shop: Stage) -> None:
    # R239
    await shop.host.hold(agent="sales", **WHY)
    assert set(await found(shop.host, phase="held", contributor="money")) == {"sold"}
    assert set(await found(shop.host, phase="idle", preset=FULL)) == {"switched"}


@pytest.mark.parametrize("which", [{"revision": ""}, {"contributor": "\0"}, {"preset": 5}])
async def test_what_cannot_be_a_name_is_refused(which: dict[str, Any]) -> None:
    # R194
    async with stage() as on:
        with pytest.raises(InvalidInput):
            on.host.sessions(**which)
        with pytest.raises(InvalidInput):
            await on.host.hold(**which, **WHY)
        with pytest.raises(TypeError):
            on.host.sessions(colour="red")  # type: ignore[call-arg]


# --- what moves, and what does not ----------------------------------------------------------------


async def put_a_preset(on: Stage) -> None:
    await (await on.session()).set_permission_preset(FULL)


async def put_a_model(on: Stage) -> None:
    await (await on.session()).set_model("n")


async def compose_anew(on: Stage) -> None:
    await on.host.reload(work(money("2", "conversation")))
    assert await (await on.session()).recompose()


async def compact(on: Stage) -> None:
    await on.host.reload(work(money("2", "conversation")))
    await (await on.session()).compact()


@pytest.mark.parametrize(
    ("moves", "which", "before"),
    [
        (put_a_preset, {"preset": FULL}, {"preset": "read-only"}),
        (put_a_model, {"model": "n"}, {"model": "m"}),
        (compose_anew, {"contributor": "money@2"}, {"contributor": "money@1"}),
        (compact, {"contributor": "money@2"}, {"contributor": "money@1"}),
    ],
)
async def test_the_index_follows_what_changes(
    moves: Any, which: dict[str, Any], before: dict[str, Any]
) -> None:
    """R239: at once and over a restart; and a hold that is in force holds what comes to fit it."""
    async with open_memory() as store:
        async with opened(store) as on:
            session = await on.session()
            await session.ask("Hi.")
            assert (set(await found(on.host, **which)), set(await found(on.host, **before))) == (
                set(),
                {"ann"},
            )
            hold = await on.host.hold(**which, **WHY)
            assert hold.sessions == 0
            await moves(on)
            assert await phase(session) == "held"
            assert (set(await found(on.host, **which)), set(await found(on.host, **before))) == (
                {"ann"},
                set(),
            )
        async with opened(store, money("2")) as on:
            assert set(await found(on.host, **which)) == {"ann"}
            assert [each.phase async for each in on.host.sessions(**which)] == ["held"]


@tool(effect="read")
async def tell() -> str:
    """Tell a long story."""
    return "x" * 9_000


@pytest.mark.parametrize("between_rounds", [False, True])
async def test_the_index_follows_a_compaction_that_makes_room(*, between_rounds: bool) -> None:
    """R58, R210, R239: before a turn, or in the midst of one."""
    small = Capabilities(context_tokens=10_000)
    steps: list[Any] = ["Hi."] * (4 if between_rounds else 8)
    model = Scripted([*steps, *([call("tell")] if between_rounds else []), *["Hi."] * 5])
    model.capabilities = small
    async with open_memory() as store:
        told: Any = {"store": store, "models": {"m": model, "n": model}, "tools": [tell]}
        async with stage(work=work(money()), **told) as on:
            session = await on.session()
            for _ in range(4):
                await session.ask("x" * 3_500)
            await on.host.reload(work(money("2")))
            turns = 4
            while not any(isinstance(r, Compacted) for r in records(on, session)):
                assert turns < 9
                await session.ask("x" * (10 if between_rounds else 3_500))
                turns += 1
            assert turns == 5 or not between_rounds
            assert set(await found(on.host, contributor="money@2")) == {"ann"}
            assert set(await found(on.host, contributor="money@1")) == set()


def records(on: Stage, session: Session) -> list[AnyRecord]:
    return [r for entry in on.store.read(session.id) for r in decode_records(entry.records)]


async def test_a_message_that_shows_another_revision_is_found_by_both() -> None:
    """R239: also where the skill was shown before."""
    later = package("plain", "Be plainer.")
    async with open_memory() as store, opened(store) as on:
        session = await on.session()
        await session.ask("Hi.", skills=["plain"])
        await on.host.reload(workspace(agents=AGENTS, skills=[REFUNDS, later]))
        await session.ask("Hi.", skills=["plain"])
        for revision in (REVISION, package_revision(later.files)):
            assert await found(on.host, revision=revision) == {"ann": ("message",)}


async def test_the_commits_of_an_ordinary_turn_write_no_terms() -> None:
    """R239: what a session shows is written where it changes, and a turn between costs nothing."""
    written: list[bool] = []
    async with open_memory() as store:
        offer = store.offer

        def watched(operation: Any, then: Any) -> None:
            if isinstance(operation, Commit):
                written.append(operation.terms is not None)
            offer(operation, then)

        store.offer = watched  # type: ignore[method-assign]
        async with opened(store) as on:
            session = await on.session()
            await session.ask("Hi.")
            assert any(written)
            written.clear()
            await session.ask("Hi.")
            await session.ask("Hi.")
            assert written
            assert not any(written)


# --- what an earlier release stored ---------------------------------------------------------------


async def aged(store: MemoryStore, key: str) -> None:
    """Make a session what an earlier release would have stored of it."""
    session = SessionId("default", key)
    stored = store.look(session)
    assert isinstance(stored, Stored)
    header = structs.replace(decode_header(stored.header), indexed=0, revisions=())
    terms = {("agent", header.agent), *(("skill", skill) for skill in header.skills)}
    claimed = await ask(store, Claim(session))
    await ask(
        store,
        Commit(
            session,
            claimed.epoch,
            claimed.head,
            b"[]",
            encode_header(header),
            terms=frozenset(terms),
        ),
    )


@pytest.mark.parametrize(
    ("which", "names"),
    [
        ({"contributor": "money"}, {"old", "older", "new"}),
        ({"contributor": "money@1", "agent": "support"}, {"old", "older", "new"}),
        ({"revision": REVISION}, {"older"}),
        ({"revision": REVISION, "skill": "plain"}, {"older"}),
        ({"preset": "read-only"}, {"old", "older", "new"}),
        ({"model": "m"}, {"old", "older", "new"}),
        ({"model": "n"}, set()),
        ({"skill": "plain"}, {"older"}),
    ],
)
async def test_sessions_of_an_earlier_release_are_found_as_well(
    which: dict[str, Any], names: set[str]
) -> None:
    """R239: they are looked at until their next dispatch, so that no answer is silently short."""
    async with open_memory() as store:
        async with opened(store) as on:
            await (await on.session("older")).ask("Hi.", skills=["plain"])
            await (await on.session("old")).ask("Hi.")
            await (await on.session("new")).ask("Hi.")
        await aged(store, "old")
        await aged(store, "older")
        async with opened(store) as on:
            assert set(await found(on.host, **which)) == names
            assert (await on.host.hold(**which, **WHY)).sessions == len(names)
            assert set(await found(on.host, phase="held")) == names
            for hold in await on.host.holds().all():
                await on.host.lift(hold, by="x")
            # Dispatched again, they are in the index by all of it; asked for twice, it is the same.
            await (await on.session("older")).ask("Again.")
            assert set(await found(on.host, **which)) == names
            await (await on.session("old")).ask("Again.")
            assert set(await found(on.host, **which)) == names
            index = on.host.services.index
            assert not index._has_older or "contributor" not in which
            stored = store.look((await on.session("older")).id)
            assert isinstance(stored, Stored)
            assert decode_header(stored.header).indexed == 1
