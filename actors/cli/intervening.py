"""The commands of those who intervene, as they are typed: holds, marks, and who did it and why."""

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from greenroom.actors.cli import holding
from greenroom.actors.cli import journal as told
from greenroom.actors.cli.options import Common, Meant, Stored, who
from greenroom.actors.cli.running import run
from greenroom.actors.cli.words import console
from greenroom.protocol.hold import Running

Json = Annotated[bool, Parameter(negative=(), help="One JSON object.")]
JsonLines = Annotated[bool, Parameter(negative=(), help="One JSON object a line.")]
By = Annotated[str | None, Parameter(help="Who does it; by default who is logged in.")]


def hold(
    *,
    reason: Annotated[str, Parameter(help="Why; told to whoever is refused.")],
    meant: Meant | None = None,
    running: Annotated[
        Running, Parameter(help="What becomes of turns that run when it is placed in a host.")
    ] = "finish",
    by: By = None,
    json: Json = False,
    options: Stored | None = None,
) -> int:
    """Hold sessions of a store that no host holds: they take messages and start no turn."""
    options, meant = options or Stored(), meant or Meant()

    async def go() -> int:
        asked = meant.within(options.tenant)
        return await holding.hold(
            console(), options, asked, running=running, reason=reason, by=who(by), as_json=json
        )

    return run(go, debug=options.debug)


def lift(
    hold: Annotated[str, Parameter(help="Its id, as `greenroom holds` lists it.")],
    /,
    *,
    reason: Annotated[str, Parameter(help="Why.")] = "",
    by: By = None,
    withdrawn: Annotated[
        bool, Parameter(negative=(), help="Its skill was wrong: conversations show it no more.")
    ] = False,
    json: Json = False,
    options: Stored | None = None,
) -> int:
    """Lift a hold of a store that no host holds; what it held goes on with the next host."""
    options = options or Stored()

    async def go() -> int:
        return await holding.lift(
            console(), options, hold, reason=reason, by=who(by), withdrawn=withdrawn, as_json=json
        )

    return run(go, debug=options.debug)


def holds(*, json: JsonLines = False, options: Stored | None = None) -> int:
    """List what holds sessions of a store: who, when and why."""
    options = options or Stored()
    return run(partial(holding.holds, console(), options, as_json=json), debug=options.debug)


def recompose(
    *,
    reason: Annotated[str, Parameter(help="Why.")],
    meant: Meant | None = None,
    by: By = None,
    json: Json = False,
    options: Stored | None = None,
) -> int:
    """Mark sessions of a store that no host holds: their next turn composes them anew."""
    options, meant = options or Stored(), meant or Meant()

    async def go() -> int:
        asked = meant.within(options.tenant)
        return await holding.recompose(
            console(), options, asked, reason=reason, by=who(by), as_json=json
        )

    return run(go, debug=options.debug)


def journal(
    *,
    after: Annotated[
        int, Parameter(validator=Number(gte=0), help="Go on behind the entry of this number.")
    ] = 0,
    limit: Annotated[
        int, Parameter(validator=Number(gte=1, lte=told.ENTRIES_MAX), help="How many entries.")
    ] = told.ENTRIES,
    json: JsonLines = False,
    store: Annotated[
        Path | None, Parameter(help="The store's folder; by default the one that chat uses.")
    ] = None,
    common: Common | None = None,
) -> int:
    """List who intervened in a store, whatever the tenant: when and why, the oldest first."""
    options = Stored(store=store)
    command = partial(told.journal, console(), options, after=after, limit=limit, as_json=json)
    return run(command, debug=(common or Common()).debug)
