"""The fault points of a memory store: writes that fail, and writes that hang, on demand."""

from collections import deque
from collections.abc import Callable
from typing import Any

import attrs

from greenroom.protocol.errors import StoreFailed
from greenroom.store.contract import Failed


@attrs.define(eq=False)
class Plan:
    """One write that is going to fail."""

    failed: Failed
    applied: bool
    where: Callable[[Any], bool] | None
    skip: int


@attrs.define(eq=False)
class Faults:
    """What is going to go wrong; empty until somebody plans something."""

    _plans: deque[Plan] = attrs.field(factory=deque, init=False)
    _held: list[Callable[[], None]] | None = attrs.field(default=None, init=False)

    def fail_next(
        self,
        error: StoreFailed,
        /,
        *,
        skip: int = 0,
        unknown: bool = False,
        applied: bool = False,
        where: Callable[[Any], bool] | None = None,
    ) -> None:
        """Let one of the next writes answer ``Failed(error, unknown)``.

        ``skip`` writes go well before it. ``applied``: it is written all the same. ``where``: only
        operations for which it holds are counted and fail. Plans are used up one after the other.
        """
        self._plans.append(Plan(Failed(error, unknown), applied, where, skip))

    def hold(self) -> None:
        """Let writes hang from here on, until :meth:`release`."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Let the writes that hang go on, in their order, and all later ones."""
        held, self._held = self._held, None
        for go_on in held or ():
            go_on()

    def pass_on(self, go_on: Callable[[], None]) -> None:
        """Call ``go_on`` now, or when writes are released."""
        if self._held is None:
            go_on()
        else:
            self._held.append(go_on)

    def take(self, operation: object) -> Plan | None:
        """The plan that this operation is to fail by, if there is one."""
        if not self._plans:
            return None
        plan = self._plans[0]
        if plan.where is not None and not plan.where(operation):
            return None
        if plan.skip:
            plan.skip -= 1
            return None
        return self._plans.popleft()
