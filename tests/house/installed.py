"""Checks an environment that holds greenroom without extras: `python -m tests.house.installed`.

Only the core's five dependencies, and what they themselves need, may have come with it.
Nothing but the standard library is imported here, for nothing else need be there.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distributions, requires

CORE = {"anyio", "attrs", "lmdb", "msgspec", "trio"}
# What a new virtual environment holds before anything is installed.
INSTALLERS = {"pip", "setuptools", "wheel"}


def main() -> None:
    """Exit with what should not be there, or name what is."""
    if needs_of("greenroom") != CORE:
        sys.exit(f"greenroom needs {sorted(needs_of('greenroom'))}, not {sorted(CORE)}")
    import greenroom.protocol  # noqa: PLC0415

    if "site-packages" not in str(greenroom.protocol.__file__):
        sys.exit(f"greenroom is imported from {greenroom.protocol.__file__}")
    present = {normal(found.metadata["Name"]) for found in distributions()}
    uncalled = present - set(closure("greenroom")) - INSTALLERS
    if uncalled:
        sys.exit(f"came without being needed: {sorted(uncalled)}")
    print(f"installed with the core: {', '.join(sorted(present - INSTALLERS))}")


def closure(name: str) -> Iterator[str]:
    """A distribution and all that it needs, at any depth."""
    seen: set[str] = set()
    waiting = {name}
    while waiting:
        one = waiting.pop()
        seen.add(one)
        yield one
        waiting |= needs_of(one) - seen


def needs_of(name: str) -> set[str]:
    """What a distribution needs without extras, on whatever machine."""
    try:
        stated = requires(name) or []
    except PackageNotFoundError:
        return set()
    plain = (line for line in stated if not re.search(r"\bextra\s*==", line))
    return {normal(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in plain}


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
