"""Contributors: whatever shapes what a model is given, other than the conversation itself.

A contributor is a declaration in a fixed vocabulary, never code: it can be shown to a person,
reasoned about and refused before it is used. There are four kinds (R132): a :class:`Text` is words;
an :class:`EagerLoad` is what an agent would otherwise ask for on its first rounds; an
:class:`EagerRun` is one call of a tool when a conversation starts; a :class:`Note` is a sentence
before a turn for which its condition holds. Each says who owns it, how widely it is shared, where
it stands among its like, what it may spend and which turns it reaches, and each version's content
is immutable. Whether one may be installed is in :mod:`greenroom.protocol.contributor_rules`.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import msgspec

from greenroom.protocol.condition import Condition
from greenroom.protocol.errors import InvalidInput
from greenroom.protocol.mistyped import mistyped
from greenroom.protocol.placement import Placement, rank_of
from greenroom.protocol.turn import Effect

Owner: TypeAlias = Literal["operator", "workspace", "author", "person"]
Reach: TypeAlias = Literal["every_turn", "turns_with_a_person", "replies_to_the_person"]

OWNERS: Final[tuple[Owner, ...]] = ("operator", "workspace", "author", "person")
"""In the order in which they stand at equal priority (R63)."""
BUILT_IN: Final = (
    "preamble",
    "agent",
    "catalog",
    "person-catalog",
    "project-instructions",
    "person",
    "version-changed",
    "permissions",
    "tools",
    "parameters",
    "model",
    "wording",
)
"""Ids of what is part of greenroom: nobody installs another of that name."""
PRIORITY_MIN: Final = -1_000
"""The lowest priority: where a personality stands (R140)."""
TOKENS_DEFAULT: Final = 1_000
"""What a contributor may spend that does not say."""

PLACEHOLDERS: Final[Mapping[str, Placement]] = MappingProxyType(
    {
        "agent": "agent",
        "person": "person",
        # The opening is shared by all conversations with the same loads (R214), so what names one
        # of them has its place behind it.
        "session": "message",
        "turn": "message",
        "now": "message",
        "moved": "message",
        "today": "message",
    }
)
"""What may be filled into a text, and the widest placement at which it is the same for all."""

_PLACEHOLDER: Final = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_OWNER_RANK: Final = {owner: rank for rank, owner in enumerate(OWNERS)}


class Declared(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
):
    """What every declaration says, whatever its kind; its placement is its kind's own."""

    id: str
    version: str
    """``id@version`` names one content for good."""
    owner: Owner
    priority: int = 0
    """Higher stands first within its group, and outranks what stands after it."""
    budget: int = TOKENS_DEFAULT
    """Tokens of the model's window that it may spend, all of it as it is rendered (R103)."""
    reach: Reach = "every_turn"
    """Of a conversation that begins without a person, no opening has what reaches only persons."""

    @property
    def key(self) -> str:
        """``id@version``: what a turn record names."""
        return f"{self.id}@{self.version}"

    @property
    def is_lower(self) -> bool:
        """Whether its words are framed as lower: whatever a person owns is (R136)."""
        return self.owner == "person"


class Text(Declared, frozen=True, tag="text"):
    """Words added to the system string, or to the opening of a conversation, when it is composed.

    It may hold ``{agent}`` and ``{person}`` where its placement allows; other braces are words.
    """

    placement: Literal["platform", "agent", "person", "conversation"]
    text: str
    heading: str = ""
    """Rendered above the text; empty for none."""
    framing: Literal["none", "lower"] = "none"
    """Lower: what is rendered says itself that all other instructions outrank it (R136)."""

    @property
    def is_lower(self) -> bool:
        """Whether its words are framed as lower: it says so, or a person owns it (R136)."""
        return self.framing == "lower" or super().is_lower


