"""Laws of a skill that is withdrawn: shown no more from the next turn on, and stored as it was."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Host, Session, Workspace
from greenroom.actors.models.scripted import call
from greenroom.protocol import EagerLoad, explain
from greenroom.protocol.composition import Composition, Ingredients, compose
from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.hold import Hold
from greenroom.protocol.journal import HoldLifted
from greenroom.protocol.record import Dispatched
from tests.actors.compacted import (
    LATE,
    SMALL,
    check_all,
    compactions,
    narrow,
    records,
    summaries,
    talked,
    text,
)
from tests.actors.held import WHY, ended
from tests.actors.world import Stage, check_requests, opened, sent

WRONG, RIGHT = "Pay it twice.", "Pay it once."


async def withdrawn(host: Host, hold: Hold, **told: Any) -> None:
    await host.lift(hold, by="ben", withdrawn=True, **told)


def asked(stage: Stage, number: int = -1) -> str:
    """All that a request says: system string and messages."""
    request = stage.model.requests[number]
    return request.system + "".join(words for _, words in sent(request))


async def test_a_pinned_revision_is_shown_as_withdrawn_and_stored_as_it_was(stage: Stage) -> None:
    """R159, R196: from the next turn on, in every later request, and not in those before."""
    stage.skills.publish("refunds", WRONG, **{"index.md": "Twice, always."})
    stage.plays("One.", "Two.", "Three.", "Four.")
    async with stage.session() as session:
        host = session._host
        await session.ask("Refund.", skills=["refunds"])
        assert WRONG in asked(stage)
        assert "Twice, always." in asked(stage)
        before = await session.get_runtime_contexts()
        hold = await host.hold(skill="refunds", **WHY)
        stage.skills.publish("refunds", RIGHT)
        receipt = await session.prompt("Again.")
        await withdrawn(host, hold, reason="Mended.")
        assert await ended(session, receipt) == ["done"]
        assert WRONG not in asked(stage)
        assert "Twice, always." not in asked(stage)
        assert "[withdrawn]" in asked(stage)
        assert "Refund." in asked(stage)
        assert await session.get_runtime_contexts() == before
        assert before[0].skills[0].body == WRONG
        # The mended one is picked and shown; what was withdrawn stays so.
        await session.ask("And now.", skills=["refunds"])
        assert RIGHT in asked(stage)
        assert asked(stage).count("[withdrawn]") == 1
        await check_requests_of(session, stage)
        assert WRONG in await rebuilt(session, 1)
        found = explain(await session.request(1), await session.request(2))
        assert found.why
    async with stage.session() as session:
        await session.ask("Later.")
        assert WRONG not in asked(stage)
        assert asked(stage).count("[withdrawn]") == 1
        await check_requests_of(session, stage)
        entry = (await session._host.journal().all())[-1]
        assert isinstance(entry, HoldLifted)
        assert (entry.withdrawn, entry.reason) == (True, "Mended.")


async def check_requests_of(session: Session, stage: Stage) -> None:
    """Each request is rebuilt to the byte, before and behind the withdrawal (R196)."""
    for turn in [each.turn async for each in session.turns()]:
        found = await session.request(turn)
        assert found.is_exact
        assert found.request.canonical() == stage.model.requests[turn - 1].canonical()


async def rebuilt(session: Session, turn: int) -> str:
    return (await session.request(turn)).request.canonical().decode()


async def test_a_kept_prompt_is_composed_anew_before_the_next_turn(stage: Stage) -> None:
    """R57, R159: the third cause beside compaction and model; other conversations keep theirs."""
    stage.skills.publish("refunds", WRONG)
    stage.bound = ("skills/refunds",)
    stage.plays("One.", "Two.", "Three.", "Four.")
    async with stage.session() as session:
        host = session._host
        await session.ask("Hello.")
        assert WRONG in stage.model.requests[-1].system
        stage.skills.publish("refunds", RIGHT)
        await session.ask("Hello again.")
        assert WRONG in stage.model.requests[-1].system
        hold = await host.hold(skill="refunds", **WHY)
        assert hold.sessions == 1
        await withdrawn(host, hold)
        await session.ask("And again.")
        assert WRONG not in stage.model.requests[-1].system
        assert RIGHT in stage.model.requests[-1].system
        turns = await session.turns().all()
        assert turns[0].composition == turns[1].composition != turns[2].composition
        reads = len(stage.skills.reads)
        await session.ask("Once more.")
        assert len(stage.skills.reads) == reads
        assert (await session.turns().all())[-1].composition == turns[2].composition
        await check_requests_of(session, stage)


async def test_what_the_opening_loaded_of_a_skill_is_loaded_anew(stage: Stage) -> None:
    """R113, R159: the opening stands as long as the prompt, and goes with it."""
    stage.skills.publish("refunds", WRONG)
    stage.bound = ("skills/refunds",)
    load = EagerLoad(
        id="l", version="1", owner="workspace", placement="conversation", skill="skills/refunds"
    )
    stage.plays("One.", "Two.")
    work = stage.workspace()
    agents, source = list(work.agents.values()), stage.skills
    made = Workspace.build(
        agents=agents, skills=stage.skills.packages.values(), contributors=[load]
    )
    async with stage.session(workspace=attrs.evolve(made, source=source)) as session:
        await session.ask("Hello.")
        assert asked(stage).count(WRONG) == 2
        hold = await session._host.hold(skill="refunds", **WHY)
        stage.skills.publish("refunds", RIGHT)
        await withdrawn(session._host, hold)
        await session.ask("Again.")
        assert (asked(stage).count(WRONG), asked(stage).count(RIGHT)) == (0, 2)
        await check_requests_of(session, stage)


async def test_a_lift_that_withdraws_nothing_moves_no_byte(stage: Stage) -> None:
    """R57, R159: a false alarm leaves every prompt as it is."""
    stage.skills.publish("refunds", WRONG)
    stage.plays("One.", "Two.")
    async with stage.session() as session:
        await session.ask("Refund.", skills=["refunds"])
        hold = await session._host.hold(skill="refunds", **WHY)
        await session._host.lift(hold, by="ben")
        await session.ask("Again.")
        assert WRONG in asked(stage)
        await check_requests(session, stage.model.requests)


async def test_who_does_not_show_the_skill_is_left_alone(stage: Stage) -> None:
    """R57, R159: its prompt is not composed anew, and grows at its end as before."""
    stage.skills.publish("refunds", WRONG)
    stage.skills.publish("other", "Other.")
    stage.plays("One.", "Two.", "Three.")
    async with stage.session() as session:
        await session.ask("Hello.", skills=["other"])
        hold = await session._host.hold(skill="refunds", **WHY)
        await withdrawn(session._host, hold)
        reads = len(stage.skills.reads)
        await session.ask("Again.")
        await session.ask("And again.")
        assert len(stage.skills.reads) == reads
        assert "[withdrawn]" not in asked(stage)
        await check_requests(session, stage.model.requests)


async def test_only_the_skill_that_is_meant_is_withdrawn(stage: Stage) -> None:
    """R159: another one that the same message picked, or the prompt holds, stays as it was."""
    stage.skills.publish("refunds", WRONG)
    stage.skills.publish("other", "Be kind.")
    stage.skills.publish("bound", "Be brief.")
    stage.bound = ("bound",)
    stage.plays("One.", "Two.", "Three.")
    async with stage.session() as session:
        await session.ask("Refund.", skills=["refunds", "other"])
        hold = await session._host.hold(skill="refunds", **WHY)
        await withdrawn(session._host, hold)
        await session.ask("Again.", skills=["bound"])
        assert WRONG not in asked(stage)
        assert "Be kind." in asked(stage)
        assert asked(stage).count("[withdrawn]") == 1
        (told,) = [r.withdrawn for r in _dispatched(stage, session) if r.withdrawn]
        first = _dispatched(stage, session)[0].snapshot
        assert first is not None
        assert told == (first.skills[0].revision,)
        await check_requests_of(session, stage)


def _dispatched(stage: Stage, session: Session) -> list[Dispatched]:
    return [record for record in records(stage, session) if isinstance(record, Dispatched)]


@pytest.mark.parametrize("restarted", [False, True])
async def test_nothing_of_a_withdrawn_revision_is_read_back(
    stage: Stage, *, restarted: bool
) -> None:
    """R159, R202: load_skill gives the current revision, also over a restart in between."""
    stage.skills.publish("refunds", WRONG)
    stage.plays("One.")
    async with stage.session() as session:
        await session.ask("Refund.", skills=["refunds"])
        hold = await session._host.hold(skill="refunds", **WHY)
        stage.skills.publish("refunds", RIGHT)
        await withdrawn(session._host, hold)
        if not restarted:
            await load(stage, session)
    if restarted:
        async with stage.host() as host:
            await load(stage, await opened(host))


async def load(stage: Stage, session: Session) -> None:
    stage.plays(call("load_skill", name="refunds"), "Two.")
    await session.ask("Load it.")
    assert RIGHT in asked(stage)
    assert WRONG not in asked(stage)
    assert [(await session.request(2, round=round_)).is_exact for round_ in (0, 1)] == [True] * 2


async def test_a_skill_that_was_withdrawn_twice_is_shown_by_neither(stage: Stage) -> None:
    """R159: each withdrawal is told once; and what was in the workspace all along is shown."""
    stage.skills.publish("refunds", "First.")
    stage.plays(*["Fine."] * 6)
    async with stage.session() as session:
        host = session._host
        await session.ask("One.", skills=["refunds"])
        for body in ("Second.", "Third."):
            hold = await host.hold(skill="refunds", **WHY)
            stage.skills.publish("refunds", body)
            await withdrawn(host, hold)
            await session.ask("Pick.", skills=["refunds"])
        told = asked(stage)
        assert ("First." in told, "Second." in told, "Third." in told) == (False, False, True)
        assert told.count("[withdrawn]") == 2
        once = [name for record in _dispatched(stage, session) for name in record.withdrawn]
        assert len(once) == len(set(once)) == 2
        await check_requests_of(session, stage)
        # The operator has put the first one back: it is withdrawn all the same.
        stage.skills.publish("refunds", "First.")
        await session.ask("Back.", skills=["refunds"])
        assert "First." not in asked(stage)
        assert asked(stage).count("[withdrawn]") == 3
        await check_requests_of(session, stage)


async def test_only_a_skill_can_be_withdrawn(stage: Stage) -> None:
    # R159
    async with stage.session() as session:
        hold = await session._host.hold(agent="support", **WHY)
        with pytest.raises(InvalidInput, match="names no skill"):
            await withdrawn(session._host, hold)
        assert await session._host.holds().count() == 1
        await session._host.lift(hold, by="ben")


async def wrong(stage: Stage, session: Session, turns: int) -> None:
    """A conversation that shows the skill in its first message, and so many long turns behind it;
    then the skill is withdrawn."""
    stage.plays("One.")
    await session.ask("Refund.", skills=["refunds"])
    await talked(stage, session, turns)
    assert WRONG in asked(stage)
    hold = await session._host.hold(skill="refunds", **WHY)
    stage.skills.publish("refunds", RIGHT)
    await withdrawn(session._host, hold)


@pytest.mark.parametrize("how", ["asked for", "before a turn"])
async def test_a_summary_is_not_shown_what_was_withdrawn(stage: Stage, how: str) -> None:
    """R159, R212: a compaction before the next turn is behind the lift like that turn."""
    narrow(stage)
    stage.skills.publish("refunds", WRONG)
    turns = 3 if how == "asked for" else 6
    async with stage.session(policy=LATE) as session:
        await wrong(stage, session, turns)
        stage.plays("In short.")
        if how == "asked for":
            assert (await session.compact()).status == "compacted"
        else:
            stage.plays("Fine.")
            assert (await session.ask(text("more"))).end == "done"
        (request,) = summaries(stage.model)
        told = request.system + "".join(words for _, words in sent(request))
        assert WRONG not in told
        assert "[withdrawn]" in told
        (made,) = compactions(stage, session)
        assert len(made.withdrawn) == 1
        rebuilt_ = await session.summary_request()
        assert rebuilt_.is_exact
        stage.plays("Later.")
        await session.ask("Later.")
        assert WRONG not in asked(stage)
        # Known once: the next turn has nothing of it to do.
        shown = [r for r in records(stage, session) if isinstance(r, Dispatched) and r.withdrawn]
        assert shown == []
        await check_all(stage, session)


async def test_a_compaction_between_rounds_is_behind_the_lift_too(stage: Stage) -> None:
    """R159, R210: the turn goes on without what was withdrawn while it ran."""
    narrow(stage)
    stage.skills.publish("refunds", WRONG)
    async with stage.session(policy=LATE) as session:
        stage.plays("One.")
        await session.ask("Refund.", skills=["refunds"])
        await talked(stage, session, 5)
        stage.plays((call("watch"), call("look", what=text("it", 4_000))), "In short.", "Fine.")
        receipt = await session.prompt("And now?")
        await wait_all_tasks_blocked()
        hold = await session._host.hold(skill="refunds", **WHY)
        await withdrawn(session._host, hold)
        stage.gate.open.set()
        assert await ended(session, receipt) == ["done"]
        (request,) = summaries(stage.model)
        assert "".join(words for _, words in sent(request)).count("[withdrawn]") == 1
        assert WRONG not in asked(stage)
        assert (await session.summary_request()).is_exact
        await check_all(stage, session)


async def test_a_compaction_is_behind_what_its_composition_was_made_behind(stage: Stage) -> None:
    """R159: what is withdrawn while a request is composed is told by the request behind it."""
    narrow(stage)
    stage.skills.publish("refunds", WRONG)
    hooks: list[Callable[[], None]] = []

    def composing(ingredients: Ingredients) -> Composition:
        while hooks:
            hooks.pop()()
        return compose(ingredients)

    stage.other.capabilities = SMALL
    async with stage.session(policy=LATE, composer=composing) as session:
        stage.plays("One.")
        await session.ask("Refund.", skills=["refunds"])
        await talked(stage, session, 6)
        await session.set_model("other")
        hooks.append(lambda: session._host.services.holds.withdraw("skills/refunds"))
        stage.other._steps.extend(["In short.", "Fine."])
        assert (await session.ask(text("more"))).end == "done"
        (made,) = compactions(stage, session)
        assert made.withdrawn == ()
        (behind,) = [
            r for r in records(stage, session) if isinstance(r, Dispatched) and r.withdrawn
        ]
        assert len(behind.withdrawn) == 1
        await check_all(stage, session)
