"""Kept prompts: composed once, frozen, shared by all sessions for which all of it is equal.

``Kept`` is one composition with what a turn needs of it ready to hand: for each preset, with or
without the person's part, the system string and the frame of the request digest. Sessions that
share a composition share one ``Kept``; ``KeptPrompts`` finds it by digest, from memory or store.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

import attrs
import msgspec

from greenroom.protocol.budget import Budget
from greenroom.protocol.composition import Composition, SystemString, render
from greenroom.protocol.condition import VersionChanged
from greenroom.protocol.filter import Term, composition_terms
from greenroom.protocol.opening import opening_note
from greenroom.protocol.permission import Preset
from greenroom.protocol.prompt_checkpoint import (
    KeptCheckpoint,
    NamedSections,
    checkpoint_between,
    lean,
)
from greenroom.protocol.rebuild import composition_from
from greenroom.protocol.request import frame_digest
from greenroom.protocol.turn import SkillUse

COMPOSITIONS_MAX: Final = 4_096
"""Compositions kept in memory for sharing; a session's own stays as long as it does."""


class Variant(msgspec.Struct, frozen=True, gc=False):
    """The system string under one preset, with or without the person's part."""

    system: SystemString
    frame: bytes
    budget: Budget


@attrs.define(eq=False, slots=True)
class Kept:
    """One composition, and what a turn needs of it."""

    composition: Composition
    digest: str
    encoded: bytes
    budget_of: Callable[[Composition, SystemString], Budget]
    uses: tuple[SkillUse, ...]
    declared: frozenset[str]
    """The names of the tools that it declares."""
    timed: bool
    """Whether it has notes that become due by time alone."""
    opens: bool
    """Whether its conversations have an opening."""
    texts: Mapping[str, str]
    """Its sections by name: what a checkpoint need not repeat."""
    terms: frozenset[Term]
    """What the index finds its sessions by (R239)."""
    _variants: dict[tuple[str, bool], tuple[Preset, Variant]] = attrs.field(factory=dict)

    def checkpoint(
        self, before: NamedSections | None, after: NamedSections, message_count: int, now: int
    ) -> KeptCheckpoint | None:
        """What is to be stored with a request; None if its system string is the last one's (R70).

        See :func:`checkpoint_between`.
        """
        if after is before:
            return None
        checkpoint = checkpoint_between(before, after, message_count, now)
        return None if checkpoint is None else lean(checkpoint, self.texts)

    def under(self, preset: Preset, *, with_person: bool) -> Variant:
        """What is sent under ``preset``: rendered once, then the same object again."""
        key = (preset.id, with_person)
        found = self._variants.get(key)
        if found is not None and found[0] is preset:
            return found[1]
        composition = self.composition
        system = render(composition, preset, with_person=with_person)
        frame = frame_digest(
            composition.model, system.text, composition.tools, composition.parameters
        )
        variant = Variant(system, frame, self.budget_of(composition, system))
        self._variants[key] = (preset, variant)
        return variant


@attrs.define(eq=False, slots=True)
class KeptPrompts:
    """All compositions in use, by digest: one object for all sessions that share it."""

    budget_of: Callable[[Composition, SystemString], Budget]
    _known: OrderedDict[str, Kept] = attrs.field(factory=OrderedDict)

    def of(self, composition: Composition, encoded: bytes, digest: str) -> Kept:
        """The one ``Kept`` of a composition."""
        kept = self._known.get(digest)
        if kept is None:
            uses = tuple(
                SkillUse(skill.id, skill.slug, skill.revision, "composition")
                for skill in composition.skills
            )
            declared = frozenset(each.function.name for each in _declared(composition.tools))
            timed = any(not isinstance(n.condition, VersionChanged) for n in composition.notes)
            opens = bool(opening_note(composition))
            kept = Kept(
                composition,
                digest,
                encoded,
                self.budget_of,
                uses,
                declared,
                timed,
                opens,
                composition.texts,
                composition_terms(composition),
            )
            self._known[digest] = kept
            if len(self._known) > COMPOSITIONS_MAX:
                self._known.popitem(last=False)
        return kept

    def stored(self, digest: str, blob: Callable[[str], bytes | None]) -> Kept:
        """The composition that a session was last dispatched with, from memory or store (R61).

        Raises:
            StoreDamaged: the store does not hold it any more.
        """
        kept = self._known.get(digest)
        if kept is None:
            composition = composition_from(digest, blob)
            encoded = blob(digest) or b""
            kept = self.of(composition, encoded, digest)
        return kept


class _Named(msgspec.Struct):
    name: str


class _Declared(msgspec.Struct):
    function: _Named


_declared: Final = msgspec.json.Decoder(list[_Declared]).decode
