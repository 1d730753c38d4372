"""The engine is a child that starts, serves and ends with us; here it is one that only waits."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from greenroom.actors.models import engine as module
from greenroom.actors.models.engine import EngineOptions, open_engine, start_engine
from greenroom.protocol.errors import EngineFailed, ExtraMissing

SERVES = "print('http://127.0.0.1:1', flush=True); sys.stdin.buffer.read()"
DEAF = "print('http://127.0.0.1:1', flush=True); threading.Event().wait()"
ENDS = "sys.stderr.write('no such file: weights'); sys.exit(1)"
SILENT = "sys.stdin.buffer.read()"
OPTIONS = EngineOptions(path=Path("weights.gguf"))
PARENT = """
import trio
from pathlib import Path
from greenroom.actors.models import engine
engine._CHILD = Path({child!r})
engine.check_engine_installed = lambda: None
async def main():
    await engine.start_engine(engine.EngineOptions(path=Path("weights.gguf")))
    print("up", flush=True)
    await trio.sleep_forever()
trio.run(main)
"""


def use_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> Path:
    child = tmp_path / "child.py"
    child.write_text(f"import sys, threading\n{code}\n")
    monkeypatch.setattr(module, "_CHILD", child)
    monkeypatch.setattr(module, "check_engine_installed", lambda: None)
    return child


async def test_an_engine_serves_until_it_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_child(monkeypatch, tmp_path, SERVES)
    async with open_engine(OPTIONS) as engine:
        assert engine.url == "http://127.0.0.1:1"
        assert engine.running
        # Ctrl-C in a terminal goes to its group of processes: the child is in another.
        assert os.getsid(engine.pid) != os.getsid(0)
    assert not engine.running
    await engine.aclose()


async def test_a_child_that_does_not_listen_is_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also when the scope around it was cancelled."""
    use_child(monkeypatch, tmp_path, DEAF)
    monkeypatch.setattr(module, "_CLOSE_SECONDS", 0.05)
    with trio.CancelScope() as scope:
        async with open_engine(OPTIONS) as engine:
            scope.cancel()
            await trio.sleep_forever()
    assert not engine.running


async def test_an_engine_that_ends_tells_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_child(monkeypatch, tmp_path, ENDS)
    with pytest.raises(EngineFailed, match="no such file: weights"):
        await start_engine(OPTIONS)


async def test_an_engine_that_says_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_child(monkeypatch, tmp_path, SILENT)
    with pytest.raises(EngineFailed, match=r"within 0\.1 s"):
        await start_engine(EngineOptions(path=Path("w.gguf"), start_seconds=0.1))


async def test_a_missing_engine_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"pip install 'greenroom\[local\]'"):
        await start_engine(OPTIONS)


def test_the_child_ends_when_its_parent_was_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """However the parent ended: the kernel closes the pipe that the child reads."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = use_child(monkeypatch, tmp_path, f"held = open({str(pipe)!r}, 'w')\n{SERVES}")
    code = PARENT.format(child=str(child))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with (
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) as parent,
        pipe.open() as reading,
    ):
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        parent.send_signal(signal.SIGKILL)
        # Ends only when the last writer, the child, is gone.
        assert reading.read() == ""


def test_the_engine_is_told_to_stay_on_this_machine() -> None:
    told = OPTIONS.for_child()
    assert '"hostnames": ["127.0.0.1"]' in told
    assert '"cache_ram_mib": 0' in told
    assert '"offline": true' in told
