"""What each session of the demo does, laid down before it runs: the same for the same seed."""

from collections.abc import Iterator
from typing import Final

import attrs

from greenroom.actors import Workspace, World
from greenroom.actors.cli.seeds import seeded

WORDS: Final = (
    "Where is order HW-1042? It should have been here on Friday.",
    "The handle of the spade broke on the first day. What now?",
    "How many pruning shears did we sell last week?",
    "I would like to send the rake back, it is too long for me.",
    "Which order of March is still not delivered?",
    "Does the hedge trimmer come with a bag?",
    "What did Hartmann order, and was it paid?",
    "Please check the table before you answer: is a day missing?",
)
STEERS: Final = (
    "I mean the second parcel, not the first.",
    "In two sentences, please.",
    "And with the day of the week.",
)
PRESETS: Final = 2
"""The strictest ones of the workspace, between which the sessions switch."""

BEGIN_SECONDS: Final = 1.0
"""Within so long the sessions begin, not all of them at the same moment."""
STEERED, PICKED, SWITCHED, INVOKED = 0.25, 0.2, 0.15, 0.1
"""In what share of the steps it happens."""


@attrs.frozen
class Step:
    """One message, and what comes while it is answered."""

    text: str
    skill: str | None = None
    """Picked with it."""
    preset: str | None = None
    """Put in force before it."""
    steer: str | None = None
    """Said in mid-turn."""
    pick: tuple[str, str] | None = None
    """Words and the skill picked with them, in mid-turn: they wait for a turn of their own."""
    before: float = 0.0
    """Seconds until the person writes."""
    pause: float = 0.0
    """Seconds from there until the first of what comes in mid-turn."""

    @property
    def messages(self) -> int:
        """How many messages the step sends."""
        return 1 + (self.steer is not None) + (self.pick is not None)


@attrs.frozen
class Plan:
    """One session's part."""

    key: str
    agent: str
    person: str | None
    steps: tuple[Step, ...]

    @property
    def messages(self) -> int:
        """How many messages the session sends."""
        return sum(step.messages for step in self.steps)


def plan_of(workspace: Workspace, seed: int, number: int, turns: int) -> Plan:
    """The plan of the session of that number, with so many turns; any workspace will do."""
    world = seeded(seed, number)
    chance = world.random
    agent = chance.choice(sorted(workspace.agents))
    person = chance.choice((None, *sorted(workspace.persons)))
    bound, available = workspace.skills_for(workspace.agent(agent), person)
    skills = [skill.id for skill in (*bound, *available)]
    presets = list(workspace.presets.ids)[:PRESETS]
    steps = tuple(_steps(world, turns, skills, presets))
    return Plan(f"demo-{seed}-{number:04}", agent, person, steps)


def _steps(world: World, turns: int, skills: list[str], presets: list[str]) -> Iterator[Step]:
    chance, left = world.random, turns
    while left > 0:
        pick = bool(skills) and left > 1 and chance.random() < PICKED
        yield Step(
            text=chance.choice(WORDS),
            skill=chance.choice(skills) if skills and chance.random() < INVOKED else None,
            preset=chance.choice(presets) if presets and chance.random() < SWITCHED else None,
            steer=chance.choice(STEERS) if chance.random() < STEERED else None,
            pick=(chance.choice(WORDS), chance.choice(skills)) if pick else None,
            before=chance.uniform(0.0, 0.2 if left < turns else BEGIN_SECONDS),
            pause=chance.uniform(0.0, 0.2),
        )
        left -= 1 + pick
