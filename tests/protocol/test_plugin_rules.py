"""Laws of what may be proposed: rules that hold for everybody, and nothing more for strangers."""

from typing import Any

import pytest

from greenroom.protocol.contributor import Owner, ToolFacts
from greenroom.protocol.errors import (
    GreenroomError,
    InvalidInput,
    SameName,
    TooLarge,
    UnknownTool,
)
from greenroom.protocol.limits import Limits
from greenroom.protocol.plugin import TRUSTED_OWNERS, Manifest, Plugin
from greenroom.protocol.plugin_rules import check_plugin, proposed
from greenroom.protocol.refusal import (
    ContributorOverBudget,
    UntrustedPlugin,
    WritesUnapproved,
    WrongPlacement,
)
from tests.protocol.plugin_samples import (
    CLOCK,
    LOAD,
    NEWS,
    SKILL,
    STANCE,
    TEXTS,
    bare,
    plugin,
    proposal,
    terms,
)


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"id": "A"}, "id"),
        ({"id": "a/b"}, "id"),
        ({"id": ".."}, "id"),
        ({"id": "a-"}, "id"),
        ({"id": "x" * 65}, "id"),
        ({"version": "1/2"}, "version"),
        ({"version": ""}, "version"),
        ({"version": "1.0-RC"}, "version"),
        ({"version": ".."}, "version"),
        ({"description": " "}, "description"),
        ({"description": "a\0"}, "description"),
        ({"contributors": (), "skills": (), "texts": {}}, "manifest"),
        ({"tools": {"a b": "read"}}, "tools"),
        ({"hosts": ("https://a.example",)}, "hosts"),
        ({"hosts": ("a.example:443",)}, "hosts"),
        ({"hosts": ("A.example",)}, "hosts"),
        ({"hosts": ("*",)}, "hosts"),
        ({"hosts": ("a.*.example",)}, "hosts"),
        ({"skills": ("../x",)}, "../x"),
        ({"skills": ("/x",)}, "/x"),
        ({"skills": ("./review",)}, "./review"),
        ({"skills": (".review",)}, ".review"),
        ({"skills": ("",)}, ""),
        ({"skills": ("review", "review/more")}, "review/more"),
        ({"skills": ("gone",)}, "gone"),
        ({"texts": {**TEXTS, "other/x": ""}}, "other/x"),
        ({"texts": {**TEXTS, "review/../x": ""}}, "review/../x"),
        ({"texts": {**TEXTS, "review/.x": ""}}, "review/.x"),
        ({"texts": {**TEXTS, "review/x": "\0"}}, "review/x"),
        ({"texts": {**TEXTS, "review/x": "\ud83d"}}, "review/x"),
        ({"contributors": ({"kind": "text"},)}, "contributor no. 1"),
        ({"contributors": ({**STANCE, "id": "a/b"},)}, "contributor no. 1"),
        ({"contributors": ({**STANCE, "owner": "operator"},)}, "stance"),
    ],
    ids=str,
)
def test_what_can_be_no_plugin_is_refused_with_its_place(fields: Any, where: str) -> None:
    """R162, R194: whoever may own it; the refusal names what and where."""
    version = fields.pop("version", "1")
    with pytest.raises(InvalidInput) as refusal:
        check_plugin(plugin(version, **fields))
    assert refusal.value.facts["where"] == where


@pytest.mark.parametrize(
    "fields",
    [
        {"hosts": ("a.example", "a.example")},
        {"skills": ("review", "review")},
        {"contributors": (STANCE, STANCE)},
        {"contributors": ({**STANCE, "id": "review"},)},
        {"texts": {**TEXTS, "review/SKILL.MD": ""}},
        {"texts": {**TEXTS, "review/a": "", "review/a/b": ""}},
    ],
)
def test_what_stands_twice_is_refused(fields: Any) -> None:
    """R203: one name is one thing, on every disk."""
    with pytest.raises(SameName):
        check_plugin(plugin(**fields))


@pytest.mark.parametrize(
    ("limits", "where"),
    [
        (Limits(plugin_files_max=2), "files"),
        (Limits(plugin_bytes_max=50), "bytes"),
        (Limits(plugin_file_bytes_max=40), "review/SKILL.md"),
        (Limits(contributors_max=3), "contributors"),
    ],
)
def test_a_plugin_has_bounds(limits: Limits, where: str) -> None:
    """R194: on files, bytes of each and of all, and contributors; the bound is named."""
    with pytest.raises(TooLarge, match="bound") as refusal:
        check_plugin(plugin(), limits)
    assert refusal.value.facts["where"] == where
    check_plugin(plugin())


@pytest.mark.parametrize("what", ["skills", "tools", "hosts"])
def test_its_lists_have_bounds(what: str) -> None:
    """R194: before anything is done with each of them."""
    names = [f"a{number}" for number in range(129)]
    value: Any = dict.fromkeys(names, "read") if what == "tools" else tuple(names)
    with pytest.raises(TooLarge, match="129"):
        check_plugin(plugin(**{what: value}))


@pytest.mark.parametrize(
    "made",
    [
        "plugin",
        Plugin({"id": "a"}, {}),  # type: ignore[arg-type]
        Plugin(plugin().manifest, {"review/SKILL.md": b"x"}),  # type: ignore[dict-item]
        Plugin(Manifest(id="a", version=1, description="x")),  # type: ignore[arg-type]
        bare(contributors=({**STANCE, "text": print},)),
        bare(contributors=({**CLOCK, "arguments": {"x": print}},), tools={"look": "read"}),
        bare(contributors=(print,)),
    ],
    ids=range(7),
)
def test_what_is_made_in_code_is_held_to_the_same(made: Any) -> None:
    """R131, R162: a callable is data of no kind, however it is wrapped."""
    with pytest.raises(InvalidInput):
        proposed(made, "workspace", terms())


