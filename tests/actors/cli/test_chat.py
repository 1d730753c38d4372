"""Laws of ``greenroom chat``: typed lines in, words as they come out."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import trio

from tests.actors.cli.commands import ESCAPE, command, environment, ran
from tests.actors.models.provider import Provider, delta, events

SCRIPTED = ("chat", "--model", "scripted", "--session")
AT_A_TERMINAL = (
    "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "from greenroom.actors.cli import main; sys.exit(main())"
)


def shown(folder: Path, key: str) -> dict[str, Any]:
    """What the store has of a session."""
    value: dict[str, Any] = json.loads(ran(folder, "show", key, "--json").stdout)
    return value


def test_lines_are_answered_and_kept(tmp_path: Path) -> None:
    """R177, R23: what was typed is kept as it was typed; the end of the input ends the chat."""
    done = ran(tmp_path, *SCRIPTED, "a", "--agent", "support", given="Hello\n\n//slash")
    assert (done.returncode, done.stderr) == (0, "")
    assert ESCAPE not in done.stdout
    said = [e["message"]["content"] for e in shown(tmp_path, "a")["entries"] if e["id"]]
    assert said == ["Hello", "/slash"]
    assert [turn["end"] for turn in shown(tmp_path, "a")["turns"]] == ["done", "done"]


def test_a_conversation_goes_on(tmp_path: Path) -> None:
    """R219: the same key is the same conversation, with its agent and person."""
    options = ("--agent", "support", "--person", "ada")
    first = ran(tmp_path, *SCRIPTED, "a", *options, given="One")
    assert "session a (new)" in first.stdout
    again = ran(tmp_path, *SCRIPTED, "a", given="Two")
    assert again.stdout.startswith("support with ada\n")
    assert "(new)" not in again.stdout
    assert shown(tmp_path, "a")["session"]["turns"] == 2


def test_a_chat_says_how_to_go_on(tmp_path: Path) -> None:
    """R219: the last line is the command that goes on; a new key needs no quotes."""
    first = ran(tmp_path, "chat", "--model", "scripted", given="One")
    again = re.search(
        r"^to go on: greenroom (chat --session chat-\d{8}-\d{6}-[0-9a-f]{4} .*)$",
        first.stdout,
        re.MULTILINE,
    )
    assert again is not None
    assert "(new)" in first.stdout
    assert "(new)" not in ran(tmp_path, *again[1].split()).stdout


def test_a_new_chat_is_of_a_person(tmp_path: Path) -> None:
    """R63, R68: without one no project instructions would reach the conversation."""
    space = tmp_path / "space"
    (space / "agents").mkdir(parents=True)
    (space / "agents" / "a.md").write_text("Help.")
    (space / "AGENTS.md").write_text("Never say please.")
    ran(tmp_path, "chat", space, *SCRIPTED[1:], "a", given="One")
    assert shown(tmp_path, "a")["session"]["person"] == "user"
    assert "Never say please." in ran(tmp_path, "request", "a", 1).stdout


def test_a_piped_chat_fails_with_its_last_message(tmp_path: Path) -> None:
    """R232: a script learns from the exit code that what it sent was not answered."""
    refused = f"$nix {'x' * 2_000_000}\n"
    assert ran(tmp_path, *SCRIPTED, "a", given=f"One\n{refused}").returncode == 1
    assert ran(tmp_path, *SCRIPTED, "b", given=f"{refused}One\n").returncode == 0
    assert ran(tmp_path, *SCRIPTED, "c", given="x" * 1_000_000).returncode == 1
    assert "(not sent: The request does not fit" in ran(tmp_path, "show", "c").stdout


def test_a_chat_tells_what_can_be_typed_there(tmp_path: Path) -> None:
    """R232: a refused line is told with a way out of the command line, and the chat goes on."""
    done = ran(tmp_path, *SCRIPTED, "a", given=f"{'x' * 1_100_000}\nHello\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "the bound is 1,048,576. Give less: no option of a command raises" in done.stdout
    assert "Limits" not in done.stdout


def test_skills_are_picked_both_ways(tmp_path: Path) -> None:
    """R18: ``/skill NAME words`` and ``$name`` give the same selection."""
    given = "/skill refunds My money\nMy money $refunds\n"
    done = ran(tmp_path, *SCRIPTED, "a", "--agent", "support", given=given)
    assert done.stdout.count("· with refunds@") == 2
    picks = [entry["picks"] for entry in shown(tmp_path, "a")["entries"] if entry["id"]]
    assert picks[0] == picks[1] != []


def test_orders_of_the_chat(tmp_path: Path) -> None:
    """R8, R10: presets are listed and switched; unknown names are told and change nothing."""
    given = "/skills\n/preset workspace-write\n/preset nix\n/skill nix x\n/nix\n/help\n/quit\nno"
    done = ran(tmp_path, *SCRIPTED, "a", "--agent", "support", given=given)
    assert done.returncode == 1  # its last message named no skill, and was not sent
    for told in ("$refunds  ", "* workspace-write", "no preset 'nix'", "no skill 'nix'", "no /nix"):
        assert told in done.stdout
    session = shown(tmp_path, "a")["session"]
    assert (session["preset"], session["turns"]) == ("workspace-write", 0)


@attrs.define(eq=False)
class Terminal:
    """Our end of a chat's terminal."""

    _end: int
    _unread: str = ""

    def type(self, keys: str) -> None:
        """Press these keys."""
        os.write(self._end, keys.encode())

    async def until(self, *words: str) -> None:
        """Read up to the first of these words; what stands behind it is for the next."""
        while not (
            found := [self._unread.partition(word) for word in words if word in self._unread]
        ):
            await trio.lowlevel.wait_readable(self._end)
            self._unread += os.read(self._end, 65_536).decode(errors="replace")
        self._unread = found[0][2]


