"""Holding sessions of a store that no host holds: in force with the next host that opens it."""

from greenroom.actors.holding import lifting, no_hold, placing, written
from greenroom.actors.holds import Holds
from greenroom.actors.index import Index
from greenroom.actors.waiting import Slot
from greenroom.actors.world import World
from greenroom.protocol.hold import Hold
from greenroom.protocol.limits import DEFAULT_LIMITS
from greenroom.store.contract import Enter, OtherVerdict, Store


async def place_stored(store: Store, hold: Hold) -> int:
    """Put a hold into a store; how many of its sessions the index knows to be concerned.

    What is bound to an agent, a skill or a model, only a workspace can tell: sessions that have no
    kept prompt yet are held by it, and not counted here.

    Raises:
        TooLarge: as many as may be are in force.
        StoreFailed: it could not be written.
    """
    Holds.stored(store).check_room(DEFAULT_LIMITS)
    await _entered(store, placing(hold), hold.id)
    return await Index(store).count(hold)


async def lift_stored(
    store: Store,
    world: World,
    tenant: str,
    hold: str,
    *,
    by: str,
    reason: str = "",
    withdrawn: bool = False,
) -> Hold:
    """Lift a hold of that tenant, or of all; what it held goes on with the next host.

    Raises:
        Missing: it is not in force.
        InvalidInput: it names no skill that could be withdrawn.
        StoreFailed: it could not be written.
    """
    found = Holds.stored(store).get(hold)
    if found is None or found.tenant not in (None, tenant):
        raise no_hold(hold)
    await _entered(store, lifting(found, world.now(), by, reason, withdrawn=withdrawn), hold)
    return found


async def _entered(store: Store, operation: Enter, hold: str) -> None:
    slot: Slot[OtherVerdict] = Slot()
    store.offer(operation, slot.put)
    written(await slot.get_shielded(), hold)
