"""What conversations take of the store: in proportion to what was said, and texts once."""

import hashlib

from greenroom.actors.models.port import Capabilities
from greenroom.actors.models.scripted import Scripted, call
from greenroom.protocol.limits import Limits
from greenroom.protocol.message import Image, TextPart
from tests.actors.stage import agent, stage
from tests.actors.world import Stage, check_requests, opened

PROMPT = "You help, and you say so at length. " * 2_000


async def test_a_thousand_turns_grow_with_what_is_said() -> None:
    """P106: less than three times the content, everything else that is recorded included."""
    said = "x" * 1_000
    async with stage(*["y" * 1_000] * 1_000) as on:
        session = await on.session()
        for _ in range(1_000):
            await session.ask(said)
        written = on.store.statistics().records_bytes
    assert written < 3 * 1_000 * 2_000


async def test_a_text_of_an_agent_is_stored_once() -> None:
    """P107, R56: for 1,000 sessions of it, by its content."""
    agents = [agent(prompt=PROMPT)]
    async with stage(*["A"] * 1_000, agents=agents) as on:
        for number in range(1_000):
            session = await on.session(f"s{number}")
            await session.ask("Hi")
        composition = (await session.turns().all())[0].composition
        assert on.store.blob(composition).count(PROMPT.strip().encode()) == 1
        # The records of a thousand sessions take less than one prompt each by far.
        assert on.store.statistics().records_bytes < 1_000 * 2_000
        # And yet each knows all that it was sent (R71).
        (checkpoint,) = await session.get_system_prompt_checkpoints()
        assert checkpoint.sections["agent"] == PROMPT.strip()
        assert (await session.request(1)).is_exact


async def test_a_turn_of_many_rounds_costs_in_proportion(stage: Stage) -> None:
    """P108: the hundredth round of one turn writes what the tenth wrote."""
    rounds = 100
    stage.plays(*[call("look") for _ in range(rounds)], "Done.")
    async with stage.session(limits=Limits(rounds_max=rounds + 2)) as session:
        assert (await session.ask("Hi")).end == "done"
        sizes = [len(entry.records) for entry in stage.store.read(session.id)]
        assert len(sizes) >= rounds
        assert max(sizes[10:-2]) - min(sizes[10:-2]) < 50
        await check_requests(session, stage.model.requests)
    async with stage.host() as host:
        assert (await (await opened(host)).state()).user_messages == 1


async def test_images_are_stored_once_and_not_read_to_open_a_session(stage: Stage) -> None:
    """P096, R193: by content, beside the records, however often they are sent; a head is small."""
    pictures = [Image("image/png", bytes([number]) * 900_000) for number in range(3)]
    sees = Capabilities(images=True, image_tokens=10, context_tokens=100_000)
    stage.model = Scripted(["Seen."] * 31, capabilities=sees)
    async with stage.session() as session:
        for turn in range(30):
            await session.ask([TextPart("See"), pictures[turn % 3]])
    assert stage.memory.statistics().records_bytes < 30 * 3_000
    read: list[str] = []
    blob = stage.memory.blob

    def counting(digest: str) -> bytes | None:
        read.append(digest)
        return blob(digest)

    stage.memory.blob = counting  # type: ignore[method-assign]
    async with stage.host() as host:
        session = await opened(host)
        assert (await session.state()).user_messages == 30
        assert (await session.ask("And?")).end == "done"
        await check_requests(session, stage.model.requests)
    images = {hashlib.sha256(picture.data).hexdigest() for picture in pictures}
    assert images.isdisjoint(read)
    assert all(blob(digest) is not None for digest in images)
