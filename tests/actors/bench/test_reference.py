"""Laws of the best possible: what nobody who keeps the order of placements can do better."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.actors.bench import (
    Cache,
    Compact,
    Edit,
    Expire,
    Line,
    Switch,
    block_chain,
    cache,
    ideal,
    radix_tree,
)
from greenroom.actors.bench.composing import Composed, Ingredients, Kept, Part
from greenroom.actors.bench.contender import Setting, ours
from greenroom.actors.bench.playing import Playing
from greenroom.actors.bench.reference import Best, Reference, arranged
from greenroom.actors.bench.tally import Tally
from greenroom.protocol.permission import PRESETS
from tests.actors.bench.scenes import MINUTE, ingredients, prompt, scene

EXACT = (cache("ideal", ideal),)


def best(lines: Sequence[Line], caches: Sequence[Cache] = EXACT) -> Best:
    """The best case of the first of these ways of caching."""
    reference = Reference(caches)
    Playing(scene(lines), arranged, reference).play()
    return reference.best[0]


def missed(lines: Sequence[Line], policy: str = "in front") -> list[int]:
    """Tokens of each request that must be paid, under an ideal cache."""
    return list(best(lines)._bounds[policy].missed)  # type: ignore[index]


def ours_read(lines: Sequence[Line], caches: Sequence[Cache]) -> Tally:
    """What our composing reads of the same lines."""

    def arrange(given_: Ingredients, setting: Setting) -> Kept:
        return Composed(ours().make(setting)(given_))

    tally = Tally(caches)
    Playing(scene(lines), arrange, tally).play()
    return tally


def test_contents_are_told_without_words_around_them() -> None:
    """No heading, no label; the tools first, and the policy in force behind the person."""
    head = arranged(ingredients(), Setting(0, "s")).head(PRESETS.strictest, with_person=True)
    assert head.parts[1].level == "platform"
    assert Part("agent", b"You are the clerk of a shop.") in head.parts
    assert Part("person", b"Ada likes figures.") in head.parts
    assert head.parts[-1].level == "conversation"
    assert head.parts[-1].data.startswith(b"read-only ")


def test_what_was_sent_before_is_not_paid_again() -> None:
    """Of the next request in a conversation only what is new is."""
    first, second = missed([prompt(0, text="x" * 400), prompt(MINUTE, text="y" * 400)])
    assert first > second
    assert 100 < second < 200


def test_another_person_pays_for_their_part_and_what_follows() -> None:
    """Not for what all people of the agent share."""
    lines = [prompt(0, "a"), prompt(1, "b", person="ben"), prompt(2, "c"), prompt(3, "d")]
    first, ben, ada, again = missed(lines)
    assert first > ben > ada == again


def test_an_edit_costs_what_was_edited_and_what_is_narrower() -> None:
    """Whatever the order within the placement: the rest of it was sent before."""
    edit = Edit(at=1, part="agent", name="clerk", text="Another clerk.")
    first, second = missed([prompt(0, "a"), edit, prompt(2, "b")])
    refunds = len("Refund what was paid within 30 days.") // 4
    assert second < first - refunds


def test_a_switch_costs_the_conversation_unless_its_policy_stood_behind() -> None:
    """Both are told, since the first is the order that greenroom has chosen."""
    lines: list[Line] = [
        prompt(0, text="x" * 4_000),
        Switch(at=1, session="s", preset="workspace-write"),
        prompt(MINUTE, text="y"),
    ]
    in_front, behind = missed(lines)[1], missed(lines, "behind")[1]
    assert behind < 100
    assert in_front > 1_000


def test_life_and_cold_caches_bound_the_best_too() -> None:
    """Nobody reads what is not there any more."""
    lines: list[Line] = [
        prompt(0),
        prompt(20 * MINUTE),
        Expire(at=21 * MINUTE),
        prompt(22 * MINUTE),
    ]
    paid = missed(lines)
    assert paid[1] < paid[0] < paid[2]
    short = best(lines, (cache("short", radix_tree, life=300.0),))
    assert short._bounds["in front"].missed[1] > paid[0]


def test_the_best_of_a_way_of_caching_is_what_that_way_can_give() -> None:
    """Whole blocks of what is common; all of it where a model tells no bound."""
    lines = [prompt(0), prompt(MINUTE)]
    exact = best(lines)
    blocks = best(lines, (cache("blocks", block_chain, size=64),))
    totals = [1_000, 1_100]
    possible = [total - paid for total, paid in zip(totals, missed(lines), strict=True)]
    assert exact.possible(totals) == sum(possible)
    assert blocks.possible(totals) == sum(one // 64 * 64 for one in possible)


moments = st.lists(
    st.one_of(
        st.tuples(
            st.just("prompt"),
            st.sampled_from("abcd"),
            st.sampled_from(["clerk", "judge"]),
            st.sampled_from(["ada", "ben"]),
        ),
        st.tuples(st.just("switch"), st.sampled_from("abcd"), st.sampled_from(PRESETS.ids)),
        st.tuples(st.just("edit"), st.sampled_from(["clerk", "judge"]), st.text("xy", min_size=1)),
        st.tuples(st.just("compact"), st.sampled_from("abcd")),
    ),
    max_size=14,
)


def lines_of(drawn: list[tuple[str, ...]]) -> list[Line]:
    """Drawn moments as the lines of a trace, a minute apart."""
    lines: list[Line] = []
    for number, (kind, name, *more) in enumerate(drawn):
        at = number * MINUTE
        if kind == "prompt":
            # A session stays with one agent and person: its name says which.
            lines.append(prompt(at, name + more[0] + more[1], agent=more[0], person=more[1]))
        elif kind == "switch":
            lines.append(Switch(at=at, session=name + "clerkada", preset=more[0]))
        elif kind == "edit":
            lines.append(Edit(at=at, part="agent", name=name, text=f"You are {more[0]}."))
        else:
            lines.append(Compact(at=at, session=name + "clerkada"))
    return lines


@given(moments)
@settings(max_examples=40)
def test_ours_never_reads_more_than_the_best_possible(drawn: list[tuple[str, ...]]) -> None:
    """Whatever happens, in every way of caching."""
    lines = lines_of(drawn)
    ways = (*EXACT, cache("blocks", block_chain, size=8), cache("short", radix_tree, life=120.0))
    reference = Reference(ways)
    Playing(scene(lines), arranged, reference).play()
    tally = ours_read(lines, ways)
    for one, counted in zip(reference.best, tally.caches, strict=True):
        assert sum(counted.read) <= one.possible(tally.totals)
        assert one.possible(tally.totals) <= one.possible(tally.totals, "behind")


@pytest.mark.parametrize("preset", PRESETS.ids)
def test_without_switches_the_order_of_the_policy_is_worth_nothing(preset: str) -> None:
    """It is the same bytes either way."""
    lines: list[Line] = [Switch(at=0, session="s", preset=preset), prompt(0), prompt(MINUTE)]
    assert missed(lines)[1] == missed(lines, "behind")[1]
