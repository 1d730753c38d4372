"""Reading skills and composing: what a turn may have to do before its request can be made.

Nothing here is on the way of an ordinary turn: a conversation composes once, and a message without
picks reads nothing (R57).
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec
import trio
from msgspec import structs

from greenroom.actors.kept_prompt import Kept
from greenroom.actors.loading import with_loads
from greenroom.actors.models.port import Capabilities
from greenroom.actors.services import Services
from greenroom.actors.tools import Toolbox
from greenroom.actors.usage_of_tools import most_called
from greenroom.protocol.command import Pick
from greenroom.protocol.composition import (
    Composition,
    Ingredients,
    composition_digest,
    encode_composition,
)
from greenroom.protocol.contributor import Declaration, EagerLoad, ToolFacts
from greenroom.protocol.eager import Given
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.header import Header
from greenroom.protocol.skill import PinnedSkill, SkillPackage, package_manifest, pin
from greenroom.protocol.tokens import TokenCounter, TokenEstimate

CURRENT_MAX: Final = 1_024
"""Compositions that are remembered as what would be composed now."""


class Composed(msgspec.Struct, frozen=True, gc=False):
    """A kept prompt that was made, and the content that has to be stored with it."""

    kept: Kept
    blobs: dict[str, bytes]
    recompositions: int
    """How many of the store's recompositions it takes into account."""


class Pinned(msgspec.Struct, frozen=True, gc=False):
    """The skills of one message, and the content that has to be stored with them."""

    skills: tuple[PinnedSkill, ...]
    blobs: dict[str, bytes]


async def compose(
    services: Services,
    tenant: str,
    header: Header,
    instructions: str,
    model: str,
    opened: Composition | None = None,
    ran: Collection[str] | None = None,
    *,
    for_person: bool = True,
) -> Composed:
    """Compose the kept prompt of a conversation from what stands in the workspace now (R56).

    Args:
        services: the host's.
        tenant: whose session it is; only its own turns tell what is used most (R218).
        header: whose conversation it is.
        instructions: the project instructions, as they were read for it (R68).
        model: as its provider calls it.
        opened: the composition whose opening stays; None makes the opening anew (R113).
        ran: the runs that were made when the conversation began, by contributor: no other one is
            in its opening any more (R113). None: it begins now.
        for_person: False: nobody asked for the turn with which it begins, so that nothing is in its
            opening that reaches persons only, whoever talks there later (R204).

    Raises:
        UnknownAgent, UnknownTool, SkillUnavailable: the workspace cannot give what it declares.
    """
    workspace, marked = services.workspace, services.marks.last
    agent = services.agent(header.agent)
    bound, everyones = workspace.skills_for(agent)
    _, theirs = workspace.skills_for(agent, header.person)
    packages = await _read(services, [skill.id for skill in bound])
    box = services.door.box(agent)
    for_person = for_person and header.person is not None
    extra = _reaching(workspace.contributors_for(agent, header.person), for_person=for_person)
    by_usage = any(isinstance(one, EagerLoad) and one.most_used for one in extra)
    ingredients = Ingredients(
        preamble=workspace.preamble,
        agent=agent,
        bound=tuple(pin(package, services.limits) for package in packages),
        catalog=everyones,
        person_catalog=tuple(skill for skill in theirs if skill not in everyones),
        instructions=instructions,
        person_text=workspace.person_text(header.person) if header.person else "",
        model=model,
        tools=box.encoded,
        parameters=encode_sorted(agent.parameters),
        person=header.person,
        extra=extra,
        off=workspace.contributors.off,
        given=Given(
            tools=_facts(box),
            approved=workspace.contributors.approved,
            most_called=await most_called(services, tenant, agent.name) if by_usage else (),
        ),
        counter=counter_of(services, model),
    )
    composition = services.composer(ingredients)
    if ran is not None:
        composition = of_those_made(composition, ran)
    if opened is not None:
        composition = structs.replace(
            composition,
            opening=opened.opening,
            eager=opened.eager,
            approved=opened.approved,
            loaded=opened.loaded,
        )
    elif composition.eager:
        composition = with_loads(composition, box, packages, ingredients.counter)
    encoded = encode_composition(composition)
    digest = composition_digest(encoded)
    kept = services.kept_prompts.of(composition, encoded, digest)
    return Composed(kept, {digest: encoded, **_stored_files(packages)}, marked)


