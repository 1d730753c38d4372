"""Laws of plugins as data: a manifest in a fixed form, and a proposal with one digest."""

from typing import Any

import msgspec
import pytest

from greenroom.protocol.contributor import EagerRun
from greenroom.protocol.encoding import decode, encode_sorted
from greenroom.protocol.plugin import Manifest, manifest_of
from greenroom.protocol.plugin_rules import proposal_of
from greenroom.protocol.refusal import BadPlugin
from tests.protocol.plugin_samples import CLOCK, SKILL, STANCE, bare, plugin, proposal

PLAIN: dict[str, Any] = {"id": "a", "version": "1", "description": "x"}


def test_a_manifest_is_plain_data() -> None:
    """R162: contributors, skills, tools and hosts; what is left out is none."""
    assert manifest_of(PLAIN) == Manifest(id="a", version="1", description="x")
    whole = plugin().manifest
    assert manifest_of(msgspec.to_builtins(whole)) == whole
    assert decode(encode_sorted(whole), Manifest) == whole


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("integrations", []),
        ("owner", "operator"),
        ("id", 7),
        ("version", 1.0),
        ("contributors", {"kind": "text"}),
        ("contributors", ["text"]),
        ("skills", "review"),
        ("tools", ["look"]),
        ("tools", {"look": "idempotent"}),
        ("hosts", [7]),
        ("description", None),
    ],
)
def test_an_unknown_field_or_another_type_is_refused(field: str, value: object) -> None:
    """R162, R131: named, so that no slip passes for a choice, and nothing claims an owner."""
    with pytest.raises(BadPlugin, match=field):
        manifest_of({**PLAIN, field: value})
    for missing in PLAIN:
        with pytest.raises(BadPlugin, match=missing):
            manifest_of({name: it for name, it in PLAIN.items() if name != missing})


def test_a_digest_names_all_that_is_shown() -> None:
    """R163: whatever would be added is in it, to the last file of a skill, and whose it is."""
    base = plugin(hosts=("a.example",))
    seen = {proposal(base).digest, proposal(bare(), "author").digest}
    others = [
        plugin("2", hosts=("a.example",)),
        plugin(hosts=("b.example",)),
        plugin(hosts=("a.example",), description="Another."),
        plugin(hosts=("a.example",), tools={"look": "write", "rows": "read"}),
        plugin(hosts=("a.example",), contributors=(CLOCK,)),
        plugin(hosts=("a.example",), texts={**base.texts, "review/more.md": "Moré."}),
        plugin(hosts=("a.example",), texts={**base.texts, "review/new.md": ""}),
    ]
    others += [
        plugin(hosts=("a.example",), contributors=({**STANCE, field: value}, CLOCK))
        for field, value in (
            ("text", "Do not."),
            ("budget", 7),
            ("priority", 1),
            ("placement", "platform"),
            ("heading", "H"),
            ("framing", "lower"),
            ("version", "2"),
        )
    ]
    digests = [proposal(other).digest for other in others]
    digests.append(proposal(base, "operator").digest)
    assert len({*digests, *seen}) == len(digests) + len(seen)


def test_the_same_plugin_has_the_same_digest() -> None:
    """R163: in whatever order it was written, and for ever: approvals are kept by it."""
    one = plugin()
    other = plugin(
        contributors=one.manifest.contributors[::-1],
        tools=dict(reversed(list(one.manifest.tools.items()))),
        texts=dict(reversed(list(one.texts.items()))),
    )
    assert proposal(one).digest == proposal(other).digest
    assert proposal().digest == "eb698a2790b6b8f84f6368202b6e41f0bfcdc54c5c8786be1b36c264f6024639"


def test_a_proposal_is_plain_data() -> None:
    """R163: it can be sent to whoever shows it."""
    made = proposal()
    again = msgspec.json.decode(msgspec.json.encode(made), type=type(made))
    assert (again, again.digest) == (made, made.digest)


def test_names_of_a_plugin_are_its_own() -> None:
    """R162: contributors, skills and what they name of the plugin are called by its id."""
    made = proposal()
    ids = ["clock", "load", "news", "stance"]
    assert [each.id for each in made.contributors] == [f"plugins/reviewer/{id_}" for id_ in ids]
    [skill] = made.skills
    assert skill.id == "plugins/reviewer/review"
    assert skill.texts["SKILL.md"] == SKILL
    plain = msgspec.to_builtins(made.contributors)
    assert plain[1]["skill"] == skill.id
    assert list(plain[2]["condition"]["of"]) == ["plugins/reviewer/stance", skill.id, "catalog"]
    assert {each["owner"] for each in plain} == {"workspace"}


def test_a_proposal_says_which_runs_write() -> None:
    """R149: exactly those whose tool does more than read."""
    writing = {**CLOCK, "id": "pay", "tool": "pay"}
    made = proposal(plugin(contributors=(CLOCK, writing), tools={"look": "read", "pay": "write"}))
    assert made.writing_runs == {"plugins/reviewer/pay@1"}
    assert all(isinstance(each, EagerRun) for each in made.contributors)


def test_trusted_are_operator_and_workspace() -> None:
    """R165: nobody else may let a plugin do more than add text and read."""
    trusted = {
        owner: proposal_of(bare(), owner).is_trusted
        for owner in ("operator", "workspace", "author", "person")
    }
    assert trusted == {"operator": True, "workspace": True, "author": False, "person": False}
