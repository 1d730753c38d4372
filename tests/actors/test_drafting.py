"""Everything before the dispatch commit: a refusal leaves the conversation as it was."""

import pytest

from greenroom.actors.models.port import Capabilities
from greenroom.actors.models.scripted import Scripted
from greenroom.protocol.limits import Limits
from tests.actors.world import Stage, check_requests, conversation, sent


@pytest.mark.parametrize("why", ["budget", "model", "skill"])
async def test_a_refusal_before_dispatch(stage: Stage, why: str) -> None:
    """R62, R80, R81, R102: the model is not called, and only the submission is kept, marked."""
    stage.skills.publish("refunds", "Give it back.")
    stage.model = Scripted(["Fine."] * 9, capabilities=Capabilities(context_tokens=6_000))
    async with stage.session(limits=Limits(output_tokens_reserve=100)) as session:
        services = session._host.services
        workspace, models = services.workspace, dict(services.models)
        skills = ["refunds"] if why == "skill" else []
        if why == "model":
            services.models.clear()  # type: ignore[attr-defined]
        if why == "skill":
            stage.skills.withdraw("refunds")
        text = "x" * 30_000 if why == "budget" else "Hi"
        receipt = await session.prompt(text, skills=skills)
        outcome = await session.outcome(receipt)
        end = "context_full" if why == "budget" else "not_sent"
        assert (outcome.end, outcome.messages, outcome.turn) == (end, 0, 1)
        assert outcome.reason
        state = await session.state()
        assert (state.messages, state.user_messages) == ((), 0)
        assert await session.get_runtime_contexts() == ()
        assert await session.get_system_prompt_checkpoints() == ()
        assert [turn async for turn in session.turns()] == []
        [entry] = [entry async for entry in session.transcript()]
        assert (entry.mark, entry.message.content, entry.ordinal) == ("not sent", text, None)
        assert stage.model.requests == []
        services.workspace = workspace
        services.models.update(models)  # type: ignore[attr-defined]
        assert (await session.ask("Hello")).end == "done"
        assert await conversation(session) == ["Hello", "Fine."]
        await check_requests(session, stage.model.requests)
    assert sent(stage.model.requests[0]) == [("user", "Hello")]
    async with stage.session() as session:
        assert (await session.outcome(receipt)).reason == outcome.reason


async def test_the_reason_is_a_table(stage: Stage) -> None:
    """R102: what the message takes of the window, beside all that shares it."""
    stage.model = Scripted(["Fine."], capabilities=Capabilities(context_tokens=6_000))
    async with stage.session() as session:
        reason = (await session.ask("x" * 30_000)).reason
    assert "messages: user" in reason
    assert "output reserve" in reason


async def test_a_composition_is_accepted_at_dispatch(stage: Stage) -> None:
    """R62, R56, R205: refused or not written, no kept prompt is stored; then one is, once."""
    stage.plays("One.", "Two.")
    async with stage.session() as session:
        stage.fails()
        with pytest.raises(Exception, match="not kept"):
            await session.prompt("Hi")
        actor = session._host.services.actors[session.id]
        assert actor.kept is None
        assert actor.header.composition is None
        await session.flush()
        await session.ask("Hi")
        digest = actor.header.composition
        assert digest is not None
        assert stage.store.blob(digest) is not None
        await session.ask("Hi")
        assert actor.header.composition == digest


async def test_later_turns_consult_no_source(stage: Stage) -> None:
    """R57: composing happens once; the system string is the same object of bytes in every round."""
    stage.skills.publish("refunds", "Give it back.")
    stage.bound = ("skills/refunds",)
    stage.plays(*["Fine."] * 3)
    async with stage.session() as session:
        await session.ask("Hi")
        reads = list(stage.skills.reads)
        await session.ask("Hi")
        await session.ask("Hi")
        assert stage.skills.reads == reads == ["skills/refunds"]
    assert len({request.system for request in stage.model.requests}) == 1
