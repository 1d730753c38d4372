"""What of an eager load or run can be made, as it stands when a conversation is composed.

A declaration may name what this agent was not given. Then it is left out whole and named, and the
conversation goes on (R144): a contributor of the workspace cannot keep an agent from working.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from greenroom.protocol.contributor import EagerLoad, EagerRun, ToolFacts
from greenroom.protocol.contributor_rules import check_tools
from greenroom.protocol.errors import Refused
from greenroom.protocol.left_out import LeftOut
from greenroom.protocol.skill import PinnedSkill

__all__ = ["Given", "LeftOut", "made_ready"]


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent of a conversation was given, that a load or run may ask for."""

    tools: Mapping[str, ToolFacts] = {}
    """Its tools, those on demand among them."""
    approved: frozenset[str] = frozenset()
    """``id@version`` of runs that somebody approved to call a tool that writes (R149)."""
    most_called: Sequence[str] = ()
    """Tools, by how often this agent's turns called them, the most first (R145)."""


def made_ready(
    declared: EagerLoad | EagerRun, bound: Sequence[PinnedSkill], given: Given
) -> EagerLoad | EagerRun | LeftOut:
    """What is to be loaded or run of a declaration, each choice in it made; or why it is not.

    Args:
        declared: what is installed.
        bound: the skills bound to the agent, as they were pinned.
        given: its tools, and what is known of them.
    """
    try:
        check_tools(declared, given.tools, approved=declared.key in given.approved)
    except Refused as error:
        return LeftOut(declared.key, "tool_refused", error.sentence)
    if isinstance(declared, EagerRun):
        return structs.replace(declared, arguments=_in_order(declared.arguments))
    return _load(declared, bound, given)


def _load(load: EagerLoad, bound: Sequence[PinnedSkill], given: Given) -> EagerLoad | LeftOut:
    if load.skill:
        skill = next((each for each in bound if each.id == load.skill), None)
        if skill is None:
            sentence = f"The skill {load.skill!r} is not bound to the agent."
            return LeftOut(load.key, "skill_not_bound", sentence)
        gone = sorted(set(load.files) - set(_files_of(skill)))
        if gone:
            sentence = f"The skill {load.skill!r} has no file {', '.join(gone)}."
            return LeftOut(load.key, "no_such_file", sentence)
    tools = sorted({*load.tools, *_most_used(load.most_used, given)})
    return structs.replace(load, tools=tuple(tools))


def _files_of(skill: PinnedSkill) -> Iterable[str]:
    return (*skill.paths, skill.reference.path) if skill.reference else skill.paths


def _most_used(number: int, given: Given) -> Sequence[str]:
    """Only tools on demand can be loaded; the others are declared already."""
    there = given.tools
    called = [name for name in given.most_called if name in there and there[name].on_demand]
    return called[:number]


def _in_order(value: Any) -> Any:
    """The same JSON with the keys of its objects sorted: equal arguments have equal bytes."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(each) for each in value] if isinstance(value, list) else value
