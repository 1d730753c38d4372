"""The host: opens store and nursery, finds and activates sessions, bounds and stops them."""

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from os import PathLike
from typing import Any, Final
from weakref import WeakValueDictionary

import trio

from greenroom.actors.activation import activated
from greenroom.actors.kept_prompt import KeptPrompts
from greenroom.actors.listing import Listing
from greenroom.actors.models.port import Capabilities, Model
from greenroom.actors.reading import summary_of
from greenroom.actors.scope import Scope
from greenroom.actors.services import Composer, Deps, Policy, Services
from greenroom.actors.session import SessionActor
from greenroom.actors.subscribers import Events, Subscribers
from greenroom.actors.tool import Tool
from greenroom.actors.tools import Door
from greenroom.actors.waiting import Bell, Slot, Turnstile
from greenroom.actors.watch import watch
from greenroom.actors.workspace import Workspace
from greenroom.actors.world import World
from greenroom.protocol.budget import Budget, TokenEstimate, budget_of
from greenroom.protocol.composition import Composition, SystemString, compose
from greenroom.protocol.encoding import encode_records
from greenroom.protocol.errors import GreenroomError, HostFull, Missing, PendingSave, Rewound
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.phase import Phase, Step
from greenroom.protocol.receipt import Cursor
from greenroom.protocol.record import Deleted
from greenroom.protocol.state import SessionSummary
from greenroom.store.contract import Delete, Done, Failed, OtherVerdict, Release, Store, Stored
from greenroom.store.embedded import open_lmdb

_log: Final = logging.getLogger("greenroom.actors")
READING_THREADS: Final = 8
"""Threads that read skills and instructions; those of the tools are others (P162)."""


@asynccontextmanager
async def open_host(
    store: Store | str | PathLike[str],
    *,
    workspace: Workspace,
    models: Mapping[str, Model],
    tools: Iterable[Tool[Any]] = (),
    deps: Deps | None = None,
    policy: Policy = Policy(),  # noqa: B008  frozen
    composer: Composer = compose,
    limits: Limits = DEFAULT_LIMITS,
    world: World | None = None,
) -> AsyncIterator["Host"]:
    """Open a host in this trio program; leaving the block stops it.

    Args:
        store: an open store, or the path of one, which is made if there is nothing.
        workspace: agents, skills, persons and presets.
        models: by the names that agents use.
        tools: what agents may call besides the built-in ones.
        deps: makes what tools get as ``context.deps``, once a turn.
        policy: how sessions are treated where there is a choice.
        composer: makes kept prompts; pure.
        limits: every bound.
        world: clock, ids and randomness.

    When the block is left, running turns are ended as ``interrupted`` within
    ``limits.settle_seconds_max``, what is queued stays queued, and everything accepted is stored.

    Raises:
        StoreFailed: the store cannot be opened.
        UnknownTool: an agent names a tool that the host lacks.
    """
    failure: Exception | None = None
    async with AsyncExitStack() as stack:
        kept = (
            await stack.enter_async_context(open_lmdb(store))
            if isinstance(store, str | PathLike)
            else store
        )
        world = world or World()
        door = _door(workspace, tools, limits, world)
        async with trio.open_nursery() as nursery:
            services = _services(
                nursery, kept, workspace, models, door, deps, policy, composer, limits, world
            )
            host = Host(services)
            stack.callback(host._ended)
            helpers = trio.CancelScope()
            nursery.start_soon(host._look_after, helpers)
            try:
                yield host
            except Exception as error:
                # Outside of the nursery, so that the caller gets it as it is and no group.
                failure = error
            finally:
                with trio.CancelScope(shield=True):
                    await host._stop(helpers, nursery)
    if failure is not None:
        raise failure


def _door(workspace: Workspace, tools: Iterable[Tool[Any]], limits: Limits, world: World) -> Door:
    """The tools, and that each agent names only such as there are."""
    door = Door(tools, limits, world.now, with_files=workspace.files_root is not None)
    for agent in workspace.agents.values():
        door.box(agent)
    return door


