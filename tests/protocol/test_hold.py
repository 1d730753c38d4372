"""Laws of holds as data: which sessions one is about, and that it is read back as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.hold import Hold, about, decode_hold, encode_hold, is_concerned
from greenroom.protocol.identity import SessionId

ALL = Hold(id="h1", at=1, by="ann", reason="Look.")
ANN = SessionId("shop", "ann")


@pytest.mark.parametrize(
    ("told", "does"),
    [
        ({}, True),
        ({"tenant": "shop"}, True),
        ({"tenant": "other"}, False),
        ({"agent": "support"}, True),
        ({"agent": "sales"}, False),
        ({"skill": "skills/x"}, True),
        ({"skill": "skills/y"}, False),
        ({"labels": {"team": "a"}}, True),
        ({"labels": {"team": "b"}}, False),
        ({"labels": {"team": "a", "tier": "2"}}, False),
        ({"labels": {"gone": "a"}}, False),
        ({"agent": "support", "skill": "skills/x", "labels": {"tier": "1"}}, True),
        ({"agent": "sales", "skill": "skills/x"}, False),
    ],
)
def test_a_hold_is_about_sessions_that_fit_all_of_it(
    told: dict[str, object], *, does: bool
) -> None:
    # R159, R239
    hold = structs.replace(ALL, **told)
    labels = {"team": "a", "tier": "1"}
    assert is_concerned(hold, ANN, "support", labels, {"skills/x"}) is does


def test_what_a_hold_is_about_is_told_in_words() -> None:
    # R239
    assert about(ALL) == "all sessions"
    told = structs.replace(ALL, tenant="t", agent="a", skill="s", labels={"b": "2", "a": "1"})
    words = "sessions showing the skill s of the agent a of the tenant t labelled a=1 labelled b=2"
    assert about(told) == words


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
    labels=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3),
    sessions=st.none() | st.integers(0, 9),
    stopped=st.none() | st.integers(0, 9),
)


@given(holds)
def test_a_hold_is_read_back_without_what_was_counted(hold: Hold) -> None:
    """R239: a count is true for one moment, and is never stored."""
    assert decode_hold(encode_hold(hold)) == structs.replace(hold, sessions=None, stopped=None)


def test_what_is_no_hold_is_damage() -> None:
    # R92
    with pytest.raises(StoreDamaged, match="A stored hold cannot be read"):
        decode_hold(b"{}")
