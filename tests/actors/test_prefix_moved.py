"""Laws of the alarm: whoever reads a session is told when a request lost its prefix, and where."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Host, Session
from greenroom.actors.models.scripted import call
from greenroom.protocol import explain
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.event import PrefixMoved
from greenroom.protocol.permission import PRESETS, PresetTable
from greenroom.protocol.question import Allow
from greenroom.protocol.telling import events_of
from tests.actors.asked import asking, asks
from tests.actors.compacted import LATE, long, narrow
from tests.actors.held import WHY
from tests.actors.world import Stage


def alarms(stage: Stage, session: Session) -> list[PrefixMoved]:
    """What was told of prefixes, in order."""
    return [
        event
        for entry in stage.store.read(session.id)
        for event in events_of(session.id, "i", entry.number, decode_records(entry.records))
        if isinstance(event, PrefixMoved)
    ]


async def by_preset(stage: Stage, session: Session) -> None:
    await session.set_permission_preset("read-only")


async def by_model(stage: Stage, session: Session) -> None:
    await session.set_model("other")


async def by_prompt(stage: Stage, session: Session) -> None:
    stage.skills.publish("plan", "Two.")
    assert await session.recompose()


async def by_withdrawal(stage: Stage, session: Session) -> None:
    host = session._host
    hold = await host.hold(skill="refunds", **WHY)
    await host.lift(hold, by="ben", withdrawn=True)


@pytest.mark.parametrize("change", [by_preset, by_model, by_prompt, by_withdrawal])
async def test_a_request_that_lost_its_prefix_is_told_with_the_first_byte(
    stage: Stage, change: Callable[[Stage, Session], Any]
) -> None:
    """P083, R197: at the place that a comparison of the two requests finds."""
    stage.bound = ("plan",)
    stage.skills.publish("plan", "One.")
    stage.skills.publish("refunds", "Pay it twice.")
    stage.plays("One.", "Two.", "Three.", "Four.")
    stage.other._steps.extend(["Three.", "Four."])
    async with stage.session() as session:
        await session.ask("Hi", skills=["refunds"])
        await session.ask("And?")
        assert alarms(stage, session) == []
        await change(stage, session)
        await session.ask("Now?")
        await session.ask("And then?")
        (alarm,) = alarms(stage, session)
        found = explain(await session.request(2), await session.request(3))
        assert (alarm.turn, alarm.common) == (3, found.common)
    async with stage.host() as host:
        session = await host.session("ann")
        stage.plays("Five.")
        stage.other._steps.append("Five.")
        await session.ask("Still?")
        assert len(alarms(stage, session)) == 1


async def test_a_summary_is_told_by_its_own_event(stage: Stage) -> None:
    """P083, R108: that it moves what is sent is what it is for."""
    narrow(stage)
    async with long(stage, 3, policy=LATE) as session:
        stage.plays("In short.", "Fine.")
        await session.compact()
        await session.ask("And now?")
        assert alarms(stage, session) == []


async def test_a_turn_that_goes_on_under_another_preset_tells_it(stage: Stage) -> None:
    """P083, R157: the words of what is permitted may be others when it was answered."""
    async with asking(stage, call("pay"), "Done.") as session:
        (question,) = await asks(session)
        host: Host = session._host
        stage.presets = PresetTable(
            tuple([structs.replace(each, policy=f"{each.policy} Really.") for each in PRESETS])
        )
        await host.reload(stage.workspace())
        await host.answer(question, Allow("kim"))
        await wait_all_tasks_blocked()
        (alarm,) = alarms(stage, session)
        found = explain(await session.request(1, round=0), await session.request(1, round=1))
        assert (alarm.turn, alarm.common) == (1, found.common)
