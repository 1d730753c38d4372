"""Laws of installing: nothing published changes, order says nothing, authority is asked."""

import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from greenroom.protocol.contributor import Declaration, Owner, ToolFacts
from greenroom.protocol.eager import LeftOut
from greenroom.protocol.errors import GreenroomError, InvalidInput, SameName, TooLarge
from greenroom.protocol.installed import TRUSTED, Installed, Terms, Use, version_order
from greenroom.protocol.limits import Limits
from greenroom.protocol.refusal import (
    ContributorOverBudget,
    NotAuthorized,
    UnknownContributor,
    VersionTaken,
    WritesUnapproved,
)
from greenroom.protocol.tokens import TokenEstimate
from tests.protocol.prompt_samples import load, note, run, text


def terms(**fields: Any) -> Terms:
    return Terms(**{"by": "ada", "authorities": TRUSTED, **fields})


def holding(*declared: Declaration, **fields: Any) -> Installed:
    installed = Installed()
    for each in declared:
        installed = installed.publish(each, terms(**fields))
    return installed


def test_a_published_version_never_changes() -> None:
    """R138: the same again is nothing new, other content is refused and changes nothing."""
    installed = holding(text("money"))
    assert installed.publish(text("money"), terms()).published == installed.published
    for other in (text("money", "Money is in EUR."), text("money", priority=1), note("money")):
        with pytest.raises(VersionTaken, match="money@1"):
            installed.publish(other, terms())
    assert installed.read("money@1") == text("money")


def test_equal_to_python_is_not_the_same_content() -> None:
    """R138: 1 and 1.0 and true are one number to Python, and three to whoever is sent them."""
    installed = holding(run("r", arguments={"x": 1}))
    for other in (1.0, True):
        with pytest.raises(VersionTaken):
            installed.publish(run("r", arguments={"x": other}), terms())


def test_a_new_version_leaves_the_old_readable() -> None:
    """R138: the highest is in use, whatever was published last."""
    one, two, ten = (text("t", f"V{n}", version=n) for n in ("1", "2", "10"))
    for order in itertools.permutations((one, two, ten)):
        installed = holding(*order)
        assert installed.active == (ten,)
        assert [installed.read(f"t@{n}") for n in ("1", "2", "10")] == [one, two, ten]
    with pytest.raises(UnknownContributor, match="t@3"):
        installed.read("t@3")


def test_versions_are_ordered_as_they_are_read() -> None:
    """R138: numbers by their value, what comes before a release below it; never two alike."""
    ordered = ["a", "1-rc1", "1-rc2", "1-rc10", "1", "1.0", "1.00", "1.2", "1.10", "2"]
    for seed in (ordered[::-1], ordered[3:] + ordered[:3]):
        assert sorted(seed, key=version_order) == ordered


def test_the_order_of_installing_says_nothing() -> None:
    """R63: the same declarations are the same catalog."""
    declared: tuple[Declaration, ...] = (
        text("a"),
        text("b", version="2"),
        text("b"),
        run("c"),
        note("d"),
        load("e", tools=("t",)),
        text("f", owner="person", placement="person"),
    )
    expected = holding(*declared)
    for order in itertools.islice(itertools.permutations(declared), 0, 5_040, 97):
        installed = holding(*order)
        assert installed.active == expected.active
        assert list(installed.published) == list(expected.published)


def test_what_is_over_its_budget_is_refused_with_figures() -> None:
    """P102, R103: 501 where 500 are allowed; heading and frame are counted."""
    counter = TokenEstimate(1.0)
    holding(text("t", "x" * 498, budget=500), counter=counter)
    with pytest.raises(ContributorOverBudget, match=r"501 tokens .* budget is 500") as refusal:
        holding(text("t", "x" * 499, budget=500), counter=counter)
    assert refusal.value.facts == {"contributor": "t@1", "tokens": 501, "budget": 500}
    for more in ({"heading": "H"}, {"framing": "lower"}):
        with pytest.raises(ContributorOverBudget):
            holding(text("t", "x" * 498, budget=500, **more), counter=counter)
    with pytest.raises(ContributorOverBudget):
        holding(note("n", "x" * 498, budget=500), counter=counter)
    with pytest.raises(ContributorOverBudget):
        holding(text("t", "x" * 1_048_576, budget=100_000))


def test_a_refusal_is_read_where_it_was_offered() -> None:
    """R103: with its figures, until that version is published; the rest is untouched."""
    large = text("t", "x" * 9_000)
    installed = holding(text("a")).offer(large, terms())
    [refused] = installed.refused
    assert (refused.contributor, refused.code) == ("t@1", "contributor_over_budget")
    assert "3,001 tokens" in refused.sentence
    assert installed.active == (text("a"),)
    assert installed.offer(large, terms()).refused == (refused,)
    mended = installed.offer(text("t", "x" * 9_000, budget=4_000), terms())
    assert mended.refused == ()
    assert mended.active[-1].budget == 4_000


def test_what_a_composition_left_out_is_read_there_too() -> None:
    """R103: the place of its installing says what grew over its budget later."""
    left = LeftOut("t@1", "over_budget", "It needs 12 tokens; its budget is 10.", 12, 10)
    told = holding(text("t")).telling([left]).telling([left])
    [refused] = told.refused
    assert (refused.contributor, refused.code, refused.sentence) == (
        "t@1",
        "over_budget",
        left.sentence,
    )
    assert told.active == (text("t"),)


