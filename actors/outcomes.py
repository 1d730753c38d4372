"""Who waits for the outcome of which message. Plain and synchronous."""

from copy import copy

import attrs

from greenroom.actors.waiting import Slot
from greenroom.protocol.errors import GreenroomError
from greenroom.protocol.identity import MessageId
from greenroom.protocol.receipt import Outcome
from greenroom.store.contract import Known


@attrs.define(eq=False, slots=True)
class Outcomes:
    """The waiters of one session."""

    _slots: dict[MessageId, list[Slot[Outcome | Known]]] | None = None

    @property
    def are_awaited(self) -> bool:
        """Whether anybody waits."""
        return any((self._slots or {}).values())

    def wait_for(self, message: MessageId) -> Slot[Outcome | Known]:
        """A slot that gets the message's outcome."""
        slot: Slot[Outcome | Known] = Slot()
        if self._slots is None:
            self._slots = {}
        self._slots.setdefault(message, []).append(slot)
        return slot

    def forget(self, message: MessageId, slot: Slot[Outcome | Known]) -> None:
        """The waiter left; only the waiting ends (R213)."""
        waiting = (self._slots or {}).get(message)
        if waiting is not None and slot in waiting:
            waiting.remove(slot)

    def resolve(self, message: MessageId, outcome: Outcome) -> None:
        """The message has its outcome."""
        if self._slots:
            for slot in self._slots.pop(message, ()):
                slot.put(outcome)
            # Nobody waits at an idle session: it keeps no table for that.
            self._slots = self._slots or None

    def repeated(self, message: MessageId, known: Known) -> None:
        """The message was no new one: its key was used before (R177)."""
        if self._slots:
            for slot in self._slots.pop(message, ()):
                slot.put(known)

    def reject(
        self, message: MessageId, error: GreenroomError | ExceptionGroup[GreenroomError]
    ) -> None:
        """The outcome cannot be told: each waiter gets an error of its own."""
        if self._slots:
            for slot in self._slots.pop(message, ()):
                slot.fail(_own(error))

    def reject_all(self, error: GreenroomError) -> None:
        """The actor ends: nobody waits for ever."""
        slots, self._slots = self._slots, None
        for waiting in (slots or {}).values():
            for slot in waiting:
                slot.fail(_own(error))


def _own(error: GreenroomError | ExceptionGroup[GreenroomError]) -> BaseException:
    """One exception a waiter: a shared one would grow its traceback with each."""
    if isinstance(error, ExceptionGroup):
        return error.derive([_own(one) for one in error.exceptions])
    own = copy(error)
    own.__cause__ = error.__cause__
    return own
