"""What moved between a kept prompt and the one that would be composed now (R67).

A running conversation keeps what it was composed with, so it may stand behind. What it is behind of
is told by id and version: for a status, and for the note that something changed (R69, R151). Where
two prompts part to the byte is told by the part that it happens in (P077).
"""

import hashlib
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final, Literal, TypeAlias

import msgspec

from greenroom.protocol.composition import Composition
from greenroom.protocol.contributor import Declaration

What: TypeAlias = Literal["skill", "contributor", "part"]


class Moved(msgspec.Struct, frozen=True, gc=False):
    """One thing that came, went, or stands at another version."""

    what: What
    """A part is what is neither: ``tools``, ``parameters``, ``model``, ``wording``."""
    id: str
    before: str
    """Its version in the kept prompt; empty: it was not in it."""
    after: str
    """Its version now; empty: it would not be in it. The same: what is filled into it differs."""


class Movement(msgspec.Struct, frozen=True):
    """All that moved, in the order of sharing; what is gone stands as the kept prompt had it."""

    added: tuple[Moved, ...] = ()
    removed: tuple[Moved, ...] = ()
    changed: tuple[Moved, ...] = ()
    reordered: bool = False
    """Whether what is in both stands in another order."""

    @property
    def is_current(self) -> bool:
        """Whether composing now would give the kept prompt again."""
        return not (self.added or self.removed or self.changed or self.reordered)

    @property
    def ids(self) -> frozenset[str]:
        """All that moved, for a condition that watches some of it."""
        return frozenset(one.id for one in (*self.added, *self.removed, *self.changed))


def moved_between(kept: Composition, now: Composition) -> Movement:
    """What separates the kept prompt of a conversation from what it would be composed to now."""
    before, after = _parts(kept), _parts(now)
    both = [key for key in before if key in after]
    return Movement(
        added=tuple(
            Moved(*key, "", part.version) for key, part in after.items() if key not in before
        ),
        removed=tuple(
            Moved(*key, part.version, "") for key, part in before.items() if key not in after
        ),
        changed=tuple(
            Moved(*key, before[key].version, after[key].version)
            for key in both
            if before[key] != after[key]
        ),
        reordered=both != [key for key in after if key in before],
    )


class Difference(msgspec.Struct, frozen=True, gc=False):
    """The first byte in which what is sent under two compositions differs."""

    part: str
    """The section by its name, or ``model``, ``tools`` or ``parameters``."""
    contributor: str
    """``id@version`` of the section's contributor in the first of the two; empty for another."""
    offset: int
    """How many bytes of the part are equal before it."""


def first_difference(one: Composition, other: Composition) -> Difference | None:
    """Where the kept parts of two prompts first differ; None if they are equal to the byte.

    The order is that of a request's digest: model, system string, tools, parameters. A section that
    only one of them has differs from its first byte on.
    """
    for a, b in zip_longest(_sent(one), _sent(other), fillvalue=_NOTHING):
        if a != b:
            named = a if a is not _NOTHING else b
            equal = _equal(a[2], b[2]) if a[0] == b[0] else 0
            return Difference(named[0], named[1], equal)
    return None


_NOTHING: Final = ("", "", b"")


def _sent(composition: Composition) -> Iterator[tuple[str, str, bytes]]:
    yield "model", "", composition.model.encode()
    for section in composition.sections:
        yield section.name, section.contributor, section.text.encode()
    yield "tools", "", composition.tools
    yield "parameters", "", composition.parameters


def _equal(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


class _Part(msgspec.Struct, frozen=True):
    version: str
    content: str | Declaration


def _parts(composition: Composition) -> dict[tuple[What, str], _Part]:
    """Everything of a composition by what it is called, in its order."""
    parts: dict[tuple[What, str], _Part] = {}
    for section in (*composition.sections, *composition.opening):
        id_, _, version = section.contributor.rpartition("@")
        what: What = "skill" if section.name.startswith("skill:") else "contributor"
        parts[what, id_] = _Part(version, section.text)
    for declared in (*composition.eager, *composition.notes):
        parts["contributor", declared.id] = _Part(declared.version, declared)
    for name, data in (
        ("tools", composition.tools),
        ("parameters", composition.parameters),
        ("model", composition.model.encode()),
        ("wording", composition.wording.encode()),
    ):
        digest = hashlib.sha256(data).hexdigest()[:16]
        parts["part", name] = _Part(digest, "")
    return parts
