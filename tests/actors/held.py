"""What the laws of holds ask of sessions."""

from typing import Any

from greenroom.actors import Session

WHY: dict[str, Any] = {"reason": "It pays twice.", "by": "ann"}


async def phase(session: Session) -> str:
    return (await session.state()).phase


async def ended(session: Session, *receipts: Any) -> list[str]:
    return [(await session.outcome(receipt)).end for receipt in receipts]
