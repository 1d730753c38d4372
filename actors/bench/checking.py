"""Whether a composer gives the same bytes whenever it is asked, and whoever asks (R245).

It is asked again, under another clock and for another session, in this process and in two others
whose hash seeds differ and whose clocks stand years apart. What it must be asked by in another
process is its name: one that cannot be imported there is asked in this process only, and the run's
record says so.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from greenroom.actors.bench.composing import Composer, Ingredients, sent_of
from greenroom.actors.bench.contender import Contender, Setting
from greenroom.actors.bench.faults import ComposerVaries
from greenroom.protocol.common_bytes import common_bytes

SETTINGS: Final = (
    Setting(1_700_000_000_000, "tuesday"),
    Setting(1_812_345_678_901, "another/session"),
)
"""Two moments that differ in every part of a date, and two sessions."""
_SEEDS: Final = ("1", "2")
_SECONDS: Final = 120.0
"""How long a process may take to answer."""
_SHOWN: Final = 60

Answer = list[tuple[str, bytes]]


class Question(msgspec.Struct, frozen=True):
    """What is asked of a composer, in whatever process."""

    make: Callable[[Setting], Composer]
    setting: Setting
    samples: tuple[Ingredients, ...]


class Difference(msgspec.Struct, frozen=True):
    """The first byte at which two answers of one composer differ."""

    what: str
    """The part of the request."""
    at: int
    """Bytes before it."""
    one: str
    """What stands there first."""
    other: str
    """What stands there when it is asked again."""
    under: str
    """What was different when it was asked again."""


class Asked(msgspec.Struct, frozen=True):
    """What came of asking."""

    difference: Difference | None
    where: str
    """In which processes it was asked, or why in no other than this one."""


def ask(contenders: Sequence[Contender], samples: Sequence[Ingredients]) -> list[Asked]:
    """Ask each composer for the same things again and again.

    Args:
        contenders: whose composers.
        samples: what they are given, each time alike.
    """
    known = tuple(samples)
    if not known:
        return [Asked(None, "nowhere: the trace composes nothing")] * len(contenders)
    questions = [_Asking(one, known) for one in contenders]
    for number, seed in enumerate(_SEEDS):
        _ask_elsewhere([one for one in questions if one.is_open], number, seed)
    return [one.asked or Asked(None, f"in {1 + len(_SEEDS)} processes") for one in questions]


class _Asking:
    """One composer while it is asked: what it said first, and what came of asking again."""

    def __init__(self, contender: Contender, samples: tuple[Ingredients, ...]) -> None:
        self.asked: Asked | None = None
        self.pickled: list[bytes] = []
        """The questions for the other processes."""
        questions = [Question(contender.make, setting, samples) for setting in SETTINGS]
        first, second = questions
        self._expected = answers(first)
        self.compare(answers(first), "nothing")
        self.compare(answers(second), "clock and session")
        if self.is_open:
            try:
                self.pickled = [pickle.dumps(question) for question in questions]
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                self.compare(str(error), "")

    @property
    def is_open(self) -> bool:
        """Whether it is to be asked further."""
        return self.asked is None

    def compare(self, found: "list[Answer] | str", under: str) -> None:
        """Compare with what it said first; a text says why there is nothing to compare."""
        if isinstance(found, str):
            self.asked = Asked(None, f"in this process only: {found}")
        elif self.is_open:
            difference = _first(self._expected, found, under)
            if difference is not None:
                self.asked = Asked(difference, f"until it differed under another {under}")


def _ask_elsewhere(asking: Sequence[_Asking], number: int, seed: str) -> None:
    """Ask all of them in one process of its own."""
    if not asking:
        return
    asked = pickle.dumps([one.pickled[number] for one in asking])
    try:
        found = _answered(asked, SETTINGS[number].at / 1_000, seed)
    except (subprocess.SubprocessError, msgspec.MsgspecError) as error:
        found = [str(error)] * len(asking)
    for one, answer in zip(asking, found, strict=True):
        one.compare(answer, "process, hash seed and clock")


def _answered(asked: bytes, clock: float, seed: str) -> list[list[Answer] | str]:
    """What a process says that runs under this hash seed and clock."""
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "greenroom.actors.bench.asked", str(clock)],
        input=asked,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=_SECONDS,
    )
    return msgspec.msgpack.decode(done.stdout, type=list[list[Answer] | str])


def check_composer(contender: Contender, samples: Sequence[Ingredients]) -> None:
    """Refuse a composer whose bytes vary.

    Raises:
        ComposerVaries: with the first byte that differs; a contrast is refused here too.
    """
    (asked,) = ask([contender], samples)
    refuse(contender.name, asked.difference)


def refuse(name: str, difference: Difference | None) -> None:
    """Refuse a composer of which a difference was found. Raises :class:`ComposerVaries`."""
    if difference is not None:
        raise ComposerVaries(
            f"The composer {name!r} was asked twice and differs from byte {difference.at:,} of "
            f"the {difference.what} on: {difference.one!r} and {difference.other!r}. What was "
            f"different: {difference.under}.",
            what=difference.what,
            at=difference.at,
            under=difference.under,
        )


def answers(question: Question) -> list[Answer]:
    """What a composer gives, in the parts in which it is sent and stored."""
    make, setting = question.make, question.setting
    return [sent_of(make(setting)(sample)) for sample in question.samples]


def _first(one: list[Answer], other: list[Answer], under: str) -> Difference | None:
    """Where two lists of answers differ first."""
    for left, right in zip(one, other, strict=True):
        for (what, old), (_, new) in zip(left, right, strict=True):
            if old != new:
                at = common_bytes(old, new)
                shown = [text[at : at + _SHOWN].decode(errors="replace") for text in (old, new)]
                return Difference(what, at, shown[0], shown[1], under)
    return None
