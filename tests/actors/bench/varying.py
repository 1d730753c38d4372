"""Composers that can be asked in another process, most of which vary."""

import datetime as dt
import itertools
import sys
import time

from msgspec import structs

from greenroom.actors.bench import Setting
from greenroom.actors.bench.composing import Composer, Composition, Ingredients
from greenroom.protocol.composition import compose

_asked = itertools.count()
WORDS = frozenset({"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"})


def told(ingredients: Ingredients, words: str) -> Composition:
    """Our composing with words at the end of its first section."""
    made = compose(ingredients)
    first = structs.replace(made.sections[0], text=f"{made.sections[0].text}{words}")
    return structs.replace(made, sections=(first, *made.sections[1:]))


def pure(ingredients: Ingredients) -> Composition:
    """The same for the same ingredients."""
    return told(ingredients, "!")


def by_count(ingredients: Ingredients) -> Composition:
    """Another one each time."""
    return told(ingredients, f" {next(_asked)}")


def by_hash_order(ingredients: Ingredients) -> Composition:
    """The same in one process, another one in another."""
    return told(ingredients, " ".join(WORDS))


def by_date(ingredients: Ingredients) -> Composition:
    """The same all day."""
    return told(ingredients, f"{dt.datetime.now(dt.UTC):%Y-%m}")


def by_today(ingredients: Ingredients) -> Composition:
    """As above, by another clock."""
    return told(ingredients, str(dt.date.today().year))  # noqa: DTZ011 - that is the point


def by_clock(ingredients: Ingredients) -> Composition:
    """As above, by a third one."""
    return told(ingredients, f"{time.strftime('%Y')} {int(time.time()) >> 24}")


def by_setting(setting: Setting) -> Composer:
    """Makes a composer that knows the session."""
    return lambda ingredients: told(ingredients, setting.session)


def by_parameters(setting: Setting) -> Composer:
    """Makes one that varies only in what is sent beside the prompt."""
    parameters = b'{"user":"%b"}' % setting.session.encode()
    return lambda ingredients: structs.replace(compose(ingredients), parameters=parameters)


def only_here(ingredients: Ingredients) -> Composition:
    """Fails in a process that was started to ask it."""
    if sys.argv[0].endswith("asked.py"):
        raise RuntimeError("not my process")
    return compose(ingredients)
