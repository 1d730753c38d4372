"""Laws of what a version cost and reached: over many sessions, and none of them is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.composition import Composition
from greenroom.protocol.errors import StoreDamaged, TooLarge
from greenroom.protocol.reckoning import ContributorSpend, Outcomes, Reckoning
from greenroom.protocol.tokens import TokenEstimate
from greenroom.protocol.turn import TurnRecord
from greenroom.protocol.usage import Usage
from tests.protocol.prompt_samples import composition, note, run, text, user
from tests.protocol.turn_samples import given as tools
from tests.protocol.turn_samples import prompt, told, turn

MONEY = len(b"Money is in pence.\n\n")
KEPT: dict[str, Composition] = {
    "plain": composition(person="ada", person_text="Ada counts."),
    "v1": composition(extra=(text("money"), note("pause"))),
    "v2": composition(extra=(text("money", "Money is in EUR.", version="2"), note("pause"))),
    "run": composition(extra=(run("clock"),), given=tools("look")),
}


def reckoned(*sessions: tuple[TurnRecord, ...]) -> dict[str, ContributorSpend]:
    reckoning = Reckoning(KEPT.__getitem__, TokenEstimate(1.0))
    for session in sessions:
        reckoning.take(session)
    assert reckoning.sessions == len(sessions)
    assert reckoning.turns == sum(map(len, sessions))
    return {each.contributor: each for each in reckoning.spends()}


def test_a_version_spends_in_every_request_that_holds_it() -> None:
    """R78: sums of bytes and tokens, of requests, turns and sessions, by exact version."""
    found = reckoned(
        (turn(prompt("v1"), rounds=3), turn(prompt("v1"), number=2, rounds=1)),
        (turn(prompt("v2"), rounds=2),),
    )
    first, second = found["money@1"], found["money@2"]
    assert (first.requests, first.bytes, first.tokens) == (4, 4 * MONEY, 4 * MONEY)
    assert (first.sessions, first.reached.turns) == (1, 2)
    assert (second.requests, second.sessions, second.reached.turns) == (2, 1, 1)
    assert (first.owner, first.placement) == ("workspace", "agent")
    assert next(iter(found)) == "preamble@" + KEPT["v1"].sections[0].contributor.partition("@")[2]


def test_turns_with_it_stand_beside_those_without_it_of_the_same_agents() -> None:
    """R78: with their outcomes, and no turn of an agent that it never reached."""
    used = Usage(input=100, output=10, cost=0.25)
    found = reckoned(
        (turn(prompt("v1"), usage=used, calls=2), turn(prompt("v1"), number=2, end="failed")),
        (turn(prompt("plain"), rounds=2, usage=used), turn(prompt("plain"), number=2, end=None)),
        (turn(prompt("plain"), agent="sales", usage=used),),
    )
    money = found["money@1"]
    assert money.reached == Outcomes(2, {"done": 1, "failed": 1}, 2, 2, used, 4_000)
    assert money.beside == Outcomes(2, {"done": 1, "running": 1}, 3, 0, used, 2_000)
    preamble = next(each for key, each in found.items() if key.startswith("preamble"))
    assert (preamble.reached.turns, preamble.beside.turns) == (5, 0)


def test_what_a_turn_was_not_sent_cost_nothing_in_it() -> None:
    """R78, R137: a turn without a person has nothing of the person's part."""
    found = reckoned((turn(prompt("plain"), with_person=True), turn(prompt("plain"), number=2)))
    person = next(each for key, each in found.items() if key.startswith("person@"))
    assert (person.requests, person.reached.turns, person.beside.turns) == (1, 1, 1)


def test_a_note_reaches_its_turn_and_is_sent_again_with_every_later_request() -> None:
    """R78, R152: from the round in which it stands, through all turns that follow."""
    size = len(user("News."))
    found = reckoned(
        (
            turn(prompt("v1"), rounds=2),
            turn(prompt("v1"), number=2, rounds=3, notes=(told("pause@1", round_=1),)),
            turn(prompt("v1"), number=3, rounds=2),
            turn(prompt("v1"), number=4, rounds=1, notes=(told("pause@1"),)),
        )
    )["pause@1"]
    assert found.requests == 2 + 2 + 1
    assert found.bytes == size * (2 + 2 + 1 + 1)
    assert (found.reached.turns, found.beside.turns) == (2, 2)
    assert (found.owner, found.placement) == ("workspace", "message")


