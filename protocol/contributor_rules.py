"""What a declaration must be before it is installed: each rule once, whoever installs it.

A contribution may not stand wider than what it varies by. What a text varies by is computed from
the placeholders in it, and what a run varies by from the stated width of its tool, never from a
claim (R134, P066). Nor may it stand wider or higher than its owner is allowed: what one person
declares cannot shape what others are given (R165).
"""

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from greenroom.protocol.condition import check_condition
from greenroom.protocol.contributor import (
    BUILT_IN,
    KINDS,
    PRIORITY_MIN,
    Declaration,
    EagerLoad,
    EagerRun,
    Note,
    Owner,
    Text,
    ToolFacts,
    varies_by,
)
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.errors import InvalidInput, SameName, TooLarge, UnknownTool
from greenroom.protocol.identity import check_name, check_text
from greenroom.protocol.limits import DEFAULT_LIMITS, Limits
from greenroom.protocol.placement import Placement, is_wider
from greenroom.protocol.quoting import quoted
from greenroom.protocol.refusal import WritesUnapproved, WrongPlacement
from greenroom.protocol.wording import CURRENT

D = TypeVar("D", bound=Declaration)

WIDEST: Final[Mapping[Owner, Placement]] = MappingProxyType(
    {"operator": "platform", "workspace": "platform", "author": "agent", "person": "person"}
)
"""How widely an owner's contributions may be shared."""
PRIORITY_MAX: Final[Mapping[Owner, int]] = MappingProxyType(
    {"operator": 1_000, "workspace": 750, "author": 500, "person": 0}
)
"""How high an owner's contributions may stand among their like (R165)."""
TOKENS_MAX: Final = 100_000
"""The largest budget that can be declared."""
LISTED_MAX: Final = 128
"""Tools or files that one load may name."""

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_TOOL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VALUES_MAX: Final = 10_000
"""Values in the arguments of one run, each time that they are reached."""
_THROUGH: Final = frozenset(("load_tools", "use_tool"))
"""Tools that stand for others; a declaration names the others."""


def check_contribution(contribution: D, limits: Limits = DEFAULT_LIMITS) -> D:
    """Return ``contribution`` if it may be installed, as far as it says itself.

    Its budget is checked when it is rendered, and what it says of tools by :func:`check_tools`.

    Raises:
        InvalidInput: a field of another type than declared, an id, version, path or text that
            cannot be one, a priority or budget out of bounds, a load of nothing (R131, R194).
        TooLarge: a text or arguments over their bounds.
        SameName: the id is that of a built-in contributor, or a load names one thing twice.
        WrongPlacement: it varies by something narrower than its placement (R134), stands wider
            than its owner may, or does not reach every turn and is a text elsewhere than at the
            person (R137).
    """
    if isinstance(contribution, EagerRun):
        _check_arguments(contribution.arguments, limits)
    _check_types(contribution)
    _check_names(contribution)
    _check_numbers(contribution)
    match contribution:
        case Text():
            _check_text(contribution, limits)
        case EagerLoad():
            _check_load(contribution, limits)
        case EagerRun():
            _check_tool(contribution.tool)
            _check_line(contribution.about, limits)
        case Note():
            check_condition(contribution.condition)
            _check_words(contribution.text, limits)
            _check_frame(contribution, contribution.text)
    return contribution


def check_tools(
    contribution: Declaration, tools: Mapping[str, ToolFacts], *, approved: bool = False
) -> None:
    """Refuse what a declaration may not ask of the tools of a host (R149).

    Args:
        contribution: what is installed.
        tools: every tool of the host, or of the agent whose conversations it is for.
        approved: whether somebody approved exactly this version to call a tool that writes.

    Raises:
        UnknownTool: there is no such tool, or a load names one that needs no load.
        WrongPlacement: a run's tool varies by something narrower than a conversation (R134).
        WritesUnapproved: a run's tool writes, and nobody approved that.
    """
    if isinstance(contribution, EagerLoad):
        for name in contribution.tools:
            if not _known(contribution, name, tools).on_demand:
                raise UnknownTool(
                    f"{contribution.key!r} loads the tool {name!r}, which is no tool on demand.",
                    contributor=contribution.key,
                    tool=name,
                )
    elif isinstance(contribution, EagerRun):
        facts = _known(contribution, contribution.tool, tools)
        if is_wider(contribution.placement, facts.varies):
            raise _too_wide(contribution, facts.varies)
        if facts.effect != "read" and not approved:
            raise WritesUnapproved(
                f"{contribution.key!r} would run the tool {contribution.tool!r}, which does not "
                "only read.",
                contributor=contribution.key,
                tool=contribution.tool,
            )


