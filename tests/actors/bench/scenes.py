"""A small workspace, a few lines of a trace, and what becomes of them."""

from collections.abc import Sequence
from itertools import pairwise

import attrs
import msgspec

from greenroom.actors.bench import Contender, Line, Prompt, four_bytes, ours
from greenroom.actors.bench.composing import Composed, Ingredients, Kept
from greenroom.actors.bench.contender import Setting
from greenroom.actors.bench.conversation import Sent
from greenroom.actors.bench.playing import Playing, Scene
from greenroom.actors.bench.standing import Standing
from greenroom.actors.skill_source import skill_package
from greenroom.actors.workspace import Workspace
from greenroom.actors.workspace_files import Person
from greenroom.protocol.agent import AgentDeclaration

MINUTE = 60_000


def workspace() -> Workspace:
    """Two agents, two people, a bound skill and one to pick."""
    return Workspace.build(
        agents=[
            AgentDeclaration(
                name="clerk", prompt="You are the clerk of a shop.", skills=("refunds",)
            ),
            AgentDeclaration(name="judge", prompt="You settle what people quarrel about."),
        ],
        skills=[
            skill_package("Refunds", "How to refund.", "Refund what was paid within 30 days."),
            skill_package("Letters", "How to write.", "Write short letters.", {"index.md": "Hi."}),
        ],
        persons=[
            Person(name="ada", text="Ada likes figures."),
            Person(name="ben", text="Ben is in a hurry."),
        ],
        instructions="Money is in pence.",
    )


def prompt(at: int = 0, session: str = "s", agent: str = "clerk", **more: object) -> Prompt:
    """A prompt of Ada's to the clerk, unless said otherwise."""
    return Prompt(**{"at": at, "session": session, "agent": agent, "person": "ada", **more})  # type: ignore[arg-type]


@attrs.define
class Requests:
    """Keeps every request of a pass."""

    sent: list[tuple[float, str, str, Sent]] = attrs.field(factory=list)
    """Seconds, tenant, model, request."""
    cold: list[str] = attrs.field(factory=list)

    def take(self, tenant: str, model: str, sent: Sent, at: float) -> None:
        """Keep a request."""
        self.sent.append((at, tenant, model, sent))

    def expire(self, tenant: str) -> None:
        """Keep that a tenant's caches went cold."""
        self.cold.append(tenant)

    @property
    def texts(self) -> list[str]:
        """What each request says, tools and all."""
        return [b"".join(sent.pieces).decode() for *_, sent in self.sent]

    @property
    def systems(self) -> list[str]:
        """The system string of each."""
        return [sent.head.system.decode() for *_, sent in self.sent]


def scene(lines: Sequence[Line]) -> Scene:
    """These lines in the small workspace."""
    return Scene(tuple(lines), workspace(), (), (), four_bytes)


def played(*lines: Line, contender: Contender | None = None) -> tuple[Requests, Playing]:
    """Play lines with a way of composing; ours unless said otherwise."""
    one, requests = contender or ours(), Requests()

    def arrange(ingredients: Ingredients, setting: Setting) -> Kept:
        return Composed(one.make(setting)(ingredients))

    playing = Playing(scene(lines), arrange, requests, recomposes=one.recomposes)
    playing.play()
    return requests, playing


def ingredients(agent: str = "clerk", person: str | None = "ada") -> Ingredients:
    """What a conversation of the small workspace is composed of."""
    return Standing(workspace(), ()).ingredients(agent, person, "Money is in pence.", None)


def begins(requests: Requests) -> list[bool]:
    """Whether each request is a beginning of the next."""
    return [new.startswith(old) for old, new in pairwise(requests.texts)]


def encoded(value: object) -> bytes:
    """Any value as bytes, to compare two of them."""
    return msgspec.json.encode(value)
