"""What moved between a kept prompt and the one that would be composed now (R67).

A running conversation keeps what it was composed with, so it may stand behind. What it is behind of
is told by id and version: for a status, and for the note that something changed (R69, R151).
"""

import hashlib
from itertools import accumulate
from typing import Final, Literal, TypeAlias

import msgspec

from greenroom.protocol.composition import Composition
from greenroom.protocol.contributor import Declaration
from greenroom.protocol.wording import Wording, one_line

TOLD_BYTES_MAX: Final = 2_000
"""Of what moved, in the words of a note."""
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


def told(movement: Movement, wording: Wording) -> str:
    """What moved, in words, for a note; of very much the first, and how much more (R69, R151).

    So that a note of it keeps to its budget, whatever was edited (R103).
    """
    parts = [
        template.format(what=one.what, name=one_line(one.id))
        for template, moved in (
            (wording.moved_changed, movement.changed),
            (wording.moved_added, movement.added),
            (wording.moved_removed, movement.removed),
        )
        for one in moved
    ]
    sizes = accumulate(len(f"{part}; ".encode()) for part in parts)
    named = max(1, sum(size <= TOLD_BYTES_MAX for size in sizes))
    more = [wording.moved_more.format(count=len(parts) - named)] if len(parts) > named else []
    return "; ".join([*parts[:named], *more]) or wording.moved_order


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
