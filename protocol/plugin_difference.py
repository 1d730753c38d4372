"""What two proposals ask otherwise, and whether the later one asks for more (R164).

More is whatever nobody approved: a contributor, skill, file, tool or host that was not there; a
wider placement or reach, a larger budget, a higher priority, a frame taken off; a tool that writes
where it read; another owner; and every word that is another, for the words were what was approved.
Less, or the same, is what is left: something taken away, narrowed, lowered or framed. Numbers of
versions and the description ask for nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, get_args

import msgspec

from greenroom.protocol.contributor import Declaration, Owner, Reach
from greenroom.protocol.encoding import encode_sorted
from greenroom.protocol.placement import is_wider
from greenroom.protocol.plugin import Proposal


class Change(msgspec.Struct, frozen=True):
    """One thing that is asked otherwise."""

    about: str
    """The id of a contributor or skill; or ``tools``, ``hosts``, ``owner``."""
    field: str
    """What of it; the path, of a skill's file. Empty: all of it came or went."""
    before: str
    """As it was; empty if it was not there."""
    after: str
    """As it would be; empty if it would be gone."""
    more: bool
    """Whether that has to be approved."""


class Difference(msgspec.Struct, frozen=True):
    """Everything that is asked otherwise, in a fixed order; empty if nothing is."""

    changes: tuple[Change, ...] = ()

    @property
    def asks_more(self) -> bool:
        """Whether it needs an approval of its own."""
        return any(change.more for change in self.changes)


def difference(before: Proposal, after: Proposal) -> Difference:
    """What ``after`` asks otherwise than ``before``, versions of one plugin."""
    return Difference(
        (
            *_owner(before.owner, after.owner),
            *_contributors(before, after),
            *_skills(before, after),
            *_tools(before, after),
            *_named("hosts", before.hosts, after.hosts),
        )
    )


def _owner(before: Owner, after: Owner) -> Iterator[Change]:
    """Another owner is another authority, and reaches others."""
    if before != after:
        yield Change("owner", "", before, after, more=True)


def _named(about: str, before: Iterable[str], after: Iterable[str]) -> Iterator[Change]:
    """Names, of which each that comes is more."""
    was, would = set(before), set(after)
    for name in sorted(was ^ would):
        yield Change(about, name, *_there(name, name in was, name in would), more=name in would)


def _there(shown: str, before: bool, after: bool) -> tuple[str, str]:  # noqa: FBT001
    return shown if before else "", shown if after else ""


def _tools(before: Proposal, after: Proposal) -> Iterator[Change]:
    for name in sorted(before.tools.keys() | after.tools.keys()):
        was, would = before.tools.get(name, ""), after.tools.get(name, "")
        if was != would:
            yield Change("tools", name, was, would, more=would == "write" or not was)


def _skills(before: Proposal, after: Proposal) -> Iterator[Change]:
    was, would = ({each.id: each.texts for each in side.skills} for side in (before, after))
    for id_ in sorted(was.keys() | would.keys()):
        texts_were, texts_would = was.get(id_, {}), would.get(id_, {})
        for path in sorted(texts_were.keys() | texts_would.keys()):
            one, other = texts_were.get(path), texts_would.get(path)
            if one != other:
                yield Change(id_, path, one or "", other or "", more=other is not None)


# --- contributors --------------------------------------------------------------------------------


def _contributors(before: Proposal, after: Proposal) -> Iterator[Change]:
    was, would = ({each.id: each for each in side.contributors} for side in (before, after))
    for id_ in sorted(was.keys() | would.keys()):
        one, other = was.get(id_), would.get(id_)
        if one is None or other is None:
            whole = _shown(_asked(other or one))
            yield Change(
                id_, "", *_there(whole, one is not None, other is not None), other is not None
            )
        else:
            yield from _fields(id_, _asked(one), _asked(other))


def _asked(declared: Declaration | None) -> dict[str, Any]:
    """What a declaration asks, by field: its own, those left out at what they mean."""
    assert declared is not None
    fields = {name: getattr(declared, name) for name in declared.__struct_fields__}
    asked = {name: value for name, value in fields.items() if name not in _ASK_NOTHING}
    if "framing" in asked and declared.owner == "person":
        asked["framing"] = "lower"  # said or unsaid
    if "tools" in asked:
        asked["tools"] = sorted(asked["tools"])  # loaded by name, whatever their order
    return {"kind": declared.__struct_config__.tag, **asked}


def _fields(id_: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    if before["kind"] != after["kind"]:
        yield Change(id_, "kind", _shown(before), _shown(after), more=True)
        return
    for name, was in before.items():
        would = after[name]
        if encode_sorted(was) != encode_sorted(would):
            asks_more = _IS_MORE.get(name, _another)
            yield Change(id_, name, _shown(was), _shown(would), more=asks_more(was, would))


def _shown(value: object) -> str:
    """A value as a person reads it: words as they are, the rest as JSON."""
    return value if isinstance(value, str) else encode_sorted(value).decode()


def _another(_: object, __: object) -> bool:
    """Of words, arguments, conditions: whatever is another."""
    return True


def _grown(was: int, would: int) -> bool:
    return would > was


def _with_new(was: Iterable[str], would: Iterable[str]) -> bool:
    return bool(set(would) - set(was))


_REACHES: Final[tuple[Reach, ...]] = get_args(Reach)
"""From every turn to ever fewer."""
_ASK_NOTHING: Final = frozenset(("id", "version", "owner"))
"""The owner is told once, for all of them."""
_IS_MORE: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        "placement": lambda was, would: is_wider(would, was),
        "reach": lambda was, would: _REACHES.index(would) < _REACHES.index(was),
        "budget": _grown,
        "priority": _grown,
        "framing": lambda _, would: would == "none",
        "skill": lambda _, would: bool(would),
        "tools": _with_new,
        "files": _with_new,
        "most_used": _grown,
    }
)
"""Where less can be told from more; of all other fields any change is more."""
