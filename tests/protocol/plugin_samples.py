"""Small plugins, for tests that need one and care for one thing in it."""

from typing import Any

from greenroom.protocol.contributor import Owner
from greenroom.protocol.installed import TRUSTED, Terms
from greenroom.protocol.plugin import Manifest, Plugin, Proposal
from greenroom.protocol.plugin_rules import proposed

SKILL = "---\ndescription: How to review.\n---\nRead twice.\n"
STANCE: dict[str, Any] = {
    "kind": "text",
    "id": "stance",
    "version": "1",
    "placement": "agent",
    "text": "Challenge premises.",
}
CLOCK: dict[str, Any] = {
    "kind": "eager_run",
    "id": "clock",
    "version": "1",
    "placement": "conversation",
    "tool": "look",
}
LOAD: dict[str, Any] = {
    "kind": "eager_load",
    "id": "load",
    "version": "1",
    "placement": "conversation",
    "tools": ["rows", "look"],
    "skill": "review",
    "files": ["index.md", "more.md"],
}
NEWS: dict[str, Any] = {
    "kind": "note",
    "id": "news",
    "version": "1",
    "placement": "message",
    "condition": {"kind": "version_changed", "of": ["stance", "review", "catalog"]},
    "text": "What you were given has changed.",
}
TEXTS = {"review/SKILL.md": SKILL, "review/index.md": "Index.", "review/more.md": "More."}


def plugin(version: str = "1", *, texts: dict[str, str] | None = None, **fields: Any) -> Plugin:
    """A plugin with something of every kind, unless said otherwise."""
    said = {
        "id": "reviewer",
        "description": "A reviewer's stance.",
        "contributors": (STANCE, CLOCK, LOAD, NEWS),
        "skills": ("review",),
        "tools": {"look": "read", "rows": "read"},
        **fields,
    }
    return Plugin(Manifest(version=version, **said), TEXTS if texts is None else texts)


def bare(version: str = "1", **fields: Any) -> Plugin:
    """A plugin with one text."""
    said = {"contributors": (STANCE,), "skills": (), "tools": {}, **fields}
    return plugin(version, texts={}, **said)


def terms(**fields: Any) -> Terms:
    """Who is trusted by every owner."""
    return Terms(**{"by": "ada", "authorities": TRUSTED, **fields})


def proposal(of: Plugin | None = None, owner: Owner = "workspace", **fields: Any) -> Proposal:
    """What would be installed of a plugin."""
    return proposed(plugin() if of is None else of, owner, terms(**fields))
