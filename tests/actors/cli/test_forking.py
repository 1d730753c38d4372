"""Laws of how commands are run here: a fork tells what a start tells."""

from pathlib import Path

import pytest

from tests.actors.cli.commands import environment, ran, ran_anew
from tests.actors.cli.conftest import Kept
from tests.actors.cli.forking import Forking

KEY = "demo-0-0003"
ENDLESS = ("demo", "--sessions", "5", "--turns", "100000")


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("nix",), ("show", "\udcff"), ("show", KEY), ("request", KEY, 1)],
    ids=["done", "usage", "failed", "text", "bytes"],
)
@pytest.mark.parametrize("columns", ["40", "120"])
def test_a_fork_tells_what_a_start_tells(
    kept: Kept, arguments: tuple[object, ...], columns: str
) -> None:
    """Its code, its output and its errors, under its own environment."""
    store = ("--store", kept.store) if arguments[0] in {"show", "request"} else ()
    forked, begun = (
        run(kept.folder, *arguments, *store, COLUMNS=columns) for run in (ran, ran_anew)
    )
    assert (forked.returncode, forked.stdout) == (begun.returncode, begun.stdout)
    assert forked.stderr == begun.stderr


def test_one_that_hangs_is_killed(tmp_path: Path) -> None:
    """And is no reason for the next one not to run."""
    variables = environment(tmp_path)
    own = Forking.begin(variables, seconds=0.1)
    with pytest.raises(TimeoutError):
        own.run(ENDLESS, variables, "")
    with pytest.raises(TimeoutError):
        own.run(ENDLESS, variables, "")
    own.end()
