"""Which session's turn waits for an outcome of which other: a circle would wait for ever (P157).

A tool that asks a session waits for the end of a turn there. Asking its own session, or one whose
turn waits for this one over any number of others, is refused before anything is sent. So is a
message to its own session: it would feed the turn that it runs in, round after round.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

import attrs

from greenroom.actors.waiting import Turnstile
from greenroom.protocol.errors import WouldWaitForItself
from greenroom.protocol.identity import SessionId, TurnId


@attrs.define(eq=False, slots=True)
class Waits:
    """The waiting of one host, between turns only: callers from outside are in nobody's way."""

    _turns: Turnstile
    """Where a turn that waits leaves its place, which the other may need (R185)."""
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
        targets = self._targets.setdefault(waiter, [])
        targets.append(target)
        if len(targets) == 1:
            # Were every place held by a turn that waits for one to be free, all stood still.
            self._turns.leave()
        try:
            yield
        finally:
            targets.remove(target)
            if not targets and self._targets.get(waiter) is targets:
                self.over(waiter)

    def over(self, waiter: SessionId) -> None:
        """Nothing of ``waiter``'s turn waits any more, or its turn is over and waits for nobody.

        A task that outlives its turn, as a thread does, goes on waiting in nobody's way.
        """
        if self._targets.pop(waiter, None) is not None:
            self._turns.return_at_once()

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


class Running(NamedTuple):
    """The turn that a task was started in, which it may outlive."""

    waits: Waits
    """Of its host: in another host's way it never stands."""
    session: SessionId
    turn: TurnId


RUNNING: Final[ContextVar[Running | None]] = ContextVar("greenroom_running", default=None)
"""The turn whose task this is, or whose task started this one."""
