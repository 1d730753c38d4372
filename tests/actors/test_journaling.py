"""Laws of the journal of a host: who intervened in whatever session, and what did not happen."""

import pytest

from greenroom.actors.answering_stored import answer_stored
from greenroom.actors.models.scripted import call
from greenroom.actors.questions import open_questions
from greenroom.actors.world import simulated
from greenroom.protocol.errors import SaveFailed, StoreUnavailable
from greenroom.protocol.journal import ModelPut, PresetPut, QuestionAnswered
from greenroom.protocol.question import Allow, Deny
from greenroom.store import Commit, open_memory
from tests.actors.policy import FULL, tools, until_asked
from tests.actors.stage import stage as staged
from tests.actors.unopened import asked, paying, question_of, until
from tests.actors.world import Stage


async def test_who_put_a_setting_and_when_is_in_the_journal() -> None:
    """R242: with the commit of it; what was refused, or was as it is, is not."""
    async with staged("Hi.") as on:
        session = await on.session()
        await session.set_permission_preset(FULL, by="ann")
        await session.set_permission_preset(FULL, by="ben")
        await session.set_model("m")
        on.store.faults.fail_next(SaveFailed("full"), where=lambda op: isinstance(op, Commit))
        with pytest.raises(SaveFailed):
            await session.set_permission_preset("read-only", by="ann")
        preset, model = await on.host.journal().all()
        assert isinstance(preset, PresetPut)
        assert isinstance(model, ModelPut)
        assert (preset.session, preset.preset, preset.before) == (session.id, FULL, "read-only")
        assert (preset.by, model.by, model.model, model.before) == ("ann", "", "m", "")


@pytest.mark.parametrize("hosted", [True, False])
async def test_who_answered_and_why_is_in_the_journal(*, hosted: bool) -> None:
    """R161, R242: by whichever way it came, and once."""
    async with open_memory() as store:
        async with staged(call("pay"), "Not paid.", store=store, tools=tools([])) as on:
            session = await on.session()
            await session.prompt("Pay.")
            await until_asked(on)
            [question] = await on.host.questions().all()
            if hosted:
                store.faults.fail_next(SaveFailed("full"), where=lambda op: isinstance(op, Commit))
                with pytest.raises(StoreUnavailable):
                    await on.host.answer(question, Deny("kim", "No."))
                await on.host.answer(question, Deny("ben", "Too much."))
                await on.host.answer(question, Allow("ann"))
        if not hosted:
            [question] = open_questions(store, None)
            for answer in (Deny("ben", "Too much."), Allow("ann")):
                await answer_stored(store, simulated(1), None, question, answer)
        async with staged("Not paid.", store=store, tools=tools([])) as on:
            [entry] = await on.host.journal().all()
        assert isinstance(entry, QuestionAnswered)
        assert (entry.by, entry.reason, entry.answer) == ("ben", "Too much.", "deny")
        assert (entry.session, entry.question) == (session.id, question.id)


async def test_who_let_a_conversation_open_with_a_call_is_in_the_journal(
    stage: Stage,
) -> None:
    """R215, R242: though no turn had begun."""
    async with paying(stage, [], "Hello.") as host:
        session = await asked(host)
        question = await question_of(session)
        await host.answer(question, Allow("kim"))
        await until(session, "idle")
        [entry] = await host.journal().all()
        assert isinstance(entry, QuestionAnswered)
        assert (entry.by, entry.answer, entry.question) == ("kim", "allow", question.id)
