"""Where the benchmark meets greenroom's own composing and projecting; nothing else of it does.

A request is laid out as providers read it: the tool declarations, the system string, the messages.
The system string is cut at the ends of placements, never elsewhere, so that a level's share of what
a cache read can be told; put together again the cuts are the string that is sent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Final, Literal, Protocol, TypeAlias

import attrs
import msgspec

from greenroom.actors.services import Composer
from greenroom.actors.workspace import Workspace
from greenroom.protocol.agent import AgentDeclaration
from greenroom.protocol.command import Pick
from greenroom.protocol.composition import (
    PERMISSIONS,
    Composition,
    Ingredients,
    Section,
    compose,
    encode_composition,
    render,
)
from greenroom.protocol.contributor import Owner, Text
from greenroom.protocol.encoding import encode_message
from greenroom.protocol.message import (
    AssistantMessage,
    Function,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from greenroom.protocol.permission import PRESETS, Preset
from greenroom.protocol.placement import PLACEMENTS, Placement, rank_of
from greenroom.protocol.projection import project_user
from greenroom.protocol.runtime_context import RuntimeContextSnapshot, snapshot_of
from greenroom.protocol.skill import PinnedSkill
from greenroom.protocol.wording import CURRENT, wording_of

# What of greenroom's own the rest of the benchmark takes from here.
__all__ = ["Composer", "Composition", "Extra", "Ingredients", "Section"]

Extra: TypeAlias = Text
"""An installed contribution."""
KeptPlacement: TypeAlias = Literal["platform", "agent", "person"]
KEPT_LEVELS: Final[tuple[KeptPlacement, ...]] = ("platform", "agent", "person")
"""The levels that a composer places."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """A stretch of a request that is of one placement."""

    level: Placement
    data: bytes


@attrs.frozen(eq=False)
class Head:
    """What of a request stands before its messages."""

    parts: tuple[Part, ...]
    """The tools first, then the system string; together they are all of it."""
    tools: bytes
    system: bytes
    ends: Mapping[Placement, int]
    """Bytes of the system string up to where all that is shared at that placement has ended."""


class Kept(Protocol):
    """What a conversation is composed with, until it is composed again."""

    @property
    def composition(self) -> Composition:
        """What its messages are projected against."""
        ...

    def head(self, preset: Preset, *, with_person: bool) -> Head:
        """The beginning of a request under a preset."""
        ...


@attrs.frozen(eq=False)
class Composed:
    """A conversation composed by a composer."""

    composition: Composition

    def head(self, preset: Preset, *, with_person: bool) -> Head:
        """The system string that greenroom sends of the composition."""
        composition = self.composition
        system = render(composition, preset, with_person=with_person)
        levels: dict[str, Placement] = {s.name: s.placement for s in composition.sections}
        levels[PERMISSIONS] = "conversation"
        ends: dict[Placement, int] = {}
        pieces: list[tuple[Placement, bytes]] = []
        length = 0
        for number, (name, text) in enumerate(system.sections):
            data = ("\n\n" + text if number else text).encode()
            length += len(data)
            pieces.append((levels[name], data))
            for level in PLACEMENTS[rank_of(levels[name]) :]:
                ends[level] = length
        return Head(
            parts=(Part("agent", composition.tools), *_runs(pieces)),
            tools=composition.tools,
            system=system.text.encode(),
            ends=ends,
        )


def _runs(pieces: Sequence[tuple[Placement, bytes]]) -> Iterator[Part]:
    """Neighbours of one placement put together."""
    for level, run in groupby(pieces, key=lambda piece: piece[0]):
        yield Part(level, b"".join(data for _, data in run))


# --- what a workspace gives ----------------------------------------------------------------------


def ingredients_of(
    workspace: Workspace,
    agent: AgentDeclaration,
    person: str | None,
    *,
    bound: tuple[PinnedSkill, ...],
    instructions: str,
    model: str,
    tools: bytes,
    extra: tuple[Extra, ...],
) -> Ingredients:
    """What a host would compose a conversation of this agent and person of."""
    _, everyones = workspace.skills_for(agent)
    _, theirs = workspace.skills_for(agent, person)
    return Ingredients(
        preamble=workspace.preamble,
        agent=agent,
        bound=bound,
        catalog=everyones,
        person_catalog=tuple(skill for skill in theirs if skill not in everyones),
        instructions=instructions,
        person_text=workspace.person_text(person) if person else "",
        model=model,
        tools=tools,
        person=person,
        extra=extra,
    )


class Content(msgspec.Struct, frozen=True, gc=False):
    """One thing that a model is to be told, and how widely it is shared: no composer's doing."""

    level: Placement
    name: str
    """What an edit calls it."""
    text: str


