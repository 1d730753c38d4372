"""What a model may call: a plain function, declared by its type hints, under a stated effect.

``@tool(effect=...)`` makes a :class:`Tool` of a function. The model is shown a schema made from the
hints; what it writes is checked against the same hints; what the function returns becomes text.
Whether a call may run at all is not decided here, but at the one door to tools.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    get_origin,
    overload,
)

import attrs
import msgspec
import trio

from greenroom.actors.said import plain
from greenroom.actors.start import Start
from greenroom.actors.tool_schema import arguments_struct, described, hints_of, schema_of
from greenroom.actors.tool_text import Later, Output, check_arguments, in_short, output_of
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.errors import BadArguments, BadTool
from greenroom.protocol.gate import ToolFacts
from greenroom.protocol.identity import CallId, SessionId, TurnId, call_key, made_valid
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.skill import PinnedSkill, SkillPackage, SkillSummary
from greenroom.protocol.turn import Effect

D = TypeVar("D")
P = ParamSpec("P")
D_co = TypeVar("D_co", covariant=True)
D_contra = TypeVar("D_contra", contravariant=True)

__all__ = [
    "Later",
    "Output",
    "Surroundings",
    "Tool",
    "ToolContext",
    "declarations",
    "tool",
]

THREADS_MAX: Final = 40
"""Blocking tools that run at once in one host; more wait for a thread (R189)."""
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EFFECTS: Final = ("read", "write", "idempotent")
_FAULTS: Final = (
    msgspec.MsgspecError,
    UnicodeError,
    ValueError,
    OverflowError,
    RecursionError,
    MemoryError,
)
_threads: Final = trio.lowlevel.RunVar[trio.CapacityLimiter]("greenroom tool threads")


class Surroundings(Protocol):
    """What the built-in tools may see of the session that calls them; made by the host."""

    def skills(self) -> tuple[SkillSummary, ...]:
        """The skills that the session's agent and person were given and may load (R20)."""
        ...

    def kept_skill(self, skill: str, /) -> PinnedSkill | None:
        """A skill of the kept composition or the conversation, by id, slug or name (R202)."""
        ...

    def kept_file(self, skill: PinnedSkill, path: str, /) -> bytes | None:
        """A file of exactly that revision; None if it has none of that path (R202)."""
        ...

    async def current_skill(self, skill: str, /) -> SkillPackage:
        """A skill by id, read from its source now. Raises ``SkillUnavailable``."""
        ...

    def object(self, handle: str, /) -> bytes | None:
        """A spilled result of this session, whole; None if the handle is none of its own (R193)."""
        ...

    def on_demand(self) -> Mapping[str, "Tool[Any]"]:
        """Tools that are reached through ``load_tools`` and ``use_tool`` only (R195)."""
        ...


class ToolContext(msgspec.Struct, Generic[D_co], frozen=True, eq=False):
    """Who calls, and what the tool was given to work with. Nothing of ``deps`` is stored (R220)."""

    session: SessionId
    person: str | None
    turn: TurnId
    call: CallId
    deps: D_co
    """Made by the host's ``deps`` for this turn."""
    surroundings: Surroundings | None = None
    """For the built-in tools."""
    folder: Path | None = None
    """The folder of the file tools; None: the workspace has none."""
    tell: Callable[[str], object] = lambda _: None
    """Where progress goes; called in the host's event loop."""
    home: trio.lowlevel.TrioToken | None = None
    """The host's event loop. None: of a tool alone, as in a test."""
    start: Start = msgspec.field(default_factory=Start)
    """Whether the tool itself began; for those who end its turn."""

    @property
    def tenant(self) -> str:
        """Whose session it is."""
        return self.session.tenant

    @property
    def key(self) -> str:
        """Names this call: equal over crash, retry and resume, for services that ask (R220)."""
        return call_key(self.session, self.call)

    def progress(self, text: str) -> None:
        """Tell how far the call is, from the event loop or from the tool's own thread."""
        text = made_valid(plain(text))[0]
        if not trio.lowlevel.in_trio_run():
            trio.from_thread.run_sync(self.tell, text)
        elif self.home in (None, trio.lowlevel.current_trio_token()):
            self.tell(text)
        else:
            # A tool in a thread has a loop of its own, which must not wake what waits in ours.
            with suppress(trio.RunFinishedError):
                self.home.run_sync_soon(self.tell, text)

    def for_call(
        self, call: CallId, surroundings: Surroundings, tell: Callable[[str], object]
    ) -> "ToolContext[D_co]":
        """The same context for one call of the turn."""
        return ToolContext(
            self.session,
            self.person,
            self.turn,
            call,
            self.deps,
            surroundings,
            self.folder,
            tell,
            trio.lowlevel.current_trio_token(),
        )

    def __repr__(self) -> str:
        return f"<ToolContext {self.session} turn={self.turn} call={self.call}>"


