"""Composers that stand in one table: greenroom's own, three common ways, and yours.

A contender makes its composer anew for each asking, and is told the time and the session then. A
composer as a host takes it has no use for either; the common ways that write the time into the
system string have.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import attrs
import msgspec
from msgspec import structs

from greenroom.actors.bench.composing import Composer, Composition, Ingredients, Section, composed

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
MINUTE: Final = 60_000
"""Milliseconds. A clock in a prompt usually shows seconds: to the minute is kinder."""


class Setting(msgspec.Struct, frozen=True, gc=False):
    """When and for whom a composer is asked; none of it may be in a kept prompt (R65)."""

    at: int
    """Milliseconds since 1970, UTC."""
    session: str


@attrs.frozen
class Contender:
    """A way of composing, and what is to be known of it."""

    name: str
    make: Callable[[Setting], Composer]
    """To ask it under other hash seeds it has to be importable, as what pickle takes by name is."""
    about: str = ""
    recomposes: bool = False
    """It composes at each turn; else once, and again at compaction and for another model (R56)."""
    contrast: bool = False
    """It is shown to compare with: refused neither for bytes that vary (R245) nor for levels."""


@attrs.frozen
class _Same:
    """Makes the same composer whatever the setting."""

    composer: Composer

    def __call__(self, setting: Setting) -> Composer:
        del setting
        return self.composer


def contender(name: str, composer: Composer, about: str = "") -> Contender:
    """A composer as a host takes it."""
    return Contender(name, _Same(composer), about)


@attrs.frozen
class _Stamped:
    """Composes as greenroom does, and adds a section that tells the time."""

    front: bool
    step: int
    setting: Setting | None = None

    def __call__(self, setting: Setting) -> Composer:
        return attrs.evolve(self, setting=setting).compose

    def compose(self, ingredients: Ingredients) -> Composition:
        """The composition with the time in it."""
        assert self.setting is not None, "it is asked through the call"
        moment = _EPOCH + timedelta(milliseconds=self.setting.at // self.step * self.step)
        text = f"The current time is {moment:%Y-%m-%d %H:%M:%S} UTC."
        stamp = Section("time", "message", "operator", "time@1", text)
        made = composed(ingredients)
        sections = (stamp, *made.sections) if self.front else (*made.sections, stamp)
        return structs.replace(made, sections=sections)


def ours() -> Contender:
    """Greenroom: composed once, in the order of sharing."""
    return contender("greenroom", composed, "composed once, in the order of sharing")


def time_in_front(step: int = MINUTE) -> Contender:
    """A common way: each turn's system string begins with the time, in steps of milliseconds."""
    about = "each turn's system string begins with the time"
    make = _Stamped(front=True, step=step)
    return Contender("time in front", make, about, recomposes=True, contrast=True)


def time_at_the_tail(step: int = MINUTE) -> Contender:
    """A common way: each turn's kept part ends with the time, in steps of milliseconds."""
    about = "each turn's system string ends with the time"
    make = _Stamped(front=False, step=step)
    return Contender("time at the tail", make, about, recomposes=True, contrast=True)


def recomposed() -> Contender:
    """A common way: greenroom's order, but composed at each turn from what stands then."""
    about = "composed anew at each turn from what stands then"
    make = _Same(composed)
    return Contender("recomposed each turn", make, about, recomposes=True, contrast=True)


def common_ways() -> tuple[Contender, ...]:
    """Ours and the three common ways."""
    return ours(), time_in_front(), time_at_the_tail(), recomposed()
