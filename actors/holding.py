"""Placing and lifting holds: durable first, then in force; what was held goes on step by step.

A hold is in force in the store's own callback, so that no turn begins behind it. What it stops ends
at its next boundary, what is sent waits. After a lift the sessions that have something to do go on
one after the other, at a bounded rate: a hundred thousand at once would be one more outage (R239).
"""

import logging
from typing import TYPE_CHECKING, Final, get_args

import trio
from msgspec import structs

from greenroom.actors.holds import concerns, keeps_still
from greenroom.actors.services import Services
from greenroom.actors.terms import ANSWER, WAITING
from greenroom.actors.waiting import Slot
from greenroom.actors.world import World
from greenroom.protocol.errors import GreenroomError, InvalidInput, Missing, StoreFailed
from greenroom.protocol.filter import Filter
from greenroom.protocol.hold import HOLD, WITHDRAWAL, Hold, Running, encode_hold
from greenroom.protocol.identity import SessionId, check_name
from greenroom.protocol.journal import HoldLifted, HoldPlaced, encode_intervention
from greenroom.protocol.limits import Limits
from greenroom.protocol.phase import TURN_PHASES, Phase
from greenroom.store.contract import Done, Enter, Failed, OtherVerdict, Standing

if TYPE_CHECKING:
    from greenroom.actors.host import Host

_log: Final = logging.getLogger("greenroom")


def new_hold(
    world: World, limits: Limits, asked: Filter, *, running: Running, reason: str, by: str
) -> Hold:
    """A hold that can be placed; what it asks for was checked.

    Raises:
        InvalidInput, TooLarge: a name or a text that cannot be kept.
    """
    check_name(by, "name of who holds", limits)
    check_name(reason, "reason of a hold", limits)
    if running not in get_args(Running):
        raise InvalidInput(f"Turns that run can finish or stop, not {running!r}.", what="running")
    return Hold(
        id=world.new_id(),
        at=world.now(),
        by=by,
        reason=reason,
        running=running,
        **structs.asdict(asked),
    )


def placing(hold: Hold) -> Enter:
    """What places a hold: it stands, and the journal says who placed it, when and why (R242)."""
    hold = structs.replace(hold, sessions=None, stopped=None)
    entry = encode_intervention(HoldPlaced(hold.at, hold.by, hold.reason, hold))
    return Enter(entry, (Standing(HOLD, hold.id, encode_hold(hold)),))


def lifting(hold: Hold, at: int, by: str, reason: str, *, withdrawn: bool) -> Enter:
    """What lifts a hold, and withdraws its skill with it if that is wanted.

    Raises:
        InvalidInput: the hold names no skill that could be withdrawn.
    """
    if withdrawn and hold.skill is None:
        raise InvalidInput("The hold names no skill, so none can be withdrawn.", what="withdrawn")
    entry = encode_intervention(HoldLifted(at, by, reason, hold.id, withdrawn))
    gone = (Standing(HOLD, hold.id, None),)
    if not withdrawn or hold.skill is None:
        return Enter(entry, gone)
    return Enter(entry, (*gone, Standing(WITHDRAWAL, hold.id, hold.skill.encode())))


async def place(host: "Host", hold: Hold) -> Hold:
    """Put a hold in force; the same with what was counted.

    Raises:
        TooLarge: as many as may be are in force.
        StoreFailed: it could not be written; nothing is held.
    """
    services, stopped = host.services, 0
    services.holds.check_room(services.limits)
    slot: Slot[OtherVerdict] = Slot()

    def judged(verdict: OtherVerdict) -> None:
        nonlocal stopped
        if isinstance(verdict, Done):
            services.holds.place(hold)
            stopped = _hold_live(services, hold)
        slot.put(verdict)

    services.store.offer(placing(hold), judged)
    written(await slot.get_shielded(), hold.id)
    return structs.replace(hold, sessions=await count(services, hold), stopped=stopped)


