"""What every session of a host shares: store, world, models, tools, workspace, and the bounds."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakValueDictionary

import attrs
import trio

from greenroom.actors.committing import Commitments
from greenroom.actors.gateway import Behind
from greenroom.actors.holds import Holds
from greenroom.actors.index import Index
from greenroom.actors.kept_prompt import Kept, KeptPrompts
from greenroom.actors.marks import Marks
from greenroom.actors.models.port import Model, SessionInfo
from greenroom.actors.quotas import QuotaRule, Quotas
from greenroom.actors.subscribers import Subscribers
from greenroom.actors.titles import Titles
from greenroom.actors.tool import Tool
from greenroom.actors.tools import Door
from greenroom.actors.waiting import Bell, Turnstile
from greenroom.actors.waits import Waits
from greenroom.actors.workspace import Workspace
from greenroom.actors.world import World
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.composition import Composition, Ingredients
from greenroom.protocol.errors import InvalidInput, UnknownModel
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SessionId
from greenroom.protocol.limits import Limits
from greenroom.protocol.quota import Quota
from greenroom.protocol.record import AnyRecord
from greenroom.protocol.skill import SkillSummary
from greenroom.store.contract import Store

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor

APPROVAL_SECONDS_MAX: Final = 100 * 366 * 86_400
"""A hundred years: who waits longer waits for ever."""
Composer: TypeAlias = Callable[[Ingredients], Composition]
"""Makes a composition of its ingredients: pure, the same bytes for the same ingredients."""
Deps: TypeAlias = Callable[[SessionInfo], Any | Awaitable[Any]]
"""Makes what the host's tools work with, once a turn (R220)."""


@attrs.frozen(kw_only=True)
class Policy:
    """How a host treats its sessions where the requirements leave a choice."""

    behind: Behind = "steer"
    """Plain words behind a waiting message steer into its turn, or each gets its own (R121)."""
    durable_intake: bool = True
    """A message is in the store before its receipt; off: the queue is memory only (R93)."""
    compact_at: float = 0.8
    """How full the room for a conversation may be before it is compacted: a share of what the
    model's window leaves for messages. 1: only where a request does not fit (R210)."""
    revive: bool = True
    """Sessions with queued messages go on when the host opens, one after the other."""
    approval_seconds: float | None = None
    """How long a call waits for its approval; then it counts as declined. None: for ever (R223)."""
    quota: QuotaRule = None
    """What each tenant may spend, or a function that gives a tenant's quota by its name, asked
    whenever something is to be spent; it must be quick. None: no cap. What was spent while a tenant
    had no quota is not counted (R233)."""

    titles: str | None = None
    """Which of the host's models makes titles of sessions that have none, beside their turns; None:
    none are made (R95)."""

    def __attrs_post_init__(self) -> None:
        seconds: object = self.approval_seconds
        if seconds is not None and not (
            isinstance(seconds, int | float) and 0 < seconds <= APPROVAL_SECONDS_MAX
        ):
            raise InvalidInput(
                f"Policy.approval_seconds cannot be {seconds!r}; None waits for ever.",
                what="approval_seconds",
            )
        if not isinstance(self.titles, str | None):
            raise InvalidInput("Policy.titles is the name of a model, or None.", what="titles")
        quota: object = self.quota
        if not (quota is None or isinstance(quota, Quota) or callable(quota)):
            raise InvalidInput(
                f"Policy.quota is a Quota or gives one by a tenant's name; it is no "
                f"{type(quota).__name__}.",
                what="quota",
            )


