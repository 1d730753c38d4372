"""Composing: what the kept prompt of a conversation costs, once.

    python -m benchmarks.composition --contributors 50 --skills 20

Composing is `compose` alone, pure and in memory; keeping is what stands behind it at a first turn:
encoding, and the digest under which the composition is stored and shared. The least and the median
of many runs are printed, as CPU of this thread.
"""

import argparse
import hashlib
import statistics
import time
from collections.abc import Callable
from typing import Any

from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.composition import (
    Ingredients,
    compose,
    composition_digest,
    encode_composition,
)
from greenroom.protocol.condition import DateCrossed
from greenroom.protocol.contributor import Declaration, EagerLoad, EagerRun, Note, Text, ToolFacts
from greenroom.protocol.eager import Given
from greenroom.protocol.skill import PinnedSkill

RUNS = 400
WORDS = "Money is in pence, and dates are written as 14 March 2026. "
PLACEMENTS = ("platform", "agent", "person", "conversation")


def skill(number: int) -> PinnedSkill:
    """A bound skill with a body of some 2 kB."""
    body = WORDS * 35
    digest = hashlib.sha256(body.encode()).hexdigest()
    id_ = f"skills/s{number}"
    return PinnedSkill(id_, f"s{number}", f"Skill {number}", id_, digest, body, digest, None, ())


def declaration(number: int) -> Declaration:
    """Mostly texts, of 240 bytes; of each ten one load, one run and one note."""
    said: dict[str, Any] = {
        "id": f"c{number:03}",
        "version": "1",
        "owner": "workspace",
        "priority": number % 7,
    }
    if number % 10 == 7:
        return EagerLoad(placement="conversation", tools=("lookup",), **said)
    if number % 10 == 8:
        return EagerRun(placement="conversation", tool="time", arguments={"zone": "UTC"}, **said)
    if number % 10 == 9:
        return Note(placement="message", condition=DateCrossed(), text="It is {today}.", **said)
    place: Any = PLACEMENTS[number % len(PLACEMENTS)]
    return Text(placement=place, heading=f"Rule {number}", text=WORDS * 4, **said)


def ingredients(contributors: int, skills: int) -> Ingredients:
    """An agent with all of it."""
    tools = {"lookup": ToolFacts("read", on_demand=True), "time": ToolFacts("read")}
    return Ingredients(
        agent=AgentDeclaration(name="clerk", prompt=WORDS * 60),
        model="m",
        bound=tuple(skill(number) for number in range(skills)),
        person="ada",
        person_text=WORDS * 2,
        instructions=WORDS * 10,
        extra=tuple(declaration(number) for number in range(contributors)),
        given=Given(tools=tools),
    )


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of the least and of the median run."""
    times = []
    for _ in range(RUNS):
        began = time.thread_time()
        work()
        times.append(1e3 * (time.thread_time() - began))
    return min(times), statistics.median(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--contributors", type=int, default=50)
    parser.add_argument("--skills", type=int, default=20)
    arguments = parser.parse_args()
    given = ingredients(arguments.contributors, arguments.skills)
    made = compose(given)
    encoded = encode_composition(made)
    print(
        f"{arguments.contributors} contributors, {arguments.skills} skills: "
        f"{len(made.sections)} sections, {len(encoded):,} bytes"
    )
    for what, work in (
        ("composing", lambda: compose(given)),
        ("keeping", lambda: composition_digest(encode_composition(made))),
    ):
        least, median = measured(work)
        print(f"{what:<10} least {least:.3f} ms, median {median:.3f} ms")


if __name__ == "__main__":
    main()
