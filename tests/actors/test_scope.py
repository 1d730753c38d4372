"""What a tenant sees: its own, and of nothing else that it is there."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Host, Scope, Session
from greenroom.actors.models.scripted import Looping, call
from greenroom.protocol.errors import (
    GreenroomError,
    InvalidInput,
    Mismatch,
    Missing,
    UnknownAgent,
    UnknownPreset,
)
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.store import Stored, open_memory
from tests.actors.looking import LONG, look
from tests.actors.stage import package, stage

CALLS: dict[str, Callable[[Session], Awaitable[Any]]] = {
    "prompt": lambda s: s.prompt("hello"),
    "prompt with a key": lambda s: s.prompt("hello", key="k"),
    "ask": lambda s: s.ask("hello"),
    "outcome": lambda s: s.outcome("m"),
    "recall": lambda s: s.recall("m"),
    "retry": lambda s: s.retry("m"),
    "cancel": lambda s: s.cancel(),
    "flush": lambda s: s.flush(),
    "set_permission_preset": lambda s: s.set_permission_preset("workspace-write"),
    "set_model": lambda s: s.set_model("m"),
    "validate_skill_selection": lambda s: s.validate_skill_selection(["plan"]),
    "state": lambda s: s.state(),
    "transcript": lambda s: s.transcript().all(),
    "turns": lambda s: s.turns().all(),
    "skills": lambda s: s.skills().all(),
    "request": lambda s: s.request(1),
    "contexts": lambda s: s.get_runtime_contexts(),
    "checkpoints": lambda s: s.get_system_prompt_checkpoints(),
    "projection": lambda s: s.model_input_projection(),
    "events": lambda s: anext(s.events()),
    "delete": lambda s: s.delete(),
}


async def answer(scope: Scope, host: Host, key: str, call_: str) -> str:
    """What a tenant is answered, the key that it asked for left out."""
    del scope
    try:
        found: Any = await CALLS[call_](Session(host, SessionId("a", key)))
    except GreenroomError as error:
        facts = sorted(error.facts.items())
        return f"{type(error).__name__}: {error} {facts}".replace(key, "KEY")
    return repr(found)


@pytest.mark.parametrize("call_", CALLS)
async def test_another_tenants_session_answers_as_one_that_does_not_exist(call_: str) -> None:
    """R218: the same error, the same words, and nothing happens to the other's session."""
    async with stage(model=Looping(("Hi.",)), skills=[package("plan")]) as on:
        own, other = on.host.tenant("a"), on.host.tenant("b")
        theirs = await other.session("theirs", agent="support")
        await theirs.prompt("secret", key="k")
        await wait_all_tasks_blocked()
        before = on.store.look(theirs.id), on.store.last_number()
        as_other = await answer(own, on.host, "theirs", call_)
        as_missing = await answer(own, on.host, "nowhere", call_)
        assert as_other == as_missing
        assert "secret" not in as_other
        assert (on.store.look(theirs.id), on.store.last_number()) == before
        if call_ not in ("cancel", "flush", "projection"):
            assert as_other.startswith("Missing")
        mine = await own.session("mine", agent="support")
        await mine.ask("hello")
        assert "Missing" not in await answer(own, on.host, "mine", "state")


async def test_a_tenant_lists_and_follows_its_own_only() -> None:
    """R218, R222: sessions of one key in two tenants are two sessions."""
    async with stage(model=Looping(("Hi.",))) as on:
        for name in ("a", "b"):
            session = await on.host.tenant(name).session("same", agent="support")
            await session.ask(f"of {name}")
        for name in ("a", "b"):
            scope = on.host.tenant(name)
            (listed,) = await scope.sessions().all()
            assert listed.session == SessionId(name, "same")
            session = await scope.session("same")
            assert (await session.state()).messages[0].content == f"of {name}"
            last = (await session.state()).cursor
            async for event in scope.feed():
                assert event.session.tenant == name
                if event.cursor.number == last.number:
                    break
        assert await on.host.sessions().count() == 2
        assert await on.host.tenant("c").sessions().count() == 0