@attrs.define(eq=False, slots=True)
class Services:
    """One host's shared parts; each actor holds this and nothing of another session."""

    store: Store
    world: World
    limits: Limits
    policy: Policy
    workspace: Workspace
    models: Mapping[str, Model]
    door: Door
    tools: tuple[Tool[Any], ...]
    """What the host brought besides the built-in tools."""
    kept_prompts: KeptPrompts
    composer: Composer
    deps: Deps | None
    nursery: trio.Nursery
    turns: Turnstile
    reading: trio.CapacityLimiter
    """Threads that read skills and long conversations: apart from those of the tools."""
    titles: Titles
    """What makes titles."""
    holds: Holds
    """What keeps sessions from starting turns."""
    marks: Marks
    """What is to be composed anew."""
    index: Index = attrs.field(
        default=attrs.Factory(lambda self: Index(self.store), takes_self=True)
    )
    """Which sessions a filter means."""
    subscribers: MutableMapping[SessionId, Subscribers] = attrs.field(factory=WeakValueDictionary)
    """By session, as long as somebody reads."""
    bell: Bell = attrs.field(factory=Bell)
    """Rings when anything is committed, for the readers of the feed."""
    settled: Bell = attrs.field(factory=Bell)
    """Rings when a turn is over, for a host that stops."""
    actors: dict[SessionId, "SessionActor"] = attrs.field(factory=dict)
    """The live ones."""
    departed: dict[str, AgentDeclaration] = attrs.field(factory=dict)
    """Agents that the workspace lost while the host was open."""
    generation: int = 0
    """How often the workspace was read anew: what was compared with it before may be behind."""
    current: dict[Any, Kept] = attrs.field(factory=dict)
    """What conversations would be composed to now, by all that decides it."""
    most_called: dict[tuple[str, str], tuple[str, ...]] = attrs.field(factory=dict)
    """By tenant and agent, the tools on demand that its turns called, the most first."""
    waits: Waits = attrs.field(
        default=attrs.Factory(lambda self: Waits(self.turns), takes_self=True)
    )
    """Which turn waits for which session."""
    commitments: Commitments = attrs.field(factory=Commitments)
    """What turns commit to, shared by those for which it is equal."""
    quotas: Quotas = attrs.field(
        default=attrs.Factory(
            lambda self: Quotas(self.policy.quota, self.store, self.world), takes_self=True
        )
    )
    """What tenants may spend, and did."""
    failed: Callable[[SessionId], None] | None = None
    """Told of a session whose actor failed, so that what is queued there can go on."""
    closing: bool = False
    """The host stops: no turn starts any more."""

    def model(self, key: str) -> Model:
        """The model of that key. Raises :class:`UnknownModel` naming the choices."""
        return model_of(self.models, key)

    def agent(self, name: str) -> AgentDeclaration:
        """The agent of a session: as it was, where the workspace lost it meanwhile (R231).

        Raises:
            UnknownAgent: there is none, and was none since the host was opened.
        """
        departed = self.departed.get(name)
        return self.workspace.agent(name) if departed is None else departed

    def skills_of(self, header: Header) -> tuple[SkillSummary, ...]:
        """The skills that a session's agent and person have now: what may be picked (R20)."""
        bound, available = self.workspace.skills_for(self.agent(header.agent), header.person)
        return (*bound, *available)

    def model_named(self, name: str) -> Model:
        """The model that its provider calls so. Raises :class:`UnknownModel`."""
        for model in self.models.values():
            if model.name == name:
                return model
        raise UnknownModel(f"The host has no model that is named {name!r} any more.", model=name)

    def approval_expires(self) -> int | None:
        """When a call that is asked about now counts as declined; None: never."""
        seconds = self.policy.approval_seconds
        return None if seconds is None else self.world.now() + int(seconds * 1_000)

    def published(self, session: SessionId, number: int, records: tuple[AnyRecord, ...]) -> None:
        """A commit of a session is durable: tell those who read."""
        shared = self.subscribers.get(session)
        if shared is not None:
            shared.publish(number, records)
        self.bell.ring()


def model_of(models: Mapping[str, Model], key: str) -> Model:
    """The model of that key. Raises :class:`UnknownModel` naming the choices."""
    try:
        return models[key]
    except KeyError:
        raise UnknownModel(
            f"The host has no model {key!r}; it has {', '.join(sorted(models))}.",
            model=key,
            choices=tuple(sorted(models)),
        ) from None
