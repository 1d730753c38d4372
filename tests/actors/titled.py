"""Sessions that get titles: a host that makes them, and what was stored and told of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Policy, Session
from greenroom.actors.models.scripted import Scripted, Step
from greenroom.protocol.event import TitleChanged
from greenroom.protocol.record import AnyRecord, TitleMade, TitleSet
from greenroom.protocol.telling import events_of
from greenroom.protocol.usage import Usage
from tests.actors.compacted import records
from tests.actors.world import Stage, check_requests

TITLES = Policy(titles="other")
"""The other model makes titles, so that what it is asked stands by itself."""
SPENT = Usage(input=5, output=1)
"""What one request for a title uses."""


@asynccontextmanager
async def titling(stage: Stage, *answers: Step, **options: Any) -> AsyncIterator[Session]:
    """A session in a host whose titles are answered so."""
    stage.other = Scripted(list(answers), name="other", usage=SPENT)
    async with stage.session(**{"policy": TITLES, **options}) as session:
        yield session


async def asked(stage: Stage, session: Session, *messages: str) -> None:
    """So many turns, each to its end and until nothing moves any more."""
    for words in messages:
        stage.plays("Fine.")
        assert (await session.ask(words)).end == "done"
        await wait_all_tasks_blocked()


async def title_of(session: Session) -> str | None:
    """The title that is shown, which is the same wherever it is."""
    state, summaries = await session.state(), await session._host.sessions().all()
    (summary,) = [one for one in summaries if one.session == session.id]
    assert state.title == summary.title
    return summary.title


def titles(stage: Stage, session: Session) -> list[AnyRecord]:
    """What is stored of titles."""
    return [r for r in records(stage, session) if isinstance(r, TitleMade | TitleSet)]


def made(stage: Stage, session: Session) -> list[TitleMade]:
    """What is stored of requests for one."""
    return [r for r in titles(stage, session) if isinstance(r, TitleMade)]


def told(stage: Stage, session: Session) -> list[tuple[str | None, bool]]:
    """The titles that readers of events are told."""
    events = events_of(session.id, "i", 1, records(stage, session))
    return [(event.title, event.made) for event in events if isinstance(event, TitleChanged)]


async def check_apart(stage: Stage, session: Session) -> None:
    """What is asked for titles is rebuilt to the byte, and in no request of a turn (R95, R196)."""
    for number, record in enumerate(made(stage, session)):
        one = await session.title_request(number)
        assert one.is_exact
        assert one.recorded == record.request
        assert one.request.canonical() in {given.canonical() for given in stage.other.requests}
    sent = await check_requests(session, stage.model.requests)
    assert not {one.recorded for one in sent} & {r.request for r in made(stage, session)}
