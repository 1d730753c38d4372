"""A workload made from a seed: conversations of many people with several agents, as they come.

The same seed gives the same trace on every Python: all chance is drawn as fractions, all times are
whole milliseconds. Conversations begin over some hours and are interleaved; meanwhile authors
publish edits, people switch presets, long conversations are compacted, and now and then the caches
go cold just before a wave of new conversations.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import attrs

from greenroom.actors.bench.composing import Extra, installed
from greenroom.actors.bench.filler import words
from greenroom.actors.bench.trace import Compact, Edit, Expire, Line, Part, Prompt, Switch, checked
from greenroom.actors.bench.workload_parts import MANUALS, tools, workspace
from greenroom.actors.cli.seeds import seeded
from greenroom.actors.tool import Tool
from greenroom.actors.workspace import Workspace
from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.permission import PRESETS

T = TypeVar("T")

HOUR: Final = 3_600_000
SECOND: Final = 1_000
EDITED: Final[tuple[Part, ...]] = (
    *("skill",) * 8,
    *("person",) * 6,
    *("agent",) * 4,
    "instructions",
    "preamble",
)
"""What is edited, as often as it stands here."""
CONVERSATIONS_AN_EDIT: Final = 25
WAVES: Final = 2
CONVERSATIONS_A_WAVE: Final = 50
"""One conversation of so many comes with a wave."""
SWITCHED, PICKED, PAUSED, COMPACTED = 0.03, 0.05, 0.04, 0.1
"""Of all turns; the last one of all conversations."""


@attrs.frozen
class Workload:
    """A trace, and the workspace that it plays in."""

    workspace: Workspace
    tools: tuple[Tool[Any], ...]
    extra: tuple[Extra, ...]
    lines: tuple[Line, ...]


class Chance:
    """Fractions from a text; whatever is drawn is made of them."""

    def __init__(self, *parts: object) -> None:
        self._draw = seeded(*parts).random.random

    def happens(self, share: float) -> bool:
        """Whether something does that happens in that share of all cases."""
        return self._draw() < share

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends among them."""
        return low + int(self._draw() * (high - low + 1))

    def one_of(self, things: Sequence[T]) -> T:
        """One of them, each as likely."""
        return things[self.between(0, len(things) - 1)]


def workload(
    seed: int = 0,
    *,
    conversations: int = 1_000,
    turns: int = 10,
    agents: int = 10,
    persons: int = 100,
    hours: float = 4.0,
) -> Workload:
    """Make a workload.

    Args:
        seed: the same gives the same.
        conversations: how many there are, each of ``turns`` turns.
        turns: prompts of each conversation.
        agents: each person talks to three of them.
        persons: whom they are with.
        hours: over how long they begin.

    Raises:
        InvalidInput: less than one of anything.
    """
    if min(conversations, turns, agents, persons) < 1 or hours <= 0:
        raise InvalidInput("A workload has at least one of each, and takes time.")
    place = workspace(agents, persons)
    extra = (
        installed("conventions", "operator", "platform", words("conventions", 300)),
        installed("stance", "workspace", "agent", words("stance", 300)),
        installed("tone", "workspace", "person", words("tone", 200)),
    )
    lines: list[Line] = []
    wave = conversations // CONVERSATIONS_A_WAVE
    moments = [int(hours * HOUR * (part + 1) / (WAVES + 1)) for part in range(WAVES)]
    for number in range(conversations):
        chance = Chance(seed, "conversation", number)
        begins = chance.between(0, int(hours * HOUR))
        person = chance.between(0, persons - 1)
        agent = (person + chance.between(0, 2)) % agents
        if number < WAVES * wave:
            # Those of a wave come at once, and to one agent.
            begins, agent = (
                moments[number % WAVES] + chance.between(1, 500),
                number % WAVES % agents,
            )
        lines += _conversation(chance, place, number, begins, f"agent{agent}", person, turns)
    if wave:
        lines += [Expire(at=moment) for moment in moments]
    lines += _edits(Chance(seed, "edits"), place, conversations, int(hours * HOUR))
    return Workload(place, tools(), extra, checked(sorted(lines, key=lambda line: line.at)))


def _conversation(
    chance: Chance, place: Workspace, number: int, at: int, agent: str, person: int, turns: int
) -> Iterator[Line]:
    """One conversation: its prompts, and what befalls it between them."""
    session = f"s{number}"
    compacts = chance.between(turns // 2 + 1, turns) if chance.happens(COMPACTED) else None
    declared = place.agent(agent)
    given = [skill for both in place.skills_for(declared) for skill in both]
    for turn in range(turns):
        if turn == compacts:
            yield Compact(at=at - 3 * SECOND, session=session)
        if chance.happens(SWITCHED):
            yield Switch(at=at - SECOND, session=session, preset=chance.one_of(PRESETS.ids))
        rounds = chance.one_of((0, 0, 0, 0, 0, 0, 1, 1, 1, 2))
        yield Prompt(
            at=at,
            session=session,
            agent=agent,
            person=f"person{person}",
            tokens=chance.between(15, 120),
            picks=(chance.one_of(given).id,) if chance.happens(PICKED) else (),
            results=tuple(chance.between(80, 700) for _ in range(rounds)),
            answer=chance.between(60, 350),
        )
        paused = chance.happens(PAUSED)
        at += (
            chance.between(8 * 60, 45 * 60) * SECOND if paused else chance.between(15, 120) * SECOND
        )


def _edits(chance: Chance, place: Workspace, conversations: int, end: int) -> Iterator[Line]:
    """What authors and operators publish meanwhile."""
    named: dict[Part, Sequence[str]] = {
        "skill": sorted(place.skills),
        "person": sorted(place.persons),
        "agent": sorted(place.agents),
    }
    for number in range(max(1, conversations // CONVERSATIONS_AN_EDIT)):
        part = chance.one_of(EDITED)
        name = chance.one_of(named[part]) if part in named else ""
        size = chance.between(*MANUALS) if part == "skill" else chance.between(300, 2_000)
        text = words(f"edit{number}", size)
        yield Edit(at=chance.between(0, end), part=part, name=name, text=text)
