"""A process that is killed: what it acknowledged is there, and nothing happened twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from greenroom.actors import Policy, open_host
from greenroom.actors.models.scripted import Looping
from greenroom.protocol.message import ToolMessage
from greenroom.protocol.quota import NOTHING, Quota, Spent
from greenroom.store import open_lmdb
from tests.actors.stage import workspace

ROOT = Path(__file__).parent.parent

HEAD = """
import sys, trio
from pathlib import Path
from greenroom.actors import open_host, tool
from greenroom.actors.models.scripted import Looping, Stalled, call, scripted
from greenroom.actors import ModelResponse, Policy, Workspace
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.quota import Quota
from greenroom.protocol.usage import Usage

path = Path(sys.argv[1])
work = Workspace.build(agents=[AgentDeclaration(name="support", prompt="You help.", model="m")])

def say(word):
    print(word, flush=True)

async def killed():
    say("ready")
    await trio.sleep_forever()
"""

SUBMITS = """
async def main():
    model = scripted(Stalled(trio.Event(), "never"))
    async with open_host(path, workspace=work, models={"m": model}) as host:
        session = await host.session("ann", agent="support")
        for number in range(10):
            await session.prompt(f"m{number}", key=f"k{number}", when="queue")
        await killed()
trio.run(main)
"""

WRITES = '''
@tool(effect="write")
async def charge() -> str:
    """Charge."""
    with (path.parent / "charged").open("a") as file:
        file.write("x")
    await killed()
    return ""

async def main():
    model = scripted(call("charge"))
    async with open_host(path, workspace=work, models={"m": model}, tools=[charge]) as host:
        session = await host.session("ann", agent="support", preset="danger-full-access")
        await session.ask("charge it", key="k")
trio.run(main)
'''

BUSY = """
async def main():
    async with open_host(path, workspace=work, models={"m": Looping(("Hi.",))}) as host:
        async def talk(number):
            session = await host.session(f"s{number}", agent="support")
            turn = 0
            while True:
                await session.ask(f"{turn}", key=f"k{turn}")
                say(f"{number} {turn}")
                turn += 1
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(talk, number)
trio.run(main)
"""


IMPORTS = """
lines = (path.parent / "export").read_bytes().splitlines()

async def half():
    for number, line in enumerate(lines):
        if number == len(lines) // 2:
            await killed()
        yield line

async def main():
    async with open_host(path, workspace=work, models={"m": scripted()}) as host:
        for number in range(int(sys.argv[2])):
            await host.import_session(f"s{number}", lines)
            say(f"imported {number}")
        await host.import_session("half", half())
trio.run(main)
"""


SPENDS = """
async def main():
    used = ModelResponse("Hi.", usage=Usage(input=100, cache_read=900))
    model = scripted(used, used, Stalled(trio.Event(), "never"))
    policy = Policy(quota=Quota(tokens=1_000_000))
    async with open_host(path, workspace=work, models={"m": model}, policy=policy) as host:
        session = await host.session("ann", agent="support")
        await session.ask("one")
        await session.ask("two")
        await session.prompt("three")
        while len(model.requests) < 3:
            await trio.sleep(0)
        say((await host.quota()).reserved.tokens)
        await killed()
