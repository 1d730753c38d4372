"""Tools and policy of the laws about gates: what was done, and a workspace with other policy."""

from typing import Any

import attrs
import trio

from greenroom.actors import Host, Session, Tool, tool
from greenroom.protocol.argument import Condition
from greenroom.protocol.gate import Commitment, Egress, Gate, GateTable, decode_commitment
from greenroom.protocol.message import ToolMessage
from greenroom.protocol.permission import Decision
from greenroom.protocol.turn import TurnRecord
from tests.actors.stage import Stage
from tests.actors.world import SECONDS_MAX

FULL = "danger-full-access"


def gate(decision: Decision = "refuse", tool: str = "pay", **where: Condition) -> Gate:
    """A gate with its reason."""
    return Gate(tool=tool, decision=decision, where=where, reason=f"{tool}: {decision}.")


def put_in_force(host: Host, *gates: Gate, egress: Egress | None = None, **skills: Gate) -> None:
    """Give the host a workspace that differs in its policy; ``skills`` are named by slug."""
    of_skills = {f"skills/{slug}": (each,) for slug, each in skills.items()}
    table = GateTable(gates, egress, of_skills)
    host.services.workspace = attrs.evolve(host.services.workspace, gate_table=table)


def tools(done: list[str]) -> tuple[Tool[Any], ...]:
    """A reading tool, a writing one, and one that names a host."""

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        done.append("look")
        return "seen"

    @tool(effect="write")
    async def pay(cents: int = 1) -> str:
        """Pay."""
        done.append(f"pay {cents}")
        return "paid"

    @tool(effect="read", hosts=["url"])
    async def fetch(url: str) -> str:
        """Fetch."""
        done.append(f"fetch {url}")
        return "fetched"

    return look, pay, fetch


async def fates(session: Session) -> list[tuple[str, str]]:
    """What became of each call of the session, in order."""
    return [(each.tool, each.state) async for turn in session.turns() for each in turn.calls]


async def last_result(session: Session) -> str:
    """The last tool result, as the model was told it."""
    found = [m for m in (await session.state()).messages if isinstance(m, ToolMessage)]
    return str(found[-1].content)


async def last_turn(session: Session) -> TurnRecord:
    return (await session.turns().all())[-1]


def committed(on: Stage, digest: str) -> Commitment:
    """The content under a digest."""
    return decode_commitment(on.store.blob(digest))


async def until_asked(on: Stage, count: int = 1) -> None:
    """Wait until so many questions are open. A test that hangs in it fails."""
    with trio.fail_after(SECONDS_MAX):
        while await on.host.questions().count() < count:
            await on.host.services.settled.wait()
