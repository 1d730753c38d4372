"""Compacting on demand: what is sent gets shorter, and nothing of the conversation is lost."""

import attrs
import pytest
from msgspec import structs

from greenroom.actors.importing import import_history
from greenroom.actors.models.scripted import call
from greenroom.protocol.compaction import framed_summary
from greenroom.protocol.event import ConversationCompacted, PromptRecomposed, TextDelta
from greenroom.protocol.message import AssistantMessage, UserMessage
from greenroom.protocol.prompt_checkpoint import replay_text
from greenroom.protocol.record import Compacted, Recomposed
from greenroom.protocol.runtime_context import RuntimeContextSnapshot
from greenroom.protocol.usage import Usage
from greenroom.protocol.wording import CURRENT
from tests.actors.compacted import (
    SPENT,
    check_all,
    compactions,
    long,
    records,
    summaries,
    talked,
    text,
)
from tests.actors.world import AGENT, Stage, conversation, sent


async def test_a_summary_stands_for_the_older_turns(stage: Stage) -> None:
    """R106, R108, R94, R98, R1: in what is sent; stored messages, counts and ordinals stay."""
    async with long(stage) as session:
        before, state = records(stage, session), await session.state()
        stage.plays("They spoke of x.", "Go on.")
        done = await session.compact()
        assert (done.status, done.before, done.summary) == ("compacted", 2, "They spoke of x.")
        assert done.tokens_after < done.tokens_before
        *untouched, landed = records(stage, session)
        assert untouched == before
        assert isinstance(landed, Compacted)
        assert (landed.before, landed.turn, landed.composition) == (2, None, done.composition)
        after = await session.state()
        assert (after.messages, after.user_messages) == (state.messages, state.user_messages)
        assert (await session.ask("And now?")).end == "done"
        request = stage.model.requests[-1]
        assert request.messages[0] == framed_summary("They spoke of x.", CURRENT)
        assert [words.partition(" x")[0] for _, words in sent(request)[1:]] == [
            "question 2", "answer 2", "question 3", "answer 3", "And now?",
        ]  # fmt: skip
        assert {role for role, words in sent(request) if "They spoke" in words} == {"user"}
        assert [e.origin async for e in session.transcript()].count("compaction") == 1
        assert "They spoke of x." not in await conversation(session)
        await check_all(stage, session)
    async with stage.session() as session:
        stage.plays("Still.")
        await session.ask("Again")
        assert stage.model.requests[-1].messages[0] == request.messages[0]
        await check_all(stage, session)


async def test_contributors_are_composed_first(stage: Stage) -> None:
    """R58, R107, P089, R60: the summary is asked for under the new prompt, and told what moved."""
    stage.skills.publish("refunds", "Give it back.")
    stage.skills.publish("mail", "Write mails.")
    stage.bound = ("skills/refunds", "skills/mail")
    async with long(stage) as session:
        stage.skills.publish("refunds", "Never give it back.")
        old = stage.model.requests[-1].system
        stage.plays("A summary.", "Fine.", "Fine.")
        await session.ask("Still the old prompt?")
        assert stage.model.requests[-1].system == old
        workspace = session._host.services.workspace
        agent = structs.replace(workspace.agents[AGENT], skills=("skills/refunds",))
        session._host.services.workspace = attrs.evolve(workspace, agents={AGENT: agent})
        await session.compact()
        (asked,) = summaries(stage.model)
        assert "Never give it back." in asked.system
        assert "Write mails." not in asked.system
        last = asked.messages[-1].decode()
        assert "changed: skill:skills/refunds." in last
        assert "removed from the system prompt: skill:skills/mail." in last
        (landed,) = compactions(stage, session)
        assert (landed.changed, landed.removed) == (
            ("skill:skills/refunds",),
            ("skill:skills/mail",),
        )
        await session.ask("And now?")
        assert stage.model.requests[-1].system == asked.system
        assert "A summary." not in asked.system
        await check_all(stage, session)


