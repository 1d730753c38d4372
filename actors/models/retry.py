"""Trying a model call again: the same bytes, after a wait that spreads a herd (R179, P167).

The wait is jittered by a hash of who asks, not by chance: sessions that were refused in the same
moment come back at different ones, and a simulated run replays to the byte without any randomness
being handed through. `tenacity` was weighed: it works on trio, but it measures what has passed by
the machine's clock instead of the loop's, so a bound in seconds would not hold in simulated time,
and without its stops and waits nothing of it would be left here but a loop.
"""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeAlias
from zlib import crc32

import attrs
import msgspec
import trio

from greenroom.actors.models.port import ModelResponse, SessionInfo, Sink
from greenroom.protocol.errors import ModelFailed

Attempt: TypeAlias = Callable[[Sink], Awaitable[ModelResponse]]
"""One try of a call; it raises :class:`ModelFailed` and says whether that is temporary."""


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how long a temporary fault is answered by trying again."""

    attempts_max: int = 5
    """Tries in all, the first one counted; 1 never tries again."""
    seconds_max: float = 120.0
    """No try begins later than this after the first one began."""
    first_wait_seconds: float = 0.5
    """Before the second try; it doubles from try to try."""
    wait_seconds_max: float = 30.0
    """The longest wait that nobody asked for; a Retry-After may be longer."""

    def wait(self, attempt: int, retry_after: float | None, luck: float) -> float:
        """Seconds to wait after try number ``attempt`` failed; ``luck`` is in [0, 1).

        A provider's Retry-After is never undercut; what is added to it grows with it, since a
        long wait was given to many.
        """
        backoff = min(self.first_wait_seconds * 2.0 ** (attempt - 1), self.wait_seconds_max)
        if retry_after is None:
            return backoff * (1.0 + luck) / 2.0
        return retry_after + max(backoff, retry_after / 2.0) * luck


DEFAULT_RETRIES = Retries()


async def retried(
    attempt: Attempt, session: SessionInfo, sink: Sink, retries: Retries = DEFAULT_RETRIES
) -> ModelResponse:
    """Return the answer of the first try that does not fail for a temporary reason (R179).

    Text that a failed try streamed is taken back by ``sink.restart()`` before the next begins. It
    is called too where an answer may have been begun: the next try is paid for beside it (R233).

    Raises:
        ModelFailed: a permanent fault, as it came; or the last temporary one, with the number of
            tries in ``facts['attempts']``.
    """
    watched = _Watched(sink)
    since = trio.current_time()
    for number in count(1):
        try:
            return await attempt(watched)
        except ModelFailed as fault:
            if not fault.temporary:
                raise
            wait = retries.wait(number, fault.retry_after, luck_of(session, number))
            late = trio.current_time() - since + wait > retries.seconds_max
            if late or number >= retries.attempts_max:
                raise _given_up(fault, number) from fault
            begun = bool(fault.facts.get("begun", True))
        await trio.sleep(wait)
        watched.take_back(begun=begun)
    raise AssertionError


def luck_of(session: SessionInfo, attempt: int) -> float:
    """A number in [0, 1): other for another session, turn or try, and always the same for these."""
    who = f"{session.id.tenant}\0{session.id.key}\0{session.turn}\0{attempt}"
    return crc32(who.encode(errors="surrogatepass")) / 2**32


def _given_up(fault: ModelFailed, attempts: int) -> ModelFailed:
    facts = {**fault.facts, "attempts": attempts}
    if attempts == 1:
        return ModelFailed(fault.sentence, **facts)  # type: ignore[arg-type]
    return ModelFailed(f"{fault.sentence} Tried {attempts} times.", **facts)  # type: ignore[arg-type]


@attrs.define(eq=False)
class _Watched:
    """A sink that knows whether anything was streamed that may have to be taken back."""

    _sink: Sink
    _streamed: bool = False

    def text(self, piece: str, /) -> None:
        self._streamed = True
        self._sink.text(piece)

    def restart(self) -> None:
        self._streamed = False
        self._sink.restart()

    def take_back(self, *, begun: bool) -> None:
        if begun or self._streamed:
            self.restart()
