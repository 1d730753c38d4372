"""How a conversation's kept prompt stands against what it would be composed to now (R67)."""

import msgspec

from greenroom.actors.loop import check_loop
from greenroom.actors.preparing import composed_now
from greenroom.actors.services import Services
from greenroom.protocol.header import Header
from greenroom.protocol.left_out import LeftOut
from greenroom.protocol.movement import Movement, moved_between


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


async def status_of(services: Services, header: Header, instructions: str) -> KeptPromptStatus:
    """Compare a conversation's kept prompt with what stands in the workspace now.

    Raises:
        UnknownAgent, UnknownTool, SkillUnavailable: the workspace cannot give what it declares.
    """
    check_loop()
    model = services.model(header.model or services.agent(header.agent).model)
    now = (await composed_now(services, header, instructions, model.name)).composition
    if header.composition is None:
        return KeptPromptStatus(None, left_out=now.left_out)
    kept = services.kept_prompts.stored(header.composition, services.store.blob)
    moved = moved_between(kept.composition, now)
    return KeptPromptStatus(header.composition, moved, now.left_out)
