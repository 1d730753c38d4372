"""Checking a selection of skills without sending it (R28)."""

from collections.abc import Sequence

import trio

from greenroom.actors.border import check_skills
from greenroom.actors.loop import check_loop
from greenroom.actors.services import Services
from greenroom.protocol.errors import SkillNotGiven
from greenroom.protocol.header import Header
from greenroom.protocol.selection import resolve_picks


async def check_selection(services: Services, header: Header, skills: Sequence[str]) -> None:
    """Read the sources of a selection; no model is called and nothing is written.

    A skill of the kept prompt is valid whatever became of its source: its kept revision is what
    would be sent (R26).

    Raises:
        InvalidInput, SkillNotGiven, SkillUnavailable, TooLarge: what sending it would say.
    """
    check_loop()
    given = check_skills(skills)
    kept: frozenset[str] = frozenset()
    if header.composition is not None:
        stored = services.kept_prompts.stored(header.composition, services.store.blob)
        kept = frozenset(skill.id for skill in stored.composition.skills)
    agent = services.agent(header.agent)
    bound, available = services.workspace.skills_for(agent, header.person)
    for pick in resolve_picks(given, "", (*bound, *available), services.limits):
        if pick.id in kept:
            continue
        package = await trio.to_thread.run_sync(
            services.workspace.read_skill, pick.id, limiter=services.reading
        )
        if not package.body.strip():
            raise SkillNotGiven(f"The skill {pick.id!r} has no instructions.", skill=pick.id)
