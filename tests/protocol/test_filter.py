"""Laws of filters: which sessions one means, and in what words that is said."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from greenroom.protocol.filter import (
    Filter,
    Which,
    about,
    covers,
    header_terms,
    is_concerned,
    message_terms,
)
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId

ANN = SessionId("shop", "ann")
HEADER = Header(
    "support",
    "p1",
    "read-only",
    None,
    0,
    labels={"team": "a", "tier": "1"},
    skills=("skills/x",),
    revisions=("r1",),
)


@pytest.mark.parametrize(
    ("told", "does"),
    [
        ({}, True),
        ({"tenant": "shop"}, True),
        ({"tenant": "other"}, False),
        ({"agent": "support"}, True),
        ({"agent": "sales"}, False),
        ({"person": "p1"}, True),
        ({"person": "p2"}, False),
        ({"preset": "read-only"}, True),
        ({"preset": "full"}, False),
        ({"skill": "skills/x"}, True),
        ({"skill": "skills/y"}, False),
        ({"revision": "r1"}, True),
        ({"revision": "skills/x"}, False),
        ({"contributor": "money"}, False),
        ({"model": "m"}, False),
        ({"labels": {"team": "a"}}, True),
        ({"labels": {"team": "b"}}, False),
        ({"labels": {"team": "a", "tier": "2"}}, False),
        ({"labels": {"gone": "a"}}, False),
        ({"agent": "support", "skill": "skills/x", "labels": {"tier": "1"}}, True),
        ({"agent": "sales", "skill": "skills/x"}, False),
    ],
)
def test_a_filter_means_sessions_that_fit_all_of_it(told: dict[str, Any], *, does: bool) -> None:
    # R159, R239
    assert is_concerned(Filter(**told), ANN, header_terms(HEADER)) is does


def test_a_chosen_model_stands_in_place_of_the_agents() -> None:
    # R239
    chosen = header_terms(structs.replace(HEADER, model="m"))
    assert is_concerned(Filter(model="m"), ANN, chosen)
    assert ("unchosen", "support") in header_terms(HEADER) - chosen


def test_what_messages_show_stands_apart() -> None:
    # R239
    assert message_terms(HEADER) == {("skill", "skills/x"), ("revision", "r1")}


def test_the_parts_that_are_given_are_those_of_a_filter() -> None:
    """R239: one vocabulary, but for the tenant, which is the scope's."""
    assert {*Which.__annotations__, "tenant"} == {f.name for f in structs.fields(Filter)}


def test_what_a_filter_means_is_told_in_words() -> None:
    # R239
    assert about(Filter()) == "all sessions"
    told = Filter(tenant="t", agent="a", skill="s", labels={"b": "2", "a": "1"})
    words = "sessions showing the skill s of the agent a of the tenant t labelled a=1 labelled b=2"
    assert about(told) == words
    told = Filter(revision="r", contributor="c@1", person="p", model="m", preset="x")
    words = "showing the revision r with the contributor c@1 of the person p of the model m under"
    assert about(told) == f"sessions {words} the preset x"


def test_the_narrowest_of_what_is_to_be_shown_is_told_of() -> None:
    # R239
    assert Filter(agent="a").shown is None
    assert Filter(skill="s", contributor="c").shown == ("skill", "s")
    assert Filter(skill="s", revision="r").shown == ("revision", "r")


few = st.none() | st.sampled_from("ab")
labels = st.dictionaries(st.sampled_from("ab"), st.sampled_from("ab"))
filters = st.builds(
    Filter,
    tenant=few,
    skill=few,
    agent=few,
    labels=labels,
)
sessions = st.builds(
    Header,
    st.sampled_from("ab"),
    st.none(),
    st.just("p"),
    st.none(),
    st.just(0),
    skills=st.lists(st.sampled_from("ab")).map(tuple),
    labels=labels,
)


@given(filters, filters, sessions, st.sampled_from("ab"))
def test_a_wider_filter_means_all_that_a_narrower_one_means(
    wide: Filter, narrow: Filter, header: Header, tenant: str
) -> None:
    # R239
    session, terms = SessionId(tenant, "s"), header_terms(header)
    if covers(wide, narrow) and is_concerned(narrow, session, terms):
        assert is_concerned(wide, session, terms)
    assert covers(wide, wide)
