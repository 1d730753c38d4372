"""Offering operations in tests, and waiting for their verdicts."""

from typing import Any

import trio

from greenroom.protocol.identity import SessionId
from greenroom.store import Claim, Claimed, Commit, Create, Created, Operation, Store

ANN = SessionId("default", "ann")
BEN = SessionId("default", "ben")


async def ask(store: Store, operation: Operation) -> Any:
    """The verdict on one operation."""
    return (await ask_all(store, [operation]))[0]


async def ask_all(store: Store, operations: list[Any]) -> list[Any]:
    """The verdicts on operations that are offered in one tick, in the order of delivery."""
    verdicts: list[Any] = []
    done = trio.Event()

    def then(verdict: object) -> None:
        verdicts.append(verdict)
        if len(verdicts) == len(operations):
            done.set()

    for operation in operations:
        store.offer(operation, then)
    await done.wait()
    return verdicts


async def made(store: Store, session: SessionId = ANN, **told: Any) -> int:
    """Create and claim a session; its epoch."""
    created = await ask(store, Create(session, b"header", b"[0]", **told))
    assert isinstance(created, Created)
    claimed = await ask(store, Claim(session))
    assert isinstance(claimed, Claimed)
    return claimed.epoch


def commit(session: SessionId = ANN, head: int = 0, records: bytes = b"[1]", **told: Any) -> Commit:
    """A commit of the first holder of a session."""
    return Commit(session, told.pop("epoch", 1), head, records, **told)


def texts(store: Store, session: SessionId = ANN) -> list[bytes]:
    """The records of a session, oldest first."""
    return [entry.records for entry in store.read(session)]
