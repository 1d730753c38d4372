"""Laws of ``greenroom demo``, run whole."""

import signal
import subprocess
from pathlib import Path

import pytest
import trio

from tests.actors.cli.commands import ESCAPE, TABLE_WIDTH, command, environment, ran
from tests.actors.cli.conftest import Kept
from tests.actors.models.provider import Provider, refusal

ROWS = (
    "turns/s",
    "latency p50",
    "latency p99",
    "commits per fsync",
    "turns per fsync",
    "equal bytes",
    "in a conversation",
    "across conversations",
    "store size",
    "longest loop stall",
)


def left_in(folder: Path) -> list[str]:
    """What is in a folder that was empty."""
    return [path.name for path in folder.iterdir()]


def test_it_ends_with_its_table_in_80_columns(kept: Kept) -> None:
    """R217: turns, latencies, commits and turns per fsync, equal bytes, size and stall."""
    assert (kept.code, kept.errors) == (0, "")
    lines = kept.output.splitlines()
    assert [row for row in ROWS if not any(row in line for line in lines)] == []
    assert [line for line in lines if len(line.rstrip()) > TABLE_WIDTH] == []
    assert "all done" in kept.output


def test_its_figures_are_whole_however_narrow_it_is(tmp_path: Path) -> None:
    """R217: where the table has no room, each figure stands on a line with its label."""
    done = ran(tmp_path, "demo", "--sessions", 1, "--turns", 1, COLUMNS="20")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert [row for row in ROWS if not any(line.startswith(f"{row}: ") for line in lines)] == []
    assert "…" not in done.stdout


def test_there_is_no_control_code_where_there_is_no_terminal(kept: Kept) -> None:
    """A pipe or file gets the words only, and no bar."""
    assert ESCAPE not in kept.output
    assert "\r" not in kept.output


def test_it_leaves_nothing_behind_without_a_store(tmp_path: Path) -> None:
    """The default store is in a temporary folder, and gone with it."""
    done = ran(tmp_path, "demo", "--sessions", 2, "--turns", 1)
    assert done.returncode == 0
    assert "temporary folder" in done.stdout
    assert left_in(tmp_path) == []


def test_the_shipped_sample_is_never_written(kept: Kept) -> None:
    """Tools write into a copy of the sample workspace."""
    from greenroom.actors import SAMPLE  # noqa: PLC0415

    assert not (SAMPLE / "files" / "notes").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """R208: the host ends its turns, the store is closed and removed, the code tells the signal."""
    process = await trio.lowlevel.open_process(
        command("demo", "--sessions", 5, "--turns", 1000),
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with trio.fail_after(30):
        async with process.stdout, process.stderr:
            assert b"5 sessions" in await process.stdout.receive_some()
            process.send_signal(number)
            assert await process.wait() == code
            assert await process.stderr.receive_some() == b""
    assert left_in(tmp_path) == []


async def test_a_turn_that_fails_is_told(tmp_path: Path, nursery: trio.Nursery) -> None:
    """R179: a provider that refuses fails turns, not the demo; reason and code say so."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
    provider = Provider(url, [refusal(400, {"error": {"message": "No such model."}})])
    nursery.start_soon(trio.serve_listeners, provider.serve, listeners)
    done = await trio.run_process(
        command("demo", "--sessions", 1, "--turns", 1, "--model", "m", "--base-url", url),
        env=environment(tmp_path),
        capture_stdout=True,
        check=False,
    )
    assert done.returncode == 1
    assert b" failed" in done.stdout
    assert b"The first turn that failed: " in done.stdout
    nursery.cancel_scope.cancel()


@pytest.mark.local
def test_it_runs_on_the_local_model(tmp_path: Path) -> None:
    """A few sessions on a real model, on this machine."""
    import os  # noqa: PLC0415

    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    arguments = ("demo", "--model", "local", "--sessions", 1, "--turns", 1)
    done = ran(tmp_path, *arguments, XDG_CACHE_HOME=cache)
    assert done.returncode == 0
    assert "smollm2" in done.stdout