async def test_checkpoints_still_rebuild_every_request(stage: Stage) -> None:
    """P090, R70, R72, R108: the checkpoint of the new prompt is the next dispatch's."""
    stage.skills.publish("refunds", "Give it back.")
    stage.bound = ("skills/refunds",)
    async with long(stage) as session:
        stage.skills.publish("refunds", "Never give it back.")
        stage.plays("A summary.", "Fine.")
        await session.compact()
        assert len(await session.get_system_prompt_checkpoints()) == 1
        await session.ask("And now?")
        first, second = await session.get_system_prompt_checkpoints()
        assert list(second.sections) == ["skill:skills/refunds"]
        assert second.message_count == 9
        assert replay_text([first, second]) == stage.model.requests[-1].system
        assert len({request.tools for request in stage.model.requests}) == 1
        await check_all(stage, session)


async def test_an_older_summary_is_carried_by_the_newer(stage: Stage) -> None:
    """R106, P038: it stands framed in the next one's input, and all turns are in one of them."""
    async with long(stage) as session:
        stage.plays("First.")
        await session.compact()
        await talked(stage, session, 3)
        stage.plays("Second.", "Fine.")
        await session.compact()
        _, asked = summaries(stage.model)
        assert asked.messages[0] == framed_summary("First.", CURRENT)
        await session.ask("And now?")
        told = [words for one in summaries(stage.model) for _, words in sent(one)]
        told += [words for _, words in sent(stage.model.requests[-1])]
        assert not any("First." in words for _, words in sent(stage.model.requests[-1]))
        for said in await conversation(session):
            assert said == "Fine." or said in told
        await check_all(stage, session)


async def test_four_turns_are_kept_each_time(stage: Stage) -> None:
    """P038: kept and summarised turns together are all turns, and none is in both."""
    summarised: list[str] = []
    async with stage.session() as session:
        for turns in (14, 10):
            await talked(stage, session, turns)
            stage.plays("A summary.")
            await session.compact()
            summarised += [words for _, words in sent(summaries(stage.model)[-1])[:-1]]
        stage.plays("Fine.")
        await session.ask("And now?")
        kept = [words for _, words in sent(stage.model.requests[-1])[1:-1]]
        assert len(kept) == 2 * 4
        said = (await conversation(session))[:-2]
        # The second part begins with the summary of the first.
        assert [*summarised[:20], *summarised[21:], *kept] == said
        await check_all(stage, session)


async def test_skills_before_the_cut_are_in_the_summary_only(stage: Stage) -> None:
    """R112: no retained note asks for them again; their records remain, and can be read."""
    stage.skills.publish("refunds", "Give it back.")
    async with stage.session() as session:
        stage.plays("Given.")
        await session.ask(text("Do it"), skills=["refunds"])
        await talked(stage, session, 3)
        stage.plays("A refund was made.", call("load_skill", name="refunds"), "Fine.")
        await session.compact()
        assert "invoked the skill" in sent(summaries(stage.model)[0])[0][1]
        await session.ask("And now?")
        last = "".join(words for _, words in sent(stage.model.requests[-2]))
        assert "invoked the skill" not in last
        assert "Give it back." not in last
        assert len(await session.get_runtime_contexts()) == 1
        assert "Give it back." in sent(stage.model.requests[-1])[-1][1]
        await check_all(stage, session)


