"""A process of its own in which a composer is asked: ``python -m greenroom.actors.bench.asked``.

What to ask comes pickled by the parent, which started it with a hash seed of its choice. Before the
composer's module is imported, the clocks that Python programs read are set to the given time.
"""

import datetime as dt
import pickle
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, Self

import msgspec

from greenroom.actors.bench.checking import Answer, Question, answers

_OF_NOW: Final = ("gmtime", "localtime", "ctime")
"""Functions of ``time`` that speak of now unless they are given a moment."""


def main() -> None:
    """Answer what stands on the standard input."""
    set_clock(float(sys.argv[1]))
    asked: list[bytes] = pickle.load(sys.stdin.buffer)  # noqa: S301 - of our own parent
    found = [_answered(question) for question in asked]
    sys.stdout.buffer.write(msgspec.msgpack.encode(found))


def _answered(asked: bytes) -> list[Answer] | str:
    """The answers to one question, or why there are none: it is another composer's to go on."""
    try:
        question: Question = pickle.loads(asked)  # noqa: S301 - as above
        return answers(question)
    except Exception as error:  # noqa: BLE001 - of whatever was asked
        return f"{type(error).__name__}: {error}"


def set_clock(seconds: float) -> None:
    """Let the wall clocks of this process stand at ``seconds`` since 1970."""

    class Moment(dt.datetime):
        """A date and time that knows no other now."""

        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Self:
            return cls.fromtimestamp(seconds, tz)

        @classmethod
        def utcnow(cls) -> Self:
            return cls.fromtimestamp(seconds, dt.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Self:
            return cls.fromtimestamp(seconds)

    class Day(dt.date):
        """A date that knows no other today."""

        @classmethod
        def today(cls) -> Self:
            return cls.fromtimestamp(seconds)

    _put(dt, {"datetime": Moment, "date": Day})
    standing = {name: _at(seconds, getattr(time, name)) for name in _OF_NOW}
    there, shown = standing["localtime"](), time.strftime
    standing["strftime"] = lambda form, moment=there: shown(form, moment)
    _put(time, {"time": lambda: seconds, "time_ns": lambda: int(seconds * 1e9), **standing})


def _at(seconds: float, told: Callable[[float], Any]) -> Callable[..., Any]:
    return lambda moment=None: told(seconds if moment is None else moment)


def _put(module: ModuleType, names: dict[str, Any]) -> None:
    for name, value in names.items():
        setattr(module, name, value)


if __name__ == "__main__":
    main()