Body: TypeAlias = Callable[[ToolContext[D_contra], str], Awaitable[object]]
"""Takes the arguments as the model wrote them; returns whatever can be shown as text."""


def _facts_of(tool: "Tool[Any]") -> ToolFacts:
    properties = tool.parameters.get("properties", {})
    defaults = {name: each["default"] for name, each in properties.items() if "default" in each}
    return ToolFacts(tool.name, tool.effect, tool.confined, tool.hosts, defaults)


@attrs.frozen(slots=True, eq=False)
class Tool(Generic[D_contra]):
    """Something that a model may call. Made by :func:`tool`, or by hand from another protocol."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments, canonical, without references. Not to be changed."""
    effect: Effect
    body: Body[D_contra] = attrs.field(repr=False)
    confined: bool = False
    """It changes nothing outside the workspace folder."""
    timeout: float | None = None
    """Seconds that the door allows a call; None: ``Limits.tool_seconds_max``."""
    on_thread: bool = False
    """It runs in a thread of its own, which a cancellation leaves behind."""
    hosts: tuple[str, ...] = ()
    """Its arguments that name a host or have a URL in them: what egress is asked about (R158)."""
    advisory: tuple[str, ...] = ()
    """Its arguments that change nothing of what it does: no approval is bound to them (P139)."""
    facts: ToolFacts = attrs.field(default=attrs.Factory(_facts_of, takes_self=True), init=False)
    """What the door decides by, besides the arguments of a call."""

    def __attrs_post_init__(self) -> None:
        if not _TOOL_NAME.fullmatch(self.name):
            raise BadTool(
                f"A tool cannot be called {self.name!r}: letters, digits, - and _, at most 64."
            )
        if self.effect not in _EFFECTS:
            raise BadTool(f"The effect of {self.name} is {self.effect!r}; it is one of {_EFFECTS}.")
        for path in self.hosts:
            if path.partition(".")[0] not in self.parameters.get("properties", {}):
                raise BadTool(f"{self.name} has no argument {path!r} that could name a host.")
        self._check_advisory()

    def _check_advisory(self) -> None:
        known = self.parameters.get("properties", {})
        decides = {path.partition(".")[0] for path in self.hosts}
        for field in self.advisory:
            if field not in known:
                raise BadTool(f"{self.name} has no argument {field!r} that could be advisory.")
            if self.advisory.count(field) > 1:
                raise BadTool(f"{self.name} names {field!r} twice among its advisory arguments.")
            if field in decides:
                raise BadTool(f"{field!r} of {self.name} names a host: it cannot be advisory.")
        if self.advisory and len(self.advisory) == len(known):
            fields = ", ".join(map(repr, self.advisory))
            raise BadTool(
                f"All that {self.name} is given is advisory ({fields}): an approval of it would be "
                "bound to nothing that it does."
            )

    async def run(
        self, context: ToolContext[D_contra], arguments: str, limits: Limits = DEFAULT_LIMITS
    ) -> Output:
        """Check the arguments, call the function, and give its result as text.

        What the function itself raises passes through unchanged.

        Raises:
            BadArguments: not JSON, not as declared, too large or too deep; it was not called.
            ToolFailed: the tool says so, or returned what no text can be made of.
        """
        check_arguments(arguments, limits)
        if not self.on_thread:
            context.start.take()
        return output_of(await self.body(context, arguments), limits)

    def declaration(self) -> dict[str, Any]:
        """What a model is shown of it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}


def declarations(tools: Iterable[Tool[Any]]) -> bytes:
    """The JSON array that a composition captures: the same bytes in whatever order (R195).

    Raises:
        BadTool: two tools of one name.
    """
    by_name: dict[str, Tool[Any]] = {}
    for each in tools:
        if by_name.setdefault(each.name, each) is not each:
            raise BadTool(f"Two tools are called {each.name}.")
    return encode_sorted([by_name[name].declaration() for name in sorted(by_name)])


class _Decorator(Protocol):
    """What ``@tool(...)`` is: the dependencies that a function asks for are the tool's type."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[ToolContext[D], P], object], /
    ) -> Tool[D]: ...
    @overload
    def __call__(self, function: Callable[..., object], /) -> Tool[Any]: ...