def _hold_live(services: Services, hold: Hold) -> int:
    """Step what is live and concerned; how many turns the hold is going to stop."""
    stopped = 0
    for actor in services.actors.values():
        if actor.phase in TURN_PHASES:
            stopped += hold.running == "stop" and concerns(hold, actor)
        elif actor.phase is Phase.IDLE:
            keeps_still(actor)
    return stopped


async def lift(host: "Host", hold: Hold, by: str, reason: str, *, withdrawn: bool) -> None:
    """Lift a hold; what it held goes on, at a bounded rate.

    Raises:
        Missing: it is not in force.
        StoreFailed: it could not be written; it is in force as before.
    """
    services = host.services
    operation = lifting(hold, services.world.now(), by, reason, withdrawn=withdrawn)
    slot: Slot[OtherVerdict] = Slot()

    def judged(verdict: OtherVerdict) -> None:
        if isinstance(verdict, Done):
            services.holds.lift(hold.id)
            if withdrawn and hold.skill is not None:
                services.holds.withdraw(hold.skill)
            for actor in services.actors.values():
                if actor.phase is Phase.HELD and actor.gateway.is_empty:
                    keeps_still(actor)
        slot.put(verdict)

    services.store.offer(operation, judged)
    written(await slot.get_shielded(), hold.id)
    if not services.closing:
        services.nursery.start_soon(resume, host, hold)


def written(verdict: OtherVerdict, hold: str) -> None:
    """Raise what a verdict says, where it is not that it was done."""
    if isinstance(verdict, Failed):
        raise verdict.error
    if not isinstance(verdict, Done):
        raise no_hold(hold)


def no_hold(name: str) -> Missing:
    """What there is to say of a hold that is not in force."""
    way_out = "holds() lists those that are in force, `greenroom holds` those of a store."
    return Missing(f"There is no hold {name!r} in force.", way_out=way_out, hold=name)


async def count(services: Services, asked: Filter) -> int | None:
    """How many sessions are meant, from the index; None if that cannot be read now."""
    try:
        return await services.index.count(asked, services.workspace.agents)
    except StoreFailed as error:
        _log.error("The sessions that are concerned cannot be counted: %s", error)
        return None


async def resume(host: "Host", hold: Hold) -> None:
    """Let what a hold held go on, so many in a second; the live ones first."""
    try:
        await _resume(host, hold)
    except StoreFailed as error:
        _log.error("What was held goes on when it is asked for: %s", error)


async def _resume(host: "Host", hold: Hold) -> None:
    services = host.services
    live = [actor.id for actor in services.actors.values() if actor.phase is Phase.HELD]
    among = await services.index.all(hold, services.workspace.agents)
    waiting = frozenset(services.store.find(WAITING, ANSWER))
    pace = 1 / services.limits.resumed_per_second
    for session in dict.fromkeys([*live, *among]):
        if services.closing:
            return
        try:
            if await _goes_on(host, session, waits=session in waiting):
                await trio.sleep(pace)
            else:
                await trio.lowlevel.checkpoint()
        except GreenroomError:
            # It is told to whoever opens that session; the others must not wait for it.
            continue


async def _goes_on(host: "Host", session: SessionId, *, waits: bool) -> bool:
    """Let one session go on, if it has something to do and nothing else holds it."""
    actor = host.live(session)
    if actor is None:
        summary = host.summary(session)
        if summary is None or not goes_on(summary.phase, waits=waits):
            return False
        await host.activate(session)
        return True
    stood = actor.turn is None or not actor.turn.runs
    actor.go_on()
    return stood and actor.turn is not None and actor.turn.runs


def goes_on(phase: str, *, waits: bool) -> bool:
    """Whether a passive session has something to do: messages, or a turn with all its answers."""
    return phase in ("queued", "interrupted") or (phase == Phase.PARKED.value and not waits)
