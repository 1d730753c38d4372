"""Laws of picking: three ways to say it, one record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.errors import AmbiguousSkill, InvalidInput, SkillNotGiven, TooLarge
from greenroom.protocol.selection import names_in, resolve_picks
from tests.protocol.prompt_samples import summary

DEPLOY, REVIEW = summary("deploy"), summary("review")
LIVE = [DEPLOY, REVIEW]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("$deploy", ["deploy"]),
        ("now $deploy, please", ["deploy"]),
        ("a\n$deploy\t$review", ["deploy", "review"]),
        ("\N{NO-BREAK SPACE}$deploy", ["deploy"]),
        ("$a-1-b.", ["a-1-b"]),
        ("$deploy_now", ["deploy"]),
        ("$5 and $HOME and $-x and $", ["5"]),
        ("\\$deploy", []),
        ("a$deploy ($deploy)", []),
        ("$$deploy", []),
        ("", []),
    ],
)
def test_a_name_stands_after_white_space_and_ends_where_no_slug_goes_on(
    text: str, names: list[str]
) -> None:
    """R19: the start or white space before it, exact case, a backslash makes it text."""
    assert [name for name, _ in names_in(text)] == names


@given(st.text(alphabet="ab-A$\\ \n.5", max_size=40))
def test_every_name_is_found_where_it_stands(text: str) -> None:
    """R19: each found name is the longest slug behind its dollar sign."""
    for name, offset in names_in(text):
        assert text[offset : offset + 1 + len(name)] == f"${name}"
        assert offset == 0 or text[offset - 1].isspace()
        assert text[offset + 1 + len(name) :][:1] not in set("ab-5")


@pytest.mark.parametrize(
    ("chosen", "text"),
    [(["skills/deploy"], "go"), (["deploy"], "go"), ([], "$deploy go")],
    ids=["id", "slug", "name"],
)
def test_three_ways_to_pick_give_one_record(chosen: list[str], text: str) -> None:
    """R18, R22, P054: by id, by slug and by name the record is the same."""
    (picked,) = resolve_picks(chosen, text, LIVE)
    assert (picked.id, picked.slug, picked.name) == ("skills/deploy", "deploy", "Deploy")


def test_explicit_ids_come_first_then_names_by_position() -> None:
    """R19, R21: a repeated pick counts once, at its first place."""
    live = [summary(slug) for slug in ("a", "b", "c", "d")]
    text = "$c then $a and $b and $c"
    slugs = [pick.slug for pick in resolve_picks(["d", "skills/a", "a"], text, live)]
    assert slugs == ["d", "a", "c", "b"]


@pytest.mark.parametrize("text", ["costs $5", "echo $HOME", "$nobody", "\\$deploy", ""])
def test_a_name_of_no_skill_is_text(text: str) -> None:
    """R19: what does not resolve is no pick and no error."""
    assert resolve_picks([], text, LIVE) == ()


def test_a_name_of_two_skills_is_ambiguous() -> None:
    """R19: the error names the ids, in the text as beside the message."""
    live = [summary("deploy", id_="b"), summary("deploy", id_="a"), REVIEW]
    for chosen, text in ([], "$deploy"), (["deploy"], ""):
        with pytest.raises(AmbiguousSkill) as refusal:
            resolve_picks(chosen, text, live)
        assert refusal.value.facts["ids"] == ["a", "b"]


def test_the_way_out_of_an_ambiguous_name_is_one() -> None:
    """R19: with one of them picked by its id, the name in the text means that one."""
    live = [summary("deploy", id_="b"), summary("deploy", id_="a")]
    assert [pick.id for pick in resolve_picks(["a"], "$deploy it", live)] == ["a"]


def test_a_skill_that_the_agent_was_not_given_is_refused() -> None:
    """R20: only live skills of the agent can be picked explicitly."""
    with pytest.raises(SkillNotGiven):
        resolve_picks(["skills/other"], "", LIVE)
    with pytest.raises(SkillNotGiven):
        resolve_picks(["skills/deploy"], "", [])


@pytest.mark.parametrize("malformed", ["", "a\ud800", "a\0", 5])
def test_a_malformed_id_is_refused(malformed: str) -> None:
    """R21: what cannot be a name is refused as such."""
    with pytest.raises(InvalidInput):
        resolve_picks([malformed], "", LIVE)


def test_more_than_eight_picks_are_refused() -> None:
    """R21: the bound holds for ids, for names, and for both together."""
    live = [summary(f"s{number}") for number in range(9)]
    ids, names = [skill.id for skill in live], [f"${skill.slug}" for skill in live]
    assert len(resolve_picks(ids[:8], "", live)) == 8
    assert len(resolve_picks(ids[:4], " ".join(names[:8]), live)) == 8
    for chosen, text in (ids, ""), ([], " ".join(names)), (ids[:5], " ".join(names[5:])):
        with pytest.raises(TooLarge):
            resolve_picks(chosen, text, live)
