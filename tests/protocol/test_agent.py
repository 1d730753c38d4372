"""Laws of declared agents: their parameters stand beside what a request says, never for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.agent import REQUEST_FIELDS, parameter_faults
from greenroom.protocol.encoding import decode, encode_sorted

SCALARS = st.one_of(st.text(), st.integers(), st.booleans(), st.floats())


@pytest.mark.parametrize("field", sorted(REQUEST_FIELDS))
def test_what_a_request_says_itself_is_no_parameter(field: str) -> None:
    """R5, R231: it is named; it would stand twice, and the server would choose."""
    (fault,) = parameter_faults({"temperature": 0.2, field: "x"})
    assert repr(field) in fault


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("temperature", float("nan"), "'temperature' is nan"),
        ("temperature", float("inf"), "'temperature' is inf"),
        ("top_p", float("-inf"), "'top_p' is -inf"),
        ("stop", ["x"], "'stop' is neither"),
        ("stop", None, "'stop' is neither"),
        ("user", "\ud800", "parameter 'user' holds a lone surrogate"),
        ("user", "a\0", "parameter 'user' holds a NUL"),
        ("user", "x" * 70_000, "parameter 'user' has 70,000 bytes"),
        ("", 1, "name of a parameter must be"),
        ("\ud800", 1, "name of a parameter holds a lone surrogate"),
    ],
)
def test_what_no_request_can_carry_is_named(name: str, value: object, told: str) -> None:
    """R194, R231: encoded it would be null, or nothing; it is refused before any request."""
    (fault,) = parameter_faults({"seed": 7, name: value, "logprobs": False})
    assert told in fault


@given(st.dictionaries(st.text(), SCALARS))
def test_parameters_without_fault_are_carried_as_they_are(
    parameters: dict[str, str | int | float | bool],
) -> None:
    """R196: what is sent is what was declared."""
    if not list(parameter_faults(parameters)):
        assert decode(encode_sorted(parameters), dict[str, str | int | float | bool]) == parameters