def tool(
    *,
    effect: Effect,
    confined: bool = False,
    timeout: float | None = None,
    loop: Literal["host", "thread"] | None = None,
    name: str | None = None,
    description: str | None = None,
    hosts: Sequence[str] = (),
    advisory: Sequence[str] = (),
) -> _Decorator:
    """Make a tool of the decorated function.

    Its first parameter may be a :class:`ToolContext`, which the model does not see. An ``async``
    function runs in the host's loop, a plain one in a limited thread of its own (R189) unless
    ``loop="host"`` says that it never blocks. Name and description are the function's and its
    docstring's, unless given. ``hosts`` are the arguments that name a host or have a URL in them:
    a call is refused where one of theirs is not on the workspace's egress list (R158). ``advisory``
    are arguments in which the model says why, or describes, and which change nothing of what is
    done: an approval is good for the same call in other such words (P139).

    Raises:
        BadTool: the function cannot be declared; the message says what to change.
    """

    def made(function: Callable[..., object]) -> Tool[Any]:
        parameters = list(inspect.signature(function).parameters.values())
        with_context = bool(parameters) and _is_context(hints_of(function).get(parameters[0].name))
        struct = arguments_struct(function, parameters[1:] if with_context else parameters)
        told, about = described(function)
        on_thread = _on_thread(function, loop)
        return Tool(
            name=name or struct.__name__,
            description=told if description is None else description,
            parameters=schema_of(struct, about),
            effect=effect,
            body=_body(function, struct, with_context=with_context, on_thread=on_thread),
            confined=confined,
            timeout=timeout,
            on_thread=on_thread,
            hosts=tuple(hosts),
            advisory=tuple(advisory),
        )

    return made


def _is_context(hint: object) -> bool:
    return hint is ToolContext or get_origin(hint) is ToolContext


def _on_thread(function: Callable[..., object], loop: Literal["host", "thread"] | None) -> bool:
    """Where it runs. Raises :class:`BadTool` for a coroutine that is to run without a loop."""
    if not inspect.iscoroutinefunction(function):
        return loop != "host"
    if loop == "thread":
        raise BadTool("An async function cannot run in a thread: make it a plain function.")
    return False


def _body(
    function: Callable[..., Any],
    struct: type[msgspec.Struct],
    *,
    with_context: bool,
    on_thread: bool,
) -> Body[Any]:
    """The function as a body: arguments decoded, context passed on if asked for."""
    decode = msgspec.json.Decoder(struct).decode
    as_keywords = msgspec.structs.asdict

    def keywords(arguments: str) -> dict[str, Any]:
        try:
            return as_keywords(decode(arguments or "{}"))
        except _FAULTS as error:
            raise BadArguments(f"The arguments are not as declared: {in_short(error)}.") from error

    async def in_loop(context: ToolContext[Any], arguments: str) -> object:
        values = keywords(arguments)
        result = function(context, **values) if with_context else function(**values)
        return await result if is_async else result

    async def in_thread(context: ToolContext[Any], arguments: str) -> object:
        before = (context,) if with_context else ()
        call = partial(_begun, context.start, partial(function, *before, **keywords(arguments)))
        # What a thread does cannot be cancelled: a cancelled turn leaves it behind, still counted.
        return await trio.to_thread.run_sync(call, limiter=_limiter(), abandon_on_cancel=True)

    is_async = inspect.iscoroutinefunction(function)
    return in_thread if on_thread else in_loop


def _begun(start: Start, call: Callable[[], object]) -> object:
    """The call, in its thread; not if its turn ended while it waited for one: nobody would know."""
    return call() if start.take() else None


def _limiter() -> trio.CapacityLimiter:
    """The threads of all tools of one run of the loop; the host's own work has others."""
    try:
        return _threads.get()
    except LookupError:
        limiter = trio.CapacityLimiter(THREADS_MAX)
        _threads.set(limiter)
        return limiter
