"""Laws of what ``greenroom chat`` asks the person: calls that need an approval."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.actors.models.scripted import call
from greenroom.store import open_lmdb
from tests.actors.asked import ASKS, asks, hosting
from tests.actors.cli.commands import command, environment, ran
from tests.actors.cli.test_chat import Terminal, shown, talking
from tests.actors.models.provider import Play, Provider, delta, events, text
from tests.actors.submitting import OPTIONS
from tests.actors.world import AGENT, Stage


def writes(*names: str) -> Play:
    """A model's answer that calls ``write_file``, once for each name."""
    calls = [
        {
            "index": place,
            "id": f"i{place}",
            "type": "function",
            "function": {
                "name": "write_file",
                "arguments": f'{{"path":"{name}","content":"of {name}"}}',
            },
        }
        for place, name in enumerate(names)
    ]
    return events(delta(tool_calls=calls), delta("tool_calls"))


@attrs.define(eq=False)
class Chats:
    """A workspace with files, and a server that plays a model for chats in it."""

    folder: Path
    provider: Provider

    @property
    def arguments(self) -> list[str]:
        server = ["--model", "m", "--base-url", self.provider.url]
        return ["chat", str(self.folder / "space"), *server, "--session", "a"]

    @property
    def files(self) -> dict[str, str]:
        """What was written."""
        return {p.name: p.read_text() for p in (self.folder / "space" / "files").iterdir()}

    def plays(self, *plays: Play) -> None:
        self.provider.plays[:] = plays

    @asynccontextmanager
    async def talking(self) -> AsyncGenerator[tuple[trio.Process, Terminal]]:
        async with talking(self.folder, *self.arguments) as both:
            yield both

    async def piped(self, given: str) -> Any:
        return await trio.run_process(
            command(*self.arguments),
            env=environment(self.folder),
            stdin=given.encode(),
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )


@pytest.fixture
async def chats(tmp_path: Path, nursery: trio.Nursery) -> AsyncGenerator[Chats]:
    (tmp_path / "space" / "agents").mkdir(parents=True)
    (tmp_path / "space" / "files").mkdir()
    (tmp_path / "space" / "agents" / "a.md").write_text("Help.")
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
    provider = Provider(url, [])
    nursery.start_soon(trio.serve_listeners, provider.serve, listeners)
    yield Chats(tmp_path, provider)
    nursery.cancel_scope.cancel()


async def test_a_person_is_asked_one_call_after_the_other(chats: Chats) -> None:
    """R160, P137: with its exact arguments; yes runs it, no and why is what the model is told."""
    chats.plays(writes("one", "two", "three"), text("As you say."))
    async with chats.talking() as (process, terminal):
        await terminal.until("> ")
        terminal.type("Write\n")
        for name, answer in (("one", "yes"), ("two", "not this one"), ("three", "")):
            await terminal.until(f'write_file {{"path":"{name}","content":"of {name}"}}')
            await terminal.until("may it run?")
            terminal.type(f"{answer}\n")
        await terminal.until("As you say.")
        await terminal.until("> ")
        terminal.type("/quit\n")
        assert await process.wait() == 0
    assert chats.files == {"one": "of one"}
    [turn] = shown(chats.folder, "a")["turns"]
    assert [made["state"] for made in turn["calls"]] == ["done", "declined", "declined"]
    told = chats.provider.asked[-1].body.decode()
    assert "user declined it and said: not this one" in told
    assert "user approved it, once." in told


async def test_a_question_is_asked_again_by_the_next_chat(chats: Chats) -> None:
    """R161, P132, P134: the person left it open; it is told how to answer it elsewhere."""
    chats.plays(writes("one"))
    async with chats.talking() as (process, terminal):
        await terminal.until("> ")
        terminal.type("Write\n")
        await terminal.until("may it run?")
        terminal.type("\x04")
        await terminal.until("to answer later: greenroom answer ")
        assert await process.wait() == 0
    assert shown(chats.folder, "a")["session"]["phase"] == "parked"
    chats.plays(text("Written."))
    async with chats.talking() as (process, terminal):
        await terminal.until('write_file {"path":"one"')
        await terminal.until("may it run?")
        assert chats.files == {}
        terminal.type("y\n")
        await terminal.until("Written.")
        await terminal.until("> ")
        terminal.type("/quit\n")
        assert await process.wait() == 0
    assert chats.files == {"one": "of one"}


