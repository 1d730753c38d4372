"""Laws of why two requests part: each kind of movement is told as what it is, with its owner."""

from typing import Any

import pytest
from msgspec import structs

from greenroom.protocol.composition import Composition, ToolDeclaration, canonical_tools
from greenroom.protocol.explain import Comparison, explain
from greenroom.protocol.movement import Moved
from greenroom.protocol.projection import SkillExpansion
from greenroom.protocol.rebuild import SentRequest
from tests.protocol.prompt_samples import composition, note, skill, text
from tests.protocol.request_samples import BEN, Told, beside, said, sent, talk

TALK = tuple(talk("Hi.", "Hello.", "Again"))


def tools(*names: str, about: str = "Looks.") -> bytes:
    return canonical_tools([ToolDeclaration(name, about, {"type": "object"}) for name in names])


def kept(*extra: Any, **fields: Any) -> Composition:
    return composition(
        **{"extra": extra, "bound": (skill("plan"),), "tools": tools("look"), **fields}
    )


def request(*told: Told, **fields: Any) -> SentRequest:
    return sent(*(told or TALK), **{"kept": kept(), **fields})


def told(first: SentRequest, second: SentRequest) -> tuple[str, str, str]:
    """Why, the piece that moved, and its contributor without a version."""
    found = explain(first, second)
    assert found.part is not None
    return found.why, found.part.name, found.part.contributor.rpartition("@")[0]


def test_another_preset() -> None:
    """R197, R17: the live section moved, and no contributor did."""
    found = explain(request(), request(preset="workspace-write"))
    assert (found.why, found.moved.is_current) == ("preset", True)
    assert found.part is not None
    assert (found.part.name, found.part.contributor) == ("permissions", "")
    assert found.sentence == "Another preset is in force: read-only, then workspace-write."


@pytest.mark.parametrize(
    ("before", "after", "part", "cause", "said"),
    [
        (
            kept(text("money")),
            kept(text("money", "Money is in EUR.", version="2")),
            "text:money",
            Moved("contributor", "money", "1", "2"),
            "the contributor money has version 2, and had 1",
        ),
        (
            kept(),
            kept(text("money")),
            "text:money",
            Moved("contributor", "money", "", "1"),
            "the contributor money was added, version 1",
        ),
        (
            kept(text("money")),
            kept(),
            "text:money",
            Moved("contributor", "money", "1", ""),
            "the contributor money was taken away, version 1",
        ),
        (
            kept(text("a", "Short.", version="1"), text("b")),
            kept(text("a", "Short.\n\nAnd longer.", version="2"), text("b")),
            "text:a",
            Moved("contributor", "a", "1", "2"),
            "the contributor a has version 2, and had 1",
        ),
        (
            kept(text("a", "Short.\n\nAnd longer."), text("b")),
            kept(text("a", "Short.", version="2"), text("b")),
            "text:a",
            Moved("contributor", "a", "1", "2"),
            "the contributor a has version 2, and had 1",
        ),
    ],
    ids=["edited", "added", "taken away", "longer", "shorter"],
)
def test_composed_anew(
    before: Composition, after: Composition, part: str, cause: Moved, said: str
) -> None:
    """R197, R67: what moved is named with both versions, also where a text only grew or ended."""
    found = explain(request(kept=before), request(kept=after))
    assert (found.why, found.cause) == ("composed", cause)
    assert found.part is not None
    assert found.part.name == part
    assert found.sentence == f"The prompt was composed anew: {said}."


def test_a_skill_of_another_revision() -> None:
    """R197: a skill is told as one, by its revision."""
    edited = skill("plan", "Otherwise.")
    found = explain(request(), request(kept=kept(bound=(edited,))))
    assert found.cause == Moved("skill", "skills/plan", skill("plan").revision, edited.revision)
    assert found.sentence == (
        f"The prompt was composed anew: the skill skills/plan has version {edited.revision[:12]}, "
        f"and had {skill('plan').revision[:12]}."
    )