def contents_of(ingredients: Ingredients) -> tuple[Content, ...]:
    """All that a composition of these ingredients has to say, without any words around it."""
    agent, preamble = ingredients.agent, ingredients.preamble
    found = [
        Content("platform", "preamble", CURRENT.preamble if preamble is None else preamble),
        Content("agent", f"agent:{agent.name}", agent.prompt),
        *(Content("agent", f"skill:{skill.id}", skill.body) for skill in ingredients.bound),
        *(
            Content("agent", f"catalog:{each.id}", f"{each.id} {each.name} {each.description}")
            for each in ingredients.catalog
        ),
        *(
            Content("person", f"catalog:{each.id}", f"{each.id} {each.name} {each.description}")
            for each in ingredients.person_catalog
        ),
        Content("person", "instructions", ingredients.instructions),
        Content("person", f"person:{ingredients.person}", ingredients.person_text),
        *(
            Content(one.placement, f"text:{one.id}", one.text)
            for one in ingredients.extra
            if isinstance(one, Text)
        ),
    ]
    told = (content for content in found if content.text.strip())
    return tuple(sorted(told, key=lambda content: rank_of(content.level)))


def digests_of(ingredients: Ingredients) -> dict[Placement, bytes]:
    """For each level the digest of all that is shared at it, and at the wider ones before it.

    Requests for which it is equal have to begin alike, whatever the composer.
    """
    rolling, digests = sha256(), dict[Placement, bytes]()
    contents = contents_of(ingredients)
    of_level = {
        "platform": ingredients.model,
        "agent": f"{ingredients.agent.name}\0{ingredients.tools.decode()}",
        "person": ingredients.person or "",
    }
    for level in KEPT_LEVELS:
        rolling.update(f"{of_level[level]}\0".encode())
        for content in contents:
            if content.level == level:
                rolling.update(f"{content.name}\0{content.text}\0".encode())
        digests[level] = rolling.digest()
    return digests


# --- what is said --------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Said:
    """One message of a conversation as it is stored, with what was pinned to it."""

    body: bytes
    snapshot: RuntimeContextSnapshot | None = None
    picks: tuple[Pick, ...] = ()

    def projected(self, composition: Composition) -> bytes:
        """The message as it is sent under a kept prompt."""
        return project_user(self.body, self.snapshot, self.picks, composition)


def said_by_person(
    words: str,
    picks: Sequence[str],
    ordinal: int,
    at: int,
    composition: Composition,
    current: Callable[[str], PinnedSkill],
) -> Said:
    """A person's message; each skill picked is the kept one, or else as it stands now (R26)."""
    body = encode_message(UserMessage(words))
    if not picks:
        return Said(body)
    pinned = [composition.skill(skill) or current(skill) for skill in picks]
    named = tuple(Pick(skill.id, skill.slug, skill.name) for skill in pinned)
    snapshot = snapshot_of(ordinal, pinned, at, wording_of(composition.wording))
    return Said(body, snapshot, named)


def called(call: str, tool: str, arguments: str) -> Said:
    """An answer that asks for one tool."""
    return Said(encode_message(AssistantMessage("", (ToolCall(call, Function(tool, arguments)),))))


def returned(call: str, result: str) -> Said:
    """The tool's result."""
    return Said(encode_message(ToolMessage(call, result)))


def answered(words: str) -> Said:
    """An answer in words."""
    return Said(encode_message(AssistantMessage(words)))


def noted(words: str, composition: Composition) -> Said:
    """Something that the platform says in user position, under its label."""
    label = wording_of(composition.wording).note_label
    return Said(encode_message(UserMessage(f"{label} {words}")))


def composed(ingredients: Ingredients) -> Composition:
    """Greenroom's own composing."""
    return compose(ingredients)


def installed(id_: str, owner: Owner, placement: KeptPlacement, words: str) -> Extra:
    """A text that is installed in a workspace."""
    return Text(id=id_, version="1", owner=owner, placement=placement, text=words)


def sent_of(composition: Composition) -> list[tuple[str, bytes]]:
    """A composition in the parts in which it is sent and stored, to compare two of them."""
    system = render(composition, PRESETS.strictest, with_person=True)
    return [
        ("system string", system.text.encode()),
        ("tools", composition.tools),
        ("parameters", composition.parameters),
        ("composition", encode_composition(composition)),
    ]
