"""Laws of what a composition holds beside its system string, and of what it leaves out."""

import pytest

from greenroom.protocol.composition import (
    Composition,
    composition_digest,
    decode_composition,
    encode_composition,
    opening_texts,
    render,
)
from greenroom.protocol.contributor import ToolFacts, personality, stance
from greenroom.protocol.eager import Given
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.tokens import TokenEstimate
from tests.protocol.prompt_samples import composition, load, note, run, skill, summary, text

KNOWN = Given(tools={"look": ToolFacts("read"), "rows": ToolFacts("read", on_demand=True)})


def with_a_beginning(**fields: object) -> Composition:
    """A kept prompt of which something stands behind the system string, too."""
    extra = (
        text("b", "You talk with {person}.", placement="conversation", heading="Who"),
        text("a", "First of all.", placement="conversation", priority=1),
        run("clock", "look", arguments={"b": 1, "a": 2}, about="When it began"),
        load("tables", tools=("rows",)),
        note("hours"),
    )
    return composition(**{"extra": extra, "given": KNOWN, "person": "ada", **fields})


def test_what_is_the_conversations_stands_behind_the_system_string() -> None:
    """R63, R133: texts of the opening are kept, in their order, and are no section that is sent."""
    kept = with_a_beginning()
    assert opening_texts(kept) == ("First of all.", "## Who\n\nYou talk with ada.")
    assert [section.contributor for section in kept.opening] == ["a@1", "b@1"]
    system = render(kept, PRESETS.strictest, with_person=True).text
    assert system == render(composition(person="ada"), PRESETS.strictest, with_person=True).text


def test_a_composition_holds_what_is_done_with_it_later() -> None:
    """R56, R142, R146, R151: loads, runs and notes whole, at the versions that it names."""
    kept = with_a_beginning()
    assert [each.key for each in kept.eager] == ["tables@1", "clock@1"]
    assert [each.key for each in kept.notes] == ["version-changed@1", "hours@1"]
    assert kept.contributors[-6:-2] == ("a@1", "b@1", "tables@1", "clock@1")
    assert kept.contributors[-2:] == ("version-changed@1", "hours@1")
    digest = composition_digest(encode_composition(kept))
    for fields in ({"extra": ()}, {"given": Given()}, {"person": "bob"}):
        assert digest != composition_digest(encode_composition(with_a_beginning(**fields)))


def test_with_a_beginning_it_comes_back_equal() -> None:
    """R56, R61: what is stored holds all of it, left out or not."""
    kept = with_a_beginning(counter=TokenEstimate(0.01))
    assert kept.left_out
    for each in (kept, with_a_beginning()):
        encoded = encode_composition(each)
        assert decode_composition(encoded) == each
        assert encode_composition(decode_composition(encoded)) == encoded


FORMER = {
    "1a24a79140439743c2297bf62e2e072e79c2febd87c219c11e114556941858ce": {},
    "56c6aab645d72f5e6ac84f7b4be32ce69f0c34aace45f61edbeb5ee6929d4687": {
        "bound": (skill("zeta", "Do zeta."), skill("alpha", "Do alpha.", {"index.md": b"A"})),
        "catalog": (summary("wiki"), summary("mail")),
        "person": "ada",
        "person_catalog": (summary("diary"),),
        "instructions": "Use tabs.",
        "person_text": "Be brief.",
        "tools": b'[{"type":"function"}]',
        "parameters": b'{"temperature":0}',
    },
    "18a6c2e58eaed52d789b6c8794bb61e89f55cb66cb2f5075418892299d8ded92": {
        "person": "ada",
        "extra": (
            text("stance", "Challenge premises.", owner="author"),
            text("money", "Money is in pence.", heading="Money", priority=5),
            text("policy", "Be lawful.", placement="platform", owner="operator"),
            text("tone", "Hi {person}, I am {agent}.", placement="person"),
        ),
    },
}
"""What compositions were stored under before they could hold a beginning."""


@pytest.mark.parametrize("digest", FORMER)
def test_what_holds_no_beginning_is_stored_as_ever(digest: str) -> None:
    """R61, R201: not a byte of what was composed before is another, so it is found and read."""
    kept = composition(**FORMER[digest], off=frozenset({"version-changed"}))
    encoded = encode_composition(kept)
    assert composition_digest(encoded) == digest
    assert decode_composition(encoded) == kept


def test_what_outgrew_its_budget_is_left_out_whole() -> None:
    """R103: by the model's own counter; the result says which and how much, and nothing is cut."""
    extra = (text("long", "x" * 100, budget=60), text("short", "y", budget=60))
    assert composition(extra=extra).left_out == ()
    kept = composition(extra=extra, counter=TokenEstimate(1.0))
    assert "text:long" not in {section.name for section in kept.sections}
    assert kept.sections[-1].text == "y"
    [left] = kept.left_out
    assert (left.contributor, left.why, left.tokens, left.budget) == (
        "long@1",
        "over_budget",
        102,
        60,
    )
    assert "102 tokens" in left.sentence
    assert "60" in left.sentence


def test_a_stance_is_part_of_the_agent_and_a_personality_is_not() -> None:
    """R140: what an agent is judged by names its stance at its version, beside its skills."""
    extra = (stance("reviewer", "3", "Challenge."), personality("pirate", "1", "Arr."))
    kept = composition(extra=extra, bound=(skill("zeta"),))
    names = [each.rpartition("@")[0] for each in kept.agent_parts]
    assert names == ["agent", "skills/zeta", "reviewer"]
    assert kept.agent_parts[-1] == "reviewer@3"
    assert "Arr." in kept.sections[-1].text


def test_a_personality_is_absent_from_turns_without_a_person() -> None:
    """P193, R140: there is no reply to a person in them."""
    kept = composition(extra=(personality("pirate", "1", "Arr."),))
    assert "Arr." in render(kept, PRESETS.strictest, with_person=True).text
    assert "Arr." not in render(kept, PRESETS.strictest, with_person=False).text


def test_a_contributor_cannot_pass_for_a_skill() -> None:
    """R56, R138: whatever it is called, a stored skill is read back with its own body."""
    kept_skill = skill("zeta", "Do zeta.")
    impostor = text("skills/zeta", "Do evil.", version=kept_skill.revision, placement="person")
    kept = composition(bound=(kept_skill,), extra=(impostor,))
    assert decode_composition(encode_composition(kept)).skills == (kept_skill,)
