"""What the tools of a turn are given (R220)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from greenroom.actors.models.port import SessionInfo
from greenroom.actors.tool import ToolContext

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor


async def context_of(actor: "SessionActor", info: SessionInfo) -> ToolContext[Any]:
    """The context of a turn's calls; the host's ``deps`` are made once for it (R220)."""
    turn, services = actor.turn, actor.services
    if turn is not None and turn.context is not None:
        return turn.context
    deps = None if services.deps is None else services.deps(info)
    if deps is not None and isinstance(deps, Awaitable):
        deps = await deps
    context = ToolContext(
        session=actor.id,
        person=info.person,
        turn=info.turn,
        call="",
        deps=deps,
        folder=services.workspace.files_root,
    )
    if turn is not None:
        turn.context = context
    return context
