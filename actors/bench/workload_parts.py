"""The workspace and the tools of a made workload: of usual sizes, in words without meaning."""

from typing import Any, Final

from greenroom.actors.bench.filler import words
from greenroom.actors.skill_source import skill_package
from greenroom.actors.tool import Tool, ToolContext
from greenroom.actors.workspace import Workspace
from greenroom.actors.workspace_files import Person
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.skill import SkillPackage

SKILLS: Final = 12
BOUND: Final = 2
MANUALS: Final = (1_500, 4_000)
"""Bytes of a skill's instructions."""
TOOLS: Final = ("look_up", "find_orders", "send_mail", "refund", "ship", "book", "report", "stock")
FIELDS: Final = ("order", "customer", "since", "until", "note")
OWN_SKILL: Final = 5
"""One person of so many has a skill that no agent offers to everybody."""


def workspace(agents: int, persons: int) -> Workspace:
    """So many agents with two bound skills each, and so many people."""
    skills = [_skill(number) for number in range(SKILLS)]
    ids = [skill.summary.id for skill in skills]
    return Workspace.build(
        agents=[_agent(number, ids) for number in range(agents)],
        skills=skills,
        persons=[_person(number, ids) for number in range(persons)],
        instructions=words("instructions", 1_000),
    )


def _skill(number: int) -> SkillPackage:
    low, high = MANUALS
    body = words(f"skill{number}", low + (high - low) * number // SKILLS)
    files = {"index.md": words(f"index{number}", 1_200)} if number % 3 == 0 else {}
    return skill_package(f"Skill {number}", words(f"about skill {number}", 120), body, files)


def _agent(number: int, skills: list[str]) -> AgentDeclaration:
    bound = tuple(skills[(number + step) % SKILLS] for step in range(BOUND))
    offered = tuple(skill for skill in skills[:-BOUND] if skill not in bound)
    builtin = ("get_current_time", "load_skill", "read_object")
    return AgentDeclaration(
        name=f"agent{number}",
        prompt=words(f"agent{number}", 1_600 + number % 4 * 500),
        skills=bound,
        available=offered,
        # Some agents are given all tools of the host, some a few.
        tools=None if number % 2 == 0 else (*builtin, *TOOLS[: 3 + number % 5]),
    )


def _person(number: int, skills: list[str]) -> Person:
    own = (skills[-1],) if number % OWN_SKILL == 0 else ()
    return Person(
        name=f"person{number}", text=words(f"person{number}", 200 + number % 5 * 100), skills=own
    )


def tools() -> tuple[Tool[Any], ...]:
    """Tools as a host declares them; none of them is ever called."""
    return tuple(_tool(name) for name in TOOLS)


def _tool(name: str) -> Tool[Any]:
    fields = {
        field: {"type": "string", "description": words(f"{name}.{field}", 90)} for field in FIELDS
    }
    return Tool(
        name=name,
        description=words(name, 220),
        parameters={"type": "object", "properties": fields, "required": list(FIELDS[:1])},
        effect="read",
        body=_never,
    )


async def _never(context: ToolContext[Any], arguments: str) -> object:
    raise NotImplementedError(f"a benchmark calls no tool: {arguments} of {context}")
