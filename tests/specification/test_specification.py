"""The specification is whole, and what it says of the tests is true."""

from collections import Counter

import pytest

from tests.specification import laws

LAWS = laws.read_laws()
TESTS = laws.read_tests()
NUMBERS = {law.number for law in LAWS}
REQUIREMENTS = {f"R{number}" for number in range(1, 259)}


def test_every_requirement_has_a_law() -> None:
    assert {number for number in NUMBERS if number.startswith("R")} == REQUIREMENTS


def test_no_number_stands_twice() -> None:
    counted = Counter(law.number for law in LAWS)
    assert [number for number, times in counted.items() if times > 1] == []


def test_every_number_is_one() -> None:
    assert [number for number in NUMBERS if not laws.NUMBER.fullmatch(number)] == []


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.number)
def test_a_law_is_a_sentence(law: laws.Law) -> None:
    assert law.sentence[0].isupper() or law.sentence[0] == "`"
    assert law.sentence.endswith(".")
    assert law.sentence == " ".join(law.sentence.split())


def test_tests_name_only_laws_that_exist() -> None:
    unknown = {test.name: sorted(test.numbers - NUMBERS) for test in TESTS}
    assert {name: numbers for name, numbers in unknown.items() if numbers} == {}


def test_what_is_unproven_is_admitted_exactly() -> None:
    # On a difference: `python -m tests.specification --write`, and read what it changed.
    open_ones = laws.unproven(laws.of_reached_milestones(LAWS), laws.proofs(TESTS))
    assert laws.committed_unproven() == [law.number for law in open_ones]


SAMPLE = '''
# R1: one of the lines above.
# P002 stands on the other.
@fixture  # R3
async def test_named() -> None:
    """R4 in the docstring."""
    value = "R5 is data"  # R6

# R7 is too far away.

def test_silent() -> None: ...
value = 1  # R8 belongs to another line
def test_below() -> None: ...

@pytest.mark.xfail(reason="not yet")
def test_expected_to_fail() -> None:  # R9
    ...

class TestThings:
    def test_method(self) -> None:
        # R10
        ...
'''


def test_a_test_names_laws_in_comments_and_docstrings() -> None:
    found = {test.name.partition("::")[2]: test for test in laws.tests_in(SAMPLE, "sample")}
    named = {name: sorted(test.numbers) for name, test in found.items()}
    assert named == {
        "test_named": ["P002", "R1", "R3", "R4", "R6"],
        "test_silent": [],
        "test_below": [],
        "test_expected_to_fail": ["R9"],
        "test_method": ["R10"],
    }
    assert sorted(laws.proofs(found.values())) == ["P002", "R1", "R10", "R3", "R4", "R6"]
