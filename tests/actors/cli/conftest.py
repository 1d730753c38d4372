"""What the laws of the commands share."""

from pathlib import Path

import attrs
import pytest

from tests.actors.cli.commands import ran_anew


@attrs.frozen
class Kept:
    """A demo that ran, and the store that it left."""

    folder: Path
    store: Path
    output: str
    errors: str
    code: int


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A small demo, run once for all who read its store."""
    folder = tmp_path_factory.mktemp("demo")
    store = folder / "store"
    done = ran_anew(folder, "demo", "--sessions", 5, "--turns", 3, "--store", store)
    return Kept(folder, store, done.stdout, done.stderr, done.returncode)