@asynccontextmanager
async def talking(folder: Path, *arguments: str) -> AsyncGenerator[tuple[trio.Process, Terminal]]:
    """A chat at a terminal of its own, with our end of it."""
    ours, theirs = os.openpty()
    process = await trio.lowlevel.open_process(
        [sys.executable, "-c", AT_A_TERMINAL, *arguments],
        env=environment(folder, TERM="xterm"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        with trio.fail_after(30):
            yield process, Terminal(ours)
    finally:
        process.kill()
        await process.wait()
        os.close(ours)


async def test_ctrl_c_cancels_an_answer_and_then_leaves(tmp_path: Path) -> None:
    """R180, R175: the turn ends as cancelled, the history stays valid, the next is answered."""
    async with talking(tmp_path, *SCRIPTED, "a") as (process, terminal):
        await terminal.until("> ")
        terminal.type("Hello\n")
        await terminal.until("Hello\r\n")
        # Only the turn's own words or notes can come now: it is running.
        await terminal.until(". ", "· ")
        terminal.type("\x03")
        await terminal.until("(cancelled: ")
        await terminal.until("> ")
        terminal.type("Again\n")
        await terminal.until("Again\r\n")
        await terminal.until("> ")
        terminal.type("\x03")
        assert await process.wait() == 130
    told = shown(tmp_path, "a")
    assert [turn["end"] for turn in told["turns"]] == ["cancelled", "done"]
    called = [c["id"] for e in told["entries"] for c in e["message"].get("tool_calls", ())]
    results = [e["message"]["tool_call_id"] for e in told["entries"] if e["origin"] == "tool"]
    assert called == results
    assert told["session"]["phase"] == "idle"


async def test_sigterm_ends_a_chat_that_waits(tmp_path: Path) -> None:
    """R208: the host is stopped in order though a thread waits for the terminal."""
    async with talking(tmp_path, *SCRIPTED, "a") as (process, terminal):
        await terminal.until("> ")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 143
    assert shown(tmp_path, "a")["session"]["phase"] == "idle"


async def test_words_of_a_model_cannot_command_the_terminal(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    """P128: what a terminal would obey is shown as a sign; the key goes to the server alone."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
    provider = Provider(url, [events(delta(content="a\x1b[2Jb"), delta("stop"))])
    nursery.start_soon(trio.serve_listeners, provider.serve, listeners)
    done = await trio.run_process(
        command("chat", "--model", "m", "--base-url", url, "--key-env", "MY_KEY", "--session", "a"),
        env=environment(tmp_path, MY_KEY="sk-verysecret"),
        stdin=b"Hello\n",
        capture_stdout=True,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0
    assert "a\ufffd[2Jb" in done.stdout.decode()
    assert provider.asked[0].headers["authorization"] == "Bearer sk-verysecret"
    assert b"verysecret" not in done.stdout
    nursery.cancel_scope.cancel()


def test_what_was_edited_is_in_force_from_the_next_message_on(tmp_path: Path) -> None:
    """R60, R231: a broken file leaves what was, and is told; a mended one is read."""
    space = tmp_path / "space"
    (space / "agents").mkdir(parents=True)
    (space / "agents" / "a.md").write_text("Help.")
    talk = [sys.executable, "-c", TALK, str(space)]
    done = subprocess.run(
        talk, input="", capture_output=True, text=True, timeout=60, check=False,
        env=environment(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "The workspace stays as it was" in done.stdout
    assert "· read anew: agents b" in done.stdout


TALK = """
import sys, trio
from pathlib import Path
from greenroom.actors import Workspace, open_host
from greenroom.actors.cli.chat import Chat
from greenroom.actors.cli.words import console
from greenroom.actors.models.scripted import scripted

async def main():
    space = Path(sys.argv[1])
    models = {"default": scripted("One.", "Two.")}
    async with open_host("store", workspace=Workspace.folder(space), models=models) as host:
        chat = Chat(console(), host, await host.session("a", agent="a"), "again", "answer")
        (space / "agents" / "b.md").write_text("---\\nskills: [nix]\\n---\\nHelp.")
        await chat._say("Hi", ())
        (space / "agents" / "b.md").write_text("Help too.")
        await chat._say("Hi", ())

trio.run(main)
"""


def test_a_chat_says_what_is_left_out_of_its_prompt(tmp_path: Path) -> None:
    """R103, R149: a run that may not run here is told before anything is typed, with why."""
    space = tmp_path / "space"
    for folder in ("agents", "contributors"):
        (space / folder).mkdir(parents=True)
    (space / "agents" / "a.md").write_text("Help.")
    (space / "contributors" / "run.yaml").write_text(
        'kind: eager_run\nid: pay\nversion: "1"\nowner: workspace\nplacement: conversation\n'
        "tool: no_such_tool\n"
    )
    done = ran(tmp_path, "chat", space, *SCRIPTED[1:], "a", given="")
    assert "left out: pay@1" in done.stdout
    assert "no_such_tool" in done.stdout
