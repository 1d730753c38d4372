"""The host: opens store and nursery, finds and activates sessions, bounds and stops them."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from os import PathLike
from typing import Any, Final, TypeVar, overload

import trio

from greenroom.actors.activation import activated
from greenroom.actors.border import check_cursor, check_models, check_parts, check_workspace
from greenroom.actors.holds import Holds
from greenroom.actors.journaling import interventions
from greenroom.actors.kept_prompt import KeptPrompts
from greenroom.actors.lifecycle import alone, ended, look_after, start_keeping, stop
from greenroom.actors.listing import Listing
from greenroom.actors.loop import check_loop
from greenroom.actors.marks import Marks
from greenroom.actors.models.port import Capabilities, Model, SessionInfo
from greenroom.actors.reading import summary_of
from greenroom.actors.reloading import Changes, has_files, reload
from greenroom.actors.scope import Scope
from greenroom.actors.services import Composer, Deps, Policy, Services, model_of
from greenroom.actors.session import SessionActor
from greenroom.actors.subscribers import Events, Subscribers
from greenroom.actors.titles import Titles
from greenroom.actors.titling import make_title
from greenroom.actors.tool import Tool
from greenroom.actors.tools import Door
from greenroom.actors.waiting import Slot, Turnstile
from greenroom.actors.workspace import Workspace
from greenroom.actors.world import World
from greenroom.protocol.budget import Budget, TokenEstimate, budget_of
from greenroom.protocol.composition import Composition, SystemString, compose
from greenroom.protocol.encoding import encode_records
from greenroom.protocol.errors import (
    GreenroomError,
    HostClosed,
    HostFull,
    Missing,
    PendingSave,
)
from greenroom.protocol.identity import SessionId
from greenroom.protocol.journal import AnyIntervention
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits, check_limits
from greenroom.protocol.phase import Phase, Step
from greenroom.protocol.receipt import Cursor
from greenroom.protocol.record import Deleted
from greenroom.protocol.state import SessionSummary
from greenroom.store.contract import Delete, Done, Failed, OtherVerdict, Release, Store, Stored
from greenroom.store.embedded import open_lmdb

_log: Final = logging.getLogger("greenroom.actors")
READING_THREADS: Final = 8
"""Threads that read skills and instructions; those of the tools are others (P162)."""
REVIVALS_MAX: Final = 3
"""How often a session that failed goes on by itself, until somebody asks for it again."""

D = TypeVar("D")
"""What the host's tools work with."""


@overload
def open_host(
    store: Store | str | PathLike[str],
    *,
    workspace: Workspace,
    models: Mapping[str, Model],
    tools: Iterable[Tool[None]] = ...,
    deps: None = ...,
    policy: Policy = ...,
    composer: Composer = ...,
    limits: Limits = ...,
    world: World | None = ...,
) -> AbstractAsyncContextManager["Host"]: ...


@overload
def open_host(
    store: Store | str | PathLike[str],
    *,
    workspace: Workspace,
    models: Mapping[str, Model],
    tools: Iterable[Tool[D]] = ...,
    deps: Callable[[SessionInfo], D | Awaitable[D]],
    policy: Policy = ...,
    composer: Composer = ...,
    limits: Limits = ...,
    world: World | None = ...,
) -> AbstractAsyncContextManager["Host"]: ...


def open_host(
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
) -> AbstractAsyncContextManager["Host"]:
    """Open a host in this trio program; leaving the block stops it.

    Args:
        store: an open store, or the path of one, which is made if there is nothing.
        workspace: agents, skills, persons and presets.
        models: by the names that agents use.
        tools: what agents may call besides the built-in ones.
        deps: makes what tools get as ``context.deps``, once a turn; None without it (R220).
        policy: how sessions are treated where there is a choice.
        composer: makes kept prompts; pure.
        limits: every bound.
        world: clock, ids and randomness.

    When the block is left, by cancellation too, running turns are ended as ``interrupted`` within
    ``limits.settle_seconds_max``, what is queued stays queued, and everything accepted is stored.
    What the block raises leaves it as it is.

    Raises:
        InvalidInput: a limit, a model or another part that cannot serve; it is named.
        SameName: two models of one name differ.
        StoreFailed: the store cannot be opened, or a hold or mark in it cannot be read.
        UnknownModel: the policy names a model for titles that the host lacks.
        UnknownTool: an agent or a gate names a tool that the host lacks.
    """
    check_parts(store, workspace)
    check_limits(limits)
    world, models, brought = world or World(), check_models(models), tuple(tools)
    door = _door(workspace, brought, limits, world)
    making = partial(
        Services,
        world=world,
        limits=limits,
        policy=policy,
        workspace=workspace,
        models=models,
        door=door,
        tools=brought,
        kept_prompts=KeptPrompts(partial(budget_for, models, limits)),
        composer=composer,
        deps=deps,
        titles=_titles(policy, models, limits),
        turns=Turnstile(limits.running_turns_max),
        reading=trio.CapacityLimiter(READING_THREADS),
    )
    return _hosting(store, making)


