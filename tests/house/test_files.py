"""What the repository's files may not say: where they were made, or where packages come from."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import PACKAGES, ROOT

# A letter in brackets, or a border inside a word, keeps a pattern from finding itself here.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/(?:work|tmp|root|home/\w+)/",
    "a host of a package registry": r"\b(?:p[y]pi|pythonhoste[d]|npmj[s])\.(?:org|com|io)\b",
    "an index of packages": r"--(?:extra-)?index-\burl\b",
}
LEFT_BEHIND = {".git", ".hypothesis", ".venv", "__pycache__", "build", "dist"}


def test_the_top_level_is_the_agreed_one() -> None:
    shown = {path.parts[0] for path in files() if not path.parts[0].startswith(".")}
    agreed = {*PACKAGES, "tests", "benchmarks", "pyproject.toml", "README.md", "LICENSE"}
    assert shown - agreed == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_link_stands_for_each_package(package: str) -> None:
    link = ROOT / ".import" / "greenroom" / package
    assert link.readlink() == Path("..", "..", package)
    assert (ROOT / package / "py.typed").is_file()


def test_no_file_names_a_machine_or_a_registry() -> None:
    against = [
        f"{path}: {what}"
        for path in files()
        for what in forbidden_in((ROOT / path).read_text("utf-8", errors="replace"))
    ]
    assert against == []


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        (("see https://py", "pi.org/simple"), "a host of a package registry"),
        (("files.python", "hosted.org"), "a host of a package registry"),
        (("registry.npm", "js.org"), "a host of a package registry"),
        (("cd /ro", "ot/x"), "a path of one machine"),
        (("pip install --index", "-url x"), "an index of packages"),
    ],
)
def test_what_may_not_be_named_is_found(parts: tuple[str, str], what: str) -> None:
    assert forbidden_in("".join(parts)) == [what]


def forbidden_in(text: str) -> list[str]:
    """What of the forbidden a text names."""
    return [what for what, pattern in FORBIDDEN.items() if re.search(pattern, text)]


def files() -> Iterator[Path]:
    """The files that are or would be committed; in an unpacked archive all that are there."""
    if not (ROOT / ".git").exists():
        listed = list(_lying())
    else:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        output = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
        listed = [Path(name) for name in output.decode().split("\0") if name]
    return (path for path in listed if (ROOT / path).is_file())


def _lying() -> Iterator[Path]:
    """What lies there. Folders that tools leave behind are not entered: what is in them moves."""
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if not _is_left_behind(name)]
        yield from (Path(folder, name).relative_to(ROOT) for name in names)


def _is_left_behind(folder: str) -> bool:
    return folder in LEFT_BEHIND or folder.endswith("_cache")