async def test_another_tenants_spilled_result_is_not_reached() -> None:
    """R218, R193: who knows a handle reads it only in the session that it belongs to."""
    limits = Limits(result_bytes_max=100, result_head_bytes=10)
    async with open_memory() as store:
        async with stage(call("look"), "Done.", tools=[look], limits=limits, store=store) as on:
            theirs = await on.host.tenant("b").session("x", agent="support")
            await theirs.ask("go")
            cut = on.model.requests[1].messages[2].decode()
        handle = cut.partition('read_object(\\"')[2][:64]
        read = call("read_object", path=handle)
        for tenant, reached in (("a", False), ("b", True)):
            async with stage(read, "Done.", tools=[look], store=store) as on:
                session = await on.host.tenant(tenant).session("x", agent="support")
                await session.ask("read")
                result = on.model.requests[1].messages[-1].decode()
                assert (LONG in result) is reached


async def test_what_is_asked_of_a_session_that_is_there() -> None:
    """R219: another agent or person is a mismatch that names both; none is what is stored."""
    async with stage() as on:
        await on.session("s", person="kim")
        assert (await (await on.host.session("s")).state()).person == "kim"
        with pytest.raises(Mismatch) as caught:
            await on.host.session("s", agent="other")
        assert (caught.value.facts["stored"], caught.value.facts["asked"]) == ("support", "other")
        with pytest.raises(Mismatch, match=r"'kim'.*'lee'"):
            await on.host.session("s", person="lee")
        with pytest.raises(Missing):
            await on.host.session("absent")
        with pytest.raises(UnknownAgent):
            await on.host.session("absent", agent="nobody")
        with pytest.raises(UnknownPreset):
            await on.session("absent", preset="nothing")
        assert await on.host.sessions().count() == 1


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 70_000, None, 7])
async def test_a_name_that_cannot_be_stored_is_refused(name: Any) -> None:
    """R194: as key, person, label or tenant, by its own error, and nothing is stored."""
    async with stage() as on:
        with pytest.raises(InvalidInput):
            await on.session(name)
        for told in ({"labels": {"team": name}}, {"person": name}):
            if told != {"person": None}:
                with pytest.raises(InvalidInput):
                    await on.session("s", **told)
        if name is not None:
            with pytest.raises(InvalidInput):
                on.host.tenant(name)
        assert await on.host.sessions().count() == 0


@pytest.mark.parametrize("name", ["a/b", "..", "日本語", "👩‍👩‍👧‍👦", "a b", "x" * 60_000, "a.b%00"])
async def test_names_of_any_length_and_script_serve(name: str) -> None:
    """R194: as key and as tenant, and none reaches another's."""
    async with stage(model=Looping(("Hi.",))) as on:
        scope = on.host.tenant(name)
        session = await scope.session(name, agent="support", labels={name: name})
        await session.ask("hello")
        assert isinstance(on.store.look(SessionId(name, name)), Stored)
        assert await scope.sessions(labels={name: name}).count() == 1
        assert await on.host.tenant(f"{name}/").sessions().count() == 0


async def test_listings_are_filtered_and_can_be_left() -> None:
    """R219, P179: by agent, person, phase and label; a loop that is left disturbs nobody."""
    async with stage(model=Looping(("Hi.",))) as on:
        for number in range(100):
            await on.session(f"s{number:03}", person=f"p{number % 2}", labels={"n": str(number)})
        assert await on.host.sessions(person="p1").count() == 50
        assert await on.host.sessions(labels={"n": "7"}).count() == 1
        assert await on.host.sessions(agent="other").count() == 0
        assert await on.host.sessions(phase="queued").count() == 0
        seen = []
        async for each in on.host.sessions():
            seen.append(each.session.key)
            if len(seen) == 3:
                break
        assert seen == ["s000", "s001", "s002"]
        listing = on.host.sessions()
        assert await listing.count() == await listing.count() == 100