@asynccontextmanager
async def _hosting(
    store: Store | str | PathLike[str], making: Callable[..., Services]
) -> AsyncIterator["Host"]:
    failure: BaseException | None = None
    async with AsyncExitStack() as stack:
        kept = (
            await stack.enter_async_context(open_lmdb(store))
            if isinstance(store, str | PathLike)
            else store
        )
        holds, marks = Holds.stored(kept), Marks.stored(kept)
        with alone():
            async with trio.open_nursery() as outer:
                nursery = await start_keeping(outer)
                services = making(store=kept, nursery=nursery, holds=holds, marks=marks)
                host = Host(services)
                stack.callback(ended, services)
                helpers = trio.CancelScope()
                nursery.start_soon(look_after, host, helpers)
                try:
                    yield host
                except BaseException as error:  # noqa: BLE001 - whatever the caller's block raises
                    # Outside of the nursery, so that the caller gets it as it is and no group.
                    failure = error
                finally:
                    with trio.CancelScope(shield=True):
                        await stop(services, helpers)
    if failure is not None:
        raise failure


def _door(workspace: Workspace, tools: Iterable[Tool[Any]], limits: Limits, world: World) -> Door:
    """The tools, and that each agent and gate names only such as there are."""
    door = Door(tools, limits, world.now, with_files=has_files(workspace))
    for agent in workspace.agents.values():
        door.box(agent)
    door.check_gates(workspace.gate_table.gates)
    return door


def _titles(policy: Policy, models: Mapping[str, Model], limits: Limits) -> Titles:
    model = None if policy.titles is None else model_of(models, policy.titles)
    return Titles(model, limits, make_title)


def budget_for(
    models: Mapping[str, Model], limits: Limits, composition: Composition, system: SystemString
) -> Budget:
    """What requests under a kept prompt may hold, by the window of the model it was made for."""
    fitting = (m.capabilities for m in models.values() if m.name == composition.model)
    can = next(fitting, Capabilities())
    counter = TokenEstimate(can.bytes_per_token)
    return budget_of(composition, system, counter, can.context_tokens, limits, can.output_tokens)


