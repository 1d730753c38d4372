"""What a turn commits to when it begins or goes on: preset, egress and gates as they stand then.

All of it is in memory with the workspace, so reading it live costs a look (R155). Gates count of
every skill that is bound now, in the kept prompt, or pinned or loaded in the conversation; of one
that the workspace has no more, those that the session's last turn was held to stay, since there is
nothing newer to read and a skill that goes must not loosen anything.
"""

from collections import OrderedDict
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import attrs
import msgspec

from greenroom.actors.kept_prompt import Kept
from greenroom.actors.terms import kept_skills
from greenroom.protocol.errors import StoreDamaged, UnknownPreset
from greenroom.protocol.gate import (
    Commitment,
    GateTable,
    committed_to,
    decode_commitment,
    encode_commitment,
    gate_set_digest,
)
from greenroom.protocol.header import Header
from greenroom.protocol.identity import SkillId
from greenroom.protocol.permission import Preset, PresetTable

if TYPE_CHECKING:
    from greenroom.actors.session import SessionActor
    from greenroom.actors.workspace import Workspace

COMMITMENTS_MAX: Final = 1_024
"""Commitments kept in memory for sharing."""
_NONE: Final[frozenset[SkillId]] = frozenset()


class InForce(msgspec.Struct, frozen=True, gc=False):
    """A commitment, and how a record names it."""

    commitment: Commitment
    digest: str = ""
    """Empty where the preset alone decides: the record names that anyway (R77)."""
    encoded: bytes = b""

    def blobs(self, header: Header) -> dict[str, bytes]:
        """What has to be stored with it; nothing, if the session's last turn committed to it."""
        return {self.digest: self.encoded} if self.digest not in ("", header.gates) else {}


@attrs.define(eq=False, slots=True)
class Commitments:
    """The commitments in use: one object for all turns for which all of it is equal."""

    bare: dict[str, tuple["Workspace", InForce]] = attrs.field(factory=dict)
    """By preset, of a workspace without any gates or egress: what nearly all turns commit to."""
    _known: OrderedDict[tuple[int, str, frozenset[SkillId]], tuple[GateTable, InForce]] = (
        attrs.field(factory=OrderedDict)
    )

    def of(self, table: GateTable, preset: Preset, skills: frozenset[SkillId]) -> InForce:
        """What a turn commits to in which the gates of these skills count."""
        key = (id(table), preset.id, skills)
        known = self._known.get(key)
        if known is not None and known[0] is table and known[1].commitment.preset is preset:
            return known[1]
        made = in_force(table.in_force(preset, skills))
        self._known[key] = (table, made)
        if len(self._known) > COMMITMENTS_MAX:
            self._known.popitem(last=False)
        return made


def in_force(commitment: Commitment) -> InForce:
    """A commitment with its digest."""
    if commitment.is_bare:
        return InForce(commitment)
    encoded = encode_commitment(commitment)
    return InForce(commitment, gate_set_digest(encoded), encoded)


def commit(actor: "SessionActor", kept: Kept | None, pinned: Collection[SkillId] = ()) -> InForce:
    """What a turn of the session commits to now; ``pinned`` are the skills of its message.

    Raises:
        UnknownAgent: the workspace does not have it any more.
        StoreDamaged: what the last turn committed to is not in the store.
    """
    services, header = actor.services, actor.header
    workspace, commitments = services.workspace, services.commitments
    bare = commitments.bare.get(header.preset)
    if bare is not None and bare[0] is workspace and not header.gates:
        return bare[1]
    table, preset = workspace.gate_table, preset_of(workspace.presets, header)
    if not table.skills and not header.gates:
        found = commitments.of(table, preset, _NONE)
        if found.commitment.is_bare:
            commitments.bare[header.preset] = (workspace, found)
        return found
    bound = services.agent(header.agent).skills
    counted = frozenset((*bound, *kept_skills(kept), *header.skills, *pinned))
    found = commitments.of(table, preset, counted.intersection(table.skills))
    gone = counted.difference(workspace.skills)
    if gone and header.gates:
        last = _stored(actor, header.gates)
        stay = [each for each in last.gates if each.source in gone]
        if stay:
            found = in_force(committed_to(preset, table.egress, [*found.commitment.gates, *stay]))
    return found


def _stored(actor: "SessionActor", digest: str) -> Commitment:
    data = actor.services.store.blob(digest)
    if data is None:
        raise StoreDamaged(f"The gate set {digest[:12]} is not in the store.", digest=digest)
    return decode_commitment(data)


def preset_now(actor: "SessionActor") -> Preset:
    """The preset under which the session's next request is made."""
    return preset_of(actor.services.workspace.presets, actor.header)


def preset_of(presets: PresetTable, header: Header) -> Preset:
    """The session's preset; the strictest, where the host's table has it no more (R7)."""
    try:
        return presets.get(header.preset)
    except UnknownPreset:
        return presets.strictest
