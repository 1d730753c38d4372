"""Words that the code does not use, and things that only the world may ask."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.tree import PACKAGES, Module, imported_names, is_within, modules

# Clocks, ids and chance are injected, so that a run can be simulated and replayed. Stop
# watches (`perf_counter`, `process_time`) are not here: they measure and decide nothing.
WORLDLY = (
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "os.getrandom",
    "os.urandom",
    "random",
    "secrets",
    "time.ctime",
    "time.gmtime",
    "time.localtime",
    "time.monotonic",
    "time.monotonic_ns",
    "time.time",
    "time.time_ns",
    "uuid.uuid1",
    "uuid.uuid4",
)


def test_the_mechanism_is_not_called_by_the_other_word() -> None:
    """R166: the mechanism is a contributor, the package of it a plugin."""
    against = [
        f"{module}: {name}"
        for module in modules(*PACKAGES)
        for name in identifiers(module.tree)
        if "extension" in name.lower() and not name.startswith("typing_extensions")
    ]
    told = [
        str(module)
        for module in modules(*PACKAGES)
        if re.search(r"\bExtensions?\b", module.path.read_text("utf-8"))
    ]
    assert (against, told) == ([], [])


def test_system_names_the_one_system_string_only() -> None:
    """R6: what the platform says in user position is a note; nothing else is called system."""
    allowed = re.compile(r"(?i)system$|system_?(string|prompt|_random)|systemrandom|systemexit")
    against = [
        f"{module}: {name}"
        for module in modules(*PACKAGES)
        for name in identifiers(module.tree)
        if "system" in name.lower() and not allowed.search(name)
    ]
    assert against == []


def test_prompt_checkpoints_promise_no_cache() -> None:
    """R74: nothing said of checkpoints speaks of a hit, and the demo measures equal bytes."""
    (checkpoints,) = (m for m in modules("protocol") if m.path.name == "prompt_checkpoint.py")
    assert "promises nothing about what is sent\n    incrementally" in checkpoints.path.read_text()
    report = "".join(m.path.read_text() for m in modules("actors/cli") if "report" in m.path.name)
    assert "equal" in report
    assert not re.search(r"\bhits?\b", report)


@pytest.mark.parametrize("module", modules(*PACKAGES), ids=str)
def test_only_the_world_asks_for_time_ids_and_chance(module: Module) -> None:
    """P190: whatever else needs one of them is given it."""
    if module.path.name == "world.py":
        return
    assert sorted(set(worldly_names(module.tree))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import time\nnow = time.time()", ["time.time"]),
        ("from time import time as t", ["time.time"]),
        ("import datetime as d\nd.datetime.now()", ["datetime.datetime.now"]),
        ("from datetime import datetime\ndatetime.now()", ["datetime.datetime.now"]),
        ("from uuid import uuid4", ["uuid.uuid4"]),
        ("import random", ["random"]),
        ("from time import perf_counter\nperf_counter()", []),
        ("from datetime import datetime, UTC\ndatetime.fromtimestamp(0, UTC)", []),
    ],
)
def test_a_worldly_name_would_be_found(text: str, found: list[str]) -> None:
    assert sorted(set(worldly_names(ast.parse(text)))) == found


def worldly_names(tree: ast.Module) -> Iterator[str]:
    """The names of the world that a module imports or spells out."""
    origins = _origins(tree)
    spelled = (
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)
    )
    resolved = (
        origins[head] + dot + rest
        for head, dot, rest in (name.partition(".") for name in spelled)
        if head in origins
    )
    for name in (*imported_names(tree), *resolved):
        yield from (worldly for worldly in WORLDLY if is_within(name, worldly))


def _origins(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for: `from datetime import date as d` gives d."""
    origins = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                origins[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                origins[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return origins


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Every name that the code itself chose or uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
