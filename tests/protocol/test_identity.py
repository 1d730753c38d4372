"""Laws of names: what can serve as one, and how a person is told what cannot."""

import pytest

from greenroom.protocol.errors import InvalidInput, TooLarge
from greenroom.protocol.identity import check_name, check_text
from greenroom.protocol.limits import Limits


@pytest.mark.parametrize("name", ["", None, 7, b"x"])
def test_a_name_is_a_text_that_is_not_empty(name: object) -> None:
    """R194: whatever is named, the sentence about it reads as one."""
    with pytest.raises(InvalidInput) as error:
        check_name(name, "idempotency key")
    assert error.value.sentence == "The idempotency key must be a text that is not empty."
    assert error.value.facts["what"] == "idempotency key"


def test_a_name_has_a_bound_in_bytes() -> None:
    """R194: any script up to the bound, which is told."""
    limits = Limits(name_bytes_max=4)
    assert check_name("αβ", "name", limits) == "αβ"
    with pytest.raises(TooLarge) as error:
        check_name("αβγ", "name", limits)
    assert (error.value.facts["bytes"], error.value.facts["bound"]) == (6, 4)


@pytest.mark.parametrize("text", ["a\0", "\ud800"])
def test_what_cannot_be_stored_is_refused(text: str) -> None:
    """R194: NUL and lone surrogates."""
    with pytest.raises(InvalidInput):
        check_text(text, "text", 100)