async def test_what_was_answered_elsewhere_goes_on(chats: Chats) -> None:
    """R161, R223: by the command that the chat names, and nobody is asked again."""
    chats.plays(writes("one"))
    async with chats.talking() as (process, terminal):
        await terminal.until("> ")
        terminal.type("Write\n")
        await terminal.until("may it run?")
        terminal.type("\x04")
        await terminal.until("greenroom answer ")
        assert await process.wait() == 0
    listed = ran(chats.folder, "questions").stdout.split()
    [name] = [word for word in listed if len(word) == 64]
    done = ran(chats.folder, "answer", name, "--allow", "--by", "kim")
    assert done.stdout == "allowed by kim\n"
    chats.plays(text("Written."), text("Hello."))
    done = await chats.piped("Hi\n")
    assert done.returncode == 0
    assert b"may it run" not in done.stdout
    assert chats.files == {"one": "of one"}


async def test_ctrl_c_ends_a_turn_that_asks(chats: Chats) -> None:
    """R180, R160: its questions are withdrawn, and the next line is the next message's."""
    chats.plays(writes("one"), text("Fine."))
    async with chats.talking() as (process, terminal):
        await terminal.until("> ")
        terminal.type("Write\n")
        await terminal.until("may it run?")
        terminal.type("\x03")
        await terminal.until("(cancelled: ")
        await terminal.until("> ")
        terminal.type("Never mind\n")
        await terminal.until("Fine.")
        await terminal.until("> ")
        terminal.type("\x03")
        assert await process.wait() == 130
    told = shown(chats.folder, "a")
    assert [turn["end"] for turn in told["turns"]] == ["cancelled", "done"]
    assert chats.files == {}
    assert ran(chats.folder, "questions").stdout == "0 open questions\n"


async def test_where_nobody_is_there_it_is_declined(chats: Chats) -> None:
    """R160: piped words answer nothing; it is said, to the person and to the model."""
    chats.plays(writes("one"), text("A pity."))
    done = await chats.piped("Write\n")
    assert done.returncode == 0
    assert b"write_file is declined: nobody is there to be asked" in done.stdout
    assert b"A pity." in done.stdout
    assert "Nobody could be asked" in chats.provider.asked[-1].body.decode()
    assert chats.files == {}


async def test_a_result_that_comes_later_keeps_nobody(chats: Chats) -> None:
    """R224, R129: the chat says how to bring it, and takes words; they wait behind the turn."""
    store = chats.folder / "greenroom" / "store.greenroom"
    store.parent.mkdir()
    async with open_lmdb(store, options=OPTIONS) as kept:
        stage = Stage(kept)
        async with hosting(stage, (call("fetch"), call("pay"))) as host:
            session = await host.session("a", agent=AGENT, preset=ASKS)
            await asks(session)
    (chats.folder / "space" / "agents" / "a.md").rename(
        chats.folder / "space" / "agents" / f"{AGENT}.md"
    )
    async with chats.talking() as (process, terminal):
        # What the person can answer is asked first.
        await terminal.until("waits for the result of fetch")
        await terminal.until("to bring it: greenroom answer ")
        await terminal.until("may it run?")
        terminal.type("no\n")
        await terminal.until("> ")
        terminal.type("Are you there?\n")
        await terminal.until("it waits behind a turn")
        await terminal.until("to bring it: greenroom answer ")
        await terminal.until("> ")
        terminal.type("/quit\n")
        assert await process.wait() == 0
    told = shown(chats.folder, "a")
    assert told["session"]["phase"] == "parked"
    assert [entry["mark"] for entry in told["entries"]].count("queued") == 1
