"""Laws of differences: empty if nothing is asked otherwise, and every kind of more told alone."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.protocol.contributor import Owner
from greenroom.protocol.plugin import Plugin, Proposal
from greenroom.protocol.plugin_difference import difference
from greenroom.protocol.plugin_rules import proposal_of
from tests.protocol.plugin_samples import CLOCK, LOAD, SKILL, STANCE, TEXTS, plugin
from tests.protocol.plugin_samples import NEWS as WATCHING

VOICE = {
    **STANCE,
    "id": "voice",
    "placement": "person",
    "reach": "turns_with_a_person",
    "framing": "lower",
    "heading": "Voice",
}
PAY = {**CLOCK, "id": "pay", "tool": "pay", "arguments": {"cents": 1}, "about": "What it cost"}
USED = {**LOAD, "id": "used", "tools": [], "skill": "", "files": [], "most_used": 3}
NEWS = {**WATCHING, "condition": {"kind": "version_changed", "of": ["catalog", "stance"]}}
ALL = {one["id"]: one for one in (STANCE, VOICE, CLOCK, PAY, LOAD, USED, NEWS)}
TOOLS = {"look": "read", "rows": "read", "pay": "write", "spare": "read"}


def made(owner: Owner = "workspace", version: str = "1", **fields: Any) -> Proposal:
    """A proposal with something of everything."""
    said = {"contributors": tuple(ALL.values()), "tools": TOOLS, "hosts": ("a.example",), **fields}
    return proposal_of(plugin(version, **said), owner)


def with_(id_: str, **fields: Any) -> dict[str, Any]:
    """The contributors with one that says something else."""
    return {"contributors": tuple({**ALL, id_: {**ALL[id_], **fields}}.values())}


def without(id_: str) -> dict[str, Any]:
    """The contributors but one."""
    return {"contributors": tuple(one for one in ALL.values() if one["id"] != id_)}


BASE = made()
MORE: dict[str, dict[str, Any]] = {
    "a wider placement": with_("voice", placement="agent", reach="every_turn"),
    "a wider placement alone": with_("stance", placement="platform"),
    "a wider reach": with_("voice", reach="every_turn"),
    "a larger budget": with_("stance", budget=1_001),
    "a higher priority": with_("stance", priority=1),
    "no frame": with_("voice", framing="none"),
    "other words": with_("stance", text="Challenge premises!"),
    "another heading": with_("voice", heading="Voices"),
    "no heading": with_("voice", heading=""),
    "another note": with_("news", text="News."),
    "another condition": with_("news", condition={"kind": "time_elapsed", "seconds": 1}),
    "fewer things watched": with_("news", condition={"kind": "version_changed", "of": ["stance"]}),
    "another tool of a run": with_("clock", tool="rows"),
    "other arguments": with_("pay", arguments={"cents": 2}),
    "arguments of another type": with_("pay", arguments={"cents": 1.0}),
    "other words about a result": with_("pay", about="What it costs"),
    "another kind": with_("used", **{**CLOCK, "id": "used"}, tools=[], skill="", files=[]),
    "a new tool of a load": with_("used", tools=["rows"]),
    "more of the most used": with_("used", most_used=4),
    "a skill of a load": with_("used", skill="review"),
    "a new contributor": {"contributors": (*ALL.values(), {**STANCE, "id": "new"})},
    "a tool that was not named": {"tools": {**TOOLS, "more": "read"}},
    "a tool that writes": {"tools": {**TOOLS, "look": "write"}},
    "a host": {"hosts": ("a.example", "b.example")},
    "another host": {"hosts": ("b.example",)},
    "a wider host": {"hosts": ("*.example",)},
    "a new skill": {"skills": ("review", "more"), "texts": {**TEXTS, "more/SKILL.md": SKILL}},
    "another body": {"texts": {**TEXTS, "review/SKILL.md": f"{SKILL}Thrice."}},
    "another file": {"texts": {**TEXTS, "review/more.md": "Less."}},
    "a new file": {"texts": {**TEXTS, "review/new.md": "New."}},
    "a new empty file": {"texts": {**TEXTS, "review/new.md": ""}},
    "another owner": {"owner": "operator"},
}
MORE["another kind"] = {
    "contributors": tuple({**ALL, "used": {**CLOCK, "id": "used"}}.values()),
}
NO_MORE: dict[str, dict[str, Any]] = {
    "a narrower placement": with_("stance", placement="person"),
    "a narrower reach": with_("voice", reach="replies_to_the_person"),
    "a smaller budget": with_("stance", budget=999),
    "a lower priority": with_("stance", priority=-1),
    "a frame": with_("stance", framing="lower"),
    "fewer tools of a load": with_("load", tools=["rows"]),
    "fewer files of a load": with_("load", files=["more.md"]),
    "no skill of a load": with_("load", skill="", files=[]),
    "files in another order": with_("load", files=["more.md", "index.md"]),
    "fewer of the most used": with_("used", most_used=2),
    "a contributor less": without("voice"),
    "a tool less": {"tools": {name: TOOLS[name] for name in ("look", "rows", "pay")}},
    "a tool that only reads": {"tools": {**TOOLS, "pay": "read"}},
    "no host": {"hosts": ()},
    "no skill": {**without("load"), "skills": (), "texts": {}},
    "a file less": {
        **with_("load", files=["index.md"]),
        "texts": {path: text for path, text in TEXTS.items() if path != "review/more.md"},
    },
}


@pytest.mark.parametrize("fields", MORE.values(), ids=MORE)
def test_every_kind_of_more_alone_asks_for_an_approval(fields: dict[str, Any]) -> None:
    """R164, P146: one thing more is enough, whatever else is the same."""
    found = difference(BASE, made(version="2", **fields))
    assert found.asks_more
    assert any(change.more for change in found.changes)


@pytest.mark.parametrize("fields", NO_MORE.values(), ids=NO_MORE)
def test_less_is_a_change_and_no_more(fields: dict[str, Any]) -> None:
    """R164: taken away, narrowed, lowered or framed; and all the way back it is more."""
    less = made(version="2", **fields)
    found = difference(BASE, less)
    assert found.changes
    assert not found.asks_more
    if fields is not NO_MORE["files in another order"]:
        assert difference(less, BASE).asks_more


@pytest.mark.parametrize("less", NO_MORE.values())
def test_less_hides_no_more(less: dict[str, Any]) -> None:
    """R164: what asks for less in one place and for more in another asks for more."""
    both = made(version="2", **{**less, "hosts": ("a.example", "b.example")})
    assert difference(BASE, both).asks_more


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"version": "2"},
        {"description": "Another."},
        with_("stance", version="2"),
        with_("load", tools=["look", "rows"]),
        with_("stance", priority=0, budget=1_000, heading="", framing="none"),
        {"contributors": tuple(reversed(ALL.values()))},
        {"hosts": ["a.example"], "tools": dict(reversed(TOOLS.items()))},
    ],
    ids=str,
)
def test_what_asks_for_the_same_is_no_difference(fields: dict[str, Any]) -> None:
    """R164: numbers of versions, what people are told, and the order in which it is written."""
    assert difference(BASE, made(**fields)).changes == ()


def test_what_a_person_owns_is_framed_said_or_unsaid() -> None:
    """R136: so a frame that is only said changes nothing there."""
    (person,) = ({"placement": "person", "priority": 0},)
    plain, framed = (
        proposal_of(
            plugin(contributors=({**STANCE, **person, "framing": how},), skills=(), texts={}),
            "person",
        )
        for how in ("none", "lower")
    )
    assert difference(framed, plain).changes == ()


def test_a_change_tells_what_was_and_what_would_be() -> None:
    """R164: of words as they are, so that they can be shown line by line."""
    found = difference(BASE, made(**with_("stance", text="Do.", budget=7)))
    assert [
        (change.about, change.field, change.before, change.after, change.more)
        for change in found.changes
    ] == [
        ("plugins/reviewer/stance", "text", "Challenge premises.", "Do.", True),
        ("plugins/reviewer/stance", "budget", "1000", "7", False),
    ]


# --- whatever is asked ---------------------------------------------------------------------------


@st.composite
def proposals(draw: st.DrawFn) -> Proposal:
    """Of few choices in each place, so that two of them are often alike."""
    texts = {f"review/{name}": draw(st.sampled_from(("", "x"))) for name in ("a.md", "b.md")}
    fields: dict[str, Any] = {
        "budget": draw(st.sampled_from((10, 1_000))),
        "priority": draw(st.sampled_from((0, 1))),
        "framing": draw(st.sampled_from(("none", "lower"))),
        "text": draw(st.sampled_from(("x", "y"))),
        "version": draw(st.sampled_from(("1", "2"))),
    }
    one = {**STANCE, **fields, "placement": draw(st.sampled_from(("agent", "person")))}
    run = {**CLOCK, "arguments": draw(st.sampled_from(({}, {"x": 1}, {"x": True})))}
    load = {**LOAD, "files": [], "tools": draw(st.permutations(["look", "rows"]))}
    of = Plugin(
        plugin(
            draw(st.sampled_from(("1", "2"))),
            description=draw(st.sampled_from(("x", "y"))),
            contributors=draw(
                st.lists(st.sampled_from((one, run, load)), unique_by=lambda x: x["id"])
            ),
            tools={"look": "read", **draw(st.sampled_from(({"rows": "read"}, {"rows": "write"})))},
            hosts=draw(st.sampled_from(((), ("a.example",)))),
        ).manifest,
        {"review/SKILL.md": SKILL, **texts},
    )
    return proposal_of(of, draw(st.sampled_from(("workspace", "person"))))


def asked(proposal: Proposal) -> str:
    """All that a proposal asks, told without the code under test."""
    plain = msgspec.to_builtins(proposal)
    for one in plain.get("contributors", ()):
        del one["version"]
        one["tools"] = sorted(one.get("tools", ()))
        if one["kind"] == "text" and one["owner"] == "person":
            one["framing"] = "lower"
    del plain["version"], plain["description"]
    return json.dumps(plain, sort_keys=True)


@given(before=proposals(), after=proposals())
def test_a_difference_is_empty_if_and_only_if_the_same_is_asked(
    before: Proposal, after: Proposal
) -> None:
    """R164: nothing that would be installed otherwise is passed over."""
    found = difference(before, after)
    assert (found.changes == ()) == (asked(before) == asked(after))
    places = [(change.about, change.field) for change in found.changes]
    assert len(set(places)) == len(places)
    assert len(difference(after, before).changes) == len(places)


@given(one=proposals(), two=proposals(), three=proposals())
def test_what_asks_for_no_more_step_by_step_asks_for_no_more(
    one: Proposal, two: Proposal, three: Proposal
) -> None:
    """R164: no row of updates comes to what nobody approved."""
    if not difference(one, two).asks_more and not difference(two, three).asks_more:
        assert not difference(one, three).asks_more
