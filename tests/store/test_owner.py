"""Laws of what is told about the process that holds a store."""

from importlib import metadata
from pathlib import Path

import pytest

from greenroom.store.owner import program_version, taken


@pytest.mark.parametrize(
    ("written", "holder"),
    [
        ("71 0.1.0\n", "process 71 (greenroom 0.1.0)"),
        ("71 \n", "process 71"),
        ("", "another process"),
    ],
)
def test_what_is_not_known_of_the_holder_is_not_told(written: str, holder: str) -> None:
    """R187: from a checkout nothing is installed, and a holder may be asked before it wrote."""
    error = taken(Path("store"), written)
    assert error.sentence == f"The store 'store' is held by {holder}."
    assert (error.facts["pid"] is None) is (not written)
    assert (error.facts["version"] is None) is ("greenroom" not in holder)


def test_a_program_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """R187: none is made up."""

    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert program_version() == ""