@pytest.mark.parametrize("owner", ["operator", "workspace", "author", "person"])
def test_the_owners_authority_decides_and_its_use_is_recorded(owner: Owner) -> None:
    """R135: adding and removing are asked of the owner's own, and of nobody else."""
    asked: list[Use] = []

    def authority(answer: bool) -> Callable[[Use], bool]:
        def decide(use: Use) -> bool:
            asked.append(use)
            return answer

        return decide

    def refuse(use: Use) -> bool:
        raise AssertionError(use)

    others = dict.fromkeys(TRUSTED, refuse)
    yes, no = (terms(authorities={**others, owner: authority(answer)}) for answer in (True, False))
    declared = text("t", owner=owner, placement="person")
    with pytest.raises(NotAuthorized, match=owner):
        Installed().publish(declared, no)
    installed = Installed().publish(declared, yes)
    with pytest.raises(NotAuthorized):
        installed.remove("t@1", no)
    removed = installed.remove("t@1", yes)
    added, taken_out = Use("add", "t@1", owner, "ada"), Use("remove", "t@1", owner, "ada")
    assert asked == [added, added, taken_out, taken_out]
    assert removed.uses == (added, taken_out)
    with pytest.raises(NotAuthorized):
        Installed().publish(declared, terms(authorities={}))


def test_what_is_removed_is_out_of_use_and_readable() -> None:
    """R138, R141: the version before it is in use again; put back, it is as it was."""
    installed = holding(text("t"), text("t", "New.", version="2"))
    removed = installed.remove("t@2", terms())
    assert removed.active == (text("t"),)
    assert removed.read("t@2").version == "2"
    assert removed.publish(text("t", "New.", version="2"), terms()).active == installed.active
    for key in ("t@2", "t@3"):
        with pytest.raises(UnknownContributor):
            removed.remove(key, terms())


def test_a_switch_is_the_workspaces() -> None:
    """R135, R141: of what is installed and of what is built in, except what makes an agent."""
    installed = holding(text("t")).switch("t", terms(), on=False)
    installed = installed.switch("catalog", terms(), on=False)
    assert installed.off == {"t", "catalog"}
    assert installed.uses[-1] == Use("switch_off", "catalog", "workspace", "ada")
    assert installed.switch("t", terms(), on=True).off == {"catalog"}
    for id_ in ("gone", "preamble", "agent", "t@1"):
        with pytest.raises(UnknownContributor, match=id_):
            installed.switch(id_, terms(), on=False)
    with pytest.raises(NotAuthorized):
        installed.switch("t", terms(authorities={"person": lambda _: True}), on=True)


def test_a_run_that_writes_needs_an_approval_of_its_own() -> None:
    """R149: refused, or approved by the owner's authority, and that is recorded."""
    known = terms(tools={"pay": ToolFacts("write")})
    with pytest.raises(WritesUnapproved, match="pay"):
        Installed().publish(run("r", "pay"), known)
    installed = Installed().publish(run("r", "pay"), known, approve=True)
    assert installed.approved == {"r@1"}
    assert [use.act for use in installed.uses] == ["add", "approve"]
    assert installed.publish(run("r", "pay"), known).approved == {"r@1"}
    with pytest.raises(WritesUnapproved):
        installed.publish(run("r", "pay", version="2"), known)
    cautious = {**TRUSTED, "workspace": lambda use: use.act != "approve"}
    with pytest.raises(NotAuthorized, match="approve"):
        Installed().publish(run("r", "pay"), terms(authorities=cautious), approve=True)


def test_an_id_stays_its_owners() -> None:
    """R135, R165: no person publishes a newer version of what the operator owns."""
    installed = holding(text("t", owner="operator", placement="person"))
    with pytest.raises(SameName, match="operator"):
        installed.publish(text("t", version="2", owner="person", placement="person"), terms())


def test_there_is_a_bound_on_what_is_published() -> None:
    """R131: with the bound named; what is published already is no news."""
    few = terms(limits=Limits(contributors_max=2))
    installed = holding(text("a"), text("b"), limits=Limits(contributors_max=2))
    with pytest.raises(TooLarge, match="2"):
        installed.publish(text("c"), few)
    assert installed.publish(text("a"), few).published == installed.published


def test_a_refusal_leaves_everything_as_it_was() -> None:
    """R131: a value is never changed; what is refused is no part of another one."""
    installed = holding(text("a"))
    before = msgspec.json.encode(installed, order="deterministic")
    for bad in (text("t", "{now}"), text("a", "Other."), text("x y"), text("preamble")):
        with pytest.raises(GreenroomError):
            installed.publish(bad, terms())
        assert installed.offer(bad, terms()).published == installed.published
    assert msgspec.json.encode(installed, order="deterministic") == before
    with pytest.raises(InvalidInput):
        installed.publish(print, terms())  # type: ignore[arg-type]


def test_what_is_installed_is_plain_data() -> None:
    """R131, R138: it can be kept and read back, with everything that was ever published."""
    installed = holding(text("a"), run("b", arguments={"x": [1]}), note("c"))
    installed = installed.switch("a", terms(), on=False).remove("c@1", terms())
    encoded = msgspec.json.encode(installed)
    assert msgspec.json.decode(encoded, type=Installed) == installed
