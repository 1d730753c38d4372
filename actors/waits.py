"""Which session's turn waits for an outcome of which other: a circle would wait for ever (P157).

A tool that asks a session waits for the end of a turn there. Asking its own session, or one whose
turn waits for this one over any number of others, is refused before anything is sent.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import attrs

from greenroom.protocol.errors import WouldWaitForItself
from greenroom.protocol.identity import SessionId

RUNNING: Final[ContextVar[SessionId | None]] = ContextVar("greenroom_running", default=None)
"""The session whose turn this task runs in."""


@attrs.define(eq=False, slots=True)
class Waits:
    """The waiting of one host, between turns only: callers from outside are in nobody's way."""

    _targets: dict[SessionId, list[SessionId]] = attrs.field(factory=dict)
    """By the session whose turn waits: those that it waits for, once for each of its tools."""

    @contextmanager
    def waiting(self, waiter: SessionId, target: SessionId) -> Iterator[None]:
        """Note that a turn of ``waiter`` waits for ``target`` while the block runs.

        Raises:
            WouldWaitForItself: ``target`` is ``waiter``, or waits for it already.
        """
        if self._reaches(target, waiter):
            raise WouldWaitForItself(
                f"This runs inside a turn of {waiter} and would wait for {target}, which cannot "
                "go on before that turn ends.",
                session=str(waiter),
                target=str(target),
            )
        self._targets.setdefault(waiter, []).append(target)
        try:
            yield
        finally:
            self._targets[waiter].remove(target)
            if not self._targets[waiter]:
                del self._targets[waiter]

    def _reaches(self, start: SessionId, end: SessionId) -> bool:
        """Whether ``start`` is ``end`` or waits for it, directly or over others."""
        seen: set[SessionId] = set()
        left = [start]
        while left:
            session = left.pop()
            if session == end:
                return True
            if session not in seen:
                seen.add(session)
                left += self._targets.get(session, ())
        return False
