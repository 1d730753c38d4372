"""Laws of what shaped a turn: every contributor at its version, and what was left out."""

import pytest

from greenroom.protocol.errors import StoreDamaged
from greenroom.protocol.shaping import reaching, shaped
from greenroom.protocol.turn import SkillUse
from tests.protocol.prompt_samples import composition, load, note, run, skill, text
from tests.protocol.turn_samples import given, prompt, told, turn

PLAN = skill("plan")
KEPT = composition(
    bound=(PLAN,),
    extra=(
        text("money"),
        text("large", "x" * 90, budget=20),
        text("hello", placement="conversation"),
        run("clock"),
        load("sheet", most_used=1),
        note("pause"),
    ),
    given=given("look"),
    person="ada",
    person_text="Ada counts.",
)
AGAIN = composition(extra=(text("money", version="2"),))
STORED = {"kept": KEPT, "again": AGAIN}


def test_a_turn_names_every_contributor_at_its_version() -> None:
    """R77: of system string and opening, built in and installed, in the order of sharing."""
    found = shaped(turn(prompt("kept"), with_person=True), STORED.__getitem__)
    ids = [each.rpartition("@")[0] for each in found.contributors]
    assert ids == [
        "preamble",
        "agent",
        "skills/plan",
        "money",
        "person",
        "hello",
        "sheet",
        "clock",
    ]
    assert "money@1" in found.contributors
    assert f"skills/plan@{PLAN.revision}" in found.contributors
    assert found.skills == (SkillUse("skills/plan", "plan", PLAN.revision, "composition"),)


def test_a_turn_without_a_person_is_shaped_by_nothing_of_one() -> None:
    """R77, R137: what was not sent did not reach it."""
    found = shaped(turn(prompt("kept")), STORED.__getitem__)
    assert not any(each.startswith("person@") for each in found.contributors)
    assert set(reaching(KEPT, with_person=True)) - set(reaching(KEPT, with_person=False)) == {
        section.contributor for section in KEPT.sections if section.placement == "person"
    }


def test_a_note_shapes_the_turn_that_is_told_it() -> None:
    """R77: one that was not due is not named, one of the platform's own has no contributor."""
    notes = (told("pause@1"), told("", kind="approvals"))
    assert "pause@1" not in shaped(turn(prompt("kept")), STORED.__getitem__).contributors
    found = shaped(turn(prompt("kept"), notes=notes), STORED.__getitem__)
    assert found.contributors[-1] == "pause@1"
    assert "" not in found.contributors


def test_what_was_left_out_is_named_with_its_figures() -> None:
    """R103: the turn record says so."""
    found = shaped(turn(prompt("kept")), STORED.__getitem__)
    [left] = found.left_out
    assert (left.contributor, left.why, left.budget) == ("large@1", "over_budget", 20)
    assert left.sentence == f"It needs {left.tokens} tokens; its budget is 20."


def test_a_turn_composed_anew_inside_names_both_prompts_from_their_rounds() -> None:
    """R77: each with its contributors; the turn's own are those of both, once."""
    found = shaped(turn(prompt("kept"), prompt("again", round_=2)), STORED.__getitem__)
    assert [(each.round, each.composition) for each in found.prompts] == [(0, "kept"), (2, "again")]
    assert "money@1" in found.prompts[0].contributors
    assert "money@2" in found.prompts[1].contributors
    assert {"money@1", "money@2"} <= set(found.contributors)
    assert len(set(found.contributors)) == len(found.contributors)
    assert found.composition == "kept"


def test_a_kept_prompt_that_cannot_be_read_is_no_empty_one() -> None:
    """R92: whoever asks is told."""

    def gone(digest: str) -> None:
        raise StoreDamaged(f"The kept prompt {digest} is not in the store.")

    with pytest.raises(StoreDamaged):
        shaped(turn(prompt("kept")), gone)  # type: ignore[arg-type]