def _services(
    nursery: trio.Nursery,
    store: Store,
    workspace: Workspace,
    models: Mapping[str, Model],
    door: Door,
    deps: Deps | None,
    policy: Policy,
    composer: Composer,
    limits: Limits,
    world: World,
) -> Services:
    capabilities = {model.name: model.capabilities for model in models.values()}

    def counted(composition: Composition, system: SystemString) -> Budget:
        can = capabilities.get(composition.model, Capabilities())
        counter = TokenEstimate(can.bytes_per_token)
        return budget_of(composition, system, counter, can.context_tokens, limits)

    return Services(
        store,
        world,
        limits,
        policy,
        workspace,
        dict(models),
        door,
        KeptPrompts(counted),
        composer,
        deps,
        nursery,
        Turnstile(limits.running_turns_max),
        trio.CapacityLimiter(READING_THREADS),
        WeakValueDictionary(),
        Bell(),
        Bell(),
    )


class Host(Scope):
    """Hosts many sessions over one store. Made by :func:`open_host`."""

    def __init__(self, services: Services) -> None:
        super().__init__(self, None)
        self.services = services
        self._activating: dict[SessionId, trio.Event] = {}

    def tenant(self, name: str, /) -> Scope:
        """What one tenant sees: nothing of another, nor that there is one (R218)."""
        return Scope(self, name)

    # --- live sessions ------------------------------------------------------------------------

    def live(self, session: SessionId) -> SessionActor | None:
        """The session's actor, if it is live."""
        actor = self.services.actors.get(session)
        if actor is not None and actor.phase is Phase.CLOSED:
            del self.services.actors[session]
            return None
        return actor

    async def activate(self, session: SessionId) -> SessionActor:
        """The session's actor, made once however many ask at the same time (R184)."""
        while True:
            actor = self.live(session)
            if actor is not None:
                return actor
            waiting = self._activating.get(session)
            if waiting is None:
                break
            await waiting.wait()
        self._check_room()
        done = self._activating[session] = trio.Event()
        try:
            actor = await activated(self.services, session)
            self.services.actors[session] = actor
        finally:
            del self._activating[session]
            done.set()
        actor.go_on()
        return actor

    def _check_room(self) -> None:
        """Refuse one more live session than the bound; those on their way count (R185)."""
        bound = self.services.limits.live_sessions_max
        if len(self.services.actors) + len(self._activating) >= bound:
            raise HostFull(f"{bound:,} sessions are live.", bound=bound)

    def events(self, session: SessionId, after: Cursor | None) -> Events:
        """A reader of a session's events."""
        services = self.services
        stored = services.store.look(session)
        if not isinstance(stored, Stored):
            raise Missing(f"There is no session {session}.", session=str(session))
        self.check_cursor(after)
        shared = services.subscribers.get(session)
        actor = self.live(session)
        if shared is None:
            number = actor.number if actor is not None else stored.number
            shared = Subscribers(session, services.store, number)
            services.subscribers[session] = shared
        stream = actor.turn.stream if actor is not None and actor.turn is not None else None
        live = stream.live if stream is not None else None
        if live is not None:
            live.read_by(shared.bell)
            shared.live = live
        return Events(shared, after)

    def check_cursor(self, after: Cursor | None) -> None:
        """Raise :class:`Rewound` for a cursor of another incarnation."""
        incarnation = self.services.store.incarnation
        if after is not None and after.incarnation != incarnation:
            raise Rewound(
                f"The cursor is of {after.incarnation!r}; the store is {incarnation!r} now.",
                incarnation=incarnation,
            )

    def summaries(self, tenant: str | None) -> Iterator[SessionSummary]:
        """Every session, as a listing shows it; nothing is activated."""
        for stored in self.services.store.sessions(tenant):
            yield summary_of(stored, self.live(stored.session))

    async def delete(self, session: SessionId) -> None:
        """Delete a session; a running turn is ended first."""
        actor = self.live(session)
        if actor is not None:
            if actor.phase is Phase.UNSAVED:
                raise PendingSave(f"The session {session} has something that is not on disk yet.")
            if actor.turn is not None:
                actor.turn.stop("cancelled", "The session was deleted.")
        slot: Slot[OtherVerdict] = Slot()
        record = Deleted(self.services.world.now())
        self.services.store.offer(Delete(session, encode_records([record])), slot.put)
        verdict = await slot.get_shielded()
        if isinstance(verdict, Failed):
            raise verdict.error
        if not isinstance(verdict, Done):
            raise Missing(f"There is no session {session}.", session=str(session))
        self.services.published(session, verdict.number, (record,))
        shared = self.services.subscribers.get(session)
        if shared is not None:
            shared.close()
        if actor is not None and actor.phase is Phase.IDLE:
            self._close(actor)

    # --- looking after ------------------------------------------------------------------------

    async def _look_after(self, scope: trio.CancelScope) -> None:
        with scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._passivate_idle)
                nursery.start_soon(watch, self.services)
                if self.services.policy.revive and not self.services.store.read_only:
                    nursery.start_soon(self._revive)

    async def _passivate_idle(self) -> None:
        """Let sessions go that had nothing to do for a while: their memory returns (R184)."""
        idle = self.services.limits.idle_seconds
        while True:
            await trio.sleep(idle / 2)
            self._passivate_older(trio.current_time() - idle)

    def _passivate_older(self, deadline: float) -> None:
        # A function of its own, so that no variable of the loop keeps the last one while it sleeps.
        for actor in list(self.services.actors.values()):
            if actor.is_quiet and actor.last_active <= deadline:
                self.passivate(actor)

    def passivate(self, actor: SessionActor) -> None:
        """Let an idle session go; the next message activates it again."""
        self._close(actor)
        self.services.store.offer(Release(actor.id, actor.epoch), _nobody_waits)

    def _close(self, actor: SessionActor) -> None:
        actor.step(Step.CLOSE)
        if self.services.actors.get(actor.id) is actor:
            del self.services.actors[actor.id]

    async def _revive(self) -> None:
        """Let sessions with queued messages go on, one after the other (R93)."""
        async for summary in Listing(lambda: self.summaries(None)):
            if summary.phase in ("queued", "interrupted"):
                try:
                    await self.activate(summary.session)
                except GreenroomError:
                    # It is told to whoever opens that session; the others must not wait for it.
                    continue

    # --- stopping -----------------------------------------------------------------------------

    async def _stop(self, helpers: trio.CancelScope, nursery: trio.Nursery) -> None:
        """End what runs within a bound; everything accepted stays in the store (R208)."""
        services = self.services
        services.closing = True
        helpers.cancel()
        actors = list(services.actors.values())
        for actor in actors:
            if actor.turn is not None:
                actor.turn.stop("interrupted", "The host stopped.")
        with trio.move_on_after(services.limits.settle_seconds_max):
            while any(actor.turn is not None for actor in actors):
                await services.settled.wait()
            for actor in actors:
                await self._last_flush(actor)
        nursery.cancel_scope.cancel()
        for model in services.models.values():
            await _close_model(model)

    def _ended(self) -> None:
        """Every turn is settled: readers have all there is to read, and nobody waits for ever."""
        for shared in list(self.services.subscribers.values()):
            shared.close()
        self.services.bell.close()
        for actor in list(self.services.actors.values()):
            if actor.pending:
                lost = ", ".join(type(record).__name__ for record in actor.records())
                _log.error("The session %s ends with what could not be saved: %s.", actor.id, lost)
            actor.leave()

    async def _last_flush(self, actor: SessionActor) -> None:
        try:
            await actor.flush()
        except GreenroomError:
            return


async def _close_model(model: Model) -> None:
    """Close a model that can be closed: it opens again when it is used again."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


def _nobody_waits(verdict: object) -> None:
    """The verdict of a release changes nothing: the next claim fences in any case."""
