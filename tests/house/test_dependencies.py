"""Embedding the core pulls five dependencies, and importing it loads no others."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import greenroom.protocol
from tests.house.installed import CORE, normal
from tests.house.tree import ROOT

# The five under their import names, and what they themselves import.
LOADED_BY_CORE = {
    "_cffi_backend",
    "anyio",
    "attr",
    "attrs",
    "greenroom",
    "idna",
    "lmdb",
    "msgspec",
    "outcome",
    "sniffio",
    "sortedcontainers",
    "trio",
    "typing_extensions",
}
IMPORT_THE_CORE = """
import sys
before = set(sys.modules)
import greenroom.actors, greenroom.protocol, greenroom.store
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - set(sys.stdlib_module_names)), sep="\\n")
"""


def test_the_core_depends_on_five() -> None:
    stated = project()["dependencies"]
    assert {normal(line.partition(">")[0]) for line in stated} == CORE


def test_importing_the_core_loads_no_extra() -> None:
    home = str(Path(next(iter(greenroom.protocol.__path__))).parents[1])
    loaded = subprocess.run(
        [sys.executable, "-c", IMPORT_THE_CORE],
        env=os.environ | {"PYTHONPATH": home},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    assert set(loaded) - LOADED_BY_CORE == set()


def test_all_holds_every_extra_that_a_user_can_want() -> None:
    extras = project()["optional-dependencies"]
    wanted = ",".join(sorted(set(extras) - {"all", "dev"}))
    assert extras["all"] == [f"greenroom[{wanted}]"]


def project() -> dict[str, Any]:
    """The `[project]` table."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table
