"""Opening a host from a program that does not run trio, and holding one that trio has open."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from functools import partial
from os import PathLike
from types import TracebackType
from typing import Any, TypeAlias, TypeVar, overload

from greenroom.actors import host as trio_host
from greenroom.actors.models.port import Model, SessionInfo
from greenroom.actors.portal.handles import Host, PlainHost
from greenroom.actors.portal.line import taking_calls
from greenroom.actors.portal.thread import HostThread
from greenroom.actors.portal.waiting import InLoop, InThread
from greenroom.actors.services import Composer, Deps, Policy
from greenroom.actors.tool import Tool
from greenroom.actors.workspace import Workspace
from greenroom.actors.world import World
from greenroom.protocol.composition import compose
from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.store.contract import Store

D = TypeVar("D")
Unopened: TypeAlias = str | PathLike[str] | AbstractAsyncContextManager[Store]
"""The path of a store, or what opens one: ``open_lmdb(...)``, ``open_memory()``."""


@overload
def open_host(
    store: Unopened,
    *,
    workspace: Workspace,
    models: Mapping[str, Model],
    tools: Iterable[Tool[None]] = ...,
    deps: None = ...,
    policy: Policy = ...,
    composer: Composer = ...,
    limits: Limits = ...,
    world: World | None = ...,
) -> "Opening": ...


@overload
def open_host(
    store: Unopened,
    *,
    workspace: Workspace,
    models: Mapping[str, Model],
    tools: Iterable[Tool[D]] = ...,
    deps: Callable[[SessionInfo], D | Awaitable[D]],
    policy: Policy = ...,
    composer: Composer = ...,
    limits: Limits = ...,
    world: World | None = ...,
) -> "Opening": ...


def open_host(
    store: Unopened,
    *,
    workspace: Workspace,
    models: Mapping[str, Model],
    tools: Iterable[Tool[Any]] = (),
    deps: Deps | None = None,
    policy: Policy = Policy(),  # noqa: B008  frozen
    composer: Composer = compose,
    limits: Limits = DEFAULT_LIMITS,
    world: World | None = None,
) -> "Opening":
    """Open a host on trio in a thread of its own; leaving the block stops it (R188).

    ``async with`` gives what asyncio awaits, ``with`` what a plain program calls. All else is as
    ``actors.open_host`` says; models, tools and deps run in the host's thread, on trio.

    Args:
        store: the path of a store, or what opens one (``open_memory()``): it lives in the host's
            loop.
        workspace, models, tools, deps, policy, composer, limits, world: see ``actors.open_host``.

    Raises:
        InvalidInput: a part that cannot serve, such as a store that another loop has open.
        WrongLoop: ``with`` where a loop runs, or ``async with`` where none of asyncio does.
        StoreFailed, SameName, UnknownTool: as ``actors.open_host``, where the block is entered.
    """
    if hasattr(store, "offer"):
        raise InvalidInput(
            "A store that is open belongs to the loop that opened it.",
            way_out="Give the portal its path, or open_lmdb(...) or open_memory() unopened.",
            what="store",
        )
    return Opening(
        partial(
            _opened,
            store,
            workspace=workspace,
            models=models,
            tools=tuple(tools),
            deps=deps,
            policy=policy,
            composer=composer,
            limits=limits,
            world=world,
        )
    )


@asynccontextmanager
async def _opened(store: Unopened, **parts: Any) -> AsyncIterator[trio_host.Host]:
    async with AsyncExitStack() as stack:
        kept: Any = store
        if isinstance(store, AbstractAsyncContextManager):
            kept = await stack.enter_async_context(store)
        yield await stack.enter_async_context(trio_host.open_host(kept, **parts))


@asynccontextmanager
async def beside(host: trio_host.Host) -> AsyncIterator[Host]:
    """Hold for asyncio a host that this trio run has open, as long as the block (P181).

    For a program in which trio is a guest of the asyncio loop: tasks of asyncio ask the host
    through what this gives, and never itself (``WrongLoop``). Where the block ends, calls that are
    under way are cancelled.
    """
    async with taking_calls() as line:
        yield Host(line, host)


class Opening:
    """A host that is not open yet: one block of either kind opens it. See :func:`open_host`."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[trio_host.Host]]) -> None:
        self._awaited = _for_asyncio(opening)
        self._blocking = _for_plain(opening)

    async def __aenter__(self) -> Host:
        return await self._awaited.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        await self._awaited.__aexit__(kind, error, trace)

    def __enter__(self) -> PlainHost:
        return self._blocking.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self._blocking.__exit__(kind, error, trace)


@asynccontextmanager
async def _for_asyncio(
    opening: Callable[[], AbstractAsyncContextManager[trio_host.Host]],
) -> AsyncIterator[Host]:
    opened, ended = InLoop(), InLoop()
    thread = HostThread(opening, opened.wake, ended.wake)
    try:
        await opened.wait()
        if thread.open is not None:
            yield Host(*thread.open)
    finally:
        thread.stop()
        await ended.wait_to_the_end()
        thread.join()
        if thread.failure is not None:
            raise thread.failure


@contextmanager
def _for_plain(
    opening: Callable[[], AbstractAsyncContextManager[trio_host.Host]],
) -> Iterator[PlainHost]:
    opened, ended = InThread(), InThread()
    thread = HostThread(opening, opened.wake, ended.wake)
    try:
        opened.wait()
        if thread.open is not None:
            yield PlainHost(*thread.open)
    finally:
        thread.stop()
        ended.wait()
        thread.join()
        if thread.failure is not None:
            raise thread.failure
