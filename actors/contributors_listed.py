"""What shapes prompts in a workspace, as a list: built in and installed, on and off (R139).

It is what would be composed now, for each agent, by the one order and with the counts of composing;
so what is installed and is over its budget for some agent is told with the figures (R103).
"""

from collections.abc import Iterator

import msgspec
from msgspec import structs

from greenroom.actors.workspace import Workspace
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.composition import Ingredients, contributions
from greenroom.protocol.contribution import Contribution, Group, of_declaration, place_of
from greenroom.protocol.contributor import Owner, Reach
from greenroom.protocol.installed import Installed
from greenroom.protocol.placement import Placement
from greenroom.protocol.skill import pin
from greenroom.protocol.tokens import TokenEstimate
from greenroom.protocol.wording import CURRENT


class ListedContributor(msgspec.Struct, frozen=True, kw_only=True):
    """One contributor of a workspace, with the properties that all of them have."""

    contributor: str
    """``id@version``; of what is built in the version is a digest of its content."""
    kind: Group
    owner: Owner
    placement: Placement
    priority: int
    budget: int | None
    """Tokens; None, of what is built in: the model's window is its only bound."""
    tokens: int
    """What it needs as it is rendered, where it needs most; counted by bytes."""
    reach: Reach
    on: bool
    """False: the workspace switched it off, and no new prompt has it (R141)."""
    agents: tuple[str, ...]
    """Whose prompts it is for; none: no agent, or not the person who was asked about, names it."""
    left_out: str = ""
    """Why prompts are composed without it although it is on, with the figures."""


def contributors_in(
    workspace: Workspace, *, agent: str | None = None, person: str | None = None
) -> tuple[ListedContributor, ...]:
    """All that shapes prompts, in the order in which it stands in them. Waits for the disk.

    Args:
        workspace: whose.
        agent: only what is for that agent.
        person: with what is for that person, of any name; None: for nobody in particular.

    Raises:
        UnknownAgent: there is no such agent.
        SkillUnavailable: a bound skill cannot be read.
    """
    named = [workspace.agent(agent)] if agent is not None else list(workspace.agents.values())
    found: dict[str, tuple[Contribution, list[str]]] = {}
    for each in named:
        for one in _composed(workspace, each, person):
            known, agents = found.setdefault(one.key, (one, []))
            agents.append(each.name)
            if one.tokens > known.tokens:
                found[one.key] = one, agents
    if agent is None:
        for one in _declared(workspace.contributors):
            found.setdefault(one.key, (one, []))
    off = workspace.contributors.off
    return tuple(
        _listed(one, agents, off)
        for one, agents in sorted(found.values(), key=lambda each: place_of(each[0]))
    )


def installed_only(installed: Installed) -> tuple[ListedContributor, ...]:
    """What is installed, where there is no whole workspace to compose from."""
    return tuple(_listed(one, (), installed.off) for one in _declared(installed))


def _composed(
    workspace: Workspace, agent: AgentDeclaration, person: str | None
) -> Iterator[Contribution]:
    """What a prompt of that agent and person would be composed of, switched off or not."""
    bound, everyones = workspace.skills_for(agent)
    _, theirs = workspace.skills_for(agent, person)
    ingredients = Ingredients(
        preamble=workspace.preamble,
        agent=agent,
        model=agent.model,
        bound=tuple(pin(workspace.read_skill(skill.id)) for skill in bound),
        catalog=everyones,
        person_catalog=tuple(skill for skill in theirs if skill not in everyones),
        person=person,
        person_text=workspace.person_text(person) if person is not None else "",
        instructions=workspace.instructions(),
        extra=workspace.contributors_for(agent, person),
    )
    for one in contributions(ingredients):
        # What is built in and says nothing here is not there.
        if one.text or one.declared is not None:
            yield one


def _declared(installed: Installed) -> Iterator[Contribution]:
    counter = TokenEstimate()
    for declared in installed.active:
        yield of_declaration(declared, {}, counter, CURRENT)


def _listed(
    one: Contribution, agents: list[str] | tuple[str, ...], off: frozenset[str]
) -> ListedContributor:
    listed = ListedContributor(
        contributor=one.key,
        kind=one.group,
        owner=one.owner,
        placement=one.placement,
        priority=one.priority,
        budget=one.budget,
        tokens=one.tokens if one.text else 0,
        reach=one.reach,
        # Binding decides of a skill, which may be called like anything.
        on=one.group == "skill" or one.id not in off,
        agents=tuple(agents),
    )
    if one.fits:
        return listed
    sentence = f"It needs {one.tokens:,} tokens; its budget is {one.budget or 0:,}."
    return structs.replace(listed, left_out=sentence)
