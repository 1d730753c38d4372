"""Laws of recompositions as data: one is read back as it was made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.recomposition import (
    Recomposition,
    decode_recomposition,
    encode_recomposition,
)

names = st.none() | st.text(min_size=1, max_size=5)
made = st.builds(
    Recomposition,
    number=st.integers(1, 2**50),
    at=st.integers(0, 2**50),
    by=st.text(max_size=5),
    reason=st.text(max_size=5),
    tenant=names,
    contributor=names,
    labels=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3),
    sessions=st.none() | st.integers(0, 9),
)


@given(made)
def test_one_is_read_back_without_what_was_counted(one: Recomposition) -> None:
    """R239: a count is true for one moment, and is never stored."""
    assert decode_recomposition(encode_recomposition(one)) == structs.replace(one, sessions=None)


def test_what_is_none_is_damage() -> None:
    # R92
    with pytest.raises(StoreDamaged, match="A stored recomposition cannot be read"):
        decode_recomposition(b"{}")
