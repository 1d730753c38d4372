"""Host, tenants and sessions as they are held outside of trio: same names, same results.

Each table below is the API once more by name alone; a law holds it to the original, so that a
method that is added there cannot be forgotten here.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from greenroom.actors.handle import Session as TrioSession
from greenroom.actors.host import Host as TrioHost
from greenroom.actors.portal.forwarding import (
    AnyHandle,
    Asked,
    Follows,
    ForAsyncio,
    ForPlain,
    Forwarded,
    Handle,
    Lists,
    Told,
)
from greenroom.actors.portal.line import Line
from greenroom.actors.portal.waiting import awaited, blocking
from greenroom.actors.scope import Scope as TrioScope
from greenroom.protocol.identity import SessionId

P = ParamSpec("P")
S_co = TypeVar("S_co", bound=TrioScope, covariant=True)


class Opens(Forwarded[P, Coroutine[Any, Any, TrioSession]]):
    """A coroutine that answers a session: held outside, it answers a handle to one."""

    @overload
    def __get__(
        self, handle: None, owner: object
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, TrioSession]]: ...
    @overload
    def __get__(
        self, handle: ForAsyncio[Any], owner: object
    ) -> Callable[P, Coroutine[Any, Any, "Session"]]: ...
    @overload
    def __get__(self, handle: ForPlain[Any], owner: object) -> Callable[P, "PlainSession"]: ...
    def __get__(self, handle: AnyHandle | None, owner: object) -> Any:
        if handle is None:
            return self.method
        if isinstance(handle, ForAsyncio):
            return partial(self._awaited, handle.line, handle.held)
        return partial(self._blocking, handle.line, handle.held)

    async def _awaited(
        self, line: Line, held: TrioScope, /, *args: P.args, **kwargs: P.kwargs
    ) -> "Session":
        return Session(line, await awaited(line, self.method, held, *args, **kwargs))

    def _blocking(
        self, line: Line, held: TrioScope, /, *args: P.args, **kwargs: P.kwargs
    ) -> "PlainSession":
        return PlainSession(line, blocking(line, self.method, held, *args, **kwargs))


class ScopeTable(Handle[S_co]):
    """What a host and each of its tenants answer."""

    __slots__ = ()

    session = Opens(TrioScope.session)
    create = Asked(TrioScope.create)
    import_session = Opens(TrioScope.import_session)
    id_of = Told(TrioScope.id_of)
    presets = Told(TrioScope.presets)
    sessions = Lists(TrioScope.sessions)
    questions = Lists(TrioScope.questions)
    answer = Asked(TrioScope.answer)
    hold = Asked(TrioScope.hold)
    lift = Asked(TrioScope.lift)
    holds = Lists(TrioScope.holds)
    recompose = Asked(TrioScope.recompose)
    turns = Lists(TrioScope.turns)
    spend = Asked(TrioScope.spend)
    quota = Asked(TrioScope.quota)
    feed = Follows(TrioScope.feed)


class HostTable(ScopeTable[TrioHost]):
    """What only a host answers."""

    __slots__ = ()

    reload = Asked(TrioHost.reload)
    delete = Asked(TrioHost.delete)
    journal = Lists(TrioHost.journal)


class SessionTable(Handle[TrioSession]):
    """What a session answers."""

    __slots__ = ()

    prompt = Asked(TrioSession.prompt)
    ask = Asked(TrioSession.ask)
    outcome = Asked(TrioSession.outcome)
    recall = Asked(TrioSession.recall)
    retry = Asked(TrioSession.retry)
    cancel = Asked(TrioSession.cancel)
    answer = Asked(TrioSession.answer)
    dispose = Asked(TrioSession.dispose)
    flush = Asked(TrioSession.flush)
    set_permission_preset = Asked(TrioSession.set_permission_preset)
    set_model = Asked(TrioSession.set_model)
    set_title = Asked(TrioSession.set_title)
    compact = Asked(TrioSession.compact)
    recompose = Asked(TrioSession.recompose)
    validate_skill_selection = Asked(TrioSession.validate_skill_selection)
    kept_prompt_status = Asked(TrioSession.kept_prompt_status)
    events = Follows(TrioSession.events)
    state = Asked(TrioSession.state)
    transcript = Lists(TrioSession.transcript)
    turns = Lists(TrioSession.turns)
    skills = Lists(TrioSession.skills)
    request = Asked(TrioSession.request)
    summary_request = Asked(TrioSession.summary_request)
    title_request = Asked(TrioSession.title_request)
    export = Lists(TrioSession.export)
    get_runtime_contexts = Asked(TrioSession.get_runtime_contexts)
    get_system_prompt_checkpoints = Asked(TrioSession.get_system_prompt_checkpoints)
    model_input_projection = Asked(TrioSession.model_input_projection)
    delete = Asked(TrioSession.delete)

    @property
    def id(self) -> SessionId:
        """Its full name."""
        return self.held.id

    def __repr__(self) -> str:
        return repr(self.held)


class Session(SessionTable, ForAsyncio[TrioSession]):
    """One session, held in an asyncio program; see ``actors.Session``."""

    __slots__ = ()


class Scope(ScopeTable[TrioScope], ForAsyncio[TrioScope]):
    """The sessions of one tenant, held in an asyncio program; see ``actors.Scope``."""

    __slots__ = ()


class Host(HostTable, ForAsyncio[TrioHost]):
    """A host, held in an asyncio program; see ``actors.Host``."""

    __slots__ = ()

    def tenant(self, name: str, /) -> Scope:
        """What one tenant sees: nothing of another, nor that there is one (R218)."""
        return Scope(self.line, self.held.tenant(name))


class PlainSession(SessionTable, ForPlain[TrioSession]):
    """One session, held in a plain program; see ``actors.Session``."""

    __slots__ = ()


class PlainScope(ScopeTable[TrioScope], ForPlain[TrioScope]):
    """The sessions of one tenant, held in a plain program; see ``actors.Scope``."""

    __slots__ = ()


class PlainHost(HostTable, ForPlain[TrioHost]):
    """A host, held in a plain program; see ``actors.Host``."""

    __slots__ = ()

    def tenant(self, name: str, /) -> PlainScope:
        """What one tenant sees: nothing of another, nor that there is one (R218)."""
        return PlainScope(self.line, self.held.tenant(name))