class Host(Scope):
    """Hosts many sessions over one store. Made by :func:`open_host`."""

    def __init__(self, services: Services) -> None:
        super().__init__(self, None)
        self.services = services
        services.failed = self._failed
        self._activating: dict[SessionId, trio.Event] = {}
        self._revivals: dict[SessionId, int] = {}

    def tenant(self, name: str, /) -> Scope:
        """What one tenant sees: nothing of another, nor that there is one (R218)."""
        return Scope(self, name)

    async def reload(self, workspace: Workspace | None = None, /) -> Changes:
        """Read the workspace anew, or take another; whole, or not at all (R231).

        New conversations have it at once. A running one keeps its prompt until it is composed
        anew, and is told by one note what changed (R60, R69).

        Args:
            workspace: the one to take; None reads the present one again from its folder.

        Raises:
            BrokenWorkspace: with every fault; nothing changed.
            InvalidInput: it is no workspace.
            UnknownTool: an agent names a tool that the host lacks; nothing changed.
        """
        self.check_open()
        if workspace is not None:
            check_workspace(workspace)
        return await reload(self.services, workspace)

    # --- live sessions ------------------------------------------------------------------------

    def live(self, session: SessionId) -> SessionActor | None:
        """The session's actor, if it is live."""
        actor = self.services.actors.get(session)
        if actor is not None and actor.phase is Phase.CLOSED:
            del self.services.actors[session]
            return None
        return actor

    def check_open(self) -> None:
        """Raise :class:`HostClosed` if the host's block was left (R87); see also `check_loop`."""
        check_loop()
        if self.services.bell.closed:
            raise HostClosed("The host was closed.")

    async def activate(self, session: SessionId) -> SessionActor:
        """The session's actor, made once however many ask at the same time (R184)."""
        self._revivals.pop(session, None)
        return await self._activated(session)

    async def _activated(self, session: SessionId) -> SessionActor:
        while True:
            self.check_open()
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
            self.check_open()
            self.services.actors[session] = actor
        finally:
            del self._activating[session]
            done.set()
        actor.go_on()
        return actor

    def _failed(self, session: SessionId) -> None:
        """A session failed: what is queued there goes on by itself, a few times (R168)."""
        if not self.services.closing:
            self.services.nursery.start_soon(self._revive, session)

    async def _revive(self, session: SessionId) -> None:
        tried = self._revivals.get(session, 0)
        try:
            stored = self.services.store.look(session)
            if isinstance(stored, Stored) and stored.queued and tried < REVIVALS_MAX:
                self._revivals[session] = tried + 1
                await self._activated(session)
        except GreenroomError as error:
            _log.error("The session %s cannot go on: %s", session, error)

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
        check_cursor(after, services.store)
        shared = services.subscribers.get(session)
        actor = self.live(session)
        if shared is None:
            number = actor.number if actor is not None else stored.number
            shared = Subscribers(session, services.store, number)
            services.subscribers[session] = shared
            if services.bell.closed:
                shared.close()
        stream = actor.turn.stream if actor is not None and actor.turn is not None else None
        live = stream.live if stream is not None else None
        if live is not None:
            live.read_by(shared.bell)
            shared.live = live
        return Events(shared, after)

    def summaries(self, tenant: str | None) -> Iterator[SessionSummary]:
        """Every session, as a listing shows it; nothing is activated."""
        for stored in self.services.store.sessions(tenant):
            yield self._summary(stored)

    def summary(self, session: SessionId) -> SessionSummary | None:
        """One session as a listing shows it; None if there is none."""
        stored = self.services.store.look(session)
        return self._summary(stored) if isinstance(stored, Stored) else None

    def _summary(self, stored: Stored) -> SessionSummary:
        return summary_of(stored, self.live(stored.session), self.services)

    def journal(self) -> Listing[AnyIntervention]:
        """Who intervened, when and why, oldest first; nothing is ever taken out (R242)."""
        return Listing(lambda: interventions(self.services.store))

    async def delete(self, session: SessionId) -> None:
        """Delete a session; a running turn is ended first, and whoever waits is told."""
        self.check_open()
        self.services.titles.cancel(session)
        actor = self.live(session)
        if actor is not None:
            if actor.phase is Phase.UNSAVED:
                raise PendingSave(f"The session {session} has something that is not on disk yet.")
            if actor.turn is not None:
                actor.turn.stop("cancelled", "The session was deleted.")
            elif actor.compaction is not None:
                actor.compaction.cancel()
        slot: Slot[OtherVerdict] = Slot()
        record = Deleted(self.services.world.now())

        def judged(verdict: OtherVerdict) -> None:
            # Here, before the running turn hears of it: who waits is told what happened to all.
            if isinstance(verdict, Done) and actor is not None:
                actor.outcomes.reject_all(Missing(f"The session {session} was deleted."))
            slot.put(verdict)

        self.services.store.offer(Delete(session, encode_records([record])), judged)
        verdict = await slot.get_shielded()
        if isinstance(verdict, Failed):
            raise verdict.error
        if not isinstance(verdict, Done):
            raise Missing(f"There is no session {session}.", session=str(session))
        self.services.published(session, verdict.number, (record,))
        shared = self.services.subscribers.get(session)
        if shared is not None:
            shared.close()
        if actor is not None and (
            actor.phase in (Phase.IDLE, Phase.PARKED, Phase.ASKING, Phase.HELD)
            or actor.compaction is not None
        ):
            self.close(actor)

    def passivate(self, actor: SessionActor) -> None:
        """Let an idle session go; the next message activates it again."""
        self.close(actor)
        self.services.store.offer(Release(actor.id, actor.epoch), _nobody_waits)

    def close(self, actor: SessionActor) -> None:
        """The actor is done; its session stands as it was last committed."""
        actor.step(Step.CLOSE)
        self.services.titles.cancel(actor.id)
        if self.services.actors.get(actor.id) is actor:
            del self.services.actors[actor.id]


def _nobody_waits(verdict: object) -> None:
    """The verdict of a release changes nothing: the next claim fences in any case."""
