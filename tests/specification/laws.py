"""Reads the laws, and finds the tests that name them.

Only comments and docstrings name a law: a number inside a string is data. A test that is
skipped or expected to fail proves nothing.
"""

import ast
import re
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Final, Literal, get_args

import attrs

HERE = Path(__file__).parent
TESTS = HERE.parent
UNPROVEN = HERE / "unproven.txt"

NUMBER = re.compile(r"\b(?:R[1-9]\d{0,2}|P\d{3})\b")
NO_PROOF = re.compile(r"\bmark\.(?:skip|xfail)\b")

Milestone = Literal["first", "second", "later"]
REACHED: Final = ("first", "second")
"""The milestones whose laws are to be kept; what of them has no test yet is admitted by number."""


@attrs.frozen
class Law:
    """One promise in one sentence."""

    number: str
    sentence: str
    subject: str
    milestone: Milestone


@attrs.frozen
class Test:
    """One test and the numbers that it names."""

    __test__ = False  # not one itself

    name: str
    numbers: frozenset[str]
    proves: bool


def read_laws() -> list[Law]:
    """Every law, in the order of the specification."""
    parts = tomllib.loads((HERE / "laws.toml").read_text("utf-8"))["part"]
    return [
        Law(number, sentence, part["subject"], milestone)
        for part in parts
        for milestone in get_args(Milestone)
        for number, sentence in part.get(milestone, {}).items()
    ]


def read_tests() -> list[Test]:
    """Every test function of every test file."""
    return [
        test
        for path in sorted(TESTS.rglob("test_*.py"))
        for test in tests_in(path.read_text("utf-8"), path.relative_to(TESTS.parent).as_posix())
    ]


def tests_in(text: str, file: str) -> Iterator[Test]:
    """The tests of one file, methods of test classes too."""
    comments = _comments(text)
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("test_"):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            told = " ".join((ast.get_docstring(node) or "", *_beside(node, comments)))
            proves = not any(NO_PROOF.search(decorator) for decorator in decorators)
            yield Test(f"{file}::{node.name}", frozenset(NUMBER.findall(told)), proves)


def _comments(text: str) -> dict[int, str]:
    """The comment of each line that has one; a line of nothing else begins with `#`."""
    return {
        token.start[0]: token.line.strip() if token.line.lstrip()[0] == "#" else f" {token.string}"
        for token in tokenize.generate_tokens(StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }


def _beside(
    node: ast.FunctionDef | ast.AsyncFunctionDef, comments: Mapping[int, str]
) -> Iterator[str]:
    """The comments directly above a function, among its decorators, and inside it."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    above = takewhile(lambda line: comments.get(line, "").startswith("#"), range(first - 1, 0, -1))
    inside = range(first, (node.end_lineno or first) + 1)
    return (comments[line] for line in (*above, *inside) if line in comments)


def proofs(tests: Iterable[Test]) -> dict[str, list[str]]:
    """The names of the tests that prove each number."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        for number in test.numbers if test.proves else ():
            found[number].append(test.name)
    return dict(found)


def unproven(laws: Iterable[Law], proven: Mapping[str, object]) -> list[Law]:
    """The laws that no test proves."""
    return [law for law in laws if law.number not in proven]


def of_reached_milestones(laws: Iterable[Law]) -> list[Law]:
    """The laws that are to be kept by now."""
    return [law for law in laws if law.milestone in REACHED]


def committed_unproven() -> list[str]:
    """The numbers that `unproven.txt` admits."""
    return [line.partition(" ")[0] for line in UNPROVEN.read_text("utf-8").splitlines()]


def write_unproven(laws: Iterable[Law]) -> None:
    """Admit exactly these, each with its sentence, for whoever reads the difference."""
    UNPROVEN.write_text("".join(f"{law.number} {law.sentence}\n" for law in laws), "utf-8")