@pytest.mark.parametrize(
    ("contributor", "told"),
    [
        ({**CLOCK, "tool": "pay"}, "'pay', which the manifest does not name"),
        ({**LOAD, "tools": ["pay"]}, "'pay', which the manifest does not name"),
        ({**LOAD, "skill": "skills/refunds"}, "'skills/refunds', which is none of the plugin"),
        ({**LOAD, "files": ["gone.md"]}, "no file 'gone.md'"),
        ({**NEWS, "condition": {"kind": "version_changed", "of": ["money"]}}, "'money'"),
        ({**STANCE, "colour": "red"}, "colour"),
        ({**STANCE, "kind": "code"}, "code"),
    ],
)
def test_a_contributor_names_what_the_plugin_has(contributor: Any, told: str) -> None:
    """R162, R165: every tool in the manifest, and every other name its own, or built in."""
    with pytest.raises(InvalidInput, match=told) as refusal:
        proposal(plugin(contributors=(contributor,)))
    assert contributor["id"] in str(refusal.value.facts["where"])


@pytest.mark.parametrize(
    ("contributor", "error"),
    [
        ({**STANCE, "text": "It is {now}."}, WrongPlacement),
        ({**STANCE, "budget": 0}, InvalidInput),
        ({**STANCE, "budget": 1}, ContributorOverBudget),
        ({**STANCE, "priority": 751}, InvalidInput),
        ({**STANCE, "text": " "}, InvalidInput),
        ({**STANCE, "reach": "turns_with_a_person"}, WrongPlacement),
        ({**STANCE, "version": "a b"}, InvalidInput),
        ({**NEWS, "condition": {"kind": "time_elapsed", "seconds": 0}}, InvalidInput),
    ],
)
def test_a_contributor_is_held_to_what_every_one_is(
    contributor: Any, error: type[GreenroomError]
) -> None:
    """R134, R103, R165: by the same rules, refused where it is proposed, and located."""
    with pytest.raises(error) as refusal:
        proposal(plugin(contributors=(contributor,)))
    assert (
        refusal.value.facts["where"]
        == f"plugins/reviewer/{contributor['id']}@{contributor['version']}"
    )


@pytest.mark.parametrize(
    ("owner", "placement", "priority", "allowed"),
    [
        ("operator", "platform", 1_000, True),
        ("workspace", "platform", 750, True),
        ("workspace", "platform", 751, False),
        ("author", "platform", 0, False),
        ("author", "agent", 500, True),
        ("author", "agent", 501, False),
        ("person", "agent", 0, False),
        ("person", "person", 0, True),
        ("person", "person", 1, False),
    ],
)
def test_text_stands_no_wider_and_no_higher_than_its_owner_may(
    owner: Owner, placement: str, priority: int, allowed: bool
) -> None:
    """R165: the owner is given where it is proposed; the plugin claims none."""
    made = bare(contributors=({**STANCE, "placement": placement, "priority": priority},))
    if allowed:
        [text] = proposal(made, owner).contributors
        assert text.owner == owner
    else:
        with pytest.raises((InvalidInput, WrongPlacement)):
            proposal(made, owner)


@pytest.mark.parametrize("owner", ["author", "person"])
@pytest.mark.parametrize(
    "fields",
    [
        {"tools": {"look": "write"}, "contributors": (CLOCK,)},
        {"tools": {"pay": "write"}, "contributors": (STANCE,)},
        {"hosts": ("a.example",), "contributors": (CLOCK,), "tools": {"look": "read"}},
    ],
    ids=["a writing run", "a writing tool", "a host"],
)
def test_a_strangers_plugin_adds_text_and_reads_and_nothing_else(owner: Owner, fields: Any) -> None:
    """R165: no tool that writes and no host, whatever of it a contributor uses."""
    placed = {"author": "agent", "person": "person"}[owner]
    fields = {
        **fields,
        "contributors": tuple(
            {**each, "placement": placed} if each["kind"] == "text" else each
            for each in fields["contributors"]
        ),
    }
    with pytest.raises(UntrustedPlugin, match=owner):
        proposal(bare(**fields), owner)
    for trusted in TRUSTED_OWNERS:
        assert proposal(bare(**fields), trusted).is_trusted


def test_where_tools_are_known_what_is_said_of_them_is_looked_at() -> None:
    """R149, R165: a tool that is not there, and one that is said to read and writes."""
    known = {"look": ToolFacts("read"), "rows": ToolFacts("read", on_demand=True)}
    run = bare(contributors=(CLOCK,), tools={"look": "read"})
    assert proposal(run, tools=known).writing_runs == frozenset()
    with pytest.raises(UnknownTool):
        proposal(run, tools={})
    for writes in ({"look": ToolFacts("write")}, {"look": ToolFacts("idempotent")}):
        with pytest.raises(WritesUnapproved):
            proposal(run, tools=writes)
        said = bare(contributors=(CLOCK,), tools={"look": "write"})
        assert proposal(said, tools=writes).writing_runs == {"plugins/reviewer/clock@1"}


def test_only_an_owner_owns() -> None:
    """R135: a name that is none is refused."""
    with pytest.raises(InvalidInput, match="An owner is one of"):
        proposal(bare(), "nobody")  # type: ignore[arg-type]


def test_what_is_refused_is_told_with_its_file() -> None:
    """R194: of a skill's text by path, with nothing of it in the sentence."""
    with pytest.raises(InvalidInput) as refusal:
        check_plugin(plugin(texts={**TEXTS, "review/x": f"{SKILL}\0"}))
    assert "review/x" in str(refusal.value)
    assert SKILL not in str(refusal.value)
