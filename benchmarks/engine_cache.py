"""Engine cache: what a real engine reads from its prompt cache, a slot a session.

    python -m benchmarks.engine_cache

Conversations of one agent with two persons, with picks, switches of presets and a reload of the
workspace, on the model of the extra ``local``. The cached tokens are those that the engine reports.
Beside them stands the best possible, which is what each request shares, byte for byte, with the one
before it in its conversation; and the same requests once more with a time in front of each system
string, the most common way of not sharing it.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Final

import attrs
import trio
from msgspec import structs

from greenroom.actors import SessionInfo, Workspace, open_host
from greenroom.actors.models.local import Local, local
from greenroom.actors.skill_source import skill_package
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.request import ModelRequest
from greenroom.protocol.usage import Usage
from greenroom.store import open_lmdb

PROMPT: Final = "You sell garden tools and answer in one short sentence. " * 20
SAID: Final = ("What do you sell?", "How much is a spade?", "And a rake?", "Thank you, good bye!")
ANSWER_TOKENS: Final = 16


@attrs.frozen
class Sent:
    """One request, what it shares with the one before it, and what the engine said of it."""

    info: SessionInfo
    request: ModelRequest
    possible: float
    """The share of it that stands at the beginning of the one before; 0 for a first one."""
    usage: Usage


def workspace(prompt: str = PROMPT) -> Workspace:
    """One agent, and one skill to pick."""
    agent = AgentDeclaration(name="clerk", prompt=prompt, tools=())
    skill = skill_package("polite", "Answers politely.", "Say please and thank you.", {})
    return Workspace.build(agents=[agent], skills=[skill])


async def talked(model: Local, sessions: int) -> list[Sent]:
    """Play the conversations one after the other, half of them behind a reload."""
    sent: list[Sent] = []
    with tempfile.TemporaryDirectory(prefix="greenroom-bench-", dir=Path.cwd()) as folder:
        async with (
            open_lmdb(Path(folder) / "s") as store,
            open_host(store, workspace=workspace(), models={"default": model}) as host,
        ):
            for number in range(sessions):
                if number == sessions // 2:
                    await host.reload(workspace(f"{PROMPT}Be brief."))
                session = await host.session(f"s{number}", agent="clerk", person=f"p{number % 2}")
                before: ModelRequest | None = None
                for place, words in enumerate(SAID):
                    if place == number % len(SAID):
                        await session.set_permission_preset("workspace-write")
                    skills = ["polite"] if (place + number) % len(SAID) == 3 else []
                    outcome = await session.ask(words, skills=skills)
                    turn = outcome.turn or 0
                    request = (await session.request(turn)).request
                    info = SessionInfo(session.id, "clerk", f"p{number % 2}", turn)
                    possible = 0.0 if before is None else shared(before, request)
                    sent.append(Sent(info, request, possible, outcome.usage))
                    before = request
    return sent


def shared(before: ModelRequest, after: ModelRequest) -> float:
    """The share of ``after`` that stands, byte for byte, at the beginning of ``before`` too."""
    one, other = (
        b"".join((request.system.encode(), *request.messages)) for request in (before, after)
    )
    pairs = enumerate(zip(one, other, strict=False))
    equal = next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
    return equal / len(other)


async def again_with_a_time(model: Local, sent: list[Sent]) -> list[Sent]:
    """The same requests in the same order, each behind another moment."""
    again = []
    for minute, one in enumerate(sent):
        system = f"It is {minute // 60:02}:{minute % 60:02}.\n\n{one.request.system}"
        request = structs.replace(one.request, system=system)
        response = await model.respond(request, one.info, _Nobody())
        again.append(attrs.evolve(one, usage=response.usage))
    return again


class _Nobody:
    """Hears the words of an answer and does nothing with them."""

    def text(self, piece: str) -> None:
        """Words of an answer."""

    def restart(self) -> None:
        """The answer begins anew."""


def told(name: str, sent: list[Sent]) -> str:
    """The requests that have one before them: what was read, and what could have been."""
    later = [one for one in sent if one.possible]
    read = sum(one.usage.cache_read for one in later)
    tokens = sum(one.usage.input + one.usage.cache_read for one in later)
    possible = sum(one.possible * (one.usage.input + one.usage.cache_read) for one in later)
    return (
        f"{name:>15}: {read:,} of {tokens:,} prompt tokens read from cache "
        f"({100 * read / tokens:.1f} %; possible {100 * possible / tokens:.1f} %)"
    )


def engine(sessions: int) -> Local:
    """An engine of its own, with a slot for each session."""
    return local(answer_tokens=ANSWER_TOKENS, slots=sessions, slot_per_session=True)


async def run(sessions: int) -> None:
    """Both ways, each with an engine of its own."""
    print(f"{sessions} conversations of {len(SAID)} turns, without the first turn of each")
    async with engine(sessions) as model:
        sent = await talked(model, sessions)
    print(told("greenroom", sent), flush=True)
    async with engine(sessions) as model:
        print(told("a time in front", await again_with_a_time(model, sent)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=6)
    trio.run(run, parser.parse_args().sessions)


if __name__ == "__main__":
    main()
