"""The law of the shared prefix, over random contributors, people and agents (R64, R65).

Two prompts share exactly the bytes up to the first part that may differ between them: all of it for
one person, platform and agent for two people of one agent, platform for two agents. A clock and a
session are no ingredients of a prompt, and no order of installing and no hash seed moves a byte.
"""

import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.composition import (
    Composition,
    compose,
    composition_digest,
    encode_composition,
    opening_texts,
    render,
)
from greenroom.protocol.contributor import (
    OWNERS,
    Declaration,
    EagerLoad,
    EagerRun,
    Note,
    Text,
    ToolFacts,
)
from greenroom.protocol.contributor_rules import PRIORITY_MAX, WIDEST
from greenroom.protocol.eager import Given
from greenroom.protocol.permission import PRESETS
from greenroom.protocol.placement import is_wider, rank_of
from tests.protocol.prompt_samples import ingredients, load, note, run, skill, summary, text

PEOPLE = ("ada", "ben", "cy", "dee")
AGENTS = {
    name: AgentDeclaration(name=name, prompt=f"You are {name}, and nobody else.")
    for name in ("support", "analyst")
}
KNOWN = Given(tools={"look": ToolFacts("read"), "rows": ToolFacts("read", on_demand=True)})
WORDS = {
    "platform": ("Be lawful.", "Be lawful and kind."),
    "agent": ("Money is in pence.", "You are {agent}."),
    "person": ("You talk with {person}.", "Be brief."),
    "conversation": ("{agent} begins.", "Hello, {person}."),
}


@st.composite
def declarations(draw: st.DrawFn) -> Declaration:
    """Any contributor that may be installed; ids are drawn from few, so that they meet."""
    id_ = draw(st.sampled_from("abcdefghijklmnop"))
    owner = draw(st.sampled_from(OWNERS))
    said: dict[str, Any] = {
        "owner": owner,
        "priority": draw(st.integers(-3, min(3, PRIORITY_MAX[owner]))),
        "version": draw(st.sampled_from(("1", "2"))),
    }
    kind = draw(st.sampled_from((Text, Text, Text, EagerLoad, EagerRun, Note)))
    if kind is EagerLoad:
        return load(id_, tools=("rows",), **said)
    if kind is EagerRun:
        return run(id_, "look", arguments=draw(st.dictionaries(st.text("ab"), st.none())), **said)
    if kind is Note:
        return note(id_, "It is {now}.", **said)
    placement = draw(
        st.sampled_from([name for name in WORDS if not is_wider(name, WIDEST[owner])])  # type: ignore[arg-type]
    )
    return text(
        id_,
        draw(st.sampled_from(WORDS[placement])),
        placement=placement,
        heading=draw(
            st.sampled_from(("", "Rule", "Of {agent}" if placement != "platform" else "x"))
        ),
        budget=draw(st.sampled_from((10, 60, 1_000))),
        **said,
    )


sets = st.lists(declarations(), max_size=12, unique_by=lambda declared: declared.id)


def prompt(
    agent: str, person: str | None, extra: tuple[Declaration, ...], instructions: str = ""
) -> Composition:
    """What a conversation of that agent with that person is composed to."""
    return compose(
        ingredients(
            agent=AGENTS[agent],
            bound=(skill("zeta"), skill("alpha")) if agent == "support" else (skill("omega"),),
            catalog=(summary("wiki"),),
            person=person,
            person_text=f"This is {person}." if person else "",
            person_catalog=(summary("diary"),) if person == "ada" else (),
            instructions=instructions,
            extra=extra,
            given=KNOWN,
        )
    )


def text_up_to(kept: Composition, placement: str) -> str:
    """The system string up to and with the sections of a placement."""
    rank = rank_of(placement)  # type: ignore[arg-type]
    parts = [section.text for section in kept.sections if rank_of(section.placement) <= rank]
    return "\n\n".join(parts)


def shared_sections(one: Composition, other: Composition) -> int:
    """How many sections are the same in both, from the first on."""
    pairs = zip(one.sections, other.sections, strict=False)
    same = (count for count, (a, b) in enumerate(pairs) if a != b)
    return next(same, min(len(one.sections), len(other.sections)))


