"""How a conversation's kept prompt stands against what it would be composed to now (R67)."""

import msgspec

from greenroom.actors.loop import check_loop
from greenroom.actors.opening import made_runs
from greenroom.actors.preparing import composed_now, of_those_made
from greenroom.actors.services import Services
from greenroom.protocol.composition import Composition
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.left_out import LeftOut
from greenroom.protocol.movement import Movement, moved_between
from greenroom.protocol.opening import runs_of


class KeptPromptStatus(msgspec.Struct, frozen=True):
    """Whether a kept prompt is current, and what moved since it was composed."""

    composition: str | None
    """Its digest; None: the conversation was not composed yet, and will be current."""
    moved: Movement = Movement()
    left_out: tuple[LeftOut, ...] = ()
    """What is installed and would not come into the prompt that is composed now, and why (R103)."""

    @property
    def is_current(self) -> bool:
        """Whether composing now would give the same prompt."""
        return self.moved.is_current


async def status_of(
    services: Services, session: SessionId, header: Header, instructions: str
) -> KeptPromptStatus:
    """Compare a conversation's kept prompt with what stands in the workspace now.

    Raises:
        UnknownAgent, UnknownTool, SkillUnavailable: the workspace cannot give what it declares.
    """
    check_loop()
    model = services.model(header.model or services.agent(header.agent).model)
    now = (
        await composed_now(services, session.tenant, header, instructions, model.name)
    ).composition
    if header.composition is None:
        return KeptPromptStatus(None, left_out=now.left_out)
    kept = services.kept_prompts.stored(header.composition, services.store.blob)
    moved = moved_since(services, session, kept.composition, now)
    return KeptPromptStatus(header.composition, moved, now.left_out)


def moved_since(
    services: Services, session: SessionId, kept: Composition, now: Composition
) -> Movement:
    """What separates the kept prompt of a conversation from what it would be composed to now.

    A run that was installed since is made in no conversation that began before, so no prompt is
    behind of it (R113). Whether it was made is looked at only where there is one.
    """
    held = {run.id for run in runs_of(kept)}
    if any(run.id not in held for run in runs_of(now)):
        now = of_those_made(now, made_runs(services.store, session))
    return moved_between(kept, now)
