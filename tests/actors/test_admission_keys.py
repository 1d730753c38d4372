"""An idempotency key that is known: its first receipt, whatever a new message would be told."""

from typing import Any

import pytest

from greenroom.actors.models.scripted import call
from greenroom.protocol.errors import Busy, KeyReused, QueueFull, SkillNotGiven
from greenroom.protocol.limits import Limits
from tests.actors.world import Stage


async def test_a_known_key_is_answered_before_the_session_is_found_busy(stage: Stage) -> None:
    """R177, R178: its own turn may be what runs, and the queue may be full."""
    stage.plays(call("watch"), "One.", "Two.")
    async with stage.session(limits=Limits(queued_messages_max=1)) as session:
        first = await session.prompt("one", when="reject", key="k")
        await stage.gate.reached.wait()
        again = await session.prompt("one", when="reject", key="k")
        assert (again.message, again.repeated) == (first.message, True)
        queued = await session.prompt("two", when="queue", key="q")
        again = await session.prompt("two", when="queue", key="q")
        assert (again.message, again.repeated) == (queued.message, True)
        with pytest.raises(Busy):
            await session.prompt("three", when="reject", key="new")
        with pytest.raises(QueueFull):
            await session.prompt("three", when="queue", key="new")
        stage.gate.open.set()
        assert (await session.ask("two", when="queue", key="q")).text == "Two."


@pytest.mark.parametrize(
    ("words", "told"), [("go $tidy", {}), ("go", {"skills": ["tidy"]}), ("", {"skills": ["tidy"]})]
)
async def test_a_known_key_is_answered_though_its_skill_is_gone(
    stage: Stage, words: str, told: dict[str, Any]
) -> None:
    """R177: what tells messages apart is what was sent, not what its names mean now."""
    stage.skills.publish("tidy", "Tidy up.")
    stage.plays("One.")
    async with stage.session() as session:
        first = await session.prompt(words, key="k", **told)
        await session.outcome(first)
    stage.skills.withdraw("tidy")
    async with stage.session() as session:
        again = await session.prompt(words, key="k", **told)
        assert (again.message, again.repeated) == (first.message, True)
        assert (await session.ask(words, key="k", **told)).text == "One."
        with pytest.raises(KeyReused):
            await session.prompt("another", key="k", **told)
        with pytest.raises(SkillNotGiven):
            await session.prompt(words, key="new", skills=["tidy"])


async def test_the_explicit_picks_tell_two_messages_of_a_key_apart(stage: Stage) -> None:
    """R177: the same words with another skill are another message."""
    stage.skills.publish("tidy", "Tidy up.")
    stage.plays("One.")
    async with stage.session() as session:
        await session.ask("go", key="k")
        with pytest.raises(KeyReused):
            await session.prompt("go", key="k", skills=["tidy"])