@given(extra=sets, order=st.randoms(use_true_random=False), person=st.sampled_from((None, *PEOPLE)))
def test_the_same_ingredients_make_the_same_prompt(
    extra: list[Declaration], order: Any, person: str | None
) -> None:
    """R56, R63, R64, R65: in whatever order they were installed, for every conversation alike."""
    first = prompt("support", person, tuple(extra))
    order.shuffle(extra)
    again = prompt("support", person, tuple(extra))
    assert first == again
    assert encode_composition(first) == encode_composition(again)
    assert opening_texts(first) == opening_texts(again)


@given(extra=sets, preset=st.sampled_from(tuple(PRESETS)))
def test_two_people_share_exactly_what_stands_before_their_own_part(
    extra: list[Declaration], preset: Any
) -> None:
    """R64, P079: platform and agent, to the byte; the first difference is the person's."""
    one = prompt("support", "ada", tuple(extra), instructions="Use tabs.")
    other = prompt("support", "ben", tuple(extra))
    shared = shared_sections(one, other)
    assert one.sections[shared].placement == other.sections[shared].placement == "person"
    prefix = text_up_to(one, "agent")
    assert text_up_to(other, "agent") == prefix
    sent = [render(kept, preset, with_person=True).text for kept in (one, other)]
    assert all(each.startswith(prefix) for each in sent)
    for kept in (one, other):
        nobody = render(kept, preset, with_person=False)
        assert nobody.text == f"{prefix}\n\n{nobody.sections[-1][1]}"


@given(extra=sets)
def test_two_agents_share_exactly_the_platforms_part(extra: list[Declaration]) -> None:
    """R63, R64: no agent moves a byte of what is every agent's."""
    one, other = prompt("support", "ada", tuple(extra)), prompt("analyst", "ada", tuple(extra))
    shared = shared_sections(one, other)
    assert one.sections[shared].placement == other.sections[shared].placement == "agent"
    assert text_up_to(one, "platform") == text_up_to(other, "platform")


@given(extra=sets, more=declarations())
def test_what_is_installed_moves_nothing_before_its_place(
    extra: list[Declaration], more: Declaration
) -> None:
    """R64: sections in front of what came stay as they are; nothing of the system string, if it
    is no text of it.
    """
    known = tuple(each for each in extra if each.id != more.id)
    before, after = prompt("support", "ada", known), prompt("support", "ada", (*known, more))
    new = [s for s in after.sections if s.contributor == more.key]
    assert [s for s in after.sections if s not in new] == list(before.sections)
    in_front = after.sections.index(new[0]) if new else len(after.sections)
    assert shared_sections(before, after) == in_front


def test_a_hundred_conversations_share_each_level_whole() -> None:
    """P079: of four people and two agents, the common prefix of a level is as long as the level."""
    extra = (
        text("policy", "Be lawful.", placement="platform", owner="operator"),
        text("money", "Money is in pence."),
        text("hello", "You talk with {person}.", placement="person"),
    )
    made = [
        (agent, person, prompt(agent, person, extra))
        for number in range(100)
        for agent, person in [(list(AGENTS)[number % 2], PEOPLE[number // 2 % 4])]
    ]
    for level, alike in (
        ("platform", lambda a, b: True),
        ("agent", lambda a, b: a[0] == b[0]),
        ("person", lambda a, b: a[:2] == b[:2]),
    ):
        for a, b in pairwise(sorted(made, key=lambda one: one[:2])):
            if alike(a, b):
                prefix = text_up_to(a[2], level)
                assert text_up_to(b[2], level) == prefix
                assert render(b[2], PRESETS.strictest, with_person=True).text.startswith(prefix)
    assert len({composition_digest(encode_composition(one[2])) for one in made}) == 8


def fixed_digest() -> str:
    """The digest of one prompt with something of every kind."""
    extra = (
        text("a", "You are {agent}."),
        text("b", "Hi {person}.", placement="person", owner="person"),
        load("c", tools=("rows",), most_used=2),
        run("d", "look", arguments={"x": 1, "y": {"b": 1, "a": 2}}),
        note("e"),
        text("f", "Gone.", budget=1),
    )
    return composition_digest(encode_composition(prompt("support", "ada", extra)))


def test_a_hash_seed_moves_no_byte() -> None:
    """R63, P067: nothing depends on the hash of a text."""
    program = (
        "from tests.protocol.test_composition_sharing import fixed_digest; print(fixed_digest())"
    )
    digests = {fixed_digest()}
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        )
        digests.add(ran.stdout.decode().strip())
    assert len(digests) == 1
