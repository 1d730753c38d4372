"""Laws of writing what could not be written, beside what else of a session is on its way."""

from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from greenroom.actors import Session
from greenroom.protocol.errors import SaveFailed
from greenroom.protocol.receipt import Receipt
from tests.actors.world import Stage, conversation, is_commit, queue_of


def begins(operation: Any) -> bool:
    """Whether it is the dispatch of a message that was queued."""
    return is_commit(operation) and bool(operation.consumed)


async def unsaved(stage: Stage, session: Session) -> Receipt:
    """Two messages wait, and the dispatch of one failed; the receipt of the last."""
    stage.plays("One.", "Two.", "Three.")
    stage.fails(begins)
    for words in ("a", "b", "c"):
        receipt = await session.prompt(words, when="queue")
    await wait_all_tasks_blocked()
    assert (await session.state()).phase == "unsaved"
    return receipt


@pytest.mark.parametrize("what", ["title", "recall"])
async def test_what_is_on_its_way_and_a_flush_do_not_lose_the_session(
    stage: Stage, what: str
) -> None:
    """R85, R91: nothing is kept but the queue, so the flush comes behind the one and not beside."""
    async with stage.session() as session:
        last = await unsaved(stage, session)
        said = partial(session.recall, last) if what == "recall" else None
        stage.memory.faults.hold()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(said or partial(session.set_title, "Tea"))
            await wait_all_tasks_blocked()
            nursery.start_soon(session.flush)
            await wait_all_tasks_blocked()
            stage.memory.faults.release()
        await wait_all_tasks_blocked()
        state = await session.state()
        assert (state.phase, state.title) == ("idle", None if said else "Tea")
        answered = ["a", "One.", "b", "Two."]
        assert await conversation(session) == (answered if said else [*answered, "c", "Three."])


async def test_a_flush_that_fails_with_nothing_kept_may_be_tried_again(stage: Stage) -> None:
    """R85, R205: also where it is not known whether the empty commit was written."""
    async with stage.session() as session:
        await unsaved(stage, session)
        for unknown in (False, True):
            stage.fails(unknown=unknown, applied=unknown)
            if unknown:
                await session.flush()
                continue
            with pytest.raises(SaveFailed):
                await session.flush()
            assert (await session.state()).phase == "unsaved"
            assert await queue_of(session) == ["b", "c"]
        await wait_all_tasks_blocked()
        assert (await session.state()).phase == "idle"