def test_another_order() -> None:
    """R197: the same parts, and none of them is to blame."""
    two = (skill("plan"), skill("act"))
    found = explain(request(kept=kept(bound=two)), request(kept=kept(bound=two[::-1])))
    assert (found.why, found.cause, found.moved.reordered) == ("composed", None, True)
    assert "another order" in found.sentence


def test_of_two_that_moved_the_one_that_more_share_is_named() -> None:
    """R197: where the agent's part went the person's stands, and not the other way round."""
    money = request(kept=kept(text("money"), person="ada"))
    ada = request(kept=kept(person="ada", person_text="Ada counts."), person="ada")
    assert told(money, ada) == told(ada, money) == ("composed", "text:money", "money")


def test_what_is_filled_in_differs() -> None:
    """R197: one version, other words."""
    greeting = text("hello", "You talk with {person}.", placement="person")
    ada = request(kept=kept(greeting, person="ada"), person="ada")
    renamed = request(kept=kept(greeting, person="Ada"), person="ada")
    found = explain(ada, renamed)
    assert (found.why, found.cause) == ("edited", Moved("contributor", "hello", "1", "1"))


def test_words_that_have_no_version() -> None:
    """R197: a preset of one name says something else in another table."""
    first = request()
    sections = (*first.sections[:-1], ("permissions", "<permissions>Otherwise.</permissions>"))
    system = "\n\n".join(words for _, words in sections)
    edited = structs.replace(
        first, sections=sections, request=structs.replace(first.request, system=system)
    )
    assert told(first, edited) == ("edited", "permissions", "")


def test_another_wording() -> None:
    """R197, R201: what greenroom itself says moved with its release."""
    first = request()
    later = structs.replace(first.composition, wording="2")
    sections = (*first.sections[:-1], ("permissions", "<permissions>In new words.</permissions>"))
    system = "\n\n".join(words for _, words in sections)
    second = structs.replace(
        first,
        composition=later,
        sections=sections,
        request=structs.replace(first.request, system=system),
    )
    found = explain(first, second)
    assert found.why == "composed"
    assert found.cause is not None
    assert (found.cause.what, found.cause.id) == ("part", "wording")


def test_another_model() -> None:
    """R197, R59: named before all else, for no cache is shared between two."""
    found = explain(request(), request(kept=kept(model="m2")))
    assert (found.why, found.sentence) == ("model", "They are for two models: m1, then m2.")
    assert found.cause is not None
    assert found.cause.id == "model"


def test_another_person() -> None:
    """R197, R64: two people differ behind what their agent shares, and so do one and nobody."""
    ada = request(kept=kept(person="ada", person_text="Ada counts."), person="ada")
    ben = request(kept=kept(person="ben", person_text="Ben sings."), person="ben")
    nobody = request(kept=kept(person="ada", person_text="Ada counts."))
    assert told(ada, ben) == ("person", "person", "person")
    assert told(ada, nobody) == told(nobody, ada) == ("person", "person", "person")
    assert explain(ada, nobody).sentence == "They are for two persons: ada, then nobody."


def test_another_agent() -> None:
    """R197: two agents share the platform's part only; an edit of that is no matter of theirs."""
    support = request()
    other = structs.replace(composition().sections[1], text="You sell.", contributor="agent@2")
    sales = kept()
    sales = structs.replace(sales, sections=(sales.sections[0], other, *sales.sections[2:]))
    assert told(support, request(kept=sales, agent="sales")) == ("agent", "agent", "agent")
    edited = request(kept=kept(preamble="Be good."), agent="sales")
    assert told(support, edited) == ("composed", "preamble", "preamble")
    declared = request(kept=kept(tools=tools("sell")), agent="sales")
    assert told(support, declared)[0] == "agent"
    warm = request(kept=kept(parameters=b'{"temperature":1}'), agent="sales")
    assert told(support, warm)[0] == "agent"