class EagerLoad(Declared, frozen=True, tag="eager_load"):
    """What stands loaded in a conversation's opening: tools, and of one skill what is chosen."""

    placement: Literal["conversation"]
    tools: tuple[str, ...] = ()
    """Tools on demand, declared as ``load_tools`` declares them (R142)."""
    skill: str = ""
    """A skill bound to the agent, as ``load_skill`` shows it; not bound: it is skipped (R144)."""
    files: tuple[str, ...] = ()
    """Files of the skill, by their paths in it, as ``read_object`` shows them (R143)."""
    most_used: int = 0
    """Beside ``tools``: so many of those that this agent's turns called most (R145)."""


class EagerRun(Declared, frozen=True, tag="eager_run"):
    """One call of a tool when a conversation starts; its exchange stands in the opening (R146)."""

    placement: Literal["conversation"]
    tool: str
    arguments: dict[str, Any] = {}
    """Exactly what it is called with: a JSON object."""
    about: str = ""
    """What the model is told the result is, on one line: *the time when this conversation began*.
    """


class Note(Declared, frozen=True, tag="note"):
    """A short note before a turn for which the condition holds (R151)."""

    placement: Literal["message"]
    condition: Condition
    text: str
    """It may hold any of :data:`PLACEHOLDERS`."""


Declaration: TypeAlias = Text | EagerLoad | EagerRun | Note

KINDS: Final = (Text, EagerLoad, EagerRun, Note)


class ToolFacts(msgspec.Struct, frozen=True, gc=False):
    """What has to be known of a tool before a contributor may name it."""

    effect: Effect
    on_demand: bool = False
    """Whether it is reached through ``load_tools``: another one needs no load."""
    varies: Placement = "conversation"
    """The widest placement at which its result is the same for all.

    A result is a snapshot, so what a tool tells of a moment may stand in the opening of the
    conversation that began then. ``message``: it may not.
    """


def declaration_of(value: object) -> Declaration:
    """A declaration from plain data, as YAML, TOML and JSON give it (R131).

    Raises:
        InvalidInput: an unknown kind or field, a field that is missing or of another type; the
            sentence names it.
    """
    try:
        made: Declaration = msgspec.convert(value, type=Declaration)
    except msgspec.ValidationError as error:
        sentence = f"It is no contributor: {mistyped(error, value, Declaration)}."
        raise InvalidInput(sentence, what="contributor") from None
    except RecursionError as error:
        raise InvalidInput(f"It is no contributor: {error}.", what="contributor") from None
    return made


def varies_by(text: str) -> Placement:
    """The widest placement at which ``text`` is the same for all who share it there (R134)."""
    found = (PLACEHOLDERS[name] for name in _PLACEHOLDER.findall(text))
    return max(found, key=rank_of, default="platform")


def filled(text: str, values: Mapping[str, str]) -> str:
    """``text`` with its placeholders filled; other braces, and braces in values, are words."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def standing(declared: Declared) -> tuple[int, int, str, str]:
    """The key that orders contributions of one group: priority, owner, id (R63)."""
    return rank_in_group(declared.priority, declared.owner, declared.id, declared.version)


def rank_in_group(priority: int, owner: Owner, id_: str, version: str) -> tuple[int, int, str, str]:
    """The one order inside a group, for what is built in and for what is installed alike."""
    return -priority, _OWNER_RANK[owner], id_, version


def personality(
    id_: str, version: str, text: str, *, owner: Owner = "person", heading: str = ""
) -> Text:
    """A voice: at the person, lowest of all, framed as lower, for replies to the person only.

    It shapes how something is said, never what the agent does (R140).
    """
    return Text(
        id=id_,
        version=version,
        owner=owner,
        placement="person",
        text=text,
        heading=heading,
        framing="lower",
        priority=PRIORITY_MIN,
        reach="replies_to_the_person",
    )


def stance(
    id_: str, version: str, text: str, *, owner: Owner = "author", heading: str = ""
) -> Text:
    """A stance: part of the agent, owned by whoever owns its behaviour, and judged with it (R140).

    An agent has it by naming it in :attr:`AgentDeclaration.contributors`.
    """
    return Text(id=id_, version=version, owner=owner, placement="agent", text=text, heading=heading)
