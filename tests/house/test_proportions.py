"""Small files, short functions, and a first sentence in each module."""

import ast
from collections.abc import Iterator

from tests.house.tree import PACKAGES, modules

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_files_are_small() -> None:
    lengths = {
        str(module): len(module.path.read_text("utf-8").splitlines())
        for module in modules(*PACKAGES, "tests", "benchmarks")
        # A door is a list of names, and as long as what is behind it.
        if module.path.name != "__init__.py"
    }
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES_MAX} == {}


def test_functions_are_short() -> None:
    lengths = {
        f"{module}:{function.lineno} {function.name}": lines_of(function)
        for module in modules(*PACKAGES, "tests", "benchmarks")
        for function in functions(module.tree)
    }
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX} == {}


def test_docstrings_cost_no_lines() -> None:
    bare = ast.parse("def f():\n    return 1").body[0]
    told = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1').body[0]
    assert isinstance(bare, ast.FunctionDef)
    assert isinstance(told, ast.FunctionDef)
    assert lines_of(bare) == lines_of(told) == 2


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(module)
        for module in modules(*PACKAGES, "benchmarks")
        if not ast.get_docstring(module.tree)
    ]
    assert silent == []


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines a function takes, its docstring not counted."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines
