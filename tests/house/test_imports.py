"""Data walks one way: protocol knows nobody, store knows protocol, actors know both."""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.tree import PACKAGES, Module, imported_names, is_within, modules

OURS = frozenset(f"greenroom.{package}" for package in PACKAGES)
MAY_IMPORT = {
    "protocol": frozenset({"greenroom.protocol"}),
    "store": frozenset({"greenroom.protocol", "greenroom.store"}),
    "actors": OURS,
}
# What is pure has no loop, no store, no clock, no chance, no file and no machine.
IMPURE = (
    "anyio",
    "asyncio",
    "io",
    "lmdb",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "secrets",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "trio",
    "uuid",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_those_before_it(package: str) -> None:
    against = [
        f"{module}: {name}"
        for module in modules(package)
        for name in imported_names(module.tree)
        if is_within(name, "greenroom")
        and not any(is_within(name, allowed) for allowed in MAY_IMPORT[package])
    ]
    assert against == []


def test_protocol_is_pure() -> None:
    against = [
        f"{module}: {name}"
        for module in modules("protocol")
        for name in imported_names(module.tree)
        if any(is_within(name, impure) for impure in IMPURE)
    ]
    assert against == []


def test_every_import_is_absolute_and_under_our_name() -> None:
    # A bare `import store` works by accident from the root, and makes every class twice.
    against = [
        f"{module}: {name}"
        for module in modules(*PACKAGES, "tests", "benchmarks")
        for name in imported_names(module.tree)
        if name.startswith(".") or any(is_within(name, bare) for bare in PACKAGES)
    ]
    assert against == []


def test_product_code_imports_no_test_and_no_benchmark() -> None:
    against = [
        f"{module}: {name}"
        for module in modules(*PACKAGES)
        for name in imported_names(module.tree)
        if is_within(name, "tests") or is_within(name, "benchmarks")
    ]
    assert against == []


def test_there_is_no_import_cycle() -> None:
    assert cycle(modules(*PACKAGES)) == []


def test_a_cycle_would_be_found() -> None:
    def module(name: str, text: str) -> Module:
        return Module(name, modules("protocol")[0].path, ast.parse(text))

    there = module("greenroom.a", "from greenroom import b")
    back = module("greenroom.b", "def late():\n    from greenroom.a import thing")
    only_typed = module("greenroom.b", "if TYPE_CHECKING:\n    from greenroom.a import thing")
    assert set(cycle((there, back))) == {"greenroom.a", "greenroom.b"}
    assert cycle((there, only_typed)) == []


def cycle(known: tuple[Module, ...]) -> list[str]:
    """One import cycle among these modules, or nothing. A late import counts: it only hides."""
    names = {module.name for module in known}
    graph = {
        module.name: {_target(name, names) for name in imported_names(module.tree)} & names
        for module in known
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        members: list[str] = found.args[1]
        return members
    return []


def _target(name: str, names: set[str]) -> str:
    """The module that an imported name lives in: itself, or what it is taken from."""
    return name if name in names else name.rpartition(".")[0]