trio.run(main)
"""


def kill_when(
    program: str, store: Path, word: str, times: int = 1, *arguments: object
) -> list[str]:
    """Run a program and kill it as soon as it has said a word so often; all that it said."""
    said: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", HEAD + program, str(store), *map(str, arguments)],
        cwd=ROOT,
        env={"PYTHONPATH": os.environ["PYTHONPATH"], "PATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            said.append(line.strip())
            times -= word in line
            if not times:
                break
        process.send_signal(signal.SIGKILL)
        said += [line.strip() for line in process.stdout if line.endswith("\n")]
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
    return said


async def test_ten_submitted_one_interrupted_nine_queued(tmp_path: Path) -> None:
    """P031, R93, R177: each acknowledged message is there, in its order, and has one turn."""
    kill_when(SUBMITS, tmp_path / "store", "ready")
    async with open_lmdb(tmp_path / "store", read_only=True) as store:
        (stored,) = store.sessions()
        assert stored.queued == 9
    models = {"m": Looping(("Hi.",))}
    async with open_host(tmp_path / "store", workspace=workspace(), models=models) as host:
        session = await host.session("ann")
        receipts = [await session.prompt(f"m{n}", key=f"k{n}", when="queue") for n in range(10)]
        outcomes = [await session.outcome(receipt) for receipt in receipts]
        assert all(receipt.repeated for receipt in receipts)
        assert [outcome.end for outcome in outcomes] == ["interrupted"] + ["done"] * 9
        assert [outcome.turn for outcome in outcomes] == list(range(1, 11))
        assert [turn.message for turn in await session.turns().all()] == [
            receipt.message for receipt in receipts
        ]


async def test_a_write_that_was_running_is_told_as_unknown_and_not_repeated(tmp_path: Path) -> None:
    """P026, R172, R173: its side effect happened once, and the session says that it may have."""
    kill_when(WRITES, tmp_path / "store", "ready")
    models = {"m": Looping(("Hi.",))}
    async with open_host(tmp_path / "store", workspace=workspace(), models=models) as host:
        session = await host.session("ann")
        receipt = await session.prompt("charge it", key="k")
        assert (receipt.repeated, (await session.outcome(receipt)).end) == (True, "interrupted")
        (turn,) = await session.turns().all()
        assert [each.state for each in turn.calls] == ["unknown"]
        (result,) = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
        assert "may have happened" in result.content
        assert (await session.ask("go on")).end == "done"
    assert (tmp_path / "charged").read_text() == "x"


@pytest.mark.parametrize("times", [1, 40])
async def test_what_was_answered_is_there_after_a_kill_under_load(
    tmp_path: Path, times: int
) -> None:
    """R87, R170: each session holds every turn that was told as done, whole and in order."""
    said = kill_when(BUSY, tmp_path / "store", " ", times)
    told = [tuple(map(int, line.split())) for line in said]
    models = {"m": Looping(("Hi.",))}
    async with open_host(tmp_path / "store", workspace=workspace(), models=models) as host:
        for number in {number for number, _ in told}:
            session = await host.session(f"s{number}")
            newest = max(turn for each, turn in told if each == number)
            receipt = await session.prompt(f"{newest}", key=f"k{newest}")
            assert receipt.repeated
            assert (await session.outcome(receipt)).end == "done"
            words = [m.content for m in (await session.state()).messages]
            assert words[: 2 * (newest + 1)] == [
                word for turn in range(newest + 1) for word in (f"{turn}", "Hi.")
            ]
            async for turn_record in session.turns():
                if turn_record.end == "done":
                    assert (await session.request(turn_record.turn)).is_exact


@pytest.mark.parametrize(("times", "imports"), [(1, 1_000), (7, 1_000), (1, 0)])
async def test_a_killed_import_leaves_a_whole_session_or_nothing(
    tmp_path: Path, times: int, imports: int
) -> None:
    """R191, R170: killed while it writes, or half way through the lines."""
    models = {"m": Looping(("Hi.",))}
    async with open_host(tmp_path / "from", workspace=workspace(), models=models) as host:
        session = await host.session("ann", agent="support")
        for number in range(30):
            await session.ask(f"{number} " + "x" * 10_000, key=f"k{number}")
        lines = await session.export().all()
    (tmp_path / "export").write_bytes(b"".join(line + b"\n" for line in lines))
    word = "imported" if imports else "ready"
    said = kill_when(IMPORTS, tmp_path / "store", word, times, imports)
    told = {f"s{line.split()[1]}" for line in said if line.startswith("imported")}
    async with open_host(tmp_path / "store", workspace=workspace(), models=models) as host:
        there = {each.session.key async for each in host.sessions()}
        assert told <= there <= {*told, f"s{len(told)}"}
        for key in there:
            assert (await (await host.session(key)).export().all())[1:-1] == lines[1:-1]
        left = await host.import_session("half", lines)
        assert (await left.ask("And then?")).end == "done"


async def test_what_was_charged_is_charged_after_a_kill(tmp_path: Path) -> None:
    """R233, P184: to the token; and a request that was out counts with its worst case."""
    said = kill_when(SPENDS, tmp_path / "store", "ready")
    policy = Policy(quota=Quota(tokens=1_000_000))
    models = {"m": Looping(("Hi.",))}
    work = workspace()
    async with open_host(tmp_path / "store", workspace=work, models=models, policy=policy) as host:
        # Of all days, since one may have ended meanwhile.
        charged = sum(host.services.store.charged("default").values(), NOTHING)
        assert charged == Spent(2_000 + int(said[0]), 3)
        assert getattr(await host.quota(), "reserved", None) == NOTHING
