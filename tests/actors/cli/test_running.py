"""Laws of one run of a command: exit codes, signals, errors."""

import gc
import signal
from collections.abc import Iterator

import pytest
import trio

from greenroom.actors.cli.faults import BadOption, said
from greenroom.actors.cli.running import GC_THRESHOLDS, run
from greenroom.protocol.errors import Missing, StoreFull


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_cancels_and_is_told_by_the_code(number: signal.Signals, code: int) -> None:
    """R208: what is left on the way out is left in order."""
    left = []

    async def go() -> int:
        try:
            signal.raise_signal(number)
            await trio.sleep_forever()
        finally:
            left.append("in order")
        return 0

    assert run(go) == code
    assert left == ["in order"]


def test_a_signal_that_is_the_commands_own_does_not_stop_it() -> None:
    """A chat has its own meaning for Ctrl-C."""

    async def go() -> int:
        with trio.open_signal_receiver(signal.SIGINT) as arriving:
            signal.raise_signal(signal.SIGINT)
            async for _ in arriving:
                return 7
        return 0

    assert run(go, stopped_by=[signal.SIGTERM]) == 7


def test_ctrl_c_before_anybody_listens_ends_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    """A nursery's group around it is no traceback for a person."""

    async def go() -> int:
        async with trio.open_nursery():
            raise KeyboardInterrupt

    assert run(go, stopped_by=[signal.SIGTERM]) == 130
    assert capsys.readouterr().err == ""


def test_errors_in_groups_are_told_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    """R232: a nursery's group is no part of what a person reads; the same sentence comes once."""

    async def go() -> int:
        full = StoreFull("The disk is full.")
        raise ExceptionGroup("", [full, ExceptionGroup("", [full, Missing("No such.")])])

    assert run(go) == 1
    told = capsys.readouterr().err.splitlines()
    assert told == [
        f"greenroom: {said(StoreFull('The disk is full.'))}",
        f"greenroom: {said(Missing('No such.'))}",
    ]


def test_wrong_options_exit_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """Usage is told from failure."""

    async def go() -> int:
        raise BadOption("That cannot be.")

    assert run(go) == 2
    assert capsys.readouterr().err.startswith("greenroom: That cannot be. ")


def test_a_defect_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """What is no error of ours is never hidden behind a sentence."""

    async def go() -> int:
        raise ExceptionGroup("", [Missing("No such."), ZeroDivisionError("ours")])

    assert run(go) == 1
    assert "ZeroDivisionError: ours" in capsys.readouterr().err


def test_the_collector_is_told_once_per_command() -> None:
    """The commands raise its thresholds; the library itself never does."""

    async def go() -> int:
        return gc.get_threshold() == GC_THRESHOLDS

    assert run(go) == 1
