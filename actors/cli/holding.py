"""``greenroom hold``, ``lift``, ``holds`` and ``recompose``: on a store that no host holds.

A hold is in force with the next host that opens the store, for as long as nobody lifts it, and that
host composes anew what is marked (R239).
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import trio
from rich.console import Console

from greenroom.actors import World
from greenroom.actors.cli.looking import nothing_kept, open_reading, print_json
from greenroom.actors.cli.options import Stored
from greenroom.actors.cli.stores import open_store
from greenroom.actors.cli.words import counted, moment, plain
from greenroom.actors.holding import new_hold
from greenroom.actors.holding_stored import lift_stored, place_stored
from greenroom.actors.holds import Holds
from greenroom.actors.index import Index
from greenroom.actors.marking import mark
from greenroom.actors.marks import Marks
from greenroom.protocol.filter import Filter, about
from greenroom.protocol.hold import Hold, Running
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.store import EmbeddedStore


@asynccontextmanager
async def _open_writing(options: Stored) -> AsyncGenerator[EmbeddedStore]:
    """The store, which is not made for this. Raises :class:`NotAStore` if there is none."""
    if not await trio.Path(options.path).exists():
        raise nothing_kept(options)
    async with open_store(options.path) as store:
        yield store


async def hold(
    console: Console,
    options: Stored,
    asked: Filter,
    *,
    running: Running,
    reason: str,
    by: str,
    as_json: bool = False,
) -> int:
    """Hold sessions of one tenant (R159)."""
    placed = new_hold(World(), DEFAULT_LIMITS, asked, running=running, reason=reason, by=by)
    async with _open_writing(options) as store:
        sessions = await place_stored(store, placed)
    if as_json:
        print_json(msgspec.structs.replace(placed, sessions=sessions))
        return 0
    console.print(f"held: {counted(sessions, 'session')}")
    _print_id(console, placed.id)
    return 0


async def lift(
    console: Console,
    options: Stored,
    name: str,
    *,
    reason: str,
    by: str,
    withdrawn: bool = False,
    as_json: bool = False,
) -> int:
    """Lift a hold; what it held goes on with the next host."""
    async with _open_writing(options) as store:
        lifted = await lift_stored(
            store, World(), options.tenant, name, by=by, reason=reason, withdrawn=withdrawn
        )
    if as_json:
        print_json(lifted)
        return 0
    console.print(plain(f"lifted: {about(lifted)}, held by {lifted.by}: {lifted.reason}"))
    return 0


async def holds(console: Console, options: Stored, *, as_json: bool = False) -> int:
    """List the holds that are in force."""
    async with open_reading(options) as store:
        index = Index(store)
        found = [
            (each, await index.count(each))
            for each in Holds.stored(store).in_force
            if each.tenant in (None, options.tenant)
        ]
    for each, sessions in found:
        if as_json:
            print_json(msgspec.structs.replace(each, sessions=sessions))
        else:
            _show(console, each, sessions)
    if not as_json:
        console.print(counted(len(found), "hold"), style="dim")
    return 0


async def recompose(
    console: Console,
    options: Stored,
    asked: Filter,
    *,
    reason: str,
    by: str,
    as_json: bool = False,
) -> int:
    """Mark sessions of one tenant: their next turn composes them anew (R239)."""
    async with _open_writing(options) as store:
        marks = Marks.stored(store)
        made = await mark(store, marks, World(), DEFAULT_LIMITS, asked, reason=reason, by=by)
        sessions = await Index(store).count(made)
    if as_json:
        print_json(msgspec.structs.replace(made, sessions=sessions))
        return 0
    console.print(f"composed anew at their next turn: {counted(sessions, 'session')}")
    return 0


def _show(console: Console, each: Hold, sessions: int) -> None:
    console.print(plain(f"{about(each)}: {each.reason}"), style="bold")
    stops = ", turns that run are stopped" if each.running == "stop" else ""
    told = f"  by {each.by} · {moment(each.at)} UTC · {counted(sessions, 'session')}{stops}"
    console.print(plain(told), style="dim")
    _print_id(console, each.id)


def _print_id(console: Console, name: str) -> None:
    console.print(plain(f"  {name}"), style="dim", no_wrap=True, overflow="ignore", crop=False)