async def test_legacy_contexts_before_the_cut_are_not_sent(stage: Stage) -> None:
    """R211: in the summary's input at their anchors; those behind the cut as before."""
    history = [
        m for n in range(4) for m in (UserMessage(text(f"q{n}")), AssistantMessage(text("a")))
    ]
    contexts = [RuntimeContextSnapshot(n, f"context {n}", 0) for n in (0, 3)]
    async with stage.host() as host:
        session, _ = await import_history(
            host, "old", agent=AGENT, messages=history, contexts=contexts
        )
        stored = records(stage, session)
        stage.plays("A summary.", "Fine.")
        await session.compact()
        told = [words for _, words in sent(summaries(stage.model)[0])]
        assert told[1] == "context 0"
        await session.ask("And now?")
        words = [words.partition(" ")[0] for _, words in sent(stage.model.requests[-1])]
        assert words == ["[platform", "q2", "a", "q3", "context", "a", "And"]
        assert records(stage, session)[: len(stored)] == stored
        shown = await session.model_input_projection()
        assert shown is not None
        assert [(s.origin, s.message) for s in shown.sources] == [
            ("compaction", None), ("history", 4), ("history", 5), ("history", 6),
            ("legacy_context", None), ("history", 7), ("history", 8),
        ]  # fmt: skip
        assert [c.user_turn for c in await session.get_runtime_contexts()] == [0, 3]


async def test_a_compaction_is_told_once_and_not_as_live_text(stage: Stage) -> None:
    """R186, R106, R196: one numbered event behind its commit; what the model says is no delta."""
    async with long(stage) as session:
        after = (await session.state()).cursor
        stage.plays("A summary.")
        stage.model.usage = SPENT
        done = await session.compact()
        async for event in session.events(after=after):
            assert not isinstance(event, TextDelta)
            assert isinstance(event, ConversationCompacted)
            assert (event.turn, event.before, event.summary) == (None, 2, "A summary.")
            assert event.usage == done.usage == SPENT
            assert event.cursor <= done.cursor
            break


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_with_nothing_to_compact_the_prompt_is_composed_anew(
    stage: Stage, turns: int
) -> None:
    """R111, R60: no model is asked, and it is no error."""
    stage.skills.publish("refunds", "Give it back.")
    stage.bound = ("skills/refunds",)
    async with stage.session() as session:
        await talked(stage, session, turns, size=10)
        assert (await session.compact()).status == "nothing to compact"
        assert not any(isinstance(r, Recomposed) for r in records(stage, session))
        stage.skills.publish("refunds", "Never give it back.")
        done = await session.compact()
        assert (done.status, done.before, done.usage) == ("nothing to compact", None, Usage())
        assert summaries(stage.model) == []
        assert compactions(stage, session) == []
        stage.plays("Fine.")
        await session.ask("And now?")
        assert "Never give it back." in stage.model.requests[-1].system
        # Where nothing was said yet the first message composes.
        kept = session._host.services.actors[session.id].header.composition
        assert done.composition == (kept if turns else "")
        await check_all(stage, session)
    async with stage.session() as session:
        stage.plays("Fine.")
        await session.ask("Again")
        assert stage.model.requests[-1].system == stage.model.requests[-2].system
        await check_all(stage, session)


async def test_one_huge_turn_is_nothing_to_compact(stage: Stage) -> None:
    """R109: the newest turn stays whole, however large it is."""
    async with long(stage, 1) as session:
        assert (await session.compact()).status == "nothing to compact"
        assert summaries(stage.model) == []


async def test_recomposing_shows_an_edit_at_once(stage: Stage) -> None:
    """R60, R111, R38, C7: a picked skill that the new prompt holds no more gets its own block."""
    stage.skills.publish("refunds", "Version 1.")
    stage.bound = ("skills/refunds",)
    async with stage.session() as session:
        stage.plays("One.", "Two.")
        await session.ask("Do it", skills=["refunds"])
        assert not await session.recompose()
        stage.skills.publish("refunds", "Version 2.")
        after = (await session.state()).cursor
        assert await session.recompose()
        async for event in session.events(after=after):
            assert isinstance(event, PromptRecomposed)
            assert event.composition == session._host.services.actors[session.id].header.composition
            break
        await session.ask("And now?")
        assert "Version 2." in stage.model.requests[-1].system
        assert "Version 1." in sent(stage.model.requests[-1])[0][1]
        assert "Version 1." not in sent(stage.model.requests[0])[0][1]
        await check_all(stage, session)