def _known(contribution: Declaration, tool: str, tools: Mapping[str, ToolFacts]) -> ToolFacts:
    facts = tools.get(tool)
    if facts is None:
        raise UnknownTool(
            f"{contribution.key!r} names the tool {tool!r}, which is not there.",
            contributor=contribution.key,
            tool=tool,
        )
    return facts


# --- what all kinds have in common ---------------------------------------------------------------


def _check_types(contribution: Declaration) -> None:
    """Refuse what was built in Python past the types: a callable is data of no kind (R131)."""
    if type(contribution) not in KINDS:
        raise InvalidInput(f"A {type(contribution).__name__} is no contributor.")
    try:
        again = msgspec.convert(msgspec.to_builtins(contribution), type(contribution))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"It is no contributor: {error}.", what="contributor") from None
    if again != contribution:
        raise InvalidInput("Its fields are not of the types that they are declared with.")


def _check_names(contribution: Declaration) -> None:
    """Ids and versions stand in notes, tags and call ids, so they are words of a plain alphabet."""
    for name, pattern, what in (
        (contribution.id, _ID, "contributor id"),
        (contribution.version, _VERSION, "contributor version"),
    ):
        if not pattern.fullmatch(name):
            check_name(name, what)
            raise InvalidInput(
                f"The {what} {quoted(name)} holds more than letters, digits and a few signs "
                "between them, or is too long.",
                what=what,
            )
    if contribution.id in BUILT_IN:
        raise SameName(f"{contribution.id!r} is a built-in contributor.", names=[contribution.id])


def _check_numbers(contribution: Declaration) -> None:
    highest = PRIORITY_MAX[contribution.owner]
    if not PRIORITY_MIN <= contribution.priority <= highest:
        raise InvalidInput(
            f"The priority of {contribution.key!r} is {contribution.priority:,}; of the owner "
            f"{contribution.owner} it goes from {PRIORITY_MIN:,} to {highest:,}.",
            contributor=contribution.key,
            what="priority",
        )
    if not 0 < contribution.budget <= TOKENS_MAX:
        raise InvalidInput(
            f"The budget of {contribution.key!r} is {contribution.budget:,} tokens; it goes from 1 "
            f"to {TOKENS_MAX:,}.",
            contributor=contribution.key,
            what="budget",
        )
    if is_wider(contribution.placement, WIDEST[contribution.owner]):
        raise WrongPlacement(
            f"{contribution.key!r} stands at {contribution.placement}; what its owner, the "
            f"{contribution.owner}, declares stands at {WIDEST[contribution.owner]} at the widest.",
            contributor=contribution.key,
            placement=contribution.placement,
            owner=contribution.owner,
        )


def _check_words(text: str, limits: Limits) -> None:
    check_text(text, "contributor text", limits.message_bytes_max)
    if not text.strip():
        raise InvalidInput("The contributor text says nothing.", what="contributor text")


def _too_wide(contribution: Declaration, varies: Placement) -> WrongPlacement:
    return WrongPlacement(
        f"{contribution.key!r} stands at {contribution.placement} and varies by {varies}.",
        contributor=contribution.key,
        placement=contribution.placement,
        varies_by=varies,
    )


# --- each kind -----------------------------------------------------------------------------------


def _check_text(text: Text, limits: Limits) -> None:
    check_text(text.heading, "contributor heading", limits.name_bytes_max)
    _check_words(text.text, limits)
    for words in (text.heading, text.text):
        varies = varies_by(words)
        if is_wider(text.placement, varies):
            raise _too_wide(text, varies)
    if text.reach != "every_turn" and text.placement != "person":
        raise WrongPlacement(
            f"The text {text.key!r} does not reach every turn, so its place is person, not "
            f"{text.placement}.",
            contributor=text.key,
            placement=text.placement,
            reach=text.reach,
        )
    _check_frame(text, text.heading + text.text)


