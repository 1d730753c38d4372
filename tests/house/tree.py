"""The source tree as data: every module with its syntax tree, and who imports whom."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("actors", "protocol", "store")


@attrs.frozen
class Module:
    """One Python file under its import name."""

    name: str
    path: Path
    tree: ast.Module

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def package(self) -> str:
        """The top-level folder that holds it."""
        return self.path.relative_to(ROOT).parts[0]

    @property
    def is_door(self) -> bool:
        """Whether this is a package's own `__init__.py`."""
        return self.path.name == "__init__.py"


@cache
def modules(*folders: str) -> tuple[Module, ...]:
    """All modules of these top-level folders, in the order of their paths."""
    return tuple(
        _module(path)
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "__pycache__" not in path.parts
    )


def _module(path: Path) -> Module:
    parts = path.relative_to(ROOT).with_suffix("").parts
    named = parts[:-1] if parts[-1] == "__init__" else parts
    prefix = ("greenroom",) if parts[0] in PACKAGES else ()
    return Module(".".join(prefix + named), path, ast.parse(path.read_text("utf-8")))


def running_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that can run: what stands under `if TYPE_CHECKING:` is left out."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and _is_type_checking(child.test):
            for other in child.orelse:
                yield other
                yield from running_nodes(other)
            continue
        yield child
        yield from running_nodes(child)


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def imported_names(tree: ast.AST) -> Iterator[str]:
    """The dotted names that a module's imports name: `from a import b` names `a.b`.

    A relative import names what it spells, dots in front, and so can be told apart.
    """
    for node in running_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            yield from (f"{source}.{alias.name}" for alias in node.names)


def is_within(name: str, package: str) -> bool:
    """Whether a dotted name is this package or something in it."""
    return name == package or name.startswith(f"{package}.")