def test_a_note_that_a_summary_stands_for_is_sent_no_more() -> None:
    """R78, R106: from the request on that begins with the summary; those behind it go on."""
    size = len(user("News."))
    found = reckoned(
        (
            turn(prompt("v1"), rounds=2, notes=(told("pause@1"),)),
            turn(prompt("v1"), number=2, rounds=3, notes=(told("pause@1"),)),
            turn(prompt("v1"), prompt("v2", 1, summarised=1), number=3, rounds=3),
            turn(prompt("v2", summarised=2), number=4, rounds=2),
        )
    )["pause@1"]
    # Both, then both once, and the second twice; then neither.
    assert found.bytes == size * (2 + 3 + 3 + 2 + 2)
    assert found.requests == 2 + 3 + 1 + 2


def test_a_note_of_the_platforms_own_is_no_contributors() -> None:
    """R78: it has no version."""
    found = reckoned((turn(prompt("v1"), notes=(told("", kind="approvals"),)),))
    assert "" not in found
    assert "pause@1" not in found


def test_a_run_reaches_turns_whatever_it_takes_up() -> None:
    """R78: what it brought is not known from the kept prompt, that it was there is."""
    clock = reckoned((turn(prompt("run"), rounds=2),))["clock@1"]
    assert (clock.requests, clock.reached.turns, clock.bytes) == (2, 1, 0)


def test_a_turn_composed_anew_inside_counts_each_prompt_for_its_rounds() -> None:
    """R77, R78: from the round on from which it held."""
    found = reckoned((turn(prompt("v1"), prompt("v2", round_=2), rounds=5),))
    assert (found["money@1"].requests, found["money@2"].requests) == (2, 3)
    assert found["money@1"].reached == found["money@2"].reached
    preamble = next(each for key, each in found.items() if key.startswith("preamble"))
    assert (preamble.requests, preamble.reached.turns) == (5, 1)


def test_requests_for_something_else_hold_nothing_of_it() -> None:
    """R78: a summary or a title is asked for in its own words; a retry sends all again."""
    found = reckoned((turn(prompt("v1"), causes=("compaction", "title", "retry")),))
    assert found["money@1"].requests == 2
    assert found["money@1"].reached.model_calls == 4


def test_a_session_is_taken_whole_or_not_at_all() -> None:
    """R78, R92: one that cannot be read leaves no half of itself in the sums."""

    def composition_of(digest: str) -> Composition:
        if digest == "gone":
            raise StoreDamaged("The kept prompt is not in the store.")
        return KEPT[digest]

    reckoning = Reckoning(composition_of)
    with pytest.raises(StoreDamaged):
        reckoning.take((turn(prompt("v1")), turn(prompt("gone"), number=2)))
    assert (reckoning.spends(), reckoning.turns, reckoning.sessions) == ((), 0, 0)


def test_the_number_of_versions_has_a_bound() -> None:
    """R78: what is counted takes memory by version; too many are refused, not dropped."""
    reckoning = Reckoning(KEPT.__getitem__, versions_max=4)
    reckoning.take((turn(prompt("v1")),))
    with pytest.raises(TooLarge):
        reckoning.take((turn(prompt("v2")), turn(prompt("run"))))
    assert (reckoning.turns, "money@2" in str(reckoning.spends())) == (1, False)


COUNTS = st.integers(0, 50)
OUTCOMES = st.builds(
    Outcomes,
    turns=COUNTS,
    ends=st.dictionaries(st.sampled_from(["done", "failed"]), st.integers(1, 9)),
    model_calls=COUNTS,
    usage=st.builds(Usage, input=COUNTS, output=COUNTS),
    milliseconds=COUNTS,
)


@given(OUTCOMES, OUTCOMES)
def test_turns_without_are_all_without_those_with(one: Outcomes, other: Outcomes) -> None:
    """R78: nothing is counted on both sides, and nothing on neither."""
    assert one.plus(other).plus(other, -1) == one
    assert one.plus(other) == other.plus(one)


@given(st.lists(st.lists(st.sampled_from(["v1", "v2", "plain"]), max_size=4), max_size=4))
def test_with_and_without_are_all_turns(drawn: list[list[str]]) -> None:
    """R78: of every version, whatever else there was, and in whichever order sessions come."""
    sessions = [
        tuple(turn(prompt(name), number=n + 1) for n, name in enumerate(names)) for names in drawn
    ]
    found = reckoned(*sessions)
    for each in found.values():
        assert each.reached.turns + each.beside.turns == sum(map(len, drawn))
        assert each.requests == each.reached.turns
    assert found == reckoned(*sessions[::-1])
