"""Laws of the command, run as a person runs it."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from greenroom.actors.bench import Report, read_trace
from tests.actors.cli.commands import ESCAPE, TABLE_WIDTH, environment

SMALL = ("--conversations", "10", "--turns", "3", "--agents", "2", "--persons", "4")


def ran(
    folder: Path, *arguments: str, module: str = "greenroom.actors.bench"
) -> tuple[int, str, str]:
    """Run the command; returns code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def test_it_prints_tables_in_80_columns(tmp_path: Path) -> None:
    """Shares, placements and levels, and no control code where there is no terminal."""
    code, output, errors = ran(tmp_path, *SMALL, "--goal", "0.9")
    assert (code, errors) == (0, "")
    for words in ("greenroom", "time in front", "the best possible", "whole units", "person"):
        assert words in output
    assert [line for line in output.splitlines() if len(line.rstrip()) > TABLE_WIDTH] == []
    assert ESCAPE not in output


def test_a_goal_that_is_not_reached_is_said_and_is_the_exit_code(tmp_path: Path) -> None:
    """By each way of caching in which it is not."""
    code, output, errors = ran(tmp_path, *SMALL, "--goal", "1.01")
    assert code == 1
    assert "greenroom" in output
    assert errors.count("is the goal") == 4


def test_json_holds_what_a_repetition_needs(tmp_path: Path) -> None:
    """The command, the seed, the trace's digest, versions and machine, samples, CPU and wall."""
    path = tmp_path / "run.json"
    code, _, _ = ran(tmp_path, *SMALL, "--goal", "0", "--seed", "5", "--json", str(path))
    assert code == 0
    report = msgspec.json.decode(path.read_bytes(), type=Report)
    assert report.command[:3] == ("python", "-m", "greenroom.actors.bench")
    assert "--seed" in report.command
    assert report.findings.trace.seed == 5
    assert len(report.findings.trace.digest) == 64
    assert set(report.machine.versions) >= {"greenroom", "msgspec"}
    assert report.machine.kernel
    assert len(report.findings.contenders[0].samples) == report.findings.contenders[0].requests
    assert all(seconds.cpu >= 0 < seconds.wall for seconds in report.seconds.values())
    assert report.findings.caches["breakpoints"]["look_back"] == 20


def test_json_to_the_output_is_nothing_else(tmp_path: Path) -> None:
    """For the next program to read."""
    code, output, errors = ran(tmp_path, *SMALL, "--goal", "0", "--json", "-")
    assert (code, errors) == (0, "")
    assert msgspec.json.decode(output, type=Report).findings.contenders


def test_a_written_trace_gives_the_same_figures(tmp_path: Path) -> None:
    """The workload can be kept, looked at and played again."""
    trace, one, again = (tmp_path / name for name in ("t.jsonl", "1.json", "2.json"))
    ran(tmp_path, *SMALL, "--goal", "0", "--write-trace", str(trace), "--json", str(one))
    ran(tmp_path, *SMALL, "--goal", "0", "--trace", str(trace), "--json", str(again))
    first, second = (
        msgspec.json.decode(path.read_bytes(), type=Report).findings for path in (one, again)
    )
    assert first.contenders == second.contenders
    assert first.trace.digest == second.trace.digest
    assert len(read_trace(trace)) == first.trace.lines


@pytest.mark.parametrize(
    "arguments", [("--conversations", "0"), ("--trace", "none.jsonl"), ("--hours", "0")]
)
def test_what_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Without a traceback, with another exit code than a goal that is not reached."""
    code, output, errors = ran(tmp_path, *arguments)
    assert (code, output) == (2, "")
    assert errors.startswith("greenroom.actors.bench: ")
    assert len(errors.splitlines()) == 1


def test_our_own_run_is_the_same_command(tmp_path: Path) -> None:
    """Under its own name."""  # R244
    code, output, errors = ran(tmp_path, "--help", module="benchmarks.prefix")
    assert (code, errors) == (0, "")
    assert "python -m benchmarks.prefix" in output


def test_without_the_extra_it_measures_and_says_what_is_missing(tmp_path: Path) -> None:
    """The kit itself needs nothing but greenroom's core."""
    program = (
        "import sys; sys.modules['rich'] = None; sys.modules['cyclopts'] = None;"
        "from greenroom.actors.bench.command import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *SMALL, "--goal", "0", "--json", str(tmp_path / "r.json")],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "pip install 'greenroom[cli]'" in done.stderr
    assert (tmp_path / "r.json").stat().st_size > 1_000
