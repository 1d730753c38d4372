"""Laws of the index: who is meant by a filter, each once, and others get to run meanwhile."""

import pytest
import trio
from msgspec import structs

from greenroom.actors.index import WHOLE, Index
from greenroom.actors.terms import terms_of
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.encoding import encode_header
from greenroom.protocol.filter import Filter
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.store import Create, MemoryStore, open_memory
from tests.store.offering import ask_all

SKILL = Filter(skill="skills/x")
ODD = {"odd": AgentDeclaration(name="odd", prompt="Odd.", model="m", skills=("skills/x",))}


async def filled(store: MemoryStore, count: int = 300) -> None:
    """Every third session shows the skill, every second is of the agent `odd`; some chose `m`."""
    operations = []
    for number in range(count):
        skills = () if number % 3 else ("skills/x",)
        model = "n" if number % 10 == 1 else None
        header = Header(
            "odd" if number % 2 else "even",
            None,
            "p",
            model,
            0,
            skills=skills,
            revisions=skills and ("r1",),
            indexed=WHOLE,
        )
        session = SessionId("default", str(number))
        terms = terms_of(session, header)
        operations.append(Create(session, encode_header(header), b"[]", terms))
    await ask_all(store, operations)


@pytest.mark.parametrize(
    ("asked", "agents", "many"),
    [
        (SKILL, {}, 100),
        # Shown, or bound to its agent now: each once.
        (SKILL, ODD, 200),
        (structs.replace(SKILL, agent="odd"), ODD, 150),
        (structs.replace(SKILL, agent="odd"), {}, 50),
        (Filter(revision="r1"), {}, 100),
        (Filter(revision="r1", skill="skills/x", preset="p"), {}, 100),
        (Filter(revision="r2", agent="odd"), {}, 0),
        (Filter(model="n"), {}, 30),
        (Filter(model="m"), {}, 0),
        # Of an agent's model are those for which no other one was chosen.
        (Filter(model="m"), ODD, 120),
        (Filter(model="m", preset="p"), ODD, 120),
        (Filter(tenant="other"), {}, 0),
        (Filter(), {}, 300),
    ],
)
async def test_a_filter_means_the_sessions_that_all_of_it_fits(
    asked: Filter, agents: dict[str, AgentDeclaration], many: int
) -> None:
    # R239
    async with open_memory() as store:
        await filled(store)
        found = await Index(store).all(asked, agents)
        assert len(found) == len(set(found)) == many


async def test_the_part_that_fits_the_fewest_is_looked_at() -> None:
    """R239: of a hundred thousand sessions of an agent ten are looked at, if ten show the skill."""
    async with open_memory() as store:
        await filled(store)
        one = SessionId("default", "one")
        header = Header("odd", None, "p", None, 0, skills=("skills/y",), indexed=WHOLE)
        terms = terms_of(one, header)
        await ask_all(store, [Create(one, encode_header(header), b"[]", terms)])
        looked: list[SessionId] = []

        class Watched(Index):
            def terms(self, *given: object) -> frozenset[tuple[str, str]]:
                looked.append(one)
                return super().terms(*given)  # type: ignore[arg-type]

        assert await Watched(store).all(Filter(skill="skills/y", agent="odd", preset="p")) == [one]
        assert len(looked) == 1


@pytest.mark.parametrize(
    "asked",
    [
        Filter(preset="p"),
        # Read in step, and looked at one by one.
        Filter(preset="p", agent="odd", model="m"),
    ],
)
async def test_looking_for_many_lets_others_run(asked: Filter) -> None:
    """R170: a hundred thousand sessions must not keep the loop from all others."""
    ran = 0

    async def other() -> None:
        nonlocal ran
        while True:
            await trio.lowlevel.checkpoint()
            ran += 1

    async with open_memory() as store:
        await filled(store, 2_000)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            await trio.lowlevel.checkpoint()
            assert await Index(store).count(asked, ODD) in (2_000, 800)
            nursery.cancel_scope.cancel()
    assert ran >= 10
