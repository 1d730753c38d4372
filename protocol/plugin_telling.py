"""A proposal and a difference as lines for the person who decides (R163, R164).

Nothing is left out and nothing is cut. The words of a plugin stand behind a bar, so that they
cannot pass for what is said about them; signs that a screen shows as nothing, or as something else,
are spelled out, since a model reads those too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from types import MappingProxyType
from typing import Any, Final

from greenroom.protocol.contributor import (
    Declaration,
    EagerLoad,
    EagerRun,
    Note,
    Owner,
    Text,
)
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.plugin import Proposal, ToolUse
from greenroom.protocol.plugin_difference import Change, Difference

WHOM: Final[Mapping[Owner, str]] = MappingProxyType(
    {
        "operator": "every agent",
        "workspace": "every agent",
        "author": "the agents that name it",
        "person": "the persons that name it",
    }
)
"""Whom what an owner installs reaches."""
DOES: Final[Mapping[ToolUse, str]] = MappingProxyType(
    {"read": "only reads", "write": "does more than read"}
)
_BAR: Final = "  | "
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What counts as printable and shows nothing."""


def told(proposal: Proposal) -> tuple[str, ...]:
    """All of a proposal, and below it the digest that is approved."""
    return (
        f"plugin {proposal.key}",
        *_barred(proposal.description),
        f"owner: {proposal.owner}, so it reaches {WHOM[proposal.owner]}"
        + ("" if proposal.is_trusted else "; it may add text and run what only reads"),
        *(line for each in proposal.contributors for line in _contributor(each, proposal)),
        *_listed("tools", (f"{name}: {DOES[use]}" for name, use in proposal.tools.items())),
        *_listed("hosts", proposal.hosts),
        *(line for each in proposal.skills for line in _skill(each.id, each.texts)),
        f"digest {proposal.digest}",
    )


def told_difference(difference: Difference) -> tuple[str, ...]:
    """Every change, each with whether it asks for more; words line by line."""
    return tuple(line for change in difference.changes for line in _change(change))


def visible(text: str) -> str:
    """One line, with whatever a screen does not show as it is spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign if _is_shown(sign) else f"<U+{ord(sign):04X}>" for sign in text)


def _is_shown(sign: str) -> bool:
    return sign == "\t" or (sign.isprintable() and not _UNSEEN.match(sign))


def _barred(text: str) -> Iterator[str]:
    """Words of the plugin, every line of them behind the bar."""
    yield from (f"{_BAR}{visible(line)}" for line in text.split("\n"))


def _listed(what: str, names: Iterable[str]) -> Iterator[str]:
    shown = [f"  {visible(name)}" for name in names]
    yield from (f"{what}:", *shown) if shown else (f"{what}: none",)


def _contributor(declared: Declaration, proposal: Proposal) -> Iterator[str]:
    yield f"contributor {visible(declared.key)}: {declared.__struct_config__.tag}"
    yield (
        f"  placement {declared.placement}, priority {declared.priority:,}, budget "
        f"{declared.budget:,} tokens, reach {declared.reach}"
    )
    match declared:
        case Text():
            yield f"  framed as lower: {'yes' if declared.is_lower else 'no'}"
            if declared.heading:
                yield "  heading:"
                yield from _barred(declared.heading)
            yield "  text:"
            yield from _barred(declared.text)
        case EagerLoad():
            yield from _loaded(declared)
        case EagerRun():
            yield f"  runs {declared.tool}, which {DOES[proposal.tools[declared.tool]]}, with:"
            yield from _barred(_json(declared.arguments))
            if declared.about:
                yield "  and says that its result is:"
                yield from _barred(declared.about)
        case Note():
            yield f"  when: {visible(_json(declared.condition))}"
            yield "  text:"
            yield from _barred(declared.text)


def _loaded(load: EagerLoad) -> Iterator[str]:
    yield from _indented("loads the tools", sorted(load.tools))
    if load.most_used:
        yield f"  loads the {load.most_used} tools that the agent called most"
    if load.skill:
        yield f"  loads the skill {visible(load.skill)}"
        yield from _indented("and of it the files", load.files)


def _indented(what: str, names: Iterable[str]) -> Iterator[str]:
    shown = ", ".join(visible(name) for name in names)
    if shown:
        yield f"  {what} {shown}"


def _skill(id_: str, texts: Mapping[str, str]) -> Iterator[str]:
    yield f"skill {visible(id_)}"
    for path, text in sorted(texts.items()):
        yield f"  {visible(path)}:"
        yield from _barred(text)


def _change(change: Change) -> Iterator[str]:
    asks = "asks for more" if change.more else "asks for no more"
    about = " ".join(visible(part) for part in (change.about, change.field) if part)
    if change.before and change.after:
        words = f"{change.before}{change.after}"
        if "\n" not in words and len(words) < _SHORT:
            yield f"{about}: {visible(change.before)} -> {visible(change.after)} ({asks})"
            return
        yield f"{about}: changed ({asks})"
        yield from _line_by_line(change)
    else:
        yield f"{about}: {'new' if change.after else 'gone'} ({asks})"
        if change.field not in {change.before, change.after}:  # else the name is all there is
            yield from _barred(change.after or change.before)


def _line_by_line(change: Change) -> Iterator[str]:
    """What of the words came and went, with three lines around it."""
    before, after = change.before.split("\n"), change.after.split("\n")
    lines = unified_diff(before, after, lineterm="")
    yield from (f"{_BAR}{visible(line)}" for line in list(lines)[2:])


_SHORT: Final = 120
"""Characters of two values that are told on one line."""


def _json(value: Any) -> str:
    return encode_sorted(value).decode()