async def composed_now(
    services: Services, tenant: str, header: Header, instructions: str, model: str
) -> Kept:
    """What a conversation would be composed to now; made once for all that would get the same.

    Raises:
        As :func:`compose`.
    """
    asked = (services.generation, tenant, header.agent, header.person, instructions, model)
    kept = services.current.get(asked)
    if kept is None:
        kept = (await compose(services, tenant, header, instructions, model)).kept
        if len(services.current) >= CURRENT_MAX:
            services.current.clear()
        services.current[asked] = kept
    return kept


def of_those_made(composition: Composition, ran: Collection[str]) -> Composition:
    """Without the runs that were installed since: they are not made in this conversation (R113)."""
    eager = [each for each in composition.eager if isinstance(each, EagerLoad) or each.id in ran]
    return structs.replace(composition, eager=tuple(eager))


def _reaching(declared: Iterable[Declaration], *, for_person: bool) -> tuple[Declaration, ...]:
    """What shapes a conversation: without a person it opens with nothing that is theirs (R204)."""
    return tuple(
        [
            one
            for one in declared
            if for_person or one.placement != "conversation" or one.reach == "every_turn"
        ]
    )


def _facts(box: Toolbox) -> dict[str, ToolFacts]:
    """What a declaration may name of an agent's tools, and what is known of them."""
    declared = {name: ToolFacts(tool.effect) for name, tool in box.declared.items()}
    on_demand = {
        name: ToolFacts(tool.effect, on_demand=True) for name, tool in box.on_demand.items()
    }
    return {**declared, **on_demand}


def counter_of(services: Services, model: str) -> TokenCounter:
    """What the requests to that model are counted with (R103)."""
    fitting = (each.capabilities for each in services.models.values() if each.name == model)
    return TokenEstimate(next(fitting, Capabilities()).bytes_per_token)


async def pin_picks(services: Services, picks: Sequence[Pick], kept: Kept) -> Pinned:
    """Pin what a message picked: the kept revision of a skill, else its current one (R26).

    Raises:
        SkillUnavailable: a skill is neither kept nor readable any more (R27).
    """
    of_kept = {skill.id: skill for skill in kept.composition.skills}
    packages = await _read(services, [pick.id for pick in picks if pick.id not in of_kept])
    current = {package.summary.id: package for package in packages}
    skills: list[PinnedSkill] = []
    spent = 0
    for pick in picks:
        skill = of_kept.get(pick.id) or pin(current[pick.id], services.limits, spent=spent)
        if skill.reference is not None:
            spent += len(skill.reference.text.encode())
        skills.append(skill)
    return Pinned(tuple(skills), _stored_files(packages))


async def _read(services: Services, skills: Sequence[str]) -> list[SkillPackage]:
    """Read packages from their source, each once, outside of the loop."""
    if not skills:
        return []
    read = partial(_read_all, services, skills)
    return await trio.to_thread.run_sync(read, limiter=services.reading)


def _read_all(services: Services, skills: Sequence[str]) -> list[SkillPackage]:
    return [services.workspace.read_skill(skill) for skill in skills]


def _stored_files(packages: Sequence[SkillPackage]) -> dict[str, bytes]:
    """Manifest and files of each package, by content hash: what R202 reads later."""
    blobs: dict[str, bytes] = {}
    for package in packages:
        manifest = package_manifest(package.files)
        blobs[hashlib.sha256(manifest).hexdigest()] = manifest
        for data in package.files.values():
            blobs[hashlib.sha256(data).hexdigest()] = data
    return blobs
