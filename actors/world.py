"""Clock, ids and randomness, injected once, so that a run can be simulated and replayed.

This is the only module of greenroom that asks the machine for the time or for a random value;
deadlines inside the host go by trio's clock, which a test replaces on its own.
"""

import time
from collections.abc import Callable
from random import Random, SystemRandom

import attrs


def _from_the_machine() -> Random:
    """Seeded once: asking the machine for each message would cost it a system call."""
    return Random(SystemRandom().getrandbits(256))  # noqa: S311 - names of messages open no door


@attrs.frozen(eq=False)
class World:
    """What a host takes from outside of itself."""

    wall: Callable[[], float] = time.time
    """Seconds since 1970, UTC; for people to read, never for order (P042)."""
    random: Random = attrs.field(factory=_from_the_machine)

    def now(self) -> int:
        """The wall clock in whole milliseconds since 1970, UTC."""
        return int(self.wall() * 1000)

    def new_id(self) -> str:
        """A new random name: 128 bits, as 32 hexadecimal digits."""
        return f"{self.random.getrandbits(128):032x}"


def simulated(seed: int, *, wall: Callable[[], float] | None = None) -> World:
    """A world that gives the same ids for the same seed; its wall clock stands still by default."""
    return World(wall=wall or (lambda: 1_700_000_000.0), random=Random(seed))  # noqa: S311 - for tests
