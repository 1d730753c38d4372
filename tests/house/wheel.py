"""Checks a built wheel against the tree: `python -m tests.house.wheel FROM_SDIST FROM_TREE`.

Every file of the three packages must be in it under `greenroom/`, and nothing else but the
wheel's own notes; a wheel built by way of the sdist must be the one built from the tree.
"""

import re
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.house.tree import PACKAGES, ROOT

NOT_SHIPPED = {"__pycache__"}
NOTES = re.compile(r"greenroom-[^/]+\.dist-info/")


def main(by_sdist: str, by_tree: str) -> None:
    """Exit with a list of what differs, or say what was found right."""
    contents = contents_of(Path(by_sdist))
    faults = faults_of(set(contents))
    if contents != contents_of(Path(by_tree)):
        faults.append("the wheel built from the sdist is not the one built from the tree")
    if faults:
        sys.exit("\n".join(faults))
    print(f"{Path(by_sdist).name}: {len(contents)} files, as in the tree")


def faults_of(shipped: set[str]) -> list[str]:
    """What a wheel with these files lacks, and what it has too much."""
    packaged = {name for name in shipped if not NOTES.match(name)}
    wanted = files_of_the_tree()
    missing = [f"missing: {name}" for name in sorted(wanted - packaged)]
    return missing + [f"too much: {name}" for name in sorted(packaged - wanted)]


def files_of_the_tree() -> set[str]:
    """The names that the packages' files have in a wheel."""
    return {
        f"greenroom/{path.relative_to(ROOT).as_posix()}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and not NOT_SHIPPED.intersection(path.parts)
    }


def contents_of(wheel: Path) -> dict[str, bytes]:
    """A wheel's files by name."""
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


if __name__ == "__main__":
    main(*sys.argv[1:])
