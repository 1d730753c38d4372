"""Small values of the prompt's vocabulary, for tests that need one and care for one thing in it."""

from collections.abc import Mapping

from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.command import Pick
from greenroom.protocol.composition import Composition, Ingredients, compose
from greenroom.protocol.condition import TimeElapsed
from greenroom.protocol.contributor import EagerLoad, EagerRun, Note, Text
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.message import Content, UserMessage
from greenroom.protocol.skill import PinnedSkill, SkillPackage, SkillSummary, pin


def summary(slug: str, name: str = "", id_: str = "") -> SkillSummary:
    """A skill as the catalog shows it."""
    id_ = id_ or f"skills/{slug}"
    return SkillSummary(id_, slug, name or slug.title(), f"Does {slug}.", location=id_)


def package(
    slug: str,
    body: str = "Follow these steps.",
    files: Mapping[str, bytes] | None = None,
    name: str = "",
) -> SkillPackage:
    """A skill read from its source."""
    main = {"SKILL.md": body.encode(errors="replace")}
    return SkillPackage(summary(slug, name), body, {**main, **(files or {})})


def skill(
    slug: str,
    body: str = "Follow these steps.",
    files: Mapping[str, bytes] | None = None,
    name: str = "",
) -> PinnedSkill:
    """A pinned skill."""
    return pin(package(slug, body, files, name))


def pick(skill: PinnedSkill, name: str = "") -> Pick:
    """A pick of it, by the name that it had then."""
    return Pick(skill.id, skill.slug, name or skill.name)


def user(content: Content) -> bytes:
    """An encoded user message."""
    return encode_message(UserMessage(content))


def text(id_: str, words: str = "Money is in pence.", **fields: object) -> Text:
    """An installed text of the workspace, at the agent unless said otherwise."""
    declared = {"version": "1", "owner": "workspace", "placement": "agent", **fields}
    return Text(id=id_, text=words, **declared)  # type: ignore[arg-type]


def load(id_: str, **fields: object) -> EagerLoad:
    """An installed load of the workspace."""
    declared = {"version": "1", "owner": "workspace", "placement": "conversation", **fields}
    return EagerLoad(id=id_, **declared)  # type: ignore[arg-type]


def run(id_: str, tool: str = "look", **fields: object) -> EagerRun:
    """An installed run of the workspace."""
    declared = {"version": "1", "owner": "workspace", "placement": "conversation", **fields}
    return EagerRun(id=id_, tool=tool, **declared)  # type: ignore[arg-type]


def note(id_: str, words: str = "Time has passed.", **fields: object) -> Note:
    """An installed note of the workspace, due after an hour unless said otherwise."""
    declared = {
        "version": "1",
        "owner": "workspace",
        "placement": "message",
        "condition": TimeElapsed(3_600),
        **fields,
    }
    return Note(id=id_, text=words, **declared)  # type: ignore[arg-type]


def ingredients(**fields: object) -> Ingredients:
    """What a composition is made of; a small agent unless said otherwise."""
    agent = AgentDeclaration(name="support", prompt="You help customers.")
    return Ingredients(**{"agent": agent, "model": "m1", **fields})  # type: ignore[arg-type]


def composition(**fields: object) -> Composition:
    """A kept prompt."""
    return compose(ingredients(**fields))
