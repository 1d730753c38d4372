"""The command: ``python -m greenroom.actors.bench``, and ``python -m benchmarks.prefix``."""

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from greenroom.actors.bench.report import GOAL, Report
from greenroom.actors.bench.running import Told, run
from greenroom.actors.bench.shown import show
from greenroom.actors.bench.trace import read_trace, write_trace
from greenroom.actors.bench.workload import Workload, workload
from greenroom.protocol.errors import GreenroomError

DEFAULT: Final = "%(default)s if it is left out"

USAGE = 2
"""The exit code of a refusal."""


def main(arguments: Sequence[str] | None = None, *, name: str = "greenroom.actors.bench") -> int:
    """Run what was typed; returns the exit code (0: the goal is reached, 1: it is not)."""
    typed = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser(name).parse_args(typed)
    try:
        played = _played(options)
        if options.write_trace is not None:
            write_trace(options.write_trace, played.lines)
        report = _run(options, played, ("python", "-m", name, *typed))
    except GreenroomError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return USAGE
    failures = report.failures(options.goal)
    sys.stderr.writelines(f"{failure}\n" for failure in failures)
    return 1 if failures else 0


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}",
        description="What is read from prompt caches: greenroom's composing beside common ways, "
        "in the four public ways of caching, and beside the best possible.",
    )
    parser.add_argument("--conversations", type=int, default=1_000, help=DEFAULT)
    parser.add_argument("--turns", type=int, default=10, help=f"of each conversation; {DEFAULT}")
    parser.add_argument("--agents", type=int, default=10, help=DEFAULT)
    parser.add_argument("--persons", type=int, default=100, help=DEFAULT)
    parser.add_argument(
        "--hours", type=float, default=4.0, help=f"over which they begin; {DEFAULT}"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help=f"the same gives the same figures; {DEFAULT}"
    )
    parser.add_argument("--trace", type=Path, help="play the lines of this file instead")
    parser.add_argument("--write-trace", type=Path, help="write the lines that are played")
    parser.add_argument("--json", type=Path, help="write the whole report here; - for the output")
    parser.add_argument(
        "--goal",
        type=float,
        default=GOAL,
        help=f"0 to 1: what share of the best possible is enough, else it exits with 1; {DEFAULT}",
    )
    return parser


def _played(options: argparse.Namespace) -> Workload:
    made = workload(
        options.seed,
        conversations=options.conversations,
        turns=options.turns,
        agents=options.agents,
        persons=options.persons,
        hours=options.hours,
    )
    if options.trace is None:
        return made
    return Workload(made.workspace, made.tools, made.extra, read_trace(options.trace))


def _run(options: argparse.Namespace, played: Workload, command: Sequence[str]) -> Report:
    to_output = options.json is not None and str(options.json) == "-"
    shown = find_spec("rich") is not None
    if not shown and not to_output:
        sys.stderr.write("The tables need an extra: pip install 'greenroom[cli]'\n")
    if shown:
        report = _shown(options, played, command, quiet=to_output)
    else:
        report = _measured(options, played, command)
    if options.json is not None:
        data = msgspec.json.encode(report) + b"\n"
        if to_output:
            sys.stdout.buffer.write(data)
        else:
            options.json.write_bytes(data)
    return report


def _shown(
    options: argparse.Namespace, played: Workload, command: Sequence[str], *, quiet: bool
) -> Report:
    from rich.console import Console  # noqa: PLC0415 - an extra

    from greenroom.actors.bench.showing import Bar  # noqa: PLC0415 - as above

    with Bar(Console(stderr=True)) as bar:
        report = _measured(options, played, command, bar.told)
    if not quiet:
        show(report)
    return report


def _measured(
    options: argparse.Namespace,
    played: Workload,
    command: Sequence[str],
    told: Told = lambda *_: None,
) -> Report:
    return run(
        played.lines,
        workspace=played.workspace,
        tools=played.tools,
        extra=played.extra,
        seed=None if options.trace is not None else options.seed,
        samples=options.json is not None,
        told=told,
        command=command,
    )
