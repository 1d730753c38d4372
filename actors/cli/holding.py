"""``greenroom hold``, ``lift`` and ``holds``: sessions of a store that no host holds.

A hold is in force with the next host that opens the store, for as long as nobody lifts it (R239).
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

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
from greenroom.actors.journaling import interventions
from greenroom.protocol.filter import Filter, about
from greenroom.protocol.hold import Hold, Running
from greenroom.protocol.journal import AnyIntervention, HoldPlaced
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
) -> int:
    """Hold sessions of one tenant (R159)."""
    placed = new_hold(World(), DEFAULT_LIMITS, asked, running=running, reason=reason, by=by)
    async with _open_writing(options) as store:
        sessions = await place_stored(store, placed)
    console.print(f"held: {counted(sessions, 'session')}")
    _print_id(console, placed.id)
    return 0


async def lift(
    console: Console, options: Stored, name: str, *, reason: str, by: str, withdrawn: bool = False
) -> int:
    """Lift a hold; what it held goes on with the next host."""
    async with _open_writing(options) as store:
        lifted = await lift_stored(
            store, World(), options.tenant, name, by=by, reason=reason, withdrawn=withdrawn
        )
    console.print(plain(f"lifted: {about(lifted)}, held by {lifted.by}: {lifted.reason}"))
    return 0


async def holds(
    console: Console, options: Stored, *, past: bool = False, as_json: bool = False
) -> int:
    """List the holds that are in force, or all that was ever held and lifted (R242)."""
    async with open_reading(options) as store:
        if past:
            entries = list(interventions(store))
        else:
            index = Index(store)
            found = [
                (each, await index.count(each))
                for each in Holds.stored(store).in_force
                if each.tenant in (None, options.tenant)
            ]
    if past:
        for entry in entries:
            if as_json:
                print_json(entry)
            else:
                console.print(plain(_told(entry)))
        return 0
    for each, sessions in found:
        if as_json:
            print_json(each)
        else:
            _show(console, each, sessions)
    if not as_json:
        console.print(counted(len(found), "hold"), style="dim")
    return 0


def _show(console: Console, each: Hold, sessions: int) -> None:
    console.print(plain(f"{about(each)}: {each.reason}"), style="bold")
    stops = ", turns that run are stopped" if each.running == "stop" else ""
    told = f"  by {each.by} · {moment(each.at)} UTC · {counted(sessions, 'session')}{stops}"
    console.print(plain(told), style="dim")
    _print_id(console, each.id)


def _print_id(console: Console, name: str) -> None:
    console.print(plain(f"  {name}"), style="dim", no_wrap=True, overflow="ignore", crop=False)


def _told(entry: AnyIntervention) -> str:
    when = f"{moment(entry.at)} UTC"
    reason = f": {entry.reason}" if entry.reason else ""
    if isinstance(entry, HoldPlaced):
        return f"{when}  {entry.by} held {about(entry.hold)}{reason}  {entry.hold.id}"
    withdrew = " and withdrew its skill" if entry.withdrawn else ""
    return f"{when}  {entry.by} lifted {entry.hold}{withdrew}{reason}"
