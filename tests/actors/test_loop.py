"""A host in a trio run that is a guest of an asyncio loop: it works, and only trio may ask it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from greenroom.actors import Host, Session, tool
from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import WrongLoop
from greenroom.protocol.identity import SessionId
from greenroom.protocol.question import Allow
from tests.actors.guest import run, run_guest
from tests.actors.stage import Stage, stage

OF_THE_HOST: dict[str, Callable[[Host], Awaitable[Any]]] = {
    "session": lambda h: h.session("new", agent="support"),
    "create": lambda h: h.create(SessionId("default", "new"), agent="support"),
    "import_session": lambda h: h.import_session("new", []),
    "answer": lambda h: h.answer("q", Allow("ann")),
    "hold": lambda h: h.hold(reason="a defect", by="ann"),
    "lift": lambda h: h.lift("hold", by="ann"),
    "quota": lambda h: h.quota(),
    "recompose": lambda h: h.recompose(reason="a defect", by="ann"),
    "spend": lambda h: h.spend(),
    "reload": lambda h: h.reload(),
    "delete": lambda h: h.delete(SessionId("default", "ann")),
    "activate": lambda h: h.activate(SessionId("default", "ann")),
}
OF_A_SESSION: dict[str, Callable[[Session], Awaitable[Any]]] = {
    "prompt": lambda s: s.prompt("hello"),
    "ask": lambda s: s.ask("hello"),
    "outcome": lambda s: s.outcome("m"),
    "recall": lambda s: s.recall("m"),
    "retry": lambda s: s.retry("m"),
    "cancel": lambda s: s.cancel(),
    "answer": lambda s: s.answer("q", Allow("ann")),
    "dispose": lambda s: s.dispose(),
    "flush": lambda s: s.flush(),
    "set_permission_preset": lambda s: s.set_permission_preset("workspace-write"),
    "set_model": lambda s: s.set_model("m"),
    "set_title": lambda s: s.set_title("Orders"),
    "compact": lambda s: s.compact(),
    "recompose": lambda s: s.recompose(),
    "validate_skill_selection": lambda s: s.validate_skill_selection([]),
    "kept_prompt_status": lambda s: s.kept_prompt_status(),
    "state": lambda s: s.state(),
    "request": lambda s: s.request(1),
    "summary_request": lambda s: s.summary_request(),
    "title_request": lambda s: s.title_request(),
    "get_runtime_contexts": lambda s: s.get_runtime_contexts(),
    "get_system_prompt_checkpoints": lambda s: s.get_system_prompt_checkpoints(),
    "model_input_projection": lambda s: s.model_input_projection(),
    "delete": lambda s: s.delete(),
}


def coroutines_of(kind: type) -> set[str]:
    return {
        name
        for name, value in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }


def test_the_laws_here_are_about_every_coroutine() -> None:
    """P181: one that is added has to refuse, too."""
    assert set(OF_THE_HOST) == coroutines_of(Host)
    assert set(OF_A_SESSION) == coroutines_of(Session)


class Program:
    """A guest that keeps a host open, and what asyncio does with it meanwhile."""

    def __init__(self, meddle: Callable[[Stage, Session], Awaitable[None]]) -> None:
        self._meddle = meddle

    async def __call__(self) -> None:
        self._open: asyncio.Future[tuple[Stage, Session]] = asyncio.Future()
        self._left = trio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_guest(self._guest))
            try:
                await self._meddle(*await self._open)
            finally:
                self._left.set()

    async def _guest(self) -> None:
        async with stage("One.", "Two.") as on:
            session = await on.session()
            assert (await session.ask("one")).text == "One."
            before = on.store.last_number()
            self._open.set_result((on, session))
            await self._left.wait()
            assert on.store.last_number() == before
            assert (await session.ask("two")).text == "Two."


@pytest.mark.parametrize("name", OF_THE_HOST)
def test_asyncio_cannot_ask_a_host_that_is_a_guest(name: str) -> None:
    """P181: a typed error that names the portal; nothing is stored, and the host goes on."""

    async def meddle(on: Stage, _: Session) -> None:
        with pytest.raises(WrongLoop, match=r"actors\.portal"):
            await OF_THE_HOST[name](on.host)

    run(Program(meddle))


@pytest.mark.parametrize("name", OF_A_SESSION)
def test_asyncio_cannot_ask_a_session_of_a_guest(name: str) -> None:
    """P181: also not one that would only read."""

    async def meddle(_: Stage, session: Session) -> None:
        with pytest.raises(WrongLoop, match=r"actors\.portal"):
            await OF_A_SESSION[name](session)

    run(Program(meddle))


def test_asyncio_cannot_read_listings_and_streams_of_a_guest() -> None:
    """P181: not one step of them."""

    async def meddle(on: Stage, session: Session) -> None:
        for reader in (session.events(), on.host.feed(), on.host.sessions(), session.turns()):
            with pytest.raises(WrongLoop):
                aiter(reader)
        for counting in (on.host.sessions().count, session.transcript().all):
            with pytest.raises(WrongLoop):
                await counting()

    run(Program(meddle))


async def test_a_thread_cannot_ask_a_host() -> None:
    """P181: an asyncio loop of another thread neither, though it could reach the handle."""
    async with stage("One.") as on:
        session = await on.session()

        def elsewhere() -> None:
            with pytest.raises(WrongLoop):
                asyncio.run(session.prompt("one"))

        await trio.to_thread.run_sync(elsewhere)
        assert not (await session.state()).messages


async def _sleeps() -> None:
    await asyncio.sleep(0.001)


async def _yields() -> None:
    await asyncio.sleep(0)


async def _limits() -> None:
    async with asyncio.timeout(1):
        await asyncio.sleep(0)


async def _asks_with_asyncio(awaiting: Callable[[], Awaitable[None]]) -> str:
    @tool(effect="read")
    async def look() -> str:
        """Look."""
        await awaiting()
        return "seen"

    async with stage(call("look"), "Done.", tools=[look]) as on:
        session = await on.session()
        assert (await session.ask("go")).end == "done"
        return str((await session.state()).messages[2].content)


@pytest.mark.parametrize("awaiting", [_sleeps, _yields, _limits])
async def test_a_tool_of_asyncio_is_refused_with_the_way_out(
    awaiting: Callable[[], Awaitable[None]],
) -> None:
    """P181, R168: its call fails and says what to do, and the turn goes on; as a guest, too."""
    told = await _asks_with_asyncio(awaiting)
    assert "make it a plain function" in told
    assert told == await trio.to_thread.run_sync(
        lambda: run(lambda: run_guest(_asks_with_asyncio, awaiting))
    )
