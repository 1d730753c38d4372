"""Conversations that have not begun: what they open with waits until somebody approves it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import trio

from greenroom.actors import Host, Session
from greenroom.protocol.contributor import Declaration, EagerRun
from greenroom.protocol.encoding import decode_records
from greenroom.protocol.event import EagerRunMade, MessageRecalled, QuestionAsked, QuestionSettled
from greenroom.protocol.identity import MessageId
from greenroom.protocol.opening import asked_first
from greenroom.protocol.question import Allow, Question
from greenroom.protocol.record import Answered, Dispatched, EagerAsked, EagerBegun, EagerRan
from greenroom.protocol.telling import events_of
from tests.actors.asked import open_of, records_of
from tests.actors.test_opening import declared, hosting
from tests.actors.world import (
    AGENT,
    Stage,
)

PAY: EagerRun = declared(EagerRun, "fee", tool="pay")
CLOCK: EagerRun = declared(EagerRun, "clock", tool="count")
BY = Allow("kim")


def paying(
    stage: Stage,
    seen: list[str],
    *steps: Any,
    runs: Sequence[Declaration] = (PAY,),
    **told: Any,
) -> AbstractAsyncContextManager[Host]:
    """A host whose conversations begin with a run that is put to a person."""
    stage.plays(*steps)
    approved = tuple(f"{one.id}@{one.version}" for one in runs)
    return hosting(stage, *runs, seen=seen, approved=approved, **told)


async def asked(host: Host, words: str = "Hi", key: str = "ann", **how: Any) -> Session:
    """A session to which somebody wrote, and which asks before it begins."""
    session = await host.session(key, agent=AGENT)
    await session.prompt(words, **how)
    await until(session, "asking")
    return session


async def until(session: Session, phase: str) -> None:
    while (await session.state()).phase != phase:
        await trio.lowlevel.checkpoint()


async def question_of(session: Session) -> Question:
    [question] = await open_of(session)
    return question


def message_of(stage: Stage, session: Session) -> MessageId:
    """The message that waits, which began the conversation."""
    [asking] = asked_first(records_of(stage, session))
    return asking.message


def kinds(stage: Stage, session: Session) -> list[type]:
    """What is stored of how a conversation began, in order."""
    of_it = (EagerAsked, Answered, EagerBegun, EagerRan, Dispatched)
    return [type(record) for record in records_of(stage, session) if isinstance(record, of_it)]


_OF_IT = (QuestionAsked, QuestionSettled, EagerRunMade, MessageRecalled)


def told_of(stage: Stage, session: Session) -> list[type]:
    """The events about runs and questions, in order."""
    told = [
        type(event)
        for entry in stage.store.read(session.id)
        for event in events_of(session.id, "i", entry.number, decode_records(entry.records))
    ]
    return [kind for kind in told if kind in _OF_IT]