@pytest.mark.parametrize(
    ("before", "after", "part", "said"),
    [
        (tools("look"), tools("look", "ask"), "ask", "The tool ask is declared since."),
        (tools("ask", "look"), tools("ask"), "look", "The tool look is declared no more."),
        (
            tools("look"),
            tools("look", about="Sees."),
            "look",
            "The tool look is declared otherwise.",
        ),
        (tools(), tools("look"), "look", "The tool look is declared since."),
        (tools("look"), tools(), "look", "The tool look is declared no more."),
        (
            tools("look"),
            b"[ %b ]" % tools("look")[1:-1],
            "tools",
            "The tools are declared otherwise.",
        ),
    ],
)
def test_a_tool_declared_otherwise(before: bytes, after: bytes, part: str, said: str) -> None:
    """R197, R195, P077: by its name, whether it came, went or changed."""
    found = explain(request(kept=kept(tools=before)), request(kept=kept(tools=after)))
    assert (found.why, found.sentence) == ("tool", said)
    assert found.part is not None
    assert found.part.name == part


def test_other_parameters() -> None:
    """R197: they stand behind all messages."""
    assert told(request(), request(kept=kept(parameters=b'{"temperature":1}'))) == (
        "parameters",
        "parameters",
        "",
    )


# --- messages ------------------------------------------------------------------------------------


def test_a_longer_history() -> None:
    """R197: nothing moved, whichever of the two it is."""
    longer = explain(request(*TALK[:1]), request(*TALK))
    assert (longer.why, longer.sentence) == (
        "longer",
        "Nothing moved: the second goes on where the first ends, by 2 messages.",
    )
    shorter = explain(request(*TALK), request(*TALK[:2]))
    assert shorter.sentence == (
        "Nothing moved: the first goes on where the second ends, by 1 message."
    )
    assert longer.part is not None
    assert (longer.part.message, longer.part.turn) == (1, 1)


def test_another_conversation() -> None:
    """R197: two sessions of an agent share all up to their own words."""
    found = explain(request(), request(*talk("Ho."), session=BEN))
    assert found.why == "conversation"
    assert found.part is not None
    assert (found.part.message, found.part.origin) == (0, "history")


@pytest.mark.parametrize(
    ("origin", "contributor"),
    [
        ("note", "pause@1"),
        ("note", ""),
        ("eager", "clock@1"),
        ("compaction", ""),
        ("legacy_context", ""),
        ("tool_repair", ""),
    ],
)
def test_what_stands_among_the_messages_in_one_of_them(origin: Any, contributor: str) -> None:
    """R197, R45: told by its origin and whose it is, whichever of the two has it."""
    with_it = request(
        beside(origin, "[platform note] News.", contributor), *TALK, kept=kept(note("pause"))
    )
    without = request(kept=kept(note("pause")))
    for found, which in (
        (explain(without, with_it), "in the second"),
        (explain(with_it, without), "in the first"),
        (explain(with_it, request(beside(origin, "[platform note] Others.", contributor))), "each"),
    ):
        assert found.why == origin
        assert which in found.sentence
        assert contributor in found.sentence
        assert found.part is not None
        assert (found.part.origin, found.part.contributor) == (origin, contributor)


def expansion(*, shown: bool) -> SkillExpansion:
    return SkillExpansion(0, ("skills/act",), ("r",), (shown,))


def test_the_same_message_shown_otherwise() -> None:
    """R197, C7: the words are the same; where the body of a picked skill stands is not."""
    inside = request(said("Act.\n\n<skill/>", 0, expansion=expansion(shown=True)))
    under = request(said("Act. [note]", 0, expansion=expansion(shown=False)))
    found = explain(inside, under)
    assert (found.why, "skills/act" in found.sentence) == ("projected", True)
    assert explain(request(said("A", 0)), request(said("B", 0))).why == "projected"


def test_another_message_of_the_same_conversation() -> None:
    """R197: one of them lacks what stands before it."""
    found = explain(request(*TALK), request(TALK[0], TALK[2]))
    assert (found.why, found.sentence) == (
        "history",
        "Another message of the conversation: 1, then 2.",
    )


def test_nothing() -> None:
    """R197: equal bytes are told as that, whatever session they are of."""
    found = explain(request(), request(session=BEN))
    size = len(request().request.canonical())
    assert found == Comparison(size, (size, size), "equal", "The two requests are the same bytes.")