def _check_frame(contribution: Text | Note, words: str) -> None:
    if contribution.is_lower and _FRAME_END in _squeezed(words):
        raise InvalidInput(
            f"{contribution.key!r} holds {_FRAME_END!r}, which ends the frame it stands in.",
            contributor=contribution.key,
            what="contributor text",
        )


def _check_line(words: str, limits: Limits) -> None:
    check_text(words, "words about its result", limits.name_bytes_max)
    if len(words.splitlines()) > 1:
        raise InvalidInput("What is said about its result has more than one line.", what="about")


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


_FRAME_END: Final = _squeezed(CURRENT.lower_frame.partition("{text}")[2]).rstrip(">")
"""What would end the frame of a lower text from within, however it is spaced."""


def _check_load(load: EagerLoad, limits: Limits) -> None:
    for name in load.tools:
        _check_tool(name)
    check_text(load.skill, "skill that is loaded", limits.name_bytes_max)
    for path in load.files:
        check_name(path, "path in a skill", limits)
        if "\\" in path or any(part in {"", ".", ".."} for part in path.split("/")):
            raise InvalidInput(
                f"{quoted(path)} is no path within a skill.", contributor=load.key, what="files"
            )
    if load.files and not load.skill:
        raise InvalidInput("It names files and no skill that they are of.", what="skill")
    if not 0 <= load.most_used <= LISTED_MAX or not (load.tools or load.skill or load.most_used):
        raise InvalidInput(
            "It loads nothing: name tools, a skill, or how many of the most used tools (up to "
            f"{LISTED_MAX}).",
            contributor=load.key,
        )
    _refuse_many("tools", load.tools)
    _refuse_many("files", load.files)


def _check_tool(name: str) -> None:
    if not _TOOL.fullmatch(name):
        raise InvalidInput(f"No tool can be called {quoted(name)}.", what="tool")
    if name in _THROUGH:
        raise InvalidInput(f"Name the tool that {name} would stand for.", what="tool")


def _refuse_many(what: str, names: tuple[str, ...]) -> None:
    if len(names) > LISTED_MAX:
        raise TooLarge(
            f"It names {len(names):,} {what}; the bound is {LISTED_MAX}.",
            what=what,
            bound=LISTED_MAX,
        )
    if len(set(names)) < len(names):
        raise SameName(f"It names one of its {what} twice.", names=list(names))


def _check_arguments(arguments: object, limits: Limits) -> None:
    """Refuse what is no JSON object: what is sent must be exactly what was declared."""
    if type(arguments) is not dict:
        raise InvalidInput("The arguments of a run are a JSON object.", what="arguments")
    waiting: list[tuple[object, int]] = [(arguments, 0)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if seen > _VALUES_MAX or depth > limits.value_depth_max:
            raise TooLarge(
                f"The arguments of a run hold more than {_VALUES_MAX:,} values, or nest deeper "
                f"than {limits.value_depth_max}.",
                what="arguments",
            )
        waiting += ((each, depth + 1) for each in _within(value, limits))
    size = len(encode_sorted(arguments))
    if size > limits.arguments_bytes_max:
        raise TooLarge(
            f"The arguments of a run have {size:,} bytes; the bound is "
            f"{limits.arguments_bytes_max:,}.",
            what="arguments",
            bytes=size,
            bound=limits.arguments_bytes_max,
        )


def _within(value: Any, limits: Limits) -> Iterable[object]:
    """The values inside one value, if it is one that JSON has; a plain one has none."""
    kind: type = type(value)
    if kind is dict and all(type(key) is str for key in value):
        return (*value.keys(), *value.values())
    if kind is list:
        return list(value)
    if kind is str:
        check_text(value, "text in the arguments", limits.arguments_bytes_max)
    elif kind not in _PLAIN or (kind is float and not math.isfinite(value)):
        raise InvalidInput(
            f"The arguments of a run hold a {kind.__name__} that is no JSON; write dates and "
            "names as texts.",
            what="arguments",
        )
    return ()


_PLAIN: Final = (bool, int, float, type(None))
