"""Laws of asking a composer twice."""

import itertools
import pickle
from collections.abc import Callable

import pytest

from greenroom.actors.bench import (
    Asked,
    ComposerVaries,
    Contender,
    Difference,
    ask,
    check_composer,
    common_ways,
    contender,
    ours,
    time_at_the_tail,
    time_in_front,
)
from greenroom.actors.bench.checking import _SEEDS, SETTINGS, Question, _answered
from greenroom.actors.bench.composing import Composition, Ingredients
from greenroom.protocol.wording import CURRENT
from tests.actors.bench import varying
from tests.actors.bench.scenes import ingredients

GIVEN = (ingredients(), ingredients("judge", "ben"))
FIRST = len(CURRENT.preamble.strip())
"""Where the words that vary stand."""


def difference(one: Contender) -> Difference:
    """The difference that is found in a composer that has one."""
    found = asked(one).difference
    assert found is not None
    return found


def asked(one: Contender) -> Asked:
    """What comes of asking one."""
    (found,) = ask([one], GIVEN)
    return found


def test_ours_is_the_same_in_every_process() -> None:
    """Under two hash seeds, two clocks and two sessions."""  # R65
    found = asked(ours())
    assert (found.difference, found.where) == (None, "in 3 processes")
    check_composer(contender("pure", varying.pure), GIVEN)


def test_a_composer_that_counts_is_found_when_it_is_asked_again() -> None:
    """Under nothing else at all."""
    found = difference(contender("counts", varying.by_count))
    assert (found.what, found.at, found.under) == ("system string", FIRST + 1, "nothing")


def test_a_composer_that_knows_the_session_is_refused_with_the_first_byte() -> None:
    """And with what stands there, one and the other time."""
    one = Contender("knows", varying.by_setting)
    with pytest.raises(
        ComposerVaries, match=f"from byte {FIRST:,} of the system string"
    ) as refused:
        check_composer(one, GIVEN)
    assert refused.value.facts == {
        "what": "system string",
        "at": FIRST,
        "under": "clock and session",
    }
    found = difference(one)
    assert found.one.startswith("tuesday\n\nYou are the clerk")
    assert found.other.startswith("another/session\n\nYou are")


def test_hash_order_is_found_in_another_process() -> None:
    """In one process it is always the same."""
    found = difference(contender("sets", varying.by_hash_order))
    assert found.under == "process, hash seed and clock"
    assert found.at >= FIRST


def test_two_processes_never_have_one_hash_seed() -> None:
    """Whatever the seed of this one."""
    question = Question(contender("sets", varying.by_hash_order).make, SETTINGS[0], GIVEN)
    asked_ = pickle.dumps([pickle.dumps(question)])
    one, other = (_answered(asked_, 0.0, seed) for seed in _SEEDS)
    assert one != other


@pytest.mark.parametrize("composer", [varying.by_date, varying.by_today, varying.by_clock])
def test_a_date_is_found_though_it_is_the_same_all_day(
    composer: Callable[[Ingredients], Composition],
) -> None:
    """The clocks of the other processes stand years apart."""
    found = difference(contender("dates", composer))
    assert (found.at, found.under) == (FIRST + len("202"), "process, hash seed and clock")


def test_what_is_sent_beside_the_prompt_counts_too() -> None:
    """Parameters and tools are part of what is kept."""
    found = difference(Contender("knows", varying.by_parameters))
    assert (found.what, found.at) == ("parameters", len('{"user":"'))


def test_a_composer_without_a_name_is_asked_in_this_process() -> None:
    """And the record says so; what varies here is found all the same."""
    count = itertools.count()
    found = asked(contender("nameless", lambda given: varying.told(given, "")))
    assert found.difference is None
    assert found.where.startswith("in this process only: ")
    counts = contender("nameless", lambda given: varying.told(given, f"{next(count)}"))
    assert asked(counts).difference is not None


def test_of_the_common_ways_those_with_a_time_vary() -> None:
    """Which they show as contrasts."""
    assert [one.contrast for one in common_ways()] == [False, True, True, True]
    assert difference(time_in_front()).at == len("The current time is 202")
    assert difference(time_at_the_tail()).under == "clock and session"


def test_one_that_fails_elsewhere_keeps_nobody_from_being_asked() -> None:
    """And its record says what happened there."""
    found = ask([contender("fails", varying.only_here), ours()], GIVEN)
    assert [one.difference for one in found] == [None, None]
    assert found[0].where == "in this process only: RuntimeError: not my process"
    assert found[1].where == "in 3 processes"


def test_nothing_to_compose_is_nothing_to_ask() -> None:
    """A public trace composes nothing."""
    assert ask([ours()], ())[0].where.startswith("nowhere")
