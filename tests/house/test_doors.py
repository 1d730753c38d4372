"""A door names all that is behind it, once, and nothing that is not there."""

import ast
import importlib
from collections.abc import Iterator

import pytest

from tests.house.tree import PACKAGES, ROOT, Module, modules


def bound_names(tree: ast.Module) -> Iterator[str]:
    """The names that a module's top level binds, by whatever statement."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound = [target.id for target in targets if isinstance(target, ast.Name)]
        else:
            bound = []
        yield from bound


# The three packages, and every package inside them that says `__all__`.
DOORS = {
    module.name: module
    for module in modules(*PACKAGES)
    if module.is_door
    and (module.path.parent.parent == ROOT or "__all__" in bound_names(module.tree))
}


@pytest.mark.parametrize("door", DOORS)
def test_every_name_of_a_door_exists(door: str) -> None:
    module = importlib.import_module(door)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_door_lists_exactly_what_it_binds(door: Module) -> None:
    listed = importlib.import_module(door.name).__all__
    public = {name for name in bound_names(door.tree) if not name.startswith("_")}
    assert sorted(listed) == sorted(public)


@pytest.mark.parametrize("door", DOORS)
def test_a_door_is_sorted(door: str) -> None:
    listed = list(importlib.import_module(door).__all__)
    assert listed == sorted(listed, key=place)


def place(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions: the order that the linter keeps too."""
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1 if name[0].isupper() else 2), name
