"""A tool with a long result, and two skills: what several tests look at."""

from greenroom.actors import tool
from tests.actors.stage import package

LONG = "x" * 200
SKILLS = (package("plan", "Plan first."), package("check", "Check twice."))


@tool(effect="read")
async def look() -> str:
    """Look."""
    return LONG
