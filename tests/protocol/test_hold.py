"""Laws of holds as data: one is read back as it was placed."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.hold import Hold, decode_hold, encode_hold

names = st.none() | st.text(min_size=1, max_size=5)
holds = st.builds(
    Hold,
    id=st.text(min_size=1, max_size=5),
    at=st.integers(0, 2**50),
    by=st.text(max_size=5),
    reason=st.text(max_size=5),
    running=st.sampled_from(["finish", "stop"]),
    tenant=names,
    skill=names,
    agent=names,
    revision=names,
    contributor=names,
    person=names,
    model=names,
    preset=names,
    labels=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3),
    sessions=st.none() | st.integers(0, 9),
    stopped=st.none() | st.integers(0, 9),
)


@given(holds)
def test_a_hold_is_read_back_without_what_was_counted(hold: Hold) -> None:
    """R239: a count is true for one moment, and is never stored."""
    assert decode_hold(encode_hold(hold)) == structs.replace(hold, sessions=None, stopped=None)


def test_a_hold_that_an_earlier_release_stored_is_read() -> None:
    """R239: it is in force as it was."""
    told = {"id": "h", "at": 1, "by": "ann", "reason": "Look.", "tenant": "t", "skill": "s"}
    stored = msgspec.json.encode({**told, "labels": {"a": "1"}})
    found = decode_hold(stored)
    assert (found.tenant, found.skill, found.labels, found.running) == (
        "t",
        "s",
        {"a": "1"},
        "finish",
    )


def test_what_is_no_hold_is_damage() -> None:
    # R92
    with pytest.raises(StoreDamaged, match="A stored hold cannot be read"):
        decode_hold(b"{}")
